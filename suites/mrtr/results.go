package mrtr

import (
	"slices"

	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// resultChecks are the checks of results that ask for input, whoever has asked for them.
var resultChecks = Suite{
	"mrtr/result-type": WatchWithSetup(toolcall.CallTools, func(t *T, w Wire) {
		answers := protocol.ModernResults(t, w).Filter("result with inputRequests", hasInputRequests)
		t.Judge(answers, func(t *T, m Message) {
			kind, _ := protocol.ResultOf(m)["resultType"].(string)
			if !slices.Contains([]string{"complete", "input_required"}, kind) {
				t.Yield("resultType is not a known type")
			}
			t.Expect(kind).To(BeOneOf("input_required"))
		})
	}),

	"mrtr/requests-or-state": WatchWithSetup(toolcall.CallTools, func(t *T, w Wire) {
		t.Judge(inputRequiredResults(t, w), func(t *T, m Message) {
			result := protocol.ResultOf(m)
			t.Expect(result["inputRequests"] != nil || result["requestState"] != nil).To(
				BeTrue("inputRequests, requestState, or both", "%s", Show(result)))
		})
	}),

	"mrtr/input-request-methods": WatchWithSetup(toolcall.CallTools, func(t *T, w Wire) {
		requesting := inputRequiredResults(t, w).Filter("result with inputRequests", func(m Message) bool {
			return protocol.ResultOf(m)["inputRequests"] != nil
		})
		t.Judge(requesting, func(t *T, m Message) {
			broken := protocol.Violations(t, "mrtr/input-request-methods", "InputRequiredResult", protocol.ResultOf(m))
			t.Expect(broken).To(BeEmptyList[string]("requests of the three kinds, as their schemas have them"))
			for _, request := range protocol.ResultOf(m)["inputRequests"].(M) {
				t.ExpectAdvice(Member(request.(M), "id")).To(BeOneOf(Absent{}), "id of a request in a result")
			}
		})
	}),

	"mrtr/request-state-string": WatchWithSetup(toolcall.CallTools, func(t *T, w Wire) {
		carrying := inputRequiredResults(t, w).Filter("result with requestState", func(m Message) bool {
			return protocol.ResultOf(m)["requestState"] != nil
		})
		t.Judge(carrying, func(t *T, m Message) {
			t.Expect(protocol.ResultOf(m)["requestState"]).To(BeString(), "requestState")
		})
	}),
}

// inputRequiredResults are the results that ask for input in answer to what may be answered so.
func inputRequiredResults(t *T, w Wire) Messages {
	return protocol.ModernResults(t, w).Filter("result that asks for input", func(m Message) bool {
		return protocol.MayRequireInput(m) && protocol.ResultOf(m)["resultType"] == "input_required"
	})
}

// hasInputRequests reports whether a result asks for input, whatever it says to be. A task may do so, too.
func hasInputRequests(m Message) bool {
	requests, _ := protocol.ResultOf(m)["inputRequests"].(M)
	return protocol.MayRequireInput(m) && len(requests) > 0 && protocol.ResultOf(m)["resultType"] != "task"
}
