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
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// MaxInputRounds is how often mcpcheck answers the input requests of one request.
const MaxInputRounds = 8

// InputLoop is a request that a server may answer with input requests, and that is sent again with the input until the
// server has what it needs.
type InputLoop struct {
	Method string
	// Params are the params of the first request.
	Params check.M
	// InputReplies are the replies with input requests.
	InputReplies []driver.Reply
	// LastReply is the last reply, which is final unless the loop was aborted.
	LastReply driver.Reply
	// AbortReason is why the loop was aborted; empty when it was not.
	AbortReason string
}

// RunInputLoop sends a request and its retries until the end, as a real client does.
func RunInputLoop(t *check.T, s *driver.Session, method string, params check.M) *InputLoop {
	c := &InputLoop{Method: method, Params: params}
	c.Continue(t, s, params)
	return c
}

// RunInvalidInputLoop is RunInputLoop with a request that may be refused (invalid.TryInvalid).
func RunInvalidInputLoop(t *check.T, s *driver.Session, method string, params check.M) *InputLoop {
	c := &InputLoop{Method: method, Params: params}
	for again := true; again; {
		params, again = c.onReply(t, invalid.TryInvalid(t, s, method, params))
	}
	return c
}

// Continue continues the loop with these params.
func (c *InputLoop) Continue(t *check.T, s *driver.Session, params check.M) {
	for again := true; again; {
		params, again = c.onReply(t, t.Send(s, c.Method, params, check.AllowSilence))
	}
}

// onReply records a reply, and returns the params of the next request, if there is one. It waits before a retry without
// input, since the server may be busy.
func (c *InputLoop) onReply(t *check.T, r driver.Reply) (params check.M, again bool) {
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
		time.Sleep(timing.InputRetry << len(c.InputReplies))
	}
	if err != nil {
		c.AbortReason = err.Error()
		return nil, false
	}
	return RetryParams(c.Params, r, responses), true
}

// IsInputRequired reports whether a reply requires input before the request is served.
func IsInputRequired(t *check.T, r driver.Reply) bool {
	return t.IsModern() && r.Result()["resultType"] == "input_required"
}

// ResultType is the type of a result. If the type is missing, which result/type-present reports, its members show it.
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

// RetryParams are the params of a retry, with the responses to input requests and the request state of the reply.
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

// RequestState is the requestState in a reply, as it was sent; nil when there is none.
func RequestState(r driver.Reply) json.RawMessage {
	if r.Frame == nil {
		return nil
	}
	return driver.Members(driver.Members(r.Frame.TextToMaxDepth())["result"])["requestState"]
}

// InputResponses are the responses of a real client to all input requests of a reply; err says why there are none.
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

// ClientResult is the result of a client for one input request; nil when its method is unknown.
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

// elicitResult is the result of a user for an elicitation: it fills in all fields of a form if possible, and confirms
// what is to be confirmed, since many servers ask until then. It declines to open a URL.
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

// completeForm is the schema of a form with all fields required and all booleans true.
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

// samplingResult is the result of a model: a text, or the use of a tool where that is required.
func samplingResult(t *check.T, params check.M) check.M {
	var content any = check.M{"type": "text", "text": "mcpcheck"}
	stop := "endTurn"
	choice, _ := params["toolChoice"].(check.M)
	if len(protocol.ObjectsIn(params["tools"])) > 0 && choice["mode"] == "required" {
		content, stop = toolUses(t, params, 1), "toolUse"
	}
	return modelMessage(content, stop)
}

// ToolUseResult is the result of a model that uses the first tool that it is offered, several times at once.
func ToolUseResult(t *check.T, params check.M, times int) check.M {
	return modelMessage(toolUses(t, params, times), "toolUse")
}

// ModelText is the result of a model that says something.
func ModelText(words string) check.M {
	return modelMessage(check.M{"type": "text", "text": words}, "endTurn")
}

func modelMessage(content any, stop string) check.M {
	return check.M{"role": "assistant", "content": content, "model": "mcpcheck", "stopReason": stop}
}

// toolUses are uses of the first tool, with ids that are unique in the conversation with the model.
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

// instance is an object that is valid by a schema.
func instance(t *check.T, schema any) (check.M, error) {
	compiled, err := schemas.Compile(schema, t.Revision)
	if err != nil {
		return nil, err
	}
	return schemas.ValidArguments(compiled, t.Seed)
}
