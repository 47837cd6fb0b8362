package lifecycle

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/client"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/text"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// timeoutChecks are the checks of requests of the server that the client leaves unanswered.
var timeoutChecks = check.Suite{
	"lifecycle/request-timeouts": check.ProcessProbe(func(t *check.T) {
		timeout := check.DeclarationsOf(t).ServerRequestTimeout
		requireDeclared(t, "server-request-timeout", timeout)
		x := leaveUnanswered(t, "server-request-timeout", timeout)
		x.expectCancelled(t, x.requests, func() {})
	}),

	"lifecycle/maximum-timeout": check.ProcessProbe(func(t *check.T) {
		maximum := check.DeclarationsOf(t).ServerRequestMax
		requireDeclared(t, "server-request-max", maximum)
		x := leaveUnanswered(t, "server-request-max", maximum)
		withProgress := slices.DeleteFunc(slices.Clone(x.requests),
			func(q client.ServerRequest) bool { return progressToken(q) == nil })
		if len(withProgress) == 0 {
			t.Skip(check.NotObserved, "no request of the server has a progress token")
		}
		var progress int
		x.expectCancelled(t, withProgress, func() {
			progress++
			for _, q := range withProgress {
				if !x.isCancelled(q) {
					x.session.Notify("notifications/progress",
						check.M{"progressToken": progressToken(q), "progress": progress})
				}
			}
		})
	}),
}

// requireDeclared ends the check where the operator has not declared a time, or the server is too slow to tell when its
// time has passed.
func requireDeclared(t *check.T, key string, d time.Duration) {
	if d == 0 {
		t.Skip(check.NotGiven, "how long the server waits for responses is not declared (%s in mcpcheck.yaml)", key)
	}
	if t.Server.IsSlow() {
		t.NoVerdict(check.Undecided, "the server takes %v for each message, so that no time is exact",
			t.Server.Latency.Round(time.Millisecond))
	}
}

// unansweredRequests are requests of the server that the client leaves unanswered.
type unansweredRequests struct {
	session  *driver.Session
	requests []client.ServerRequest
	// key declares within, in which the server cancels each of them.
	key    string
	within time.Duration
}

// leaveUnanswered has all tools that ask request something of a client that does not answer, all at once.
func leaveUnanswered(t *check.T, key string, within time.Duration) unansweredRequests {
	calls := callsToAsk(client.CallInteractively(t))
	if len(calls) == 0 {
		toolcall.SkipNotObserved(t, "tool that asks for something was called", client.CallInteractively(t).Uncalled,
			toolcall.AnyTool)
	}
	r := &silentResponder{answer: client.AcceptAll(t), allCame: make(chan struct{})}
	s := client.NewClient(t, protocol.AllCapabilities(t.Revision), r.respond).Session
	check.RequireTimeFor(t, s, key, within+timing.RequestTimeout)
	s.MarkUnusable()
	check.RequestNoOp(t, s) // what the server does after the handshake is done once this is answered
	r.fallSilent(calls)
	for _, call := range calls {
		s.Request("tools/call", check.M{"name": call.Tool.Name, "arguments": call.Arguments})
	}
	select {
	case <-r.allCame:
	case <-time.After(s.ReplyTimeout()):
	}
	if !s.IsAlive() {
		t.Retry(check.Undecided, "the session was over before the time")
	}
	left, missing := r.answerAgain() // what the server asks for from now on is answered
	x := unansweredRequests{session: s, key: key, within: within}
	x.requests = slices.DeleteFunc(client.ServerRequestsIn(s, s.FramesSince(0)), func(q client.ServerRequest) bool {
		return !slices.Contains(left, q.Frame)
	})
	if len(x.requests) == 0 {
		t.Retry(check.Undecided, "%s and the other tools that asked before ask for nothing now", calls[0].Tool.Name)
	}
	if n := len(x.requests); n == len(calls)+toolcall.MaxInputRounds {
		t.NoVerdict(check.Limit, "%d calls asked at least %d times, and mcpcheck awaits the end of fewer", len(calls),
			n)
	}
	if missing > 0 {
		t.Caveat("%d of %d calls that asked before had not asked after %v", missing, len(calls), s.ReplyTimeout())
	}
	return x
}

// silentResponder answers the requests of a server. While it is silent, it leaves those of the awaited methods
// unanswered, up to MaxInputRounds more than there are calls.
type silentResponder struct {
	answer  client.Responder
	allCame chan struct{} // closed when of each awaited method as many requests were left unanswered as are awaited

	mu      sync.Mutex
	awaited map[string]int // how many requests of each method are still to come; nil while it answers all
	missing int            // their sum
	most    int
	left    []*driver.Frame
}

