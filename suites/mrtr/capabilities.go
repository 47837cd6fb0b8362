package mrtr

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// missingCapability is the error of a request that needs more than its client has declared.
const missingCapability = -32021

// capabilities are the checks of what servers ask of clients that cannot do everything, and of other requests.
var capabilities = Suite{
	"mrtr/only-supported-methods": WatchAfter(askOthers, func(t *T, w Wire) {
		final := kit.Results(t, w).Filter("result of another method", func(m Message) bool {
			return !kit.MayAsk(m) && !kit.IsOfTask(m)
		})
		t.Judge(final, func(t *T, m Message) {
			kind := kit.ResultOf(m)["resultType"]
			if kind == "input_required" && kit.IsFinal(m.Request.Method) {
				t.Yield("%s asks for input", m.Request.Method)
			}
			if strings.HasPrefix(m.Request.Method, "skills/") {
				t.Skip("%s has a rule of its own", m.Request.Method)
			}
			t.Expect(kind != "input_required").To(
				Hold("a final result of "+m.Request.Method, "one that asks for input"))
		})
	}),

	"mrtr/undeclared-elicitation": undeclared("elicitation", "elicitation/create"),
	"mrtr/undeclared-sampling":    undeclared("sampling", "sampling/createMessage"),
	"mrtr/undeclared-roots":       undeclared("roots", "roots/list"),

	"mrtr/missing-capability-error": Probe(func(t *T) {
		Each(t, incapable(t), (*trial).subject, func(t *T, x *trial) {
			was := x.outcome(t, x.Last)
			switch {
			case kit.AsksForInput(t, x.reply):
				t.Yield("it asks all the same")
			case x.reply.Result() != nil && (!x.reply.Refuses() || was == toolError):
				t.Because(NotObserved).Skip("it does without what it asks for")
			case was == refused || was == nothing:
				t.Yield("it fails with the capabilities as well: %s", Got(x.Last))
			}
			kit.NotLimited(t, t.Session(), x.reply, missingCapability)
			t.Warn(x.reply.Result() == nil).To(Hold("error -32021", "%s", x.reply))
			t.Expect(x.reply).To(BeError(missingCapability))
		})
	}),

	"mrtr/missing-capability-data": Probe(func(t *T) {
		eachMissing(t, func(t *T, x *trial) {
			data, _ := x.reply.Error()["data"].(M)
			t.Expect(Member(data, "requiredCapabilities")).To(BeObject(), "data.requiredCapabilities")
			required := data["requiredCapabilities"].(M)
			for _, name := range slices.Sorted(maps.Keys(required)) {
				t.Expect(required[name]).To(BeObject(), name)
			}
			t.Expect(len(required) > 0).To(Hold("the capabilities that are missing", "none"))
		})
	}),

	"mrtr/missing-capability-http-400": Probe(func(t *T) {
		eachMissing(t, func(t *T, x *trial) {
			status := x.reply.Frame.HTTP.Answer().Status
			t.Expect(status == http.StatusBadRequest).To(Hold("HTTP 400 with error -32021", "HTTP %d", status))
		})
	}),
}

// askOthers asks for what is never answered by asking for input, with a client that would answer.
func askOthers(t *T) {
	s := t.Session()
	able := kit.Declaring(nil, kit.Able)
	method, _ := s.Harmless()
	t.Try(s, method, able)
	for _, list := range kit.ListsOf(t.Server.Capabilities) {
		if KnownUnanswered(t, list) == nil {
			t.Try(s, list, able)
		}
	}
	if t.Server.Declares("completions") {
		complete(t, s)
	}
}

// complete asks for completion of an argument of the first prompt that has one.
func complete(t *T, s *driver.Session) {
	for _, prompt := range t.Server.Prompts {
		for _, argument := range kit.ObjectsIn(prompt["arguments"]) {
			t.Try(s, "completion/complete", kit.Declaring(M{
				"ref":      M{"type": "ref/prompt", "name": prompt["name"]},
				"argument": M{"name": argument["name"], "value": ""},
			}, kit.Able))
			return
		}
	}
}

// undeclared is the check of what a client without a capability is asked for.
func undeclared(capability, method string) Check {
	return Probe(func(t *T) {
		asking := func(a asker) bool { return a.asks(method) }
		all := wantAskers(t, "request that asks for "+method+" was made", asking)
		others := maps.Clone(kit.Able)
		delete(others, capability)
		each(t, all, func(t *T, x *trial) {
			c := kit.ConverseAmiss(t, t.Session(), x.Method, kit.Declaring(x.params, others))
			for _, r := range c.Asked {
				x.reply = r
				t.Expect(!asksFor(r, method)).To(Hold("no "+method+" for a client without "+capability, "%s", r))
			}
			if c.Last.Err != nil {
				t.Again("%v", Explain(c.Last.Err))
			}
		})
	})
}

// incapable is what the requests of some askers come to for a client that has no capability.
func incapable(t *T) []*trial {
	all := wantAskers(t, "request that asks for input was made", asker.requests)
	return Step(t, "client without capabilities", func(t *T) (trials []*trial) {
		for _, a := range all {
			trials = append(trials, &trial{a, kit.AskAmiss(t, t.Session(), a.Method, kit.Declaring(a.params, M{}))})
		}
		return trials
	})
}

// eachMissing tries a check on the errors among them that say that a capability is missing.
func eachMissing(t *T, run func(*T, *trial)) {
	missing := slices.DeleteFunc(slices.Clone(incapable(t)), func(x *trial) bool {
		code, _ := x.reply.Code()
		return code != missingCapability
	})
	Judge(t, "error -32021", missing, (*trial).subject, run)
}
