package lifecycle

import (
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

// earlyRequestChecks are the checks of requests before and during the handshake.
var earlyRequestChecks = check.Suite{
	"lifecycle/ping-before-initialized": check.ProcessProbe(func(t *check.T) {
		o := handshake.RunScenario(t, handshake.Scenario{PingBeforeInitialized: true})
		if pingFails(o.EarlyPingReply, o.NoOpReply) {
			t.Yield("ping fails after the handshake as well")
		}
		t.Expect(o.EarlyPingReply).To(check.BeResult())
	}),

	"lifecycle/ping-before-initialize": check.ProcessProbe(func(t *check.T) {
		o := handshake.RunScenario(t, handshake.Scenario{PingFirst: true})
		t.Expect(o.ConnectReply).To(check.BeResult(), "initialize after an early ping")
		if pingFails(o.FirstPingReply, o.NoOpReply) {
			t.Yield("ping fails after the handshake as well")
		}
		if f := o.FirstPingReply.Frame; f != nil && f.RoundTrip != nil && f.RoundTrip.IsRejected() {
			t.Skip(check.NotApplicable, "over HTTP a request without a session id may be refused")
		}
		t.ExpectShould(o.FirstPingReply).To(check.BeResult())
	}),

	"lifecycle/gates-before-initialize": check.ProcessProbe(func(t *check.T) {
		skipIfSessionless(t)
		protocol.RequireListMethod(t)
		o := handshake.RunScenario(t, handshake.Scenario{ListFirst: true})
		o.BeforeInitialize.SkipIfServerExits(t)
		o.BeforeInitialize.RequireLateAnswer(t)
		t.Expect(o.ConnectReply).To(check.BeResult(), "initialize after the early requests")
		o.BeforeInitialize.ExpectErrors(t, "initialize")
		t.Expect(o.ListReply.Answered()).To(check.BeTrue("an answer to "+o.ListReply.Method+" after the handshake",
			"%s",
			o.ListReply))
	}),

	"lifecycle/gates-before-initialized": check.ProcessProbe(func(t *check.T) {
		skipIfSessionless(t)
		g := requestsBeforeInitialized(t)
		switch {
		case !g.AnsweredInTime && g.EarlyList.Answered() && (!g.CallSent || g.EarlyCall.Answered()):
			t.Skip(check.NotObserved, "no answer came before initialized")
		case !g.AnsweredInTime:
			t.Yield("no answer before initialized")
		}
		g.ExpectErrors(t, "notifications/initialized")
	}),

	"lifecycle/request-before-initialized-notification": check.ProcessProbe(func(t *check.T) {
		g := requestsBeforeInitialized(t)
		invalid.SkipUnlessServerRejects(t, g.EarlyList)
		g.SkipIfServerExits(t)
		t.Expect(g.EarlyList).To(check.BeAnswered(), "%s before initialized", g.ListMethod)
		t.Expect(g.LateList).To(check.BeAnswered(), "%s after initialized", g.ListMethod)
		if _, served := protocol.ListMethod(t); served {
			t.Expect(g.LateList).To(check.BeResult(), "%s after initialized", g.ListMethod)
		}
	}),
}

// requestsBeforeInitialized returns the replies to requests between initialize and notifications/initialized.
func requestsBeforeInitialized(t *check.T) handshake.EarlyRequests {
	protocol.RequireListMethod(t)
	o := handshake.RunScenario(t, handshake.Scenario{ListBeforeInitialized: true})
	o.RequireConnected(t)
	o.BeforeInitialized.RequireLateAnswer(t)
	return o.BeforeInitialized
}

// pingFails reports whether ping fails before the handshake, and either fails after it as well or is not the session's
// no-op.
func pingFails(early, later driver.Reply) bool {
	return early.Result() == nil && (later.Method != "ping" || later.Result() == nil)
}

// skipIfSessionless ends the check as skip if the server has no sessions, so that it knows nothing of earlier messages.
func skipIfSessionless(t *check.T) {
	if t.Server.Sessionless {
		t.Skip(check.NotOffered, "the server has no sessions: it cannot know what a client has done before")
	}
}
