package kit

import (
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

// Gating is what came of ordinary requests at a time when only ping is allowed, and of the same requests after the
// handshake: a list that the server declares and, of one with tools, a call of an unknown tool.
type Gating struct {
	Method              string // of the list; empty: it declares none, and nothing was tried
	EarlyList, LateList driver.Reply
	EarlyCall, LateCall driver.Reply
	Called              bool // the calls were made: not where the early list was left unanswered, which says it all
	InTime              bool // the early requests were answered before the handshake went on

	list driver.Pending // the early one
}

// sendEarly sends the requests too early.
func (g *Gating) sendEarly(t *T, s *driver.Session) {
	if g.Method, _ = ListMethod(t); g.Method == "" {
		return
	}
	s.Hostile()
	wait := s.Await
	if s.Hello == nil && !startsAtOnce(t, s) {
		wait = func(p driver.Pending) driver.Reply { return s.AwaitFirst(p) }
	}
	g.list = s.Request(g.Method, nil)
	g.EarlyList = AwaitAmiss(t, s, g.list, func() driver.Reply { return wait(g.list) })
	if !IsSilence(g.EarlyList) {
		g.EarlyCall = g.call(t, s)
	}
	g.InTime = g.EarlyList.Answered() && (!g.Called || g.EarlyCall.Answered())
}

// startsAtOnce reports whether the first process was there in a fraction of what one answer may take. Others are not
// waited for longer than for an answer then.
func startsAtOnce(t *T, s *driver.Session) bool {
	took, known := firstTook(t)
	return known && 5*took < s.Patience()
}

// firstTook is how long the first process took for its first answer.
func firstTook(t *T) (took time.Duration, known bool) {
	first := t.Server.First
	if !first.Answered() || first.Request == nil {
		return 0, false
	}
	return first.Frame.At - first.Request.SentAt(), true
}

// sendLate sends them after the handshake, when the list was asked for already, if they were sent too early. The early
// list may have waited for that.
func (g *Gating) sendLate(t *T, s *driver.Session, list driver.Reply) {
	if g.Method == "" {
		return
	}
	g.LateList = list
	if g.Called {
		g.LateCall = g.call(t, s)
	}
	if !g.EarlyList.Answered() {
		g.EarlyList = AwaitAmiss(t, s, g.list, func() driver.Reply { return s.Await(g.list) })
	}
}

// call calls an unknown tool, if there are tools.
func (g *Gating) call(t *T, s *driver.Session) (r driver.Reply) {
	if g.Called = MayCallUnknown(t) && t.Server.Declares("tools"); g.Called {
		sent := s.Request("tools/call", M{"name": UnknownName(t), "arguments": M{}})
		r = AwaitAmiss(t, s, sent, func() driver.Reply { return s.Await(sent) })
	}
	return r
}

// WantLate ends a check whose late list has no answer when it has none in an ordinary session either.
func (g *Gating) WantLate(t *T) {
	if !g.LateList.Answered() {
		t.Ask(t.Own(), g.Method, nil)
	}
}

// WantSurvivor ends a check when the early call has ended the server, as it does at any time.
func (g *Gating) WantSurvivor(t *T) {
	if !g.Called || !IsFatal(g.EarlyCall) {
		return
	}
	if _, unknown := UnknownTool(t); IsFatal(unknown) {
		t.Yield("a call of an unknown tool ends the server at any time")
	}
}

// Expect wants refusals before a moment. A request that draws the same error after the handshake proves nothing, nor
// does a call that has no answer then either.
func (g *Gating) Expect(t *T, moment string) {
	listProves := !sameError(g.EarlyList, g.LateList)
	callProves := g.Called && (g.EarlyCall.Answered() || g.LateCall.Answered()) && !sameError(g.EarlyCall, g.LateCall)
	if listProves {
		WantRefuser(t, g.EarlyList)
		t.Expect(g.EarlyList).To(BeError(), "%s before %s", g.Method, moment)
	}
	if callProves {
		WantRefuser(t, g.EarlyCall)
		t.Expect(g.EarlyCall).To(BeError(), "tools/call before %s", moment)
	}
	if !listProves && !callProves {
		t.Inconclusive("the same requests are refused after the handshake as well")
	}
}

func sameError(a, b driver.Reply) bool {
	return a.Error() != nil && b.Error() != nil && string(Compact(a.Error())) == string(Compact(b.Error()))
}
