package lifecycle

import (
	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

var initialize = Suite{
	"lifecycle/initialize-succeeds": Fresh(func(t *T) {
		r := kit.WelcomeFor(t, t.Server.Requested)
		if refusesVersion(r) {
			t.Yield("the version was refused")
		}
		switch {
		case OnlyModern(r):
			t.Because(NotOffered).Skip("the server has no handshake: it speaks %s or later only", Modern[0])
		case t.Server.Transport == "sse" && (r.Bare() || r.Err != nil):
			t.Yield("the transport did not carry it")
		case r.Bare():
			t.Yield("the POST was not accepted")
		case t.Server.Transport == "http" && r.Answered() && kit.DemandsSession(r.Frame.HTTP.Answer()) &&
			len(kit.HelloTakenWith(t, t.Start())) > 0:
			t.Yield("it is served with further headers")
		}
		t.Expect(r).To(BeResult())
	}).WhenRefused(),

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
	}).WhenRefused(),

	"lifecycle/server-info-fields": Watch(func(t *T, w Wire) {
		t.Judge(w.ResultsOf("initialize"), func(t *T, m Message) {
			info, ok := resultOf(m)["serverInfo"].(M)
			if !ok {
				t.Yield("serverInfo is not an object")
			}
			for _, name := range []string{"name", "version"} {
				t.Expect(Member(info, name)).To(BeString(), "serverInfo.%s", name)
				t.Warn(info[name]).To(That("a text", func(s string) bool { return s != "" }), "serverInfo.%s", name)
			}
		})
	}).WhenRefused(),

	"lifecycle/newer-client-fields-tolerated": Fresh(func(t *T) {
		t.Expect(kit.Begin(t, kit.Opening{Newer: true}).Welcome).To(BeResult())
	}),

	"lifecycle/initialize-missing-fields": Fresh(func(t *T) {
		kit.WantErrors(t)
		o := kit.Begin(t, kit.Opening{Lacking: true})
		t.Each(kit.IncompleteHellos(t.Revision), func(t *T, form Subject) {
			r, tried := o.Incomplete[form.Name]
			if !tried {
				t.Again("another one ended the server, or had no answer")
			}
			kit.WantRefuser(t, r)
			t.Expect(r).To(BeAnswered())
			t.Inform(r).To(BeError())
		})
	}).ThenHostile(),

	"lifecycle/second-initialize": Probe(func(t *T) {
		s := t.Hostile()
		again := kit.TryAmiss(t, s, "initialize", driver.Hello(t.Revision))
		kit.WantRefuser(t, again)
		t.Expect(again).To(BeAnswered())
		later := TryHarmless(t, s)
		t.Expect(later).To(BeAnswered(), "%s after a second initialize", later.Method)
	}),

	"lifecycle/initialized-accepted": Fresh(func(t *T) {
		o := kit.Begin(t, kit.Opening{Form: "none"})
		o.WantWelcome(t)
		if len(o.Replies) > 0 {
			kit.SkipReplier(t)
		}
		t.Expect(o.Replies).To(BeEmptyList[*driver.Frame]("no reply to the notification"))
		t.Expect(o.Pong).To(BeAnswered(), "%s after initialized", o.Pong.Method)
	}),

	"lifecycle/initialized-without-params": Fresh(func(t *T) {
		Each(t, []string{"{}", "_meta"}, Named, func(t *T, form string) {
			o := kit.Begin(t, kit.Opening{Form: form})
			o.WantWelcome(t)
			switch plain := kit.Begin(t, kit.Opening{Form: "none"}); {
			case !plain.Pong.Answered(): // over HTTP the other forms may be the cause
				t.Because(OtherCheck).Again("after the plain form ping is not answered either")
			case len(plain.Replies) > 0:
				t.Yield("the plain form fails as well")
			}
			t.Expect(o.Replies).To(BeEmptyList[*driver.Frame]("no reply to the notification"))
			t.Expect(o.Pong).To(BeAnswered(), "%s after initialized", o.Pong.Method)
			if method, served := kit.ListMethod(t); served {
				t.Expect(o.List).To(BeResult(), "%s after initialized", method)
			}
		})
	}),
}

// resultOf is the result object of a response; nil when it has none.
func resultOf(m Message) M {
	result, _ := m.JSON()["result"].(M)
	return result
}
