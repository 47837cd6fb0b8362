package tools

import (
	"maps"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// handleChecks holds the check of handles for state that tools create.
var handleChecks = check.Suite{
	"tools/unknown-handle-is-tool-error": check.Probe(func(t *check.T) {
		handles := toolcall.Handles(t)
		if len(handles) == 0 {
			t.Skip(check.NotOffered, "no tool creates something that another one takes the id of, by their schemas")
		}
		calls, uncalled := callsWithUnknownHandles(t, handles)
		toolcall.RequireObserved(t, len(calls), "tool was called with a made-up handle", uncalled, toolcall.AnyTool)
		toolcall.EachToolCall(t, calls, func(t *check.T, c toolcall.ToolCall) {
			if isUnfinished(c.Reply.Result()) {
				t.NoVerdict(check.Undecided,
					"the call was answered with a task, or with what the tool wants to know first")
			}
			if c.Reply.Result()["isError"] != true {
				toolcall.RequireNotRateLimited(t, t.Session(), c.Reply)
			}
			t.Expect(c.Reply).To(check.BeToolError())
		})
	}),
}

// unknownHandles are handles that no server has issued, in the forms that schemas demand.
var unknownHandles = []string{"mcpcheck-no-such-handle", "6d637063-6865-4b6b-8000-000000000000"}

// callsWithUnknownHandles calls each tool that takes a handle with one that the server has not issued.
func callsWithUnknownHandles(
	t *check.T, handles []toolcall.Handle,
) (calls []toolcall.ToolCall, uncalled []toolcall.Uncalled) {
	for _, h := range handles {
		for _, tool := range h.Users {
			arguments, not := toolcall.ArgumentsToVary(t, tool)
			if not != nil {
				uncalled = append(uncalled, *not)
				continue
			}
			arguments = withHandle(t, tool, arguments, h.Name)
			if arguments == nil {
				uncalled = append(uncalled, toolcall.Uncalled{Tool: tool, Detail: "no made-up handle fits the schema"})
				continue
			}
			params := toolcall.WithAllCapabilities(t, check.M{"name": tool.Name, "arguments": arguments})
			calls = append(calls, toolcall.ToolCall{Tool: tool, Arguments: arguments,
				Reply: t.Send(t.Session(), "tools/call", params)})
		}
	}
	return calls, uncalled
}

// withHandle returns arguments with a handle that the server has not issued; nil if the schema of the tool accepts
// none.
func withHandle(t *check.T, tool check.Subject, arguments check.M, name string) check.M {
	schema, err := schemas.Compile(tool.Value["inputSchema"], t.Revision)
	if err != nil {
		return nil
	}
	for _, handle := range unknownHandles {
		changed := maps.Clone(arguments)
		if changed[name] = handle; schema.Validate(changed) == nil {
			return changed
		}
	}
	return nil
}
