package sampling

import (
	"errors"
	"slices"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/kit/client"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

// toolChecks are the checks of the tools that a server lets the model use, and of their uses and results in messages.
var toolChecks = check.Suite{
	"sampling/tools-need-capability": check.WatchWithSetup(callAsPlainClient, func(t *check.T, w check.Wire) {
		eachPlainRequest(t, w, "tools", hasParam("tools", "toolChoice"), func(t *check.T, q client.ServerRequest) {
			for _, member := range []string{"tools", "toolChoice"} {
				t.Expect(check.Member(q.Params, member)).To(check.BeOneOf(check.Absent{}),
					member+" for a client without sampling.tools")
			}
		})
	}),

	"sampling/tool-choice-mode": schemaCheck("sampling/tool-choice-mode", "request with toolChoice came",
		"a mode that is auto, required or none", hasParam("toolChoice")),

	"sampling/tool-definitions-valid": schemaCheck("sampling/tool-definitions-valid", "request with tools came",
		"tools as their schema has them: a name, an inputSchema of type object", hasParam("tools")),

	"sampling/tool-results-unmixed": check.WatchWithSetup(callWithOtherResponses, func(t *check.T, w check.Wire) {
		eachRequest(t, w, toolResultRequest, hasBlocks("tool_result"), func(t *check.T, q client.ServerRequest) {
			mixed := slices.DeleteFunc(protocol.ObjectsIn(q.Params["messages"]), func(message check.M) bool {
				all := contentBlocks(message["content"])
				results := blocksOfType(all, "tool_result")
				return message["role"] != "user" || len(results) == 0 || len(results) == len(all)
			})
			t.Expect(mixed).To(check.BeEmptyList[check.M]("nothing but tool results in messages that have some"))
		})
	}),

	"sampling/tool-results-balanced": check.WatchWithSetup(callWithOtherResponses, func(t *check.T, w check.Wire) {
		eachRequest(t, w, toolResultRequest, hasBlocks("tool_use", "tool_result"),
			func(t *check.T, q client.ServerRequest) {
				unanswered, unrequested := unmatchedToolUses(protocol.ObjectsIn(q.Params["messages"]))
				t.Expect(unanswered).
					To(check.BeEmptyList[any]("a result for each use of a tool, in the user's next message"))
				t.Expect(unrequested).
					To(check.BeEmptyList[any]("a use of a tool for each result, in the message before it"))
			})
	}),

	"sampling/tool-result-structured-conforms": check.WatchWithSetup(callWithOtherResponses,
		func(t *check.T, w check.Wire) {
			has := func(q client.ServerRequest) bool { return len(structuredResults(q)) > 0 }
			eachRequest(t, w, "request with the structuredContent of a tool with outputSchema came", has,
				func(t *check.T, q client.ServerRequest) {
					for _, r := range structuredResults(q) {
						schema, err := schemas.Compile(r.outputSchema, t.Revision)
						if err != nil {
							t.NoVerdict(check.Undecided, "the outputSchema cannot be used: %v", err)
						}
						err = schema.Validate(r.value)
						if limit := (*schemas.LimitError)(nil); errors.As(err, &limit) {
							t.NoVerdict(check.Limit, "%v", err)
						}
						t.Expect(err == nil).To(check.BeTrue("structuredContent that satisfies the outputSchema", "%v",
							err))
					}
				})
		}),
}

// structuredResult is the structuredContent of a tool result whose tool has an outputSchema.
type structuredResult struct{ outputSchema, value any }

// structuredResults are the structured results in the messages of a request, of tools that it offers. Results that are
// errors are left out.
func structuredResults(q client.ServerRequest) (all []structuredResult) {
	byName, byUse := map[string]any{}, map[string]any{} // the schemas, by the name of the tool and by the id of its use
	for _, tool := range protocol.ObjectsIn(q.Params["tools"]) {
		byName[check.Show(tool["name"])] = tool["outputSchema"]
	}
	for _, message := range protocol.ObjectsIn(q.Params["messages"]) {
		blocks := contentBlocks(message["content"])
		for _, use := range blocksOfType(blocks, "tool_use") {
			byUse[check.Show(use["id"])] = byName[check.Show(use["name"])]
		}
		for _, result := range blocksOfType(blocks, "tool_result") {
			schema := byUse[check.Show(result["toolUseId"])]
			if schema != nil && check.HasMember(result, "structuredContent") && result["isError"] != true {
				all = append(all, structuredResult{schema, result["structuredContent"]})
			}
		}
	}
	return all
}

// unmatchedToolUses returns the ids of tool uses without a result in the next message, and those of results without a
// use in the previous message.
func unmatchedToolUses(messages []check.M) (unanswered, unrequested []any) {
	var used []any // the uses in the previous message
	for _, message := range append(messages, nil) {
		results := blockIDs("user", message, "tool_result", "toolUseId")
		for _, id := range used {
			if !slices.Contains(results, id) {
				unanswered = append(unanswered, id)
			}
		}
		for _, id := range results {
			if !slices.Contains(used, id) {
				unrequested = append(unrequested, id)
			}
		}
		used = blockIDs("assistant", message, "tool_use", "id")
	}
	return unanswered, unrequested
}

const toolResultRequest = "request with results of tools came"

// hasBlocks selects requests whose messages have blocks of one of the types.
func hasBlocks(kinds ...string) func(client.ServerRequest) bool {
	return func(q client.ServerRequest) bool {
		return slices.ContainsFunc(protocol.ObjectsIn(q.Params["messages"]), func(message check.M) bool {
			return slices.ContainsFunc(kinds, func(kind string) bool {
				return len(blocksOfType(contentBlocks(message["content"]), kind)) > 0
			})
		})
	}
}

// blockIDs returns the ids in the blocks of a type, if the message has the role. The id is in the named member.
func blockIDs(role string, message check.M, kind, member string) (ids []any) {
	if message["role"] != role {
		return nil
	}
	for _, block := range blocksOfType(contentBlocks(message["content"]), kind) {
		if id, isString := block[member].(string); isString {
			ids = append(ids, id)
		}
	}
	return ids
}
