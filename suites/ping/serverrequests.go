package ping

import (
	"sync/atomic"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/client"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
)

// askingCalls are calls during which the server requested something of the client, one for each method of requests.
// There are none where ping is not served at all.
func askingCalls(t *check.T) (calls []*client.InteractiveCall) {
	if plainPing(t).Result() == nil || t.IsQuick() || check.SavesRequests(t) {
		return nil
	}
	asked := map[string]bool{}
	for _, i := range client.CallInteractively(t).List {
		if method := i.ServerRequests[0].Method; !asked[method] && i.Reply.Answered() {
			asked[method] = true
			calls = append(calls, i)
		}
	}
	return calls
}

// expectPingBeforeResponse repeats a call as a client that sends a ping before it responds to the server's request.
func expectPingBeforeResponse(t *check.T, i *client.InteractiveCall) {
	check.NeedsConfirmation(t)
	c := client.ReusedClient(t, i.ClientCapabilities, client.AcceptAll(t))
	accept, patience := client.AcceptAll(t), max(2*time.Second, 2*t.Server.Latency)
	method := i.ServerRequests[0].Method
	var isAsked atomic.Bool
	pongs := make(chan driver.Reply, 1)
	c.CallTool(t, i.Tool, i.Arguments, func(q client.ServerRequest) client.ClientResponse {
		if q.Method != method || isAsked.Swap(true) { // the server may request something else of its own accord
			return accept(q)
		}
		go func() { // which may not wait itself, since it receives the server's messages
			pong := c.Session.AwaitFor(c.Session.Request(c.Session.NoOp()), patience)
			accept(q).Send(q)
			pongs <- pong
		}()
		return client.ClientResponse{}
	})
	if !isAsked.Load() {
		t.NoVerdict(check.NotObserved, "it has not asked again")
	}
	pong := <-pongs
	if !pong.Answered() {
		roundtrip.RequireNotCrowded(t)
	}
	if !pong.IsBusy() {
		t.Expect(pong).To(check.BeResult(), "ping before the response to %s", method)
	}
}
