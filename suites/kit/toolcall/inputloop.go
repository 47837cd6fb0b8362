package toolcall

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

// MaxInputRounds is how often mcpcheck answers what one request asks for.
const MaxInputRounds = 8

// InputLoop is a request that a server may answer by asking for input, and that comes again with the answers until
// the server has what it needs.
type InputLoop struct {
	Method       string
	Params       check.M        // of the first request
	InputReplies []driver.Reply // that asked for input
	LastReply    driver.Reply   // which is final, unless it was given up
	AbortReason  string         // why; empty: it was not
}

// RunInputLoop carries on a conversation to its end, as a real client would.
func RunInputLoop(t *check.T, s *driver.Session, method string, params check.M) *InputLoop {
	c := &InputLoop{Method: method, Params: params}
	c.Continue(t, s, params)
	return c
}

// RunInvalidInputLoop is RunInputLoop with a request that may be refused, as TryInvalid makes it.
func RunInvalidInputLoop(t *check.T, s *driver.Session, method string, params check.M) *InputLoop {
	c := &InputLoop{Method: method, Params: params}
	for again := true; again; {
		params, again = c.onReply(t, invalid.TryInvalid(t, s, method, params))
	}
	return c
}

// Continue is RunInputLoop from a further request on.
func (c *InputLoop) Continue(t *check.T, s *driver.Session, params check.M) {
	for again := true; again; {
		params, again = c.onReply(t, t.TryRequest(s, c.Method, params))
	}
}

// hear takes a reply, and says with which params the request is to be made again. When there is nothing to answer, it
// waits first: the server may be busy.
func (c *InputLoop) onReply(t *check.T, r driver.Reply) (params check.M, again bool) {
	const pause = 10 * time.Millisecond
	c.LastReply = r
	if !IsInputRequired(t, r) {
		return nil, false
	}
	c.InputReplies = append(c.InputReplies, r)
	responses, err := InputResponses(t, r)
	switch {
	case len(c.InputReplies) > MaxInputRounds:
		err = fmt.Errorf("it still asks for input after %d rounds, mcpcheck's own limit", MaxInputRounds)
	case err == nil && len(responses) == 0 && RequestState(r) == nil:
		err = fmt.Errorf("it asks for input, but not for what")
	case len(responses) == 0:
		time.Sleep(pause << len(c.InputReplies))
	}
	if err != nil {
		c.AbortReason = err.Error()
		return nil, false
	}
	return RetryParams(c.Params, r, responses), true
}

// IsInputRequired reports whether a request is not served yet, but to come again with what its result asks for.
func IsInputRequired(t *check.T, r driver.Reply) bool {
	return t.IsModern() && r.Result()["resultType"] == "input_required"
}

// ResultType is the type of a result. One that does not say it, which result/type-present judges, is of the type of
// which its members are.
func ResultType(result check.M) string {
	kind, typed := result["resultType"].(string)
	switch {
	case typed:
		return kind
	case check.HasMember(result, "inputRequests"), check.HasMember(result, "requestState"):
		return "input_required"
	}
	return "complete"
}

// RetryParams are params of a request that comes again with responses to what its answer has asked for, and with the
// state that this has given it.
func RetryParams(params check.M, asked driver.Reply, responses check.M) check.M {
	again := maps.Clone(params)
	if len(responses) > 0 {
		again["inputResponses"] = responses
	}
	if state := RequestState(asked); state != nil {
		again["requestState"] = state
	}
	return again
}

// RequestState is the state that a reply gives a request, as it was written; nil when it gives none.
func RequestState(r driver.Reply) json.RawMessage {
	if r.Frame == nil {
		return nil
	}
	return driver.Members(driver.Members(r.Frame.TextToMaxDepth())["result"])["requestState"]
}

