package lifecycle

import (
	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
)

var initializeChecks = Suite{
	"lifecycle/initialize-succeeds": ProcessProbe(func(t *T) {
		r := handshake.ConnectReplyFor(t, t.Server.Requested)
		if refusesVersion(r) {
			t.Yield("the version was refused")
		}
		switch {
		case IsModernOnly(r):
			t.WithReason(NotOffered).Skip("the server has no handshake: it speaks %s or later only", ModernRevisions[0])
		case t.Server.Transport == "sse" && (r.IsStatusOnly() || r.Err != nil):
			t.Yield("the transport did not carry it")
		case r.IsStatusOnly():
			t.Yield("the POST was not accepted")
		case t.Server.Transport == "http" && r.Answered() && roundtrip.MayRequireSession(r.Frame.RoundTrip.Response()) &&
			len(roundtrip.RequiredConnectHeaders(t, t.NewProcess())) > 0:
			t.Yield("it is served with further headers")
		}
		t.Expect(r).To(BeResult())
	}).WhenConnectRefused(),

	"lifecycle/initialize-result-fields": Watch(func(t *T, w Wire) {
		t.Judge(w.ResultsOf("initialize"), func(t *T, m Message) {
			result := resultOf(m)
			if result == nil {
				t.Yield("the result is not an object")
			}
			t.Expect(Member(result, "protocolVersion")).To(BeString(), "protocolVersion")
			t.Expect(Member(result, "capabilities")).To(BeObject(), "capabilities")
			t.Expect(Member(result, "serverInfo")).To(BeObject(), "serverInfo")
		})
	}).WhenConnectRefused(),

	"lifecycle/server-info-fields": Watch(func(t *T, w Wire) {
		t.Judge(w.ResultsOf("initialize"), func(t *T, m Message) {
			info, ok := resultOf(m)["serverInfo"].(M)
			if !ok {
				t.Yield("serverInfo is not an object")
			}
			for _, name := range []string{"name", "version"} {
				t.Expect(Member(info, name)).To(BeString(), "serverInfo.%s", name)
				t.ExpectShould(info[name]).To(Satisfy("a text", func(s string) bool { return s != "" }),
					"serverInfo.%s", name)
			}
		})
	}).WhenConnectRefused(),

	"lifecycle/newer-client-fields-tolerated": ProcessProbe(func(t *T) {
		t.Expect(handshake.RunScenario(t, handshake.Scenario{NewerFields: true}).ConnectReply).To(BeResult())
	}),

	"lifecycle/initialize-missing-fields": ProcessProbe(func(t *T) {
		invalid.SkipUnlessAnswersInvalid(t)
		o := handshake.RunScenario(t, handshake.Scenario{IncompleteInitialize: true})
		t.Each(handshake.IncompleteConnectParams(t.Revision), func(t *T, form Subject) {
			r, tried := o.IncompleteReplies[form.Name]
			if !tried {
				t.Retry("another one ended the server, or had no answer")
			}
			invalid.SkipUnlessServerRejects(t, r)
			t.Expect(r).To(BeAnswered())
			t.ExpectAdvice(r).To(BeError())
		})
	}).ReusedForInvalidInput(),

	"lifecycle/second-initialize": Probe(func(t *T) {
		s := t.SessionForInvalidInput()
		again := invalid.TryInvalid(t, s, "initialize", driver.ConnectParams(t.Revision))
		invalid.SkipUnlessServerRejects(t, again)
		t.Expect(again).To(BeAnswered())
		later := TryNoOp(t, s)
		t.Expect(later).To(BeAnswered(), "%s after a second initialize", later.Method)
	}),

	"lifecycle/initialized-accepted": ProcessProbe(func(t *T) {
		o := handshake.RunScenario(t, handshake.Scenario{InitializedForm: "none"})
		o.RequireConnected(t)
		if len(o.InitializedReplies) > 0 {
			invalid.SkipIfRepliesToNotifications(t)
		}
		t.Expect(o.InitializedReplies).To(BeEmptyList[*driver.Frame]("no reply to the notification"))
		t.Expect(o.NoOpReply).To(BeAnswered(), "%s after initialized", o.NoOpReply.Method)
	}),

	"lifecycle/initialized-without-params": ProcessProbe(func(t *T) {
		Each(t, []string{"{}", "_meta"}, NamedSubject, func(t *T, form string) {
			o := handshake.RunScenario(t, handshake.Scenario{InitializedForm: form})
			o.RequireConnected(t)
			switch plain := handshake.RunScenario(t, handshake.Scenario{InitializedForm: "none"}); {
			case !plain.NoOpReply.Answered(): // over HTTP the other forms may be the cause
				t.WithReason(OtherCheck).Retry("after the plain form ping is not answered either")
			case len(plain.InitializedReplies) > 0:
				t.Yield("the plain form fails as well")
			}
			t.Expect(o.InitializedReplies).To(BeEmptyList[*driver.Frame]("no reply to the notification"))
			t.Expect(o.NoOpReply).To(BeAnswered(), "%s after initialized", o.NoOpReply.Method)
			if method, served := protocol.ListMethod(t); served {
				t.Expect(o.ListReply).To(BeResult(), "%s after initialized", method)
			}
		})
	}),
}

// resultOf is the result object of a response; nil when it has none.
func resultOf(m Message) M {
	result, _ := m.JSON()["result"].(M)
	return result
}
