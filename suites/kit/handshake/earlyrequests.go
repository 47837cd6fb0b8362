package handshake

import (
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

// EarlyRequests are ordinary requests that were sent while only ping is allowed, and the same requests after the
// handshake: for a list and, if the server declares tools, a call of an unknown tool.
type EarlyRequests struct {
	// ListMethod is the method for the list; empty when the server declares none, and then nothing was sent.
	ListMethod string
	// EarlyList and LateList are the replies to the list requests.
	EarlyList, LateList driver.Reply
	// EarlyCall and LateCall are the replies to the calls.
	EarlyCall, LateCall driver.Reply
	// CallSent reports whether the calls were made. They are not made after the early list was left unanswered.
	CallSent bool
	// AnsweredInTime reports whether the early requests were answered before the handshake went on.
	AnsweredInTime bool

	// pendingList is the early request for the list.
	pendingList driver.Pending
}

// sendEarly sends the requests before they are allowed.
func (g *EarlyRequests) sendEarly(t *check.T, s *driver.Session) {
	if g.ListMethod, _ = protocol.ListMethod(t); g.ListMethod == "" {
		return
	}
	s.MarkInvalidInput()
	wait := s.Await
	if s.ConnectParams == nil && !startsFast(t, s) {
		wait = func(p driver.Pending) driver.Reply { return s.AwaitFirst(p) }
	}
	g.pendingList = s.Request(g.ListMethod, nil)
	g.EarlyList = invalid.AwaitInvalid(t, s, g.pendingList, func() driver.Reply { return wait(g.pendingList) })
	if !invalid.IsTimeout(g.EarlyList) {
		g.EarlyCall = g.callUnknownTool(t, s)
	}
	g.AnsweredInTime = g.EarlyList.Answered() && (!g.CallSent || g.EarlyCall.Answered())
}

// startsFast reports whether the first process started in a fraction of the timeout. Then later processes have no
// longer for their first response than for any other.
func startsFast(t *check.T, s *driver.Session) bool {
	took, known := firstAnswerTime(t)
	return known && 5*took < s.ReplyTimeout()
}

// firstAnswerTime is how long the first process took for its first response.
func firstAnswerTime(t *check.T) (took time.Duration, known bool) {
	first := t.Server.ConnectReply
	if !first.Answered() || first.Request == nil {
		return 0, false
	}
	return first.Frame.At - first.Request.SentAt(), true
}

// sendLate sends the requests of sendEarly again after the handshake; list is the reply to the list request, which was
// sent already. It also collects an early list that the server answers only now.
func (g *EarlyRequests) sendLate(t *check.T, s *driver.Session, list driver.Reply) {
	if g.ListMethod == "" {
		return
	}
	g.LateList = list
	if g.CallSent {
		g.LateCall = g.callUnknownTool(t, s)
	}
	if !g.EarlyList.Answered() {
		g.EarlyList = invalid.AwaitInvalid(t, s, g.pendingList, func() driver.Reply { return s.Await(g.pendingList) })
	}
}

// callUnknownTool calls an unknown tool if the server declares tools.
func (g *EarlyRequests) callUnknownTool(t *check.T, s *driver.Session) (r driver.Reply) {
	if g.CallSent = check.MayCallUnknown(t) && t.Server.Declares("tools"); g.CallSent {
		sent := s.Request("tools/call", check.M{"name": protocol.UnknownToolName(t), "arguments": check.M{}})
		r = invalid.AwaitInvalid(t, s, sent, func() driver.Reply { return s.Await(sent) })
	}
	return r
}