func (r *silentResponder) respond(q client.ServerRequest) client.ClientResponse {
	r.mu.Lock()
	defer r.mu.Unlock()
	awaited, isAwaited := r.awaited[q.Method]
	if !isAwaited || len(r.left) == r.most {
		return r.answer(q)
	}
	r.left = append(r.left, q.Frame)
	if awaited > 0 {
		r.awaited[q.Method]--
		if r.missing--; r.missing == 0 {
			close(r.allCame)
		}
	}
	return client.ClientResponse{}
}

// fallSilent begins the silence about the methods with which calls begin.
func (r *silentResponder) fallSilent(calls []*client.InteractiveCall) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.awaited, r.missing, r.most = map[string]int{}, len(calls), len(calls)+toolcall.MaxInputRounds
	for _, call := range calls {
		r.awaited[call.ServerRequests[0].Method]++
	}
}

// answerAgain ends the silence. It returns what was left unanswered, and how many awaited requests have not come.
func (r *silentResponder) answerAgain() (left []*driver.Frame, missing int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.awaited = nil
	return r.left, r.missing
}

// callsToAsk returns the first call of each tool that begins with a request for something that a client has.
func callsToAsk(a client.InteractiveCalls) (calls []*client.InteractiveCall) {
	seen := map[string]bool{}
	for _, i := range a.List {
		if client.CapabilityOfRequest[i.ServerRequests[0].Method] != "" && !seen[i.Tool.Name] {
			seen[i.Tool.Name] = true
			calls = append(calls, i)
		}
	}
	return calls
}

// expectCancelled requires the server to cancel each request in time. Meanwhile, it calls a function now and then.
func (x unansweredRequests) expectCancelled(t *check.T, requests []client.ServerRequest, meanwhile func()) {
	mark := x.session.Mark()
	check.Each(t, requests, client.ServerRequest.Subject, func(t *check.T, q client.ServerRequest) {
		until := x.session.TimeOf(q.Frame).Add(x.within + timing.RequestTimeout)
		for !x.isCancelled(q) && time.Now().Before(until) {
			x.awaitCancellation(t, q, min(timing.RequestProgress, x.within/4, time.Until(until)))
			meanwhile()
		}
		if !x.isCancelled(q) && x.hasLostStream(q) {
			t.NoVerdict(check.Undecided, "its stream ended before, and the cancellation may be lost with it")
		}
		t.DecidedBy(q.Frame).Expect(x.isCancelled(q)).To(check.BeTrue(fmt.Sprintf(
			"notifications/cancelled for it within %v (%s) and %v", x.within, x.key, timing.RequestTimeout), "none"))
	})
	x.session.Barrier(mark) // the session ends with the check, and not before what was sent meanwhile has arrived
}

// hasLostStream reports whether the stream of a request has ended before its time had passed.
func (x unansweredRequests) hasLostStream(q client.ServerRequest) bool {
	if q.Frame.RoundTrip == nil {
		return false
	}
	a := q.Frame.RoundTrip.Response()
	return a.Ended && a.EndedAt < q.Frame.At+x.within
}

// awaitCancellation waits for d until a request is cancelled. It ends the check if the session ends.
func (x unansweredRequests) awaitCancellation(t *check.T, q client.ServerRequest, d time.Duration) {
	end := time.Now().Add(d)
	_, err := x.session.Wait(0, d, func(f *driver.Frame) bool { return isCancellation(f, q) })
	if err != nil && time.Now().Before(end) {
		t.Retry(check.Undecided, "the session was over before the time: %v", check.Explain(err))
	}
}

// isCancelled reports whether the server has cancelled a request.
func (x unansweredRequests) isCancelled(q client.ServerRequest) bool {
	return slices.ContainsFunc(x.session.ReceivedSince(0),
		func(f *driver.Frame) bool { return isCancellation(f, q) })
}

// isCancellation reports whether a frame of the server has a cancellation of its request.
func isCancellation(f *driver.Frame, q client.ServerRequest) bool {
	return f.Side == driver.FromServer && slices.ContainsFunc(f.Messages(), func(m *driver.Frame) bool {
		params, _ := m.JSON()["params"].(check.M)
		return m.Method == "notifications/cancelled" &&
			driver.SameID(text.CompactJSON(params["requestId"]), q.Frame.ID)
	})
}

// progressToken returns the progress token of a request; nil if it has none.
func progressToken(q client.ServerRequest) any { return protocol.MetaOf(q.Params)["progressToken"] }
