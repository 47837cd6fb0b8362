package mrtr

import (
	"slices"

	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// results are the checks of results that ask for input, whoever has asked for them.
var results = Suite{
	"mrtr/result-type": WatchAfter(kit.CallTools, func(t *T, w Wire) {
		answers := kit.Results(t, w).Filter("result with inputRequests", hasRequests)
		t.Judge(answers, func(t *T, m Message) {
			kind, _ := kit.ResultOf(m)["resultType"].(string)
			if !slices.Contains([]string{"complete", "input_required"}, kind) {
				t.Yield("resultType is not a known type")
			}
			t.Expect(kind).To(BeOneOf("input_required"))
		})
	}),

	"mrtr/requests-or-state": WatchAfter(kit.CallTools, func(t *T, w Wire) {
		t.Judge(asking(t, w), func(t *T, m Message) {
			result := kit.ResultOf(m)
			t.Expect(result["inputRequests"] != nil || result["requestState"] != nil).To(
				Hold("inputRequests, requestState, or both", "%s", Show(result)))
		})
	}),

	"mrtr/input-request-methods": WatchAfter(kit.CallTools, func(t *T, w Wire) {
		requesting := asking(t, w).Filter("result with inputRequests", func(m Message) bool {
			return kit.ResultOf(m)["inputRequests"] != nil
		})
		t.Judge(requesting, func(t *T, m Message) {
			broken := kit.Broken(t, "mrtr/input-request-methods", "InputRequiredResult", kit.ResultOf(m))
			t.Expect(broken).To(BeEmptyList[string]("requests of the three kinds, as their schemas have them"))
			for _, request := range kit.ResultOf(m)["inputRequests"].(M) {
				t.Inform(Member(request.(M), "id")).To(BeOneOf(Absent{}), "id of a request in a result")
			}
		})
	}),

	"mrtr/request-state-string": WatchAfter(kit.CallTools, func(t *T, w Wire) {
		carrying := asking(t, w).Filter("result with requestState", func(m Message) bool {
			return kit.ResultOf(m)["requestState"] != nil
		})
		t.Judge(carrying, func(t *T, m Message) {
			t.Expect(kit.ResultOf(m)["requestState"]).To(BeString(), "requestState")
		})
	}),
}

// asking are the results that ask for input in answer to what may be answered so.
func asking(t *T, w Wire) Messages {
	return kit.Results(t, w).Filter("result that asks for input", func(m Message) bool {
		return kit.MayAsk(m) && kit.ResultOf(m)["resultType"] == "input_required"
	})
}

// hasRequests reports whether a result asks for input, whatever it says to be. A task may do so, too.
func hasRequests(m Message) bool {
	requests, _ := kit.ResultOf(m)["inputRequests"].(M)
	return kit.MayAsk(m) && len(requests) > 0 && kit.ResultOf(m)["resultType"] != "task"
}
