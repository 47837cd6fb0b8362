package mrtr

import (
	"maps"
	"slices"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// unrequestedResponses are responses to what no server has asked for.
var unrequestedResponses = check.M{
	"mcpcheck-unasked-1": check.M{"action": "decline"},
	"mcpcheck-unasked-2": check.M{"roots": []any{}},
}

// responses are the checks of answers that lack something, have too much or are not valid.
var responseChecks = check.Suite{
	"mrtr/missing-response": check.Probe(func(t *check.T) {
		all := requireContinuingLoops(t, "request that asks for input was made", inputLoop.hasInputRequests)
		eachLoop(t, all, func(t *check.T, x *loopRetry) {
			s := t.Session()
			for _, given := range []check.M{{}, unrequestedResponses} {
				first, _ := x.start(t, s)
				params := withMember(toolcall.RetryParams(x.params, first, nil), "inputResponses", given)
				came := x.outcome(t, x.send(t, s, params))
				if came == outcomeFinal {
					t.WithReason(check.NotObserved).Skip("it does without what it asks for")
				}
				t.Expect(came).To(check.BeOneOf(outcomeSameRequests, outcomeOtherRequests), "with responses %s",
					check.Show(given))
			}
		})
	}),

	"mrtr/extra-response-ignored": check.Probe(func(t *check.T) {
		all := requireContinuingLoops(t, "request that asks for input was made", inputLoop.hasInputRequests)
		eachLoop(t, all, func(t *check.T, x *loopRetry) {
			s := t.Session()
			first, given := x.start(t, s)
			maps.Copy(given, unrequestedResponses)
			t.Expect(x.retry(t, s, first, given)).To(check.BeOneOf(x.usualOutcome(t)))
		})
	}),

	"mrtr/invalid-response-rejected": check.Probe(func(t *check.T) {
		all := requireContinuingLoops(t, "request that asks for input was made", inputLoop.hasInputRequests)
		eachLoop(t, all, func(t *check.T, x *loopRetry) {
			s := t.SessionForInvalidInput()
			for _, spoil := range invalidators {
				first, given := x.start(t, s)
				if !spoil(t, inputRequestsOf(first), given) {
					continue
				}
				came := x.outcome(t, x.sendInvalid(t, s, toolcall.RetryParams(x.params, first, given)))
				t.Expect(came != outcomeFinal).To(check.BeTrue("an error, or a result that asks", "%s for %s", came,
					check.Show(given)))
			}
		})
	}),
}

// invalidators make one of the answers to requests one that is not valid, and report whether they did.
var invalidators = []func(t *check.T, requests, given check.M) bool{
	func(_ *check.T, requests, given check.M) bool { // not an object
		given[firstKey(requests)] = 12345
		return true
	},
	func(_ *check.T, requests, given check.M) bool { // an action that there is not, or no role
		given[firstKey(requests)] = check.M{"action": "maybe"}
		return true
	},
	func(t *check.T, requests, given check.M) bool { // a form with what it does not allow
		for _, key := range slices.Sorted(maps.Keys(requests)) {
			if content := invalidContent(t, requests[key]); content != nil {
				given[key] = check.M{"action": "accept", "content": content}
				return true
			}
		}
		return false
	},
}

// firstKey is the first key of an object that has some.
func firstKey(object check.M) string { return slices.Sorted(maps.Keys(object))[0] }

// invalidContent is content that the form of a request does not allow; nil when it has no form, or it allows
// everything.
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
