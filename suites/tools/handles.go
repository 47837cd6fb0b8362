package tools

import (
	"maps"
	"net/http"
	"slices"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// handleChecks holds the checks of handles for state that tools create.
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
			isToolError := check.BeToolError()
			if isErrorOfAnotherType(c.Reply.Result()) {
				isToolError = check.ReportedBy("tools/iserror-type", isToolError)
			}
			t.Expect(c.Reply).To(isToolError)
		})
	}),

	"tools/handle-bound-to-user": check.Probe(func(t *check.T) {
		if t.Credentials.Bearer == "" || t.Credentials.SecondPrincipal == "" {
			t.Skip(check.NotGiven, "it takes the tokens of two users (--bearer-env, --token-env second=VARIABLE)")
		}
		calls, uncalled := callsWithIssuedHandles(t)
		toolcall.RequireObserved(t, len(calls), "tool has served a handle that another tool has returned", uncalled,
			toolcall.AnyTool)
		toolcall.EachToolCall(t, calls, func(t *check.T, c toolcall.ToolCall) { expectHandleRejected(t, c) })
	}),
}

// callsWithIssuedHandles calls each tool that takes a handle with one that the user was given in the valid calls, and
// returns the calls that were served.
func callsWithIssuedHandles(t *check.T) (calls []toolcall.ToolCall, uncalled []toolcall.Uncalled) {
	created := toolcall.ValidCalls(t)
	uncalled = created.Uncalled
	for _, h := range toolcall.Handles(t) {
		i := slices.IndexFunc(created.List, func(c toolcall.ToolCall) bool { return c.Tool.Name == h.Creator.Name })
		if i < 0 || isError(created.List[i].Reply.Result()) {
			continue
		}
		content, _ := created.List[i].Reply.Result()["structuredContent"].(check.M)
		handle, _ := content[h.Name].(string)
		for _, tool := range h.Users {
			arguments, not := toolcall.ArgumentsToVary(t, tool)
			if not != nil {
				uncalled = append(uncalled, *not)
				continue
			}
			arguments = maps.Clone(arguments)
			arguments[h.Name] = handle
			c := toolcall.ToolCall{Tool: tool, Arguments: arguments}
			c.Reply = t.Send(t.Session(), "tools/call", callParams(t, c))
			if handle != "" && isServed(c.Reply) {
				calls = append(calls, c)
			}
		}
	}
	return calls, uncalled
}

// isServed reports whether a call had a result that is not an error of the tool.
func isServed(r driver.Reply) bool {
	result := r.Result()
	return result != nil && !isUnfinished(result) && !isError(result)
}

// expectHandleRejected repeats a call as another user, to whom the handle does not belong.
func expectHandleRejected(t *check.T, c toolcall.ToolCall) {
	x := roundtrip.PostRequest(t.Session(), roundtrip.ManualRequest{Method: "tools/call", Params: callParams(t, c),
		Header: roundtrip.BearerHeader(t.Credentials.SecondPrincipal)})
	a := roundtrip.RequireHTTPResponse(t, roundtrip.AwaitResponse(x))
	if a.StatusCode == http.StatusUnauthorized || a.StatusCode == http.StatusForbidden {
		t.NoVerdict(check.NotGiven, "the second token may not call it at all: %s", a)
	}
	r := check.RequireServerReply(t, x.AwaitReply())
	if !isServed(r) {
		return
	}
	invalid.SkipUnlessServerRejects(t, r)
	if !slices.Contains(check.DeclarationsOf(t).ProtectedState, c.Tool.Name) {
		t.NoVerdict(check.NotGiven, "the handle of another user was taken, which is legal where users share what it "+
			"stands for; if they do not, name %s in protected-state of mcpcheck.yaml", c.Tool.Name)
	}
	t.Fail("an error for the handle of another user", "%s", r)
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
			c := toolcall.ToolCall{Tool: tool, Arguments: arguments}
			c.Reply = t.Send(t.Session(), "tools/call", callParams(t, c))
			calls = append(calls, c)
		}
	}
	return calls, uncalled
}

// callParams returns the params of a call.
func callParams(t *check.T, c toolcall.ToolCall) check.M {
	return toolcall.WithAllCapabilities(t, check.M{"name": c.Tool.Name, "arguments": c.Arguments})
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
