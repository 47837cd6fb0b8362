package lifecycle

import (
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
)

// initializeChecks are the checks of the response to initialize.
var initializeChecks = check.Suite{
	"lifecycle/initialize-succeeds": check.Probe(func(t *check.T) {
		r := handshake.ConnectReplyFor(t, t.Server.Requested)
		if refusesVersion(r) {
			t.Yield("the version was refused")
		}
		switch {
		case check.IsModernOnly(r):
			t.Skip(check.NotOffered, "the server has no handshake: it speaks %s or later only",
				catalogue.ModernRevisions[0])
		case t.Server.Transport == "sse" && (r.IsStatusOnly() || r.Err != nil):
			t.Yield("the transport did not carry it")
		case r.IsStatusOnly():
			t.Yield("the POST was not accepted")
		case t.Server.Transport == "http" && r.Answered() &&
			roundtrip.MayRequireSession(r.Frame.RoundTrip.Response()) &&
			roundtrip.IsServedWithHeaders(t, t.Session(check.Process)):
			t.Yield("it is served with further headers")
		}
		if needsCapabilities(t, r) {
			t.NoVerdict(check.Limit, "the server serves clients that declare roots, sampling and elicitation only, "+
				"which it may: %s", check.Got(r))
		}
		t.Expect(r).To(check.BeResult())
	}).WhenConnectRefused(),

	"lifecycle/initialize-result-fields": check.Watch(func(t *check.T, w check.Wire) {
		t.Judge(w.ResultsOf("initialize"), func(t *check.T, m check.Message) {
			result := resultOf(m)
			if result == nil {
				t.Yield("the result is not an object")
			}
			t.Expect(check.Member(result, "protocolVersion")).To(check.BeString(), "protocolVersion")
			t.Expect(check.Member(result, "capabilities")).To(check.BeObject(), "capabilities")
			t.Expect(check.Member(result, "serverInfo")).To(check.BeObject(), "serverInfo")
		})
	}).WhenConnectRefused(),

	"lifecycle/server-info-fields": check.Watch(func(t *check.T, w check.Wire) {
		t.Judge(w.ResultsOf("initialize"), func(t *check.T, m check.Message) {
			info, ok := resultOf(m)["serverInfo"].(check.M)
			if !ok {
				t.Yield("serverInfo is not an object")
			}
			for _, name := range []string{"name", "version"} {
				t.Expect(check.Member(info, name)).To(check.BeString(), "serverInfo.%s", name)
				t.ExpectAdvice(info[name]).To(check.Satisfy("a text", func(s string) bool { return s != "" }),
					"serverInfo.%s", name)
			}
		})
	}).WhenConnectRefused(),

	"lifecycle/newer-client-fields-tolerated": check.ProcessProbe(func(t *check.T) {
		t.Expect(handshake.RunScenario(t, handshake.Scenario{NewerFields: true}).ConnectReply).To(check.BeResult())
	}),

	"lifecycle/initialize-missing-fields": check.ProcessProbe(func(t *check.T) {
		invalid.SkipUnlessAnswersInvalid(t)
		o := handshake.RunScenario(t, handshake.Scenario{IncompleteInitialize: true})
		t.Each(handshake.IncompleteConnectParams(t.Revision), func(t *check.T, form check.Subject) {
			r, tried := o.IncompleteReplies[form.Name]
			if !tried {
				t.Retry(check.Undecided, "another one ended the server, or had no answer")
			}
			invalid.SkipUnlessServerRejects(t, r)
			t.Expect(r).To(check.BeAnswered())
			t.ExpectAdvice(r).To(check.BeError())
		})
	}).ReusedForInvalidInput(),

	"lifecycle/second-initialize": check.Probe(func(t *check.T) {
		s := t.Session(check.ForInvalidInput)
		again := invalid.TryInvalid(t, s, "initialize", driver.ConnectParams(t.Revision))
		invalid.SkipUnlessServerRejects(t, again)
		t.Expect(again).To(check.BeAnswered())
		later := check.TryNoOp(t, s)
		t.Expect(later).To(check.BeAnswered(), "%s after a second initialize", later.Method)
	}),

	"lifecycle/initialized-accepted": check.ProcessProbe(func(t *check.T) {
		o := handshake.RunScenario(t, handshake.Scenario{InitializedForm: "none"})
		o.RequireConnected(t)
		if len(o.InitializedReplies) > 0 {
			invalid.SkipIfRepliesToNotifications(t)
		}
		t.Expect(o.InitializedReplies).To(check.BeEmptyList[*driver.Frame]("no reply to the notification"))
		t.Expect(o.NoOpReply).To(check.BeAnswered(), "%s after initialized", o.NoOpReply.Method)
	}),

	"lifecycle/initialized-without-params": check.ProcessProbe(func(t *check.T) {
		check.Each(t, []string{"{}", "_meta"}, check.NamedSubject, func(t *check.T, form string) {
			o := handshake.RunScenario(t, handshake.Scenario{InitializedForm: form})
			o.RequireConnected(t)
			switch plain := handshake.RunScenario(t, handshake.Scenario{InitializedForm: "none"}); {
			case !plain.NoOpReply.Answered(): // over HTTP, the other forms may be the cause
				t.Retry(check.OtherCheck, "after the plain form ping is not answered either")
			case len(plain.InitializedReplies) > 0:
				t.Yield("the plain form fails as well")
			}
			t.Expect(o.InitializedReplies).To(check.BeEmptyList[*driver.Frame]("no reply to the notification"))
			t.Expect(o.NoOpReply).To(check.BeAnswered(), "%s after initialized", o.NoOpReply.Method)
			if method, served := protocol.ListMethod(t); served {
				t.Expect(o.ListReply).To(check.BeResult(), "%s after initialized", method)
			}
		})
	}),
}

// needsCapabilities reports whether the server has refused initialize since the client declares no capabilities: it
// serves one that declares them.
func needsCapabilities(t *check.T, refusal driver.Reply) bool {
	if refusal.Error() == nil || refusal.Request == nil {
		return false
	}
	s := t.Session(check.Process)
	return s.Connect(handshake.CapableConnectParams(t.Revision)).Result() != nil
}

// resultOf returns the result object of a response; nil if it has none.
func resultOf(m check.Message) check.M {
	result, _ := m.JSON()["result"].(check.M)
	return result
}
