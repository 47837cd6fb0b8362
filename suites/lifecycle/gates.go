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
			t.Yield("ping fails after the handshake as well")
		}
		t.Expect(o.EarlyPong).To(BeResult())
	}),

	"lifecycle/ping-before-initialize": Fresh(func(t *T) {
		o := kit.Begin(t, kit.Opening{Pinged: true})
		t.Expect(o.Welcome).To(BeResult(), "initialize after an early ping")
		if pingFails(o.FirstPong, o.Pong) {
			t.Yield("ping fails after the handshake as well")
		}
		if f := o.FirstPong.Frame; f != nil && f.HTTP != nil && f.HTTP.Refuses() {
			t.Skip("over HTTP a request without a session id may be refused")
		}
		t.Warn(o.FirstPong).To(BeResult())
	}),

	"lifecycle/gates-before-initialize": Fresh(func(t *T) {
		skipSessionless(t)
		kit.WantListMethod(t)
		o := kit.Begin(t, kit.Opening{Ungreeted: true})
		o.BeforeGreeting.WantSurvivor(t)
		o.BeforeGreeting.WantLate(t)
		t.Expect(o.Welcome).To(BeResult(), "initialize after the early requests")
		o.BeforeGreeting.Expect(t, "initialize")
		t.Expect(o.List.Answered()).To(Hold("an answer to "+o.List.Method+" after the handshake", "%s", o.List))
	}),

	"lifecycle/gates-before-initialized": Fresh(func(t *T) {
		skipSessionless(t)
		g := unready(t)
		switch {
		case !g.InTime && g.EarlyList.Answered() && (!g.Called || g.EarlyCall.Answered()):
			t.Because(NotObserved).Skip("no answer came before initialized")
		case !g.InTime:
			t.Yield("no answer before initialized")
		}
		g.Expect(t, "notifications/initialized")
	}),

	"lifecycle/request-before-initialized-notification": Fresh(func(t *T) {
		g := unready(t)
		kit.WantRefuser(t, g.EarlyList)
		g.WantSurvivor(t)
		t.Expect(g.EarlyList).To(BeAnswered(), "%s before initialized", g.Method)
		t.Expect(g.LateList).To(BeAnswered(), "%s after initialized", g.Method)
		if _, served := kit.ListMethod(t); served {
			t.Expect(g.LateList).To(BeResult(), "%s after initialized", g.Method)
		}
	}),
}

// unready is what came of requests between initialize and initialized.
func unready(t *T) kit.Gating {
	kit.WantListMethod(t)
	o := kit.Begin(t, kit.Opening{Unready: true})
	o.WantWelcome(t)
	o.BeforeReady.WantLate(t)
	return o.BeforeReady
}

// pingFails reports whether ping is not served after the handshake either, where another request is harmless if it has
// no answer at all.
func pingFails(early, later driver.Reply) bool {
	return early.Result() == nil && (later.Method != "ping" || later.Result() == nil)
}

// skipSessionless ends a check of what a server remembers of a client.
func skipSessionless(t *T) {
	if t.Server.Sessionless {
		t.Because(NotOffered).Skip("the server has no sessions: it cannot know what a client has done before")
	}
}
