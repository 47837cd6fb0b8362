package kit

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

// MostRounds is how often mcpcheck answers what one request asks for.
const MostRounds = 8

// Able is what a client declares that a server may ask for all there is, in a revision without server requests.
var Able = M{
	"elicitation": M{"form": M{}, "url": M{}}, "sampling": M{"tools": M{}}, "roots": M{},
}

// Conversation is a request that a server may answer by asking for input, and that comes again with the answers until
// the server has what it needs.
type Conversation struct {
	Method  string
	Params  M              // of the first request
	Asked   []driver.Reply // that asked for input
	Last    driver.Reply   // which is final, unless it was given up
	GivenUp string         // why; empty: it was not
}

// Converse carries on a conversation to its end, as a real client would.
func Converse(t *T, s *driver.Session, method string, params M) *Conversation {
	c := &Conversation{Method: method, Params: params}
	c.Continue(t, s, params)
	return c
}

// ConverseAmiss is Converse with a request that may be refused, as TryAmiss makes it.
func ConverseAmiss(t *T, s *driver.Session, method string, params M) *Conversation {
	c := &Conversation{Method: method, Params: params}
	for again := true; again; {
		params, again = c.hear(t, TryAmiss(t, s, method, params))
	}
	return c
}

// Continue is Converse from a further request on.
func (c *Conversation) Continue(t *T, s *driver.Session, params M) {
	for again := true; again; {
		params, again = c.hear(t, t.Try(s, c.Method, params))
	}
}

// hear takes a reply, and says with which params the request is to be made again. When there is nothing to answer, it
// waits first: the server may be busy.
func (c *Conversation) hear(t *T, r driver.Reply) (params M, again bool) {
	const pause = 10 * time.Millisecond
	c.Last = r
	if !AsksForInput(t, r) {
		return nil, false
	}
	c.Asked = append(c.Asked, r)
	responses, err := Responses(t, r)
	switch {
	case len(c.Asked) > MostRounds:
		err = fmt.Errorf("it still asks for input after %d rounds, mcpcheck's own limit", MostRounds)
	case err == nil && len(responses) == 0 && StateOf(r) == nil:
		err = fmt.Errorf("it asks for input, but not for what")
	case len(responses) == 0:
		time.Sleep(pause << len(c.Asked))
	}
	if err != nil {
		c.GivenUp = err.Error()
		return nil, false
	}
	return Retry(c.Params, r, responses), true
}

// AsksForInput reports whether a request is not served yet, but to come again with what its result asks for.
func AsksForInput(t *T, r driver.Reply) bool {
	return t.Modern() && r.Result()["resultType"] == "input_required"
}

// TypeOf is the type of a result. One that does not say it, which result/type-present judges, is of the type of which
// its members are.
func TypeOf(result M) string {
	kind, typed := result["resultType"].(string)
	switch {
	case typed:
		return kind
	case Has(result, "inputRequests"), Has(result, "requestState"):
		return "input_required"
	}
	return "complete"
}

// Retry are params of a request that comes again with responses to what its answer has asked for, and with the state
// that this has given it.
func Retry(params M, asked driver.Reply, responses M) M {
	again := maps.Clone(params)
	if len(responses) > 0 {
		again["inputResponses"] = responses
	}
	if state := StateOf(asked); state != nil {
		again["requestState"] = state
	}
	return again
}

// StateOf is the state that a reply gives a request, as it was written; nil when it gives none.
func StateOf(r driver.Reply) json.RawMessage {
	if r.Frame == nil {
		return nil
	}
	return driver.Members(driver.Members(r.Frame.Text())["result"])["requestState"]
}

// Responses are what a real client answers to all that a reply asks for; err says why there are none.
func Responses(t *T, r driver.Reply) (responses M, err error) {
	v, has := r.Result()["inputRequests"]
	requests, isObject := v.(M)
	if has && !isObject {
		return nil, fmt.Errorf("it asks for input by %s, which is not an object", Show(v))
	}
	responses = M{}
	for _, key := range slices.Sorted(maps.Keys(requests)) {
		request, _ := requests[key].(M)
		if responses[key] = respond(t, request); responses[key] == nil {
			return nil, fmt.Errorf("it asks for %s, which no client can answer", Show(requests[key]))
		}
	}
	return responses, nil
}

// respond is what a client answers to one request; nil when it knows no such request.
func respond(t *T, request M) any {
	params, _ := request["params"].(M)
	switch request["method"] {
	case "elicitation/create":
		return elicited(t, params)
	case "sampling/createMessage":
		return sampled(t, params)
	case "roots/list":
		return M{"roots": []any{M{"uri": "file:///mcpcheck/root", "name": "mcpcheck"}}}
	}
	return nil
}

// elicited is what a user answers: all fields of a form, if they can be made, and yes to what is to be confirmed: many
// servers ask until they hear that. A URL is not opened.
func elicited(t *T, params M) M {
	form, isObject := params["requestedSchema"].(M)
	if !isObject || params["mode"] == "url" {
		return M{"action": "decline"}
	}
	for _, schema := range []M{filledIn(form), form} {
		if content, err := instance(t, schema); err == nil {
			return M{"action": "accept", "content": content}
		}
	}
	return M{"action": "decline"}
}

// filledIn is the schema of a form that is filled in wholly, with yes wherever that is the question.
func filledIn(form M) M {
	properties, _ := form["properties"].(M)
	answered, fields := M{}, []any{}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		fields = append(fields, name)
		answered[name] = properties[name]
		if property, _ := properties[name].(M); property["type"] == "boolean" {
			answered[name] = M{"const": true}
		}
	}
	filled := maps.Clone(form)
	filled["properties"], filled["required"] = answered, fields
	return filled
}

// sampled is what a model answers: a text, or the use of a tool where it has to use one.
func sampled(t *T, params M) M {
	var content any = M{"type": "text", "text": "mcpcheck"}
	stop := "endTurn"
	choice, _ := params["toolChoice"].(M)
	if len(ObjectsIn(params["tools"])) > 0 && choice["mode"] == "required" {
		content, stop = usesOfTools(t, params, 1), "toolUse"
	}
	return modelSays(content, stop)
}

// UseTools is what a model answers that uses the first tool that it is offered, so many times at once.
func UseTools(t *T, params M, times int) M {
	return modelSays(usesOfTools(t, params, times), "toolUse")
}

func modelSays(content any, stop string) M {
	return M{"role": "assistant", "content": content, "model": "mcpcheck", "stopReason": stop}
}

// usesOfTools are uses of the first tool, each with an id that no other one of the same conversation has.
func usesOfTools(t *T, params M, times int) (uses []any) {
	tool := ObjectsIn(params["tools"])[0]
	input, err := instance(t, tool["inputSchema"])
	if err != nil {
		input = M{}
	}
	messages, _ := params["messages"].([]any)
	for n := range times {
		id := fmt.Sprintf("mcpcheck-%d-%d", len(messages), n+1)
		uses = append(uses, M{"type": "tool_use", "id": id, "name": tool["name"], "input": input})
	}
	return uses
}

// instance is an object that a schema allows.
func instance(t *T, schema any) (M, error) {
	compiled, err := schemas.Compile(schema, t.Revision)
	if err != nil {
		return nil, err
	}
	return schemas.Valid(compiled, t.Seed)
}
