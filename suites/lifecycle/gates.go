package lifecycle

import (
	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

var gates = Suite{
	"lifecycle/ping-before-initialized": Fresh(func(t *T) {
		o := kit.Begin(t, kit.Opening{Early: true})
		if pingFails(o.EarlyPong, o.Pong) {
			t.Because(OtherCheck).Skip("ping fails after the handshake as well: ping/empty-result")
		}
		t.Expect(o.EarlyPong).To(BeResult())
	}),

	"lifecycle/ping-before-initialize": Fresh(func(t *T) {
		o := kit.Begin(t, kit.Opening{Pinged: true})
		t.Expect(o.Welcome).To(BeResult(), "initialize after an early ping")
		if pingFails(o.FirstPong, o.Pong) {
			t.Because(OtherCheck).Skip("ping fails after the handshake as well: ping/empty-result")
		}
		if f := o.FirstPong.Frame; f != nil && f.HTTP != nil && f.HTTP.Refuses() {
			t.Because(OtherCheck).Skip("over HTTP a request without a session id may be refused: " +
				"http/session-missing-400")
		}
		t.Warn(o.FirstPong).To(BeResult())
	}),

	"lifecycle/gates-before-initialize": Fresh(func(t *T) {
		skipSessionless(t)
		g := beforeInitialize(t)
		g.wantSurvivor(t)
		t.Expect(g.again).To(BeResult(), "initialize after the early requests")
		g.judge(t)
		t.Expect(g.lateList.Answered()).To(Hold("an answer to "+g.method+" after the handshake", "%s", Got(g.lateList)))
	}),

	"lifecycle/gates-before-initialized": Fresh(func(t *T) {
		skipSessionless(t)
		g := beforeInitialized(t)
		if !g.inTime {
			t.Because(OtherCheck).Skip("no answer before initialized: " +
				"lifecycle/request-before-initialized-notification")
		}
		g.judge(t)
	}),

	"lifecycle/request-before-initialized-notification": Fresh(func(t *T) {
		g := beforeInitialized(t)
		kit.WantRefuser(t, g.earlyList)
		g.wantSurvivor(t)
		t.Expect(g.earlyList).To(BeAnswered(), "%s before initialized", g.method)
		t.Expect(g.lateList).To(BeAnswered(), "%s after initialized", g.method)
		if _, served := kit.ListMethod(t); served {
			t.Expect(g.lateList).To(BeResult(), "%s after initialized", g.method)
		}
	}),
}

// pingFails reports whether ping is not served after the handshake either, where another request is harmless if it has
// no answer at all.
func pingFails(early, later driver.Reply) bool {
	return early.Result() == nil && (later.Method != "ping" || later.Result() == nil)
}

// gating is what came of ordinary requests at a time when only ping is allowed, and of the same requests after the
// handshake.
type gating struct {
	method              string // of the list that was asked for
	earlyList, lateList driver.Reply
	earlyCall, lateCall driver.Reply
	called              bool         // the calls were made
	inTime              bool         // the early requests were answered before the handshake went on
	again               driver.Reply // initialize after the early requests
}

// skipSessionless ends a check of what a server remembers of a client.
func skipSessionless(t *T) {
	if t.Server.Sessionless {
		t.Because(NotOffered).Skip("the server has no sessions: it cannot know what a client has done before")
	}
}

// judge wants refusals. A request that draws the same error after the handshake proves nothing, nor does a call that
// has no answer then either.
func (g gating) judge(t *T) {
	listProves := !sameError(g.earlyList, g.lateList)
	callProves := g.called && (g.earlyCall.Answered() || g.lateCall.Answered()) && !sameError(g.earlyCall, g.lateCall)
	if listProves {
		kit.WantRefuser(t, g.earlyList)
		t.Expect(g.earlyList).To(BeError(), "%s, too early", g.method)
	}
	if callProves {
		kit.WantRefuser(t, g.earlyCall)
		t.Expect(g.earlyCall).To(BeError(), "tools/call, too early")
	}
	if !listProves && !callProves {
		t.Inconclusive("the same requests are refused after the handshake as well")
	}
}

// wantSurvivor ends a check when the early call has ended the server, as it does at any time.
func (g gating) wantSurvivor(t *T) {
	if !g.called || !kit.IsFatal(g.earlyCall) {
		return
	}
	if _, unknown := kit.UnknownTool(t); kit.IsFatal(unknown) {
		t.Because(OtherCheck).Skip("a call of an unknown tool ends the server at any time: " +
			"tools/unknown-tool-not-success, jsonrpc/every-request-answered")
	}
}

func sameError(a, b driver.Reply) bool {
	return a.Error() != nil && b.Error() != nil && string(Compact(a.Error())) == string(Compact(b.Error()))
}

// sendEarly sends the requests too early. It returns the list request, whose answer may be late.
func (g *gating) sendEarly(t *T, s *driver.Session) (list driver.Pending) {
	list = g.sendList(t, s, &g.earlyList)
	g.sendCall(t, s, &g.earlyCall)
	return list
}

// sendLate sends the requests after the handshake.
func (g *gating) sendLate(t *T, s *driver.Session) {
	g.sendList(t, s, &g.lateList)
	g.control(t)
	g.sendCall(t, s, &g.lateCall)
}

func (g *gating) sendList(t *T, s *driver.Session, list *driver.Reply) driver.Pending {
	sent, wait := s.Request(g.method, nil), s.Await
	if s.Hello == nil {
		wait = s.AwaitFirst
	}
	*list = kit.AwaitAmiss(t, s, sent, func() driver.Reply { return wait(sent) })
	return sent
}

// sendCall sends a call of an unknown tool, if there are tools.
func (g *gating) sendCall(t *T, s *driver.Session, call *driver.Reply) {
	if g.called = t.MayCallUnknown() && t.Server.Declares("tools"); g.called {
		sent := s.Request("tools/call", M{"name": kit.UnknownName(t), "arguments": M{}})
		*call = kit.AwaitAmiss(t, s, sent, func() driver.Reply { return s.Await(sent) })
	}
}

// control ends a check whose late requests have no answer when they have none in an ordinary session either.
func (g gating) control(t *T) {
	if !g.lateList.Answered() {
		t.Ask(t.Own(), g.method, nil)
	}
}

func beforeInitialize(t *T) gating {
	return Shared(t, "before initialize", func(t *T) (g gating) {
		g.method = kit.WantListMethod(t)
		s := hostileStart(t)
		g.sendEarly(t, s)
		if g.again = s.Greet(driver.Hello(t.Revision)); g.again.Result() == nil {
			g.control(t)
			return g
		}
		s.Confirm()
		g.sendLate(t, s)
		return g
	})
}

func beforeInitialized(t *T) gating {
	return Shared(t, "before initialized", func(t *T) (g gating) {
		g.method = kit.WantListMethod(t)
		s := t.Start()
		welcome(t, s, driver.Hello(t.Revision))
		s.Hostile()
		early := g.sendEarly(t, s)
		g.inTime = g.earlyList.Answered() && (!g.called || g.earlyCall.Answered())
		s.Confirm()
		g.sendLate(t, s)
		if !g.earlyList.Answered() {
			wait := func() driver.Reply { return s.Await(early) } // it may have waited for initialized
			g.earlyList = kit.AwaitAmiss(t, s, early, wait)
		}
		return g
	})
}
