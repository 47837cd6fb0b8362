package mrtr

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// loopChecks are the checks of requests that come again with valid answers.
var loopChecks = Suite{
	"mrtr/loop-elicitation": toolLoopCheck("elicitation/create"),
	"mrtr/loop-sampling":    toolLoopCheck("sampling/createMessage"),
	"mrtr/loop-roots":       toolLoopCheck("roots/list"),

	"mrtr/multiple-requests": Probe(func(t *T) {
		several := func(a inputLoop) bool { return a.isToolCall() && len(inputRequestsOf(a.InputReplies[0])) > 1 }
		all := requireLoops(t, "tool that asks for several inputs at once was called", several)
		eachLoop(t, all, func(t *T, x *loopRetry) { x.expectAccepted(t, 0) })
	}),

	"mrtr/multi-round": Probe(func(t *T) {
		rounds := func(a inputLoop) bool { return a.isToolCall() && len(a.InputReplies) > 1 && !a.isStuck() }
		all := requireLoops(t, "tool that asks in several rounds was called", rounds)
		eachLoop(t, all, func(t *T, x *loopRetry) {
			for round := range x.InputReplies[1:] {
				x.expectAccepted(t, round+1)
			}
		})
	}),

	"mrtr/prompt-loop":   loopCheck("prompts/get", "prompt that asks for input was got"),
	"mrtr/resource-loop": loopCheck("resources/read", "resource that asks for input was read"),

	"mrtr/retry-other-connection": Probe(func(t *T) {
		all := requireContinuingLoops(t, "tool that asks for input was called", inputLoop.isToolCall)
		eachLoop(t, all, func(t *T, x *loopRetry) {
			s := t.Session()
			first := roundtrip.PostRequest(s, roundtrip.ManualRequest{
				Method: x.Method, Params: x.params, Header: roundtrip.Header("Connection", "close"),
			}).AwaitReply()
			t.Expect(x.retry(t, s, first, x.responsesTo(t, first))).To(BeOneOf(x.usualOutcome(t)))
		})
	}),

	"mrtr/abandon-safe": Probe(func(t *T) {
		const times = 20
		all := requireContinuingLoops(t, "tool that asks for input was called", inputLoop.isToolCall)
		eachLoop(t, all[:1], func(t *T, x *loopRetry) {
			s := t.Session()
			var abandoned []driver.Pending
			for range times {
				abandoned = append(abandoned, s.Request(x.Method, x.params))
			}
			for _, p := range abandoned {
				s.AwaitLongRunning(p)
			}
			first := x.send(t, s, x.params)
			toolcall.RequireNotRateLimited(t, s, first)
			t.Expect(first).To(BeResult(), "once more, after %d times without a retry", times)
			came := x.retry(t, s, first, x.responsesTo(t, first))
			if came != x.usualOutcome(t) {
				toolcall.RequireNotRateLimited(t, s, x.reply)
			}
			t.Expect(came).To(BeOneOf(x.usualOutcome(t)), "the retry after that")
		})
	}),
}

// toolLoopCheck is the check of tools whose first round asks for one thing.
func toolLoopCheck(method string) Check {
	return Probe(func(t *T) {
		one := func(a inputLoop) bool {
			return a.isToolCall() && len(inputRequestsOf(a.InputReplies[0])) == 1 && hasInputRequest(a.InputReplies[0],
				method)
		}
		all := requireLoops(t, "tool that asks for "+method+" alone was called", one)
		eachLoop(t, all, func(t *T, x *loopRetry) {
			x.expectAccepted(t, 0)
			if x.isStuck() {
				t.FailAt(Advice, "a final result, or another request, after valid answers",
					"the same request, %d times", len(x.InputReplies))
			}
		})
	})
}

// loopCheck is the check of prompts or resources that ask.
func loopCheck(method, what string) Check {
	return Probe(func(t *T) {
		of := func(a inputLoop) bool { return a.Method == method }
		if !slices.ContainsFunc(inputLoops(t), of) {
			t.WithReason(NotObserved).Skip("no %s, of the first %d", what, maxItems)
		}
		eachLoop(t, requireLoops(t, what, of), func(t *T, x *loopRetry) {
			for round := range x.InputReplies {
				x.expectAccepted(t, round)
			}
		})
	})
}

// expectAccepted wants the answers to a round taken, whatever the server makes of them.
func (x *loopRetry) expectAccepted(t *T, round int) {
	const invalidParams = -32602
	r := x.replyAfter(round)
	x.reply = r
	switch {
	case r.Err != nil:
		t.Retry("%v", Explain(r.Err))
	case !r.Answered():
		t.WithReason(Limit).Inconclusive("%s", x.AbortReason)
	}
	if code, _ := r.Code(); code == invalidParams {
		t.Fail("valid answers taken", "%s", r)
	}
	t.ExpectShould(r).To(BeResult())
}
