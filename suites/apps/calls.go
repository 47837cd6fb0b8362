package apps

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// callChecks are the checks of calls of tools with a page.
var callChecks = check.Suite{
	"apps/content-without-ui": check.Probe(func(t *check.T) {
		calls := uiCalls(t)
		served := slices.DeleteFunc(slices.Clone(calls.List),
			func(c toolcall.ToolCall) bool { return !isSuccessful(c) })
		toolcall.RequireObserved(t, len(served), "tool with a page was called successfully", calls.Uncalled,
			toolcall.AnyTool)
		toolcall.EachToolCall(t, served, func(t *check.T, c toolcall.ToolCall) {
			content := check.Member(c.Reply.Result(), "content")
			if plain, called := callWithoutUI(t, c.Tool.Name); called && !hasContent(plain) && !isArray(content) {
				t.Yield("there is no list of content without the extension either")
			}
			t.Expect(content).To(check.Satisfy("content, also beside a page",
				func(list []any) bool { return len(list) > 0 }))
		})
	}),

	"apps/text-fallback": check.Probe(func(t *check.T) {
		tools := slices.DeleteFunc(slices.Clone(uiTools(t)), isAppOnly)
		if len(tools) == 0 {
			t.Skip(check.NotOffered, "the tools with a page are for apps only")
		}
		t.Each(tools, func(t *check.T, tool check.Subject) {
			if !isListed(t, tool.Name) {
				replaced := len(t.Server.Tools) > 0
				t.Expect(replaced).To(check.BeTrue("the tool, or another one, for clients that show no pages",
					"no tool"))
				t.NoVerdict(check.Undecided,
					"it is not listed without the extension: what takes its place cannot be told")
			}
			c, called := callWithoutUI(t, tool.Name)
			shown, tried := uiCall(t, tool.Name)
			switch {
			case !called || !tried:
				uncalled := slices.Concat(toolcall.ValidCalls(t).Uncalled, uiCalls(t).Uncalled)
				isIt := func(x check.M) bool { return x["name"] == tool.Name }
				toolcall.SkipNotObserved(t, "call of it was answered", uncalled, isIt)
			case !isSuccessful(shown):
				t.NoVerdict(check.Undecided, "it fails with the extension too: %s", check.Got(shown.Reply))
			}
			t.Expect(!c.Reply.IsFailure()).To(check.BeTrue("a result, as with the extension", "%s", c.Reply))
		})
	}),
}

// uiCalls calls the tools with a page as a client that shows pages. They are called once for all checks.
func uiCalls(t *check.T) toolcall.ToolCalls {
	tools := uiTools(t)
	return check.Step(t, "calls of tools with pages", func(t *check.T) toolcall.ToolCalls {
		return toolcall.CallsWithCapabilities(t, t.Session(), uiCapabilities, tools)
	})
}

// uiCall returns the call of the named tool by a client that shows pages.
func uiCall(t *check.T, name string) (toolcall.ToolCall, bool) {
	return findCall(uiCalls(t).List, name)
}

// callWithoutUI returns the call of the named tool by a client that shows no pages.
func callWithoutUI(t *check.T, name string) (toolcall.ToolCall, bool) {
	return findCall(toolcall.ValidCalls(t).List, name)
}

func findCall(calls []toolcall.ToolCall, name string) (call toolcall.ToolCall, called bool) {
	i := slices.IndexFunc(calls, func(c toolcall.ToolCall) bool { return c.Tool.Name == name && c.Reply.Answered() })
	if i < 0 {
		return toolcall.ToolCall{}, false
	}
	return calls[i], true
}

// isSuccessful reports whether a call has the final result of a tool that did not fail.
func isSuccessful(c toolcall.ToolCall) bool {
	return c.Reply.Result() != nil && !c.Reply.IsFailure() && c.Reply.Result()["resultType"] != "task"
}

func hasContent(c toolcall.ToolCall) bool { return isArray(c.Reply.Result()["content"]) }

func isArray(v any) bool { _, is := v.([]any); return is }

// isAppOnly reports whether a tool is for pages only. Models, which can do without pages, do not see it.
func isAppOnly(tool check.Subject) bool {
	visibility, given := uiOf(tool.Value)["visibility"].([]any)
	return given && !slices.Contains(visibility, any("model"))
}

// isListed reports whether a tool is listed to clients that show no pages.
func isListed(t *check.T, name string) bool {
	return slices.ContainsFunc(t.Server.Tools, func(tool check.M) bool { return tool["name"] == name })
}
