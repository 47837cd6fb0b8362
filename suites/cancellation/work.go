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
	"cancellation/work-stops": check.SerialProbe(func(t *check.T) {
		check.RequireTime(t)
		if t.Server.Sessionless && !t.IsModern() {
			t.Skip(check.NotApplicable, "a server without sessions cannot tell whose request is cancelled")
		}
		u := toolcall.NewUpstream(t)
		defer u.Close()
		s := t.Session(check.Exclusive)
		call, request := u.Call(t, s)
		s.Cancel(call.Pending, "mcpcheck does not want it any more")
		check.RequestNoOp(t, s)
		stopped := request.AwaitEnd(timing.WorkStops)
		second, own := u.Repeat(s, call)
		shared := own == nil || request.AwaitEnd(0)
		u.Release()
		usual := check.RequireServerReply(t, s.AwaitLongRunning(second))
		switch {
		case stopped:
			return
		case shared:
			t.NoVerdict(check.Undecided, "several calls of %s may rest on one request", call.Tool.Name)
		}
		requireNotIgnored(t, s, call, usual)
		t.DecidedBy(s.AwaitFor(call.Pending, 0)).Fail(
			"the end of the HTTP request that "+call.Tool.Name+" has sent, once the call was cancelled",
			"the request was still open after %v", timing.WorkStops)
	}),
}

// requireNotIgnored ends the check if a call was answered as usual although it was cancelled, which a server may do
// where the call cannot be cancelled. Over HTTP without a handshake there is no response to see.
func requireNotIgnored(t *check.T, s *driver.Session, call toolcall.ToolCall, usual driver.Reply) {
	if t.IsModern() && t.Site() != nil {
		return
	}
	if r := s.AwaitLongRunning(call.Pending); r.Answered() && protocol.SameKind(r, usual) {
		t.NoVerdict(check.Undecided,
			"%s was answered despite the cancellation, which a server may do where it cannot cancel", call.Tool.Name)
	}
}