// InputResponses are what a real client answers to all that a reply asks for; err says why there are none.
func InputResponses(t *check.T, r driver.Reply) (responses check.M, err error) {
	v, has := r.Result()["inputRequests"]
	requests, isObject := v.(check.M)
	if has && !isObject {
		return nil, fmt.Errorf("it asks for input by %s, which is not an object", check.Show(v))
	}
	responses = check.M{}
	for _, key := range slices.Sorted(maps.Keys(requests)) {
		request, _ := requests[key].(check.M)
		if responses[key] = ClientResult(t, request); responses[key] == nil {
			return nil, fmt.Errorf("it asks for %s, which no client can answer", check.Show(requests[key]))
		}
	}
	return responses, nil
}

// ClientResult is what a client answers to one request; nil when it knows no such request.
func ClientResult(t *check.T, request check.M) any {
	params, _ := request["params"].(check.M)
	switch request["method"] {
	case "elicitation/create":
		return elicitResult(t, params)
	case "sampling/createMessage":
		return samplingResult(t, params)
	case "roots/list":
		return check.M{"roots": []any{check.M{"uri": "file:///mcpcheck/root", "name": "mcpcheck"}}}
	}
	return nil
}

// elicitResult is what a user answers: all fields of a form, if they can be made, and yes to what is to be confirmed:
// many servers ask until they hear that. A URL is not opened.
func elicitResult(t *check.T, params check.M) check.M {
	form, isObject := params["requestedSchema"].(check.M)
	if !isObject || params["mode"] == "url" {
		return check.M{"action": "decline"}
	}
	for _, schema := range []check.M{completeForm(form), form} {
		if content, err := instance(t, schema); err == nil {
			return check.M{"action": "accept", "content": content}
		}
	}
	return check.M{"action": "decline"}
}

// completeForm is the schema of a form that is filled in wholly, with yes wherever that is the question.
func completeForm(form check.M) check.M {
	properties, _ := form["properties"].(check.M)
	answered, fields := check.M{}, []any{}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		fields = append(fields, name)
		answered[name] = properties[name]
		if property, _ := properties[name].(check.M); property["type"] == "boolean" {
			answered[name] = check.M{"const": true}
		}
	}
	filled := maps.Clone(form)
	filled["properties"], filled["required"] = answered, fields
	return filled
}

// samplingResult is what a model answers: a text, or the use of a tool where it has to use one.
func samplingResult(t *check.T, params check.M) check.M {
	var content any = check.M{"type": "text", "text": "mcpcheck"}
	stop := "endTurn"
	choice, _ := params["toolChoice"].(check.M)
	if len(protocol.ObjectsIn(params["tools"])) > 0 && choice["mode"] == "required" {
		content, stop = toolUses(t, params, 1), "toolUse"
	}
	return modelMessage(content, stop)
}

// ToolUseResult is what a model answers that uses the first tool that it is offered, so many times at once.
func ToolUseResult(t *check.T, params check.M, times int) check.M {
	return modelMessage(toolUses(t, params, times), "toolUse")
}

func modelMessage(content any, stop string) check.M {
	return check.M{"role": "assistant", "content": content, "model": "mcpcheck", "stopReason": stop}
}

// toolUses are uses of the first tool, each with an id that no other one of the same conversation has.
func toolUses(t *check.T, params check.M, times int) (uses []any) {
	tool := protocol.ObjectsIn(params["tools"])[0]
	input, err := instance(t, tool["inputSchema"])
	if err != nil {
		input = check.M{}
	}
	messages, _ := params["messages"].([]any)
	for n := range times {
		id := fmt.Sprintf("mcpcheck-%d-%d", len(messages), n+1)
		uses = append(uses, check.M{"type": "tool_use", "id": id, "name": tool["name"], "input": input})
	}
	return uses
}

// instance is an object that a schema allows.
func instance(t *check.T, schema any) (check.M, error) {
	compiled, err := schemas.Compile(schema, t.Revision)
	if err != nil {
		return nil, err
	}
	return schemas.ValidArguments(compiled, t.Seed)
}
