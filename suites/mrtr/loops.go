package mrtr

import (
	"slices"

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
		each(t, all, func(t *T, x *trial) { x.expectTaken(t, 0) })
	}),

	"mrtr/multi-round": Probe(func(t *T) {
		rounds := func(a asker) bool { return a.isCall() && len(a.Asked) > 1 && !a.stuck() }
		all := wantAskers(t, "tool that asks in several rounds was called", rounds)
		each(t, all, func(t *T, x *trial) {
			for round := range x.Asked[1:] {
				x.expectTaken(t, round+1)
			}
		})
	}),

	"mrtr/prompt-loop":   loopOf("prompts/get", "prompt that asks for input was got"),
	"mrtr/resource-loop": loopOf("resources/read", "resource that asks for input was read"),

	"mrtr/retry-other-connection": Probe(func(t *T) {
		all := wantWilling(t, "tool that asks for input was called", asker.isCall)
		each(t, all, func(t *T, x *trial) {
			s := t.Session()
			first := kit.ByHand(s, kit.Request{
				Method: x.Method, Params: x.params, Header: kit.Header("Connection", "close"),
			}).Reply()
			t.Expect(x.retry(t, s, first, x.responses(t, first))).To(BeOneOf(x.usual(t)))
		})
	}),

	"mrtr/abandon-safe": Probe(func(t *T) {
		const times = 20
		all := wantWilling(t, "tool that asks for input was called", asker.isCall)
		each(t, all[:1], func(t *T, x *trial) {
			s := t.Session()
			var abandoned []driver.Pending
			for range times {
				abandoned = append(abandoned, s.Request(x.Method, x.params))
			}
			for _, p := range abandoned {
				s.AwaitCall(p)
			}
			first := x.ask(t, s, x.params)
			kit.NotLimited(t, s, first)
			t.Expect(first).To(BeResult(), "once more, after %d times without a retry", times)
			came := x.retry(t, s, first, x.responses(t, first))
			if came != x.usual(t) {
				kit.NotLimited(t, s, x.reply)
			}
			t.Expect(came).To(BeOneOf(x.usual(t)), "the retry after that")
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
		each(t, all, func(t *T, x *trial) {
			x.expectTaken(t, 0)
			if x.stuck() {
				t.FailAt(Advice, "a final result, or another request, after valid answers",
					"the same request, %d times", len(x.Asked))
			}
		})
	})
}

// loopOf is the check of prompts or resources that ask.
func loopOf(method, what string) Check {
	return Probe(func(t *T) {
		of := func(a asker) bool { return a.Method == method }
		if !slices.ContainsFunc(askers(t), of) {
			t.Because(NotObserved).Skip("no %s, of the first %d", what, mostItems)
		}
		each(t, wantAskers(t, what, of), func(t *T, x *trial) {
			for round := range x.Asked {
				x.expectTaken(t, round)
			}
		})
	})
}

// expectTaken wants the answers to a round taken, whatever the server makes of them.
func (x *trial) expectTaken(t *T, round int) {
	const invalidParams = -32602
	r := x.after(round)
	x.reply = r
	switch {
	case r.Err != nil:
		t.Again("%v", Explain(r.Err))
	case !r.Answered():
		t.Because(Limit).Inconclusive("%s", x.GivenUp)
	}
	if code, _ := r.Code(); code == invalidParams {
		t.Fail("valid answers taken", "%s", r)
	}
	t.Warn(r).To(BeResult())
}
