package sse

import (
	"fmt"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/text"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// runTwoClients lets two clients make requests under the same ids alternately, and describes what went wrong.
func runTwoClients(t *check.T, a, b *sseClient) (wrong string) {
	if b.Endpoint == nil {
		return fmt.Sprintf("a second client could not connect: %s; %s", b.StreamResponse, b.describeFirstEvent())
	}
	if g := b.initialize(t); !g.HasResponse {
		return fmt.Sprintf("no answer to initialize for the second client: %s", g.PostResponse)
	}
	b.sendInitialized()
	steps := []struct {
		client *sseClient
		who    string
		id     int
	}{{a, "first", pingID}, {b, "second", pingID}, {a, "first", lastID}}
	for _, step := range steps {
		posted := step.client.sendRequest("", nil, step.id, nil).AwaitEnd()
		switch {
		case posted.StatusCode != 0 && !posted.OK(): // it may be answered after the response on the stream
			return fmt.Sprintf("a request of the %s client refused: %s", step.who, posted)
		case !step.client.awaitResponse(step.id):
			method, _ := step.client.session.NoOp()
			return fmt.Sprintf("no answer to %s for the %s client", method, step.who)
		}
	}
	for _, id := range []int{initializeID, pingID} {
		n, m := a.countResponses(id), b.countResponses(id)
		renamed := id == initializeID && n+m == 0 // each client has its response to initialize, under another id
		if !renamed && (n != 1 || m != 1) {
			return fmt.Sprintf("%d answers for the first client and %d for the second, of one each", n, m)
		}
	}
	return ""
}

// countResponses is how many responses to a request came on the stream.
func (c *sseClient) countResponses(id int) (n int) {
	isAnswer := c.responseMatcher(id)
	for _, e := range c.Stream.Response().Events {
		if isAnswer(e.Data.Bytes()) {
			n++
		}
	}
	return n
}

// cancelOfOtherClient has one client make a call, and meanwhile another one send a request under the same id and cancel
// that. It describes what went wrong with the call, if nothing does where the first client is alone.
func cancelOfOtherClient(a, b *sseClient, call toolcall.ToolCall) (wrong string) {
	start := func(id int) {
		a.sendRequest("tools/call", call.Params(a.session), id, nil)
		a.session.Sleep(timing.HeadStart)
	}
	start(callID)
	b.sendRequest("", nil, callID, nil).AwaitEnd()
	isOtherAnswered := b.awaitResponse(callID)
	b.post(text.CompactJSON(check.M{"jsonrpc": "2.0", "method": "notifications/cancelled",
		"params": check.M{"requestId": callID}}), nil).AwaitEnd()
	if !a.awaitResult(callID) {
		wrong = "cancelled, since another client has cancelled a request under the same id"
	}
	if !isOtherAnswered {
		wrong = "in the way of another client, whose request under the same id was not answered"
	}
	if wrong == "" {
		return ""
	}
	if start(lonelyCallID); !a.awaitResult(lonelyCallID) {
		return ""
	}
	return "a call of " + call.Tool.Name + " " + wrong
}

// awaitResult reports whether a request is answered with a result.
func (c *sseClient) awaitResult(id int) bool {
	isAnswer := c.responseMatcher(id)
	e, came := c.Stream.AwaitEvent(func(e driver.StreamEvent) bool { return isAnswer(e.Data.Bytes()) })
	m, _ := driver.Decode(e.Data.Bytes()).(check.M)
	return came && check.HasMember(m, "result")
}
