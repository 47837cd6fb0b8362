package mrtr

import (
	"errors"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// loops are the checks of requests that come again with valid answers.
var loops = Suite{
	"mrtr/loop-elicitation": loop("elicitation/create"),
	"mrtr/loop-sampling":    loop("sampling/createMessage"),
	"mrtr/loop-roots":       loop("roots/list"),

	"mrtr/multiple-requests": Probe(func(t *T) {
		several := func(a asker) bool { return a.isCall() && len(requestsIn(a.Asked[0])) > 1 }
		all := wantAskers(t, "tool that asks for several inputs at once was called", several)
		each(t, all, func(t *T, a asker) { expectTaken(t, a, 0) })
	}),

	"mrtr/multi-round": Probe(func(t *T) {
		rounds := func(a asker) bool { return a.isCall() && len(a.Asked) > 1 && !a.stuck() }
		all := wantAskers(t, "tool that asks in several rounds was called", rounds)
		each(t, all, func(t *T, a asker) {
			for round := range a.Asked[1:] {
				expectTaken(t, a, round+1)
			}
		})
	}),

	"mrtr/prompt-loop":   loopOf("prompts/get", "prompt that asks for input was got"),
	"mrtr/resource-loop": loopOf("resources/read", "resource that asks for input was read"),

	"mrtr/retry-other-connection": Probe(func(t *T) {
		all := wantWilling(t, "tool that asks for input was called", asker.isCall)
		each(t, all, func(t *T, a asker) {
			s := t.Session()
			first := kit.ByHand(s, kit.Request{
				Method: a.Method, Params: a.params, Header: kit.Header("Connection", "close"),
			}).Reply()
			if !kit.AsksForInput(t, first) {
				t.Again("it asked for input before, and now there is %s", Got(first))
			}
			responses, err := kit.Responses(t, first)
			if err != nil {
				t.Inconclusive("%v", err)
			}
			t.Expect(a.outcome(t, a.retry(t, s, first, responses))).To(BeOneOf(a.outcome(t, a.after(0))))
		})
	}),

	"mrtr/abandon-safe": Probe(func(t *T) {
		const times = 20
		all := wantWilling(t, "tool that asks for input was called", asker.isCall)
		each(t, all[:1], func(t *T, a asker) {
			s := t.Own()
			var abandoned []driver.Pending
			for range times {
				abandoned = append(abandoned, s.Request(a.Method, a.params))
			}
			for _, p := range abandoned {
				s.AwaitCall(p)
			}
			t.Expect(t.Try(s, a.Method, a.params)).To(BeResult(), "once more, after %d times without a retry", times)
			first, given := a.begin(t, s)
			came := a.outcome(t, a.retry(t, s, first, given))
			t.Expect(came).To(BeOneOf(a.outcome(t, a.after(0))), "the retry after that")
		})
	}),
}

// loop is the check of tools whose first round asks for one thing.
func loop(method string) Check {
	return Probe(func(t *T) {
		one := func(a asker) bool {
			return a.isCall() && len(requestsIn(a.Asked[0])) == 1 && asksFor(a.Asked[0], method)
		}
		all := wantAskers(t, "tool that asks for "+method+" alone was called", one)
		each(t, all, func(t *T, a asker) {
			expectTaken(t, a, 0)
			if a.stuck() {
				t.FailAt(Should, "a final result, or another request, after valid answers",
					"the same request, %d times", len(a.Asked))
			}
		})
	})
}

// loopOf is the check of prompts or resources that ask.
func loopOf(method, what string) Check {
	return Probe(func(t *T) {
		all := wantAskers(t, what, func(a asker) bool { return a.Method == method })
		each(t, all, func(t *T, a asker) {
			for round := range a.Asked {
				expectTaken(t, a, round)
			}
		})
	})
}

// expectTaken wants the answers to a round taken, whatever the server makes of them.
func expectTaken(t *T, a asker, round int) {
	const invalidParams = -32602
	r := a.after(round)
	switch {
	case r.Err != nil:
		t.Again("%v", Explain(r.Err))
	case !r.Answered():
		t.Because(Limit).Inconclusive("%s", a.GivenUp)
	}
	if code, _ := r.Code(); code == invalidParams {
		t.Fail("valid answers taken", "%s", Got(r))
	}
	t.Warn(r).To(BeResult())
}

// died reports whether the server died over a request.
func died(r driver.Reply) bool { return errors.As(r.Err, new(*driver.Death)) }
