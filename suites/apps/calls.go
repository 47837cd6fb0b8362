package apps

import (
	"slices"

	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

var calls = Suite{
	"apps/content-without-ui": Probe(func(t *T) {
		calls := shownCalls(t)
		served := slices.DeleteFunc(slices.Clone(calls.List), func(c kit.ToolCall) bool { return !isServed(c) })
		kit.Seen(t, len(served), "tool with a page was called successfully", calls.Uncalled, kit.AnyTool)
		kit.EachCall(t, served, func(t *T, c kit.ToolCall) {
			content := Member(c.Reply.Result(), "content")
			if plain, called := plainCall(t, c.Tool.Name); called && !hasContent(plain) && !isArray(content) {
				t.Yield("there is no list of content without the extension either")
			}
			t.Expect(content).To(That("content, also beside a page", func(list []any) bool { return len(list) > 0 }))
		})
	}),

	"apps/text-fallback": Probe(func(t *T) {
		tools := slices.DeleteFunc(slices.Clone(uiTools(t)), isForAppsOnly)
		if len(tools) == 0 {
			t.Because(NotOffered).Skip("the tools with a page are for apps only")
		}
		t.Each(tools, func(t *T, tool Subject) {
			if !isListed(t, tool.Name) {
				replaced := len(t.Server.Tools) > 0
				t.Expect(replaced).To(Hold("the tool, or another one, for clients that show no pages", "no tool"))
				t.Inconclusive("it is not listed without the extension: what takes its place cannot be told")
			}
			c, called := plainCall(t, tool.Name)
			shown, tried := shownCall(t, tool.Name)
			switch {
			case !called || !tried:
				uncalled := slices.Concat(kit.ValidCalls(t).Uncalled, shownCalls(t).Uncalled)
				isIt := func(x M) bool { return x["name"] == tool.Name }
				kit.NothingSeen(t, "call of it was answered", uncalled, isIt)
			case !isServed(shown):
				t.Inconclusive("it fails with the extension too: %s", Got(shown.Reply))
			}
			t.Expect(!c.Reply.Refuses()).To(Hold("a result, as with the extension", "%s", c.Reply))
		})
	}),
}

// shownCalls calls the tools with a page as a client that shows pages, once for all checks.
func shownCalls(t *T) kit.ToolCalls {
	tools := uiTools(t)
	return Step(t, "calls of tools with pages", func(t *T) kit.ToolCalls {
		return kit.CallsDeclaring(t, t.Session(), able, tools)
	})
}

// shownCall is the one of a tool.
func shownCall(t *T, name string) (kit.ToolCall, bool) { return callOf(shownCalls(t).List, name) }

// plainCall is the call of a tool by a client that shows no pages.
func plainCall(t *T, name string) (kit.ToolCall, bool) { return callOf(kit.ValidCalls(t).List, name) }

func callOf(calls []kit.ToolCall, name string) (call kit.ToolCall, called bool) {
	i := slices.IndexFunc(calls, func(c kit.ToolCall) bool { return c.Tool.Name == name && c.Reply.Answered() })
	if i < 0 {
		return kit.ToolCall{}, false
	}
	return calls[i], true
}

// isServed reports whether a call has the final result of a tool that did not fail.
func isServed(c kit.ToolCall) bool {
	return c.Reply.Result() != nil && !c.Reply.Refuses() && c.Reply.Result()["resultType"] != "task"
}

func hasContent(c kit.ToolCall) bool { return isArray(c.Reply.Result()["content"]) }

func isArray(v any) bool { _, is := v.([]any); return is }

// isForAppsOnly reports whether a tool is not for models, which alone can do without pages.
func isForAppsOnly(tool Subject) bool {
	visibility, given := uiOf(tool.Value)["visibility"].([]any)
	return given && !slices.Contains(visibility, any("model"))
}

// isListed reports whether a tool is listed to clients that show no pages.
func isListed(t *T, name string) bool {
	return slices.ContainsFunc(t.Server.Tools, func(tool M) bool { return tool["name"] == name })
}
