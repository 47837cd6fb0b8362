// Package sampling holds the checks of what servers ask the model of their client for.
package sampling

import (
	"slices"

	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// Checks are those of the area.
var Checks = Merge(requests, contents, tools, answers)

// createMessage is the request that the area is about.
const createMessage = "sampling/createMessage"

// judge tries a check on the requests of the run for messages that have what it is about; what names them in the reason
// when there are none. Where there are others, this server samples, and without it.
func judge(t *T, w Wire, what string, has func(kit.Question) bool, run func(*T, kit.Question)) {
	asked := kit.Questions(t, w, createMessage)
	all := slices.DeleteFunc(slices.Clone(asked), func(q kit.Question) bool { return !has(q) })
	if len(asked) > 0 && len(all) == 0 {
		t.Because(NotObserved).Skip("no %s", what)
	}
	kit.JudgeQuestions(t, what, all, run)
}

// every is for all requests.
func every(kit.Question) bool { return true }

// having is for requests that have one of the params.
func having(members ...string) func(kit.Question) bool {
	return func(q kit.Question) bool {
		return slices.ContainsFunc(members, func(member string) bool { return Has(q.Params, member) })
	}
}

// shape is the check of what an entry has of the schema of requests for messages.
func shape(id, what, want string, has func(kit.Question) bool) Check {
	return WatchAfter(kit.LetInquire, func(t *T, w Wire) {
		judge(t, w, what, has, func(t *T, q kit.Question) {
			if t.Modern() && q.Params == nil {
				t.Yield("params is not an object")
			}
			t.Expect(kit.Broken(t, id, "CreateMessageRequest", q.Value())).To(BeEmptyList[string](want))
		})
	})
}

// blocks are those of the content of a message: one, or a list of them.
func blocks(content any) []M {
	if block, isOne := content.(M); isOne {
		return []M{block}
	}
	return kit.ObjectsIn(content)
}

// ofType are the blocks of a type.
func ofType(all []M, kind string) []M {
	return slices.DeleteFunc(slices.Clone(all), func(block M) bool { return block["type"] != kind })
}
