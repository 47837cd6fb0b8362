package mrtr

import (
	"maps"
	"slices"

	"github.com/mcpcheck/mcpcheck/schemas"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// unrequestedResponses are responses to what no server has asked for.
var unrequestedResponses = M{
	"mcpcheck-unasked-1": M{"action": "decline"},
	"mcpcheck-unasked-2": M{"roots": []any{}},
}

// responses are the checks of answers that lack something, have too much or are not valid.
var responseChecks = Suite{
	"mrtr/missing-response": Probe(func(t *T) {
		all := requireContinuingLoops(t, "request that asks for input was made", inputLoop.hasInputRequests)
		eachLoop(t, all, func(t *T, x *loopRetry) {
			s := t.Session()
			for _, given := range []M{{}, unrequestedResponses} {
				first, _ := x.start(t, s)
				params := withMember(toolcall.RetryParams(x.params, first, nil), "inputResponses", given)
				came := x.outcome(t, x.send(t, s, params))
				if came == outcomeFinal {
					t.WithReason(NotObserved).Skip("it does without what it asks for")
				}
				t.Expect(came).To(BeOneOf(outcomeSameRequests, outcomeOtherRequests), "with responses %s", Show(given))
			}
		})
	}),

	"mrtr/extra-response-ignored": Probe(func(t *T) {
		all := requireContinuingLoops(t, "request that asks for input was made", inputLoop.hasInputRequests)
		eachLoop(t, all, func(t *T, x *loopRetry) {
			s := t.Session()
			first, given := x.start(t, s)
			maps.Copy(given, unrequestedResponses)
			t.Expect(x.retry(t, s, first, given)).To(BeOneOf(x.usualOutcome(t)))
		})
	}),

	"mrtr/invalid-response-rejected": Probe(func(t *T) {
		all := requireContinuingLoops(t, "request that asks for input was made", inputLoop.hasInputRequests)
		eachLoop(t, all, func(t *T, x *loopRetry) {
			s := t.SessionForInvalidInput()
			for _, spoil := range invalidators {
				first, given := x.start(t, s)
				if !spoil(t, inputRequestsOf(first), given) {
					continue
				}
				came := x.outcome(t, x.sendInvalid(t, s, toolcall.RetryParams(x.params, first, given)))
				t.Expect(came != outcomeFinal).To(BeTrue("an error, or a result that asks", "%s for %s", came,
					Show(given)))
			}
		})
	}),
}

// invalidators make one of the answers to requests one that is not valid, and report whether they did.
var invalidators = []func(t *T, requests, given M) bool{
	func(_ *T, requests, given M) bool { // not an object
		given[firstKey(requests)] = 12345
		return true
	},
	func(_ *T, requests, given M) bool { // an action that there is not, or no role
		given[firstKey(requests)] = M{"action": "maybe"}
		return true
	},
	func(t *T, requests, given M) bool { // a form with what it does not allow
		for _, key := range slices.Sorted(maps.Keys(requests)) {
			if content := invalidContent(t, requests[key]); content != nil {
				given[key] = M{"action": "accept", "content": content}
				return true
			}
		}
		return false
	},
}

// firstKey is the first key of an object that has some.
func firstKey(object M) string { return slices.Sorted(maps.Keys(object))[0] }

// invalidContent is content that the form of a request does not allow; nil when it has no form, or it allows
// everything.
func invalidContent(t *T, v any) M {
	request, _ := v.(M)
	params, _ := request["params"].(M)
	form, isObject := params["requestedSchema"].(M)
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
