package mrtr

import (
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// resultChecks are the checks of results that ask for input, in reply to any request of the run.
var resultChecks = check.Suite{
	"mrtr/result-type": check.WatchWithSetup(toolcall.CallTools, func(t *check.T, w check.Wire) {
		answers := protocol.ModernResults(t, w).Filter("result with inputRequests", func(m check.Message) bool {
			return hasInputRequests(m) || hasInputRequiredText(m)
		})
		t.Judge(answers, func(t *check.T, m check.Message) {
			if !hasInputRequests(m) {
				t.FailAt(catalogue.Advice, "a result of the type input_required", "one as text: %s", check.Show(
					protocol.ResultOf(m)["content"]))
			}
			kind, _ := protocol.ResultOf(m)["resultType"].(string)
			if !slices.Contains([]string{"complete", "input_required"}, kind) {
				t.Yield("resultType is not a known type")
			}
			t.Expect(kind).To(check.BeOneOf("input_required"))
		})
	}),

	"mrtr/requests-or-state": check.WatchWithSetup(toolcall.CallTools, func(t *check.T, w check.Wire) {
		t.Judge(inputRequiredResults(t, w), func(t *check.T, m check.Message) {
			result := protocol.ResultOf(m)
			t.Expect(result["inputRequests"] != nil || result["requestState"] != nil).To(
				check.BeTrue("inputRequests, requestState, or both", "%s", check.Show(result)))
		})
	}),

	"mrtr/input-request-methods": check.WatchWithSetup(toolcall.CallTools, func(t *check.T, w check.Wire) {
		requesting := inputRequiredResults(t, w).Filter("result with inputRequests", func(m check.Message) bool {
			return protocol.ResultOf(m)["inputRequests"] != nil
		})
		t.Judge(requesting, func(t *check.T, m check.Message) {
			broken := protocol.Violations(t, "mrtr/input-request-methods", "InputRequiredResult", protocol.ResultOf(m))
			t.Expect(broken).To(check.BeEmptyList[string]("requests of the three kinds, as their schemas have them"))
			for _, request := range protocol.ResultOf(m)["inputRequests"].(check.M) {
				t.ExpectAdvice(check.Member(request.(check.M), "id")).To(check.BeOneOf(check.Absent{}),
					"id of a request in a result")
			}
		})
	}),

	"mrtr/input-keys-unique": check.WatchWithSetup(toolcall.CallTools, func(t *check.T, w check.Wire) {
		requesting := inputRequiredResults(t, w).Filter("result with inputRequests", hasInputRequests)
		t.Judge(requesting, func(t *check.T, m check.Message) {
			t.Expect(repeatedKeys(m)).To(check.BeEmptyList[string]("each key of inputRequests once"))
		})
	}),

	"mrtr/request-state-string": check.WatchWithSetup(toolcall.CallTools, func(t *check.T, w check.Wire) {
		carrying := inputRequiredResults(t, w).Filter("result with requestState", func(m check.Message) bool {
			return protocol.ResultOf(m)["requestState"] != nil
		})
		t.Judge(carrying, func(t *check.T, m check.Message) {
			t.Expect(protocol.ResultOf(m)["requestState"]).To(check.BeString(), "requestState")
		})
	}),
}

// inputRequiredResults returns the results that ask for input in reply to methods for which that is allowed.
func inputRequiredResults(t *check.T, w check.Wire) check.Messages {
	return protocol.ModernResults(t, w).Filter("result that asks for input", func(m check.Message) bool {
		return protocol.MayRequireInput(m) && protocol.ResultOf(m)["resultType"] == "input_required"
	})
}

// hasInputRequests reports whether a result has input requests, whatever its resultType. A task may have some, too.
func hasInputRequests(m check.Message) bool {
	requests, _ := protocol.ResultOf(m)["inputRequests"].(check.M)
	return protocol.MayRequireInput(m) && len(requests) > 0 && protocol.ResultOf(m)["resultType"] != "task"
}

// hasInputRequiredText reports whether the content of a result is a text with JSON of a result that asks for input,
// which no client looks for there.
func hasInputRequiredText(m check.Message) bool {
	return slices.ContainsFunc(protocol.ObjectsIn(protocol.ResultOf(m)["content"]), func(block check.M) bool {
		text, _ := block["text"].(string)
		if !strings.Contains(text, `"input_required"`) {
			return false
		}
		result, _ := driver.Decode([]byte(text)).(check.M)
		return result["resultType"] == "input_required"
	})
}

// repeatedKeys returns the keys that the inputRequests of a result has more than once, as it was written.
func repeatedKeys(m check.Message) (again []string) {
	for _, path := range protocol.RepeatedNames(m.Raw.Bytes()) {
		if key, is := strings.CutPrefix(path, "/result/inputRequests/"); is && !strings.Contains(key, "/") {
			again = append(again, key)
		}
	}
	return again
}
