package handshake

import (
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// EarlyRequests is what came of ordinary requests at a time when only ping is allowed, and of the same requests after
// the handshake: a list that the server declares and, of one with tools, a call of an unknown tool.
type EarlyRequests struct {
	ListMethod          string // of the list; empty: it declares none, and nothing was tried
	EarlyList, LateList driver.Reply
	EarlyCall, LateCall driver.Reply
	CallSent            bool // the calls were made: not where the early list was left unanswered, which says it all
	AnsweredInTime      bool // the early requests were answered before the handshake went on

	pendingList driver.Pending // the early one
}

// sendEarly sends the requests too early.
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

// startsFast reports whether the first process was there in a fraction of what one answer may take. Others are not
// waited for longer than for an answer then.
func startsFast(t *check.T, s *driver.Session) bool {
	took, known := firstAnswerTime(t)
	return known && 5*took < s.ReplyTimeout()
}

// firstAnswerTime is how long the first process took for its first answer.
func firstAnswerTime(t *check.T) (took time.Duration, known bool) {
	first := t.Server.ConnectReply
	if !first.Answered() || first.Request == nil {
		return 0, false
	}
	return first.Frame.At - first.Request.SentAt(), true
}

// sendLate sends them after the handshake, when the list was asked for already, if they were sent too early. The early
// list may have waited for that.
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

// call calls an unknown tool, if there are tools.
func (g *EarlyRequests) callUnknownTool(t *check.T, s *driver.Session) (r driver.Reply) {
	if g.CallSent = check.MayCallUnknown(t) && t.Server.Declares("tools"); g.CallSent {
		sent := s.Request("tools/call", check.M{"name": protocol.UnknownToolName(t), "arguments": check.M{}})
		r = invalid.AwaitInvalid(t, s, sent, func() driver.Reply { return s.Await(sent) })
	}
	return r
}

// RequireLateAnswer ends a check whose late list has no answer when it has none in an ordinary session either.
func (g *EarlyRequests) RequireLateAnswer(t *check.T) {
	if !g.LateList.Answered() {
		t.Request(t.ExclusiveSession(), g.ListMethod, nil)
	}
}

// SkipIfServerExits ends a check when the early call has ended the server, as it does at any time.
func (g *EarlyRequests) SkipIfServerExits(t *check.T) {
	if !g.CallSent || !protocol.IsServerExit(g.EarlyCall) {
		return
	}
	if _, unknown := invalid.CallUnknownTool(t); protocol.IsServerExit(unknown) {
		t.Yield("a call of an unknown tool ends the server at any time")
	}
}

// ExpectErrors wants refusals before a moment. A request that draws the same error after the handshake proves nothing,
// nor does a call that has no answer then either.
func (g *EarlyRequests) ExpectErrors(t *check.T, moment string) {
	listProves := !sameError(g.EarlyList, g.LateList)
	callProves := g.CallSent && (g.EarlyCall.Answered() || g.LateCall.Answered()) && !sameError(g.EarlyCall, g.LateCall)
	if listProves {
		invalid.SkipUnlessServerRejects(t, g.EarlyList)
		t.Expect(g.EarlyList).To(check.BeError(), "%s before %s", g.ListMethod, moment)
	}
	if callProves {
		invalid.SkipUnlessServerRejects(t, g.EarlyCall)
		t.Expect(g.EarlyCall).To(check.BeError(), "tools/call before %s", moment)
	}
	if !listProves && !callProves {
		t.Inconclusive("the same requests are refused after the handshake as well")
	}
}

func sameError(a, b driver.Reply) bool {
	return a.Error() != nil && b.Error() != nil &&
		string(text.CompactJSON(a.Error())) == string(text.CompactJSON(b.Error()))
}
