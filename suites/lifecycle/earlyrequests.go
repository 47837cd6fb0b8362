package lifecycle

import (
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/text"
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
		skipIfServerExits(t, o.BeforeInitialize)
		requireLateAnswer(t, o.BeforeInitialize)
		t.Expect(o.ConnectReply).To(check.BeResult(), "initialize after the early requests")
		expectErrors(t, o.BeforeInitialize, "initialize")
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
		expectErrors(t, g, "notifications/initialized")
	}),

	"lifecycle/request-before-initialized-notification": check.ProcessProbe(func(t *check.T) {
		g := requestsBeforeInitialized(t)
		invalid.SkipUnlessServerRejects(t, g.EarlyList)
		skipIfServerExits(t, g)
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
	requireLateAnswer(t, o.BeforeInitialized)
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

// requireLateAnswer ends a check whose late list has no response when it has none in an ordinary session either.
func requireLateAnswer(t *check.T, g handshake.EarlyRequests) {
	if !g.LateList.Answered() {
		t.Send(t.Session(check.Exclusive), g.ListMethod, nil)
	}
}

// skipIfServerExits ends a check when the early call ended the server, and such a call ends it at any time.
func skipIfServerExits(t *check.T, g handshake.EarlyRequests) {
	if !g.CallSent || !protocol.IsServerExit(g.EarlyCall) {
		return
	}
	if _, unknown := invalid.CallUnknownTool(t); protocol.IsServerExit(unknown) {
		t.Yield("a call of an unknown tool ends the server at any time")
	}
}

// expectErrors requires errors for the early requests. A request that has the same error after the handshake proves
// nothing, nor does a call that is left unanswered then, too. Messages say that the requests came before event.
func expectErrors(t *check.T, g handshake.EarlyRequests, event string) {
	listProves := !sameError(g.EarlyList, g.LateList)
	callProves := g.CallSent && (g.EarlyCall.Answered() || g.LateCall.Answered()) && !sameError(g.EarlyCall, g.LateCall)
	if listProves {
		invalid.SkipUnlessServerRejects(t, g.EarlyList)
		t.Expect(g.EarlyList).To(check.BeError(), "%s before %s", g.ListMethod, event)
	}
	if callProves {
		invalid.SkipUnlessServerRejects(t, g.EarlyCall)
		t.Expect(g.EarlyCall).To(check.BeError(), "tools/call before %s", event)
	}
	if !listProves && !callProves {
		t.NoVerdict(check.Undecided, "the same requests are refused after the handshake as well")
	}
}

func sameError(a, b driver.Reply) bool {
	return a.Error() != nil && b.Error() != nil &&
		string(text.CompactJSON(a.Error())) == string(text.CompactJSON(b.Error()))
}
