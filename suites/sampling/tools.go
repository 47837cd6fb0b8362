package sampling

import (
	"slices"

	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// tools are the checks of the tools that a server lets the model use, and of what it makes of their use.
var tools = Suite{
	"sampling/tools-need-capability": WatchAfter(samplePlainly, func(t *T, w Wire) {
		judgePlain(t, w, "tools", having("tools", "toolChoice"), func(t *T, q kit.Question) {
			for _, member := range []string{"tools", "toolChoice"} {
				t.Expect(Member(q.Params, member)).To(BeOneOf(Absent{}), member+" for a client without sampling.tools")
			}
		})
	}),

	"sampling/tool-choice-mode": shape("sampling/tool-choice-mode", "request with toolChoice came",
		"a mode that is auto, required or none", having("toolChoice")),

	"sampling/tool-definitions-valid": shape("sampling/tool-definitions-valid", "request with tools came",
		"tools as their schema has them: a name, an inputSchema of type object", having("tools")),

	"sampling/tool-results-unmixed": WatchAfter(answerOtherwise, func(t *T, w Wire) {
		judge(t, w, followUp, hasBlocks("tool_result"), func(t *T, q kit.Question) {
			mixed := slices.DeleteFunc(kit.ObjectsIn(q.Params["messages"]), func(message M) bool {
				all := blocks(message["content"])
				results := ofType(all, "tool_result")
				return message["role"] != "user" || len(results) == 0 || len(results) == len(all)
			})
			t.Expect(mixed).To(BeEmptyList[M]("nothing but tool results in messages that have some"))
		})
	}),

	"sampling/tool-results-balanced": WatchAfter(answerOtherwise, func(t *T, w Wire) {
		judge(t, w, followUp, hasBlocks("tool_use", "tool_result"), func(t *T, q kit.Question) {
			unanswered, strange := unbalanced(kit.ObjectsIn(q.Params["messages"]))
			t.Expect(unanswered).To(BeEmptyList[any]("a result for each use of a tool, in the user's next message"))
			t.Expect(strange).To(BeEmptyList[any]("a use of a tool for each result, in the message before it"))
		})
	}),
}

// unbalanced are the ids of the uses of tools without a result where that has to be, and of results without a use.
func unbalanced(messages []M) (unanswered, strange []any) {
	var used []any // in the message before
	for _, message := range append(messages, nil) {
		results := idsIn("user", message, "tool_result", "toolUseId")
		for _, id := range used {
			if !slices.Contains(results, id) {
				unanswered = append(unanswered, id)
			}
		}
		for _, id := range results {
			if !slices.Contains(used, id) {
				strange = append(strange, id)
			}
		}
		used = idsIn("assistant", message, "tool_use", "id")
	}
	return unanswered, strange
}

const followUp = "request with what came of the use of tools came"

// hasBlocks is for requests whose messages have blocks of one of the types.
func hasBlocks(kinds ...string) func(kit.Question) bool {
	return func(q kit.Question) bool {
		return slices.ContainsFunc(kit.ObjectsIn(q.Params["messages"]), func(message M) bool {
			return slices.ContainsFunc(kinds, func(kind string) bool {
				return len(ofType(blocks(message["content"]), kind)) > 0
			})
		})
	}
}

// idsIn are what the blocks of a type in a message of a role have as their id.
func idsIn(role string, message M, kind, member string) (ids []any) {
	if message["role"] != role {
		return nil
	}
	for _, block := range ofType(blocks(message["content"]), kind) {
		if id, isString := block[member].(string); isString {
			ids = append(ids, id)
		}
	}
	return ids
}
