package cancellation

import (
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// workChecks is the check of what a cancelled call was doing, which shows in a request that it has sent to mcpcheck.
var workChecks = check.Suite{
	"cancellation/work-stops": check.Probe(func(t *check.T) {
		check.RequireTime(t)
		if t.Server.Sessionless && !t.IsModern() {
			t.Skip(check.NotApplicable, "a server without sessions cannot tell whose request is cancelled")
		}
		u := toolcall.CallUpstream(t)
		defer u.Close()
		s, name := u.Call.Session, u.Call.Tool.Name
		requireWaiting(t, u)
		u.Cancel(u.Call.Pending, "mcpcheck does not want it any more")
		check.RequestNoOp(t, s)
		sent := u.Requests()
		if toolcall.AwaitEnds(sent, timing.WorkStops) {
			check.RequestNoOp(t, s) // it has not ended itself
			return
		}
		second, came := u.Repeat()
		isShared := !came || toolcall.AwaitEnds(sent, 0)
		u.Release()
		usual := check.RequireServerReply(t, s.AwaitLongRunning(second))
		if isShared {
			t.NoVerdict(check.Undecided, "several calls of %s may rest on one request", name)
		}
		requireNotIgnored(t, u.Call, usual)
		t.DecidedBy(s.AwaitFor(u.Call.Pending, 0)).Fail(
			"the end of the HTTP request that "+name+" has sent, once the call was cancelled",
			"the request was still open after %v", timing.WorkStops)
	}),
}

// requireWaiting ends the check unless the call waits for its request, the server answers meanwhile, and it is the
// server that holds the connection.
func requireWaiting(t *check.T, u *toolcall.Upstream) {
	s, name := u.Call.Session, u.Call.Tool.Name
	p := s.Request(s.NoOp())
	if !check.RequireServerReply(t, s.AwaitFor(p, max(timing.LongRequest, 2*t.Server.Latency))).Answered() {
		u.Release()
		check.RequireServerReply(t, s.AwaitLongRunning(p))
		t.NoVerdict(check.Undecided,
			"the server answers nothing while %s waits, so that it learns of no cancellation", name)
	}
	for _, r := range u.Requests() {
		if r.IsIndirect {
			t.NoVerdict(check.Undecided, "%s requests the URL by a proxy or a browser", name)
		}
	}
	if s.AwaitFor(u.Call.Pending, 0).Answered() {
		t.Skip(check.NotObserved, "%s does not wait for the response to its request", name)
	}
}

// requireNotIgnored ends the check if a call was answered as usual although it was cancelled, which a server may do
// where the call cannot be cancelled. Over HTTP without a handshake there is no response to see.
func requireNotIgnored(t *check.T, call toolcall.ToolCall, usual driver.Reply) {
	if t.IsModern() && t.Site() != nil {
		return
	}
	if r := call.Session.AwaitLongRunning(call.Pending); r.Answered() && protocol.SameKind(r, usual) {
		t.NoVerdict(check.Undecided,
			"%s was answered despite the cancellation, which a server may do where it cannot cancel", call.Tool.Name)
	}
}
