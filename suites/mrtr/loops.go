package mrtr

import (
	"maps"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// loopChecks are the checks of retries with valid responses.
var loopChecks = check.Suite{
	"mrtr/loop-elicitation": toolLoopCheck("elicitation/create"),
	"mrtr/loop-sampling":    toolLoopCheck("sampling/createMessage"),
	"mrtr/loop-roots":       toolLoopCheck("roots/list"),

	"mrtr/multiple-requests": check.Probe(func(t *check.T) {
		several := func(a inputLoop) bool { return a.isToolCall() && len(inputRequestsOf(a.InputReplies[0])) > 1 }
		all := requireLoops(t, "tool that asks for several inputs at once was called", several)
		eachLoop(t, all, func(t *check.T, x *loopRetry) { x.expectAccepted(t, 0) })
	}),

	"mrtr/multi-round": check.Probe(func(t *check.T) {
		rounds := func(a inputLoop) bool { return a.isToolCall() && len(a.InputReplies) > 1 && !a.isStuck() }
		all := requireLoops(t, "tool that asks in several rounds was called", rounds)
		eachLoop(t, all, func(t *check.T, x *loopRetry) {
			for round := range x.InputReplies[1:] {
				x.expectAccepted(t, round+1)
			}
		})
	}),

	"mrtr/prompt-loop":   loopCheck("prompts/get", "prompt that asks for input was got"),
	"mrtr/resource-loop": loopCheck("resources/read", "resource that asks for input was read"),

	"mrtr/retry-other-connection": check.Probe(func(t *check.T) {
		all := requireContinuingLoops(t, "tool that asks for input was called", inputLoop.isToolCall)
		eachLoop(t, all, func(t *check.T, x *loopRetry) {
			s := t.Session()
			first := roundtrip.PostRequest(s, roundtrip.ManualRequest{
				Method: x.Method, Params: x.params, Header: roundtrip.Header("Connection", "close"),
			}).AwaitReply()
			t.Expect(x.retry(t, s, first, x.responsesTo(t, first))).To(check.BeOneOf(x.usualOutcome(t)))
		})
	}),

	"mrtr/retry-other-process": check.Probe(func(t *check.T) {
		all := requireContinuingLoops(t, "tool that asks for input was called", inputLoop.isToolCall)
		eachLoop(t, all, func(t *check.T, x *loopRetry) {
			first, given := x.start(t, t.Session())
			t.Expect(x.retry(t, check.OtherConnection(t), first, given)).To(check.BeOneOf(x.usualOutcome(t)))
		})
	}),

	"mrtr/abandon-safe": check.Probe(func(t *check.T) {
		const times = 20
		all := requireContinuingLoops(t, "tool that asks for input was called", inputLoop.isToolCall)
		eachLoop(t, all[:1], func(t *check.T, x *loopRetry) {
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
			t.Expect(first).To(check.BeResult(), "once more, after %d times without a retry", times)
			came := x.retry(t, s, first, x.responsesTo(t, first))
			if came != x.usualOutcome(t) {
				toolcall.RequireNotRateLimited(t, s, x.reply)
			}
			t.Expect(came).To(check.BeOneOf(x.usualOutcome(t)), "the retry after that")
		})
	}),
}

// toolLoopCheck makes a check of tools whose first round asks for one method.
func toolLoopCheck(method string) check.Check {
	return check.Probe(func(t *check.T) {
		one := func(a inputLoop) bool {
			return a.isToolCall() && len(inputRequestsOf(a.InputReplies[0])) == 1 && hasInputRequest(a.InputReplies[0],
				method)
		}
		all := requireLoops(t, "tool that asks for "+method+" alone was called", one)
		eachLoop(t, all, func(t *check.T, x *loopRetry) {
			x.expectAccepted(t, 0)
			if x.isStuck() {
				t.FailAt(catalogue.Advice, "a final result, or another request, after valid answers",
					"the same request, %d times", len(x.InputReplies))
			}
		})
	})
}

// loopCheck makes a check of prompts or resources that ask for input.
func loopCheck(method, what string) check.Check {
	return check.Probe(func(t *check.T) {
		of := func(a inputLoop) bool { return a.Method == method }
		if !slices.ContainsFunc(inputLoops(t), of) {
			t.Skip(check.NotObserved, "no %s, of the first %d", what, maxItems)
		}
		eachLoop(t, requireLoops(t, what, of), func(t *check.T, x *loopRetry) {
			for round := range x.InputReplies {
				x.expectAccepted(t, round)
			}
		})
	})
}

// expectAccepted requires the responses to a round to be accepted, whatever the server does next.
func (x *loopRetry) expectAccepted(t *check.T, round int) {
	r := x.replyAfter(round)
	x.reply = r
	switch {
	case r.Err != nil:
		t.Retry(check.Undecided, "%v", check.Explain(r.Err))
	case !r.Answered():
		t.NoVerdict(check.Limit, "%s", x.AbortReason)
	}
	if code, _ := r.Code(); code == errcode.InvalidParams {
		if x.takesOther(t, round) {
			t.NoVerdict(check.Undecided, "it may want more of an answer than its request says, and mcpcheck has made "+
				"this one up: %s", check.Got(r))
		}
		x.reply = r
		if x.asksOnlyFor(round, "sampling/createMessage") { // a text that no model has written may not do
			t.FailAt(catalogue.Should, "any text of a model taken, or refused in a result with isError", "%s", r)
		}
		t.Fail("valid answers taken", "%s", r)
	}
	t.ExpectShould(r).To(check.BeResult())
}

// hasFreeInput reports whether a round asks for a form with a field that is no choice, such as a code that was mailed
// to the user.
func (a inputLoop) hasFreeInput(round int) bool {
	for _, v := range inputRequestsOf(a.InputReplies[round]) {
		request, _ := v.(check.M)
		params, _ := request["params"].(check.M)
		form, _ := params["requestedSchema"].(check.M)
		properties, _ := form["properties"].(check.M)
		for _, property := range properties {
			field, _ := property.(check.M)
			isText := field["type"] == "string" && field["enum"] == nil && field["oneOf"] == nil
			if isText || field["type"] == "number" || field["type"] == "integer" {
				return true
			}
		}
	}
	return false
}

// takesOther reports whether the server takes other valid answers to a round: a decline in place of what the user was
// free to enter, other texts of a model, or other roots.
func (x *loopRetry) takesOther(t *check.T, round int) bool {
	var others []check.M
	if x.hasFreeInput(round) {
		others = append(others, check.M{"elicitation/create": check.M{"action": "decline"}})
	}
	for _, words := range []string{"yes", "{}"} {
		others = append(others, check.M{"sampling/createMessage": toolcall.ModelText(words)})
	}
	for _, roots := range [][]any{{}, {check.M{"uri": "file:///"}}} {
		others = append(others, check.M{"roots/list": check.M{"roots": roots}})
	}
	isAsked := func(method string) bool { return hasInputRequest(x.InputReplies[round], method) }
	return slices.ContainsFunc(others, func(answers check.M) bool {
		return slices.ContainsFunc(slices.Collect(maps.Keys(answers)), isAsked) && x.takes(t, round, answers)
	})
}

// asksOnlyFor reports whether all input requests of a round have a method.
func (a inputLoop) asksOnlyFor(round int, method string) bool {
	for _, v := range inputRequestsOf(a.InputReplies[round]) {
		if request, _ := v.(check.M); request["method"] != method {
			return false
		}
	}
	return true
}

// takes repeats the loop up to a round, and reports whether the server takes it with these answers by method. They
// replace those of the round to forms that are accepted and to other requests.
func (x *loopRetry) takes(t *check.T, round int, answers check.M) bool {
	s := t.Session()
	r := x.send(t, s, x.params)
	for n := 0; n <= round; n++ {
		if !toolcall.IsInputRequired(t, r) {
			return false
		}
		responses, err := toolcall.InputResponses(t, r)
		if err != nil {
			return false
		}
		for key, v := range inputRequestsOf(r) {
			request, _ := v.(check.M)
			method, _ := request["method"].(string)
			if answer := answers[method]; n == round && answer != nil {
				responses[key] = answer
			}
		}
		r = x.send(t, s, toolcall.RetryParams(x.params, r, responses))
	}
	code, _ := r.Code()
	return r.Answered() && code != errcode.InvalidParams
}
