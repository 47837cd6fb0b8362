package mrtr

import (
	"maps"
	"slices"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// unrequestedResponses are responses that no server has asked for.
var unrequestedResponses = check.M{
	"mcpcheck-unasked-1": check.M{"action": "decline"},
	"mcpcheck-unasked-2": check.M{"roots": []any{}},
}

// responseChecks are the checks of retries with missing, additional or invalid responses.
var responseChecks = check.Suite{
	"mrtr/missing-response": check.Probe(func(t *check.T) {
		eachRound(t, func(t *check.T, x *loopRetry, round int) {
			s := t.Session()
			for _, given := range []check.M{{}, unrequestedResponses} {
				asked, _ := x.startAt(t, s, round)
				params := withMember(toolcall.RetryParams(x.params, asked, nil), "inputResponses", given)
				came := x.outcomeOf(t, round, x.send(t, s, params))
				if came == outcomeFinal && round == 0 {
					t.Skip(check.NotObserved, "it does without what it asks for")
				} else if came == outcomeFinal {
					return
				}
				if came == outcomeError && len(given) > 0 && x.refusesMore(t, s, round) {
					return // mrtr/extra-response-ignored judges it
				}
				t.Expect(came).To(check.BeOneOf(outcomeSameRequests, outcomeOtherRequests), "with responses %s",
					check.Show(given))
			}
		})
	}),

	"mrtr/extra-response-ignored": check.Probe(func(t *check.T) {
		eachRound(t, func(t *check.T, x *loopRetry, round int) {
			s := t.Session()
			asked, given := x.startAt(t, s, round)
			maps.Copy(given, unrequestedResponses)
			came := x.outcomeOf(t, round, x.send(t, s, toolcall.RetryParams(x.params, asked, given)))
			t.Expect(came).To(check.BeOneOf(x.outcomeOf(t, round, x.replyAfter(round))))
		})
	}),

	"mrtr/invalid-response-rejected": check.Probe(func(t *check.T) {
		eachRound(t, func(t *check.T, x *loopRetry, round int) {
			s := t.Session(check.ForInvalidInput)
			for _, invalidate := range invalidators {
				asked, given := x.startAt(t, s, round)
				if !invalidate(t, inputRequestsOf(asked), given) {
					continue
				}
				r := x.sendInvalid(t, s, toolcall.RetryParams(x.params, asked, given))
				came := x.outcomeOf(t, round, r)
				t.Expect(came != outcomeFinal).To(check.BeTrue("an error, or a result that asks", "%s for %s", came,
					check.Show(given)))
			}
		})
	}),
}

// refusesMore reports whether the server answers all that it has asked for, with more responses, by an error.
func (x *loopRetry) refusesMore(t *check.T, s *driver.Session, round int) bool {
	last := x.reply
	defer func() { x.reply = last }()
	asked, given := x.startAt(t, s, round)
	maps.Copy(given, unrequestedResponses)
	return x.outcomeOf(t, round, x.send(t, s, toolcall.RetryParams(x.params, asked, given))) == outcomeError
}

// eachRound runs a check on the first and, if there is one, the second round of some loops that go on when they are
// answered.
func eachRound(t *check.T, run func(t *check.T, x *loopRetry, round int)) {
	all := withTwoRounds(t, "request that asks for input was made", inputLoop.hasInputRequests)
	eachLoop(t, all, func(t *check.T, x *loopRetry) {
		for round := range x.lastJudgedRound(t) + 1 {
			run(t, x, round)
		}
	})
}

// invalidators replace a valid response by an invalid one of some kind, and report whether there was one to replace.
var invalidators = []func(t *check.T, requests, given check.M) bool{
	// The response is not an object.
	func(_ *check.T, requests, given check.M) bool {
		given[firstKey(requests)] = 12345
		return true
	},
	// The action or the role does not exist.
	func(_ *check.T, requests, given check.M) bool {
		given[firstKey(requests)] = check.M{"action": "maybe"}
		return true
	},
	// The content violates the form.
	func(t *check.T, requests, given check.M) bool {
		for _, key := range slices.Sorted(maps.Keys(requests)) {
			if content := invalidContent(t, requests[key]); content != nil {
				given[key] = check.M{"action": "accept", "content": content}
				return true
			}
		}
		return false
	},
}

// firstKey returns the first key of an object that is not empty.
func firstKey(object check.M) string { return slices.Sorted(maps.Keys(object))[0] }

// invalidContent returns content that the form of a request does not allow; nil if it has no form or allows everything.
func invalidContent(t *check.T, v any) check.M {
	request, _ := v.(check.M)
	params, _ := request["params"].(check.M)
	form, isObject := params["requestedSchema"].(check.M)
	if !isObject {
		return nil
	}
	schema, err := schemas.Compile(form, t.Revision)
	if err != nil {
		return nil
	}
	valid, err := schemas.ValidArguments(schema, t.Seed)
	if err != nil {
		return nil
	}
	for _, broken := range schemas.Counterexamples(schema, valid, t.Seed) {
		if broken.Keyword == "type" || broken.Keyword == "required" {
			return broken.Arguments
		}
	}
	return nil
}
