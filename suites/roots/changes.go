package roots

import (
	"slices"
	"sync"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/client"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// changeChecks are the checks of roots that change or are not available.
var changeChecks = check.Suite{
	"roots/error-tolerated": check.ProcessProbe(func(t *check.T) {
		l := tryWithoutRoots(t)
		if !t.IsModern() && !l.haveHung() { // where input that is not given keeps nothing waiting
			l.results = append(l.results, l.resultWithoutResponse(t))
		}
		check.Each(t, l.results, clientResult.subject,
			func(t *check.T, x clientResult) {
				if !x.wasAsked {
					toolcall.SkipNotObserved(t, "request for roots came", client.CallInteractively(t).Uncalled,
						toolcall.AnyTool)
				}
				if x.call != nil {
					t.Expect(x.call.Reply).To(check.BeAnswered(), "tools/call of %s with "+x.name, x.call.Tool.Name)
				}
				t.Expect(x.pingReply).To(check.BeAnswered(), "after "+x.name)
				if method, served := protocol.ListMethod(t); served {
					t.Expect(x.listReply).To(check.BeResult(), "%s after "+x.name, method)
				}
			})
	}),

	"roots/list-changed-tolerated": check.ProcessProbe(func(t *check.T) {
		c := reuseRootsClient(t, newRootsResponse("file:///mcpcheck/one"))
		s := c.Session
		asked := asksOnConnect(connectRefusingRoots(t))
		if r := check.TryNoOp(t, s); !r.Answered() { // the server may exit when nothing was received for a while
			t.Retry(check.Undecided, "the session did not last until the roots changed: %v", check.Explain(r.Err))
		}
		c.setResponse(newRootsResponse("file:///mcpcheck/two"))
		mark := s.Mark()
		sent := s.Notify(listChangedMethod, nil)
		_, err := s.Barrier(mark)
		invalid.ExpectAlive(t, err)
		invalid.ExpectIgnored(t, s, mark, "jsonrpc/unknown-notification-ignored")
		t.Expect(check.TryNoOp(t, s)).To(check.BeAnswered(), "after "+listChangedMethod)
		if asked {
			_, err = s.Wait(mark, timing.LateWindow, isRootsRequest)
			t.DecidedBy(sent).ExpectAdvice(err == nil).To(check.BeTrue("a request for the roots that have changed",
				"none"))
		}
	}),
}

// withoutRootsResults holds the results for clients whose roots are not available.
type withoutRootsResults struct {
	results []clientResult
	// asksOnConnect reports that the server requests the roots on its own after the handshake.
	asksOnConnect bool
}

// clientResult is what a client received after its response to roots/list.
type clientResult struct {
	rootsResponse
	// wasAsked reports that the server requested roots.
	wasAsked bool
	// call is the call of the tool that requested the roots; nil if the server did so on its own.
	call *client.InteractiveCall
	// pingReply and listReply are the replies to later requests.
	pingReply, listReply driver.Reply
}

// hasHung reports whether nothing was answered after the response.
func (x clientResult) hasHung() bool { return x.wasAsked && invalid.IsTimeout(x.pingReply) }

// rootsResponse is a response of a client that has no roots to return.
type rootsResponse struct {
	// name describes the response in results.
	name     string
	response client.ClientResponse
}

func (m rootsResponse) subject() check.Subject { return check.NamedSubject(m.name) }

var (
	errorResponse = rootsResponse{"error -32601 for roots/list",
		client.NewErrorResponse(errcode.MethodNotFound, "Method not found")}
	noRootsResponses = []rootsResponse{
		{"error -32603 for roots/list", client.NewErrorResponse(errcode.InternalError, "The roots are not to be had")},
		{"an empty list of roots", newRootsResponse()},
	}
	noResponse = rootsResponse{"no answer to roots/list", client.ClientResponse{}}
)

// tryWithoutRoots responds to roots/list with errors and with an empty list. If the server does not request roots on
// its own, a tool may; in modern revisions only a tool does, and there are no errors to respond with.
func tryWithoutRoots(t *check.T) (l withoutRootsResults) {
	if t.IsModern() {
		emptyList := noRootsResponses[1:]
		if tool := rootsRequestingCall(t); tool != nil {
			l.results = resultsOfCalls(t, tool, emptyList)
		} else {
			l.results = []clientResult{{rootsResponse: emptyList[0]}}
		}
		return l
	}
	o := connectRefusingRoots(t)
	if l.asksOnConnect = asksOnConnect(o); l.asksOnConnect {
		first := clientResult{rootsResponse: errorResponse, wasAsked: true, pingReply: o.LastNoOpReply,
			listReply: o.ListReply}
		if l.results = []clientResult{first}; !l.haveHung() {
			l.results = append(l.results, resultsWithoutRoots(t)...)
		}
	} else if tool := rootsRequestingCall(t); tool != nil {
		l.results = resultsOfCalls(t, tool, noRootsResponses)
	}
	return l
}

// haveHung reports whether the server answered nothing after the last response, so that no other is tried.
func (l withoutRootsResults) haveHung() bool {
	return len(l.results) > 0 && l.results[len(l.results)-1].hasHung()
}

// connectRefusingRoots opens a session that declares roots and responds to roots/list with an error.
func connectRefusingRoots(t *check.T) handshake.ScenarioResult {
	o := handshake.RunScenario(t, handshake.Scenario{RefuseRequests: true})
	o.RequireConnected(t)
	return o
}

// asksOnConnect reports whether the server requested roots on its own.
func asksOnConnect(o handshake.ScenarioResult) bool {
	return slices.ContainsFunc(o.ServerRequests, isRootsRequest)
}

// resultsWithoutRoots returns the results of one client whose responses change. If one fails, it is repeated by a
// client that had no roots from the start, since the change may have been the cause.
func resultsWithoutRoots(t *check.T) []clientResult {
	return check.Step(t, "client without roots", func(t *check.T) (all []clientResult) {
		c := reuseRootsClient(t, noRootsResponses[0].response)
		for i, m := range noRootsResponses {
			x := clientResult{rootsResponse: m, wasAsked: true}
			if i == 0 || c.changeResponse(m.response) {
				x = c.requestAfter(t, x)
			}
			if !x.pingReply.Answered() || x.listReply.Error() != nil {
				c = newRootsClient(t, m.response)
				x = c.requestAfter(t, x)
			}
			if all = append(all, x); x.hasHung() {
				break
			}
		}
		return all
	})
}

// resultsOfCalls returns the results of clients that a tool asks for roots, with each of these responses.
func resultsOfCalls(t *check.T, tool *client.InteractiveCall, responses []rootsResponse) []clientResult {
	return check.Step(t, "client without roots that a tool asks", func(t *check.T) (all []clientResult) {
		c := reuseRootsClient(t, responses[0].response)
		for _, m := range responses {
			c.setResponse(m.response)
			call := c.CallTool(t, tool.Tool, tool.Arguments, c.responder(t))
			all = append(all, c.requestAfter(t, clientResult{rootsResponse: m, wasAsked: true, call: call}))
		}
		return all
	})
}

// resultWithoutResponse returns the result of a client that never responds, which no client may do, with a server that
// requests roots on its own.
func (l withoutRootsResults) resultWithoutResponse(t *check.T) clientResult {
	if !l.asksOnConnect {
		return clientResult{rootsResponse: noResponse}
	}
	o := handshake.RunScenario(t, handshake.Scenario{IgnoreRequests: true})
	o.RequireConnected(t)
	if !asksOnConnect(o) {
		t.Retry(check.Undecided, "the server did not ask for roots this time, before the session was left")
	}
	return clientResult{rootsResponse: noResponse, wasAsked: true, pingReply: o.LastNoOpReply, listReply: o.ListReply}
}

// requestAfter sends requests after the response of the client was sent, and adds their replies to the result.
func (c *rootsClient) requestAfter(t *check.T, x clientResult) clientResult {
	for _, f := range slices.Backward(c.Session.FramesSince(0)) {
		if isRootsRequest(f) {
			c.Session.Wait(0, timing.LateWindow, func(sent *driver.Frame) bool {
				return sent.Side == driver.FromClient && sent.IsResponse() && driver.SameID(sent.ID, f.ID)
			})
			break
		}
	}
	c.Session.Barrier(0) // over HTTP, the next request may overtake the response
	x.pingReply = check.TryNoOp(t, c.Session)
	if method, served := protocol.ListMethod(t); served && x.pingReply.Answered() {
		x.listReply = t.Send(c.Session, method, nil, check.AllowSilence)
	}
	return x
}

// newRootsResponse returns a response with roots.
func newRootsResponse(uris ...string) client.ClientResponse {
	roots := []any{}
	for _, uri := range uris {
		roots = append(roots, check.M{"uri": uri, "name": "mcpcheck"})
	}
	return client.ClientResponse{Result: check.M{"roots": roots}}
}

// rootsClient is a client with roots that may change.
type rootsClient struct {
	*client.Client

	// mu guards response, which the session reads when it answers roots/list.
	mu       sync.Mutex
	response client.ClientResponse
}

// newRootsClient returns a client that responds to roots/list with answer. The server has had time to request the
// roots.
func newRootsClient(t *check.T, answer client.ClientResponse) *rootsClient {
	c := &rootsClient{response: answer}
	c.Client = client.NewClient(t, protocol.AllCapabilities(t.Revision), c.responder(t))
	handshake.AwaitServerRequests(t, c.Session)
	return c
}

// reuseRootsClient returns a rootsClient on a reused session, if possible. A server that requests roots on its own is
// notified that they have changed.
func reuseRootsClient(t *check.T, answer client.ClientResponse) *rootsClient {
	asks := !t.IsModern() && asksOnConnect(connectRefusingRoots(t))
	c := &rootsClient{response: answer}
	c.Client = client.ReusedClient(t, protocol.AllCapabilities(t.Revision), c.responder(t))
	switch {
	case t.IsModern():
	case c.Session.UseCount == 0:
		handshake.AwaitServerRequests(t, c.Session)
	case asks && !c.changeResponse(answer):
		return newRootsClient(t, answer)
	}
	return c
}

// changeResponse replaces the response and notifies the server of the change. It reports whether the server requests
// the roots again.
func (c *rootsClient) changeResponse(answer client.ClientResponse) bool {
	c.setResponse(answer)
	mark := c.Session.Mark()
	c.Session.Notify(listChangedMethod, nil)
	_, err := c.Session.Wait(mark, timing.LateWindow, isRootsRequest)
	return err == nil
}

// responder responds to roots/list with the response of the client, and accepts everything else.
func (c *rootsClient) responder(t *check.T) client.Responder {
	others := client.AcceptAll(t)
	return func(q client.ServerRequest) client.ClientResponse {
		if q.Method != listMethod {
			return others(q)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.response
	}
}

// setResponse replaces the response of the client.
func (c *rootsClient) setResponse(answer client.ClientResponse) {
	c.mu.Lock()
	c.response = answer
	c.mu.Unlock()
}

// wasAsked reports whether the server has requested roots.
func (c *rootsClient) wasAsked() bool {
	return slices.ContainsFunc(c.Session.ReceivedSince(0), isRootsRequest)
}

// rootsRequestingCall returns a call of a tool that requests roots; nil if there is none.
func rootsRequestingCall(t *check.T) *client.InteractiveCall {
	all := client.CallInteractively(t).List
	if i := slices.IndexFunc(all, func(i *client.InteractiveCall) bool { return i.AsksFor(listMethod) }); i >= 0 {
		return all[i]
	}
	return nil
}
