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
			for _, message := range kit.ObjectsIn(q.Params["messages"]) {
				all := blocks(message["content"])
				if results := ofType(all, "tool_result"); message["role"] == "user" && len(results) > 0 {
					t.Expect(len(all) == len(results)).To(Hold("nothing but tool results beside tool results",
						"%s", Show(message)))
				}
			}
		})
	}),

	"sampling/tool-results-balanced": WatchAfter(answerOtherwise, func(t *T, w Wire) {
		judge(t, w, followUp, hasBlocks("tool_use", "tool_result"), func(t *T, q kit.Question) {
			messages := kit.ObjectsIn(q.Params["messages"])
			var used []any // in the message before
			for _, message := range append(messages, nil) {
				results := idsIn("user", message, "tool_result", "toolUseId")
				late := func(id any) bool { return !slices.Contains(results, id) }
				t.Expect(slices.ContainsFunc(used, late)).To(BeOneOf(false),
					"a tool use without a result in a message of the user right after it, of %s", Show(q.Params["messages"]))
				strange := func(id any) bool { return !slices.Contains(used, id) }
				t.Expect(slices.ContainsFunc(results, strange)).To(BeOneOf(false),
					"a tool result without a use in a message of the assistant right before it, of %s", Show(q.Params["messages"]))
				used = idsIn("assistant", message, "tool_use", "id")
			}
		})
	}),
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
