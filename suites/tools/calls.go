package tools

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

var calling = Suite{
	"tools/call-missing-name": Probe(func(t *T) {
		r := malformedCall(t, M{"arguments": M{}})
		t.Expect(r).To(BeRefused())
		t.Warn(r).To(BeError(-32602))
	}),

	"tools/call-missing-params": Probe(func(t *T) {
		r := malformedCall(t, nil)
		t.Expect(r).To(BeRefused())
		t.Warn(r).To(BeError(-32602, -32600))
	}),

	"tools/call-arguments-not-object": Probe(func(t *T) {
		tool := callable(t)
		s := t.Hostile()
		var replies []driver.Reply
		for _, arguments := range []any{"x", []any{1}} {
			replies = append(replies, t.Ask(s, "tools/call", M{"name": tool, "arguments": arguments}))
		}
		for _, r := range replies {
			t.Expect(r).To(BeRefused())
		}
		for _, r := range replies {
			t.Warn(r).To(BeError())
		}
	}),

	"tools/call-meta-tolerated": Probe(func(t *T) {
		name, plain := kit.UnknownTool(t)
		if !plain.Answered() {
			t.Inconclusive("%v", plain.Err)
		}
		meta := M{"progressToken": 1, "com.example/x": true}
		r := t.Ask(t.Session(), "tools/call", M{"name": name, "arguments": M{}, "_meta": meta})
		t.Expect(kit.KindOf(r)).To(That(kit.KindOf(plain)+", as without _meta", func(kind string) bool {
			return kind == kit.KindOf(plain)
		}))
		complaint := regexp.MustCompile(`_meta|com\.example/x|progressToken`)
		complains := complaint.MatchString(wording(r)) && !complaint.MatchString(wording(plain))
		t.Expect(!complains).To(Hold("no complaint about _meta", "%s", Got(r)))
	}),

	"tools/call-arguments-optional": Probe(func(t *T) {
		var calls []kit.ToolCall
		for _, c := range kit.ValidCalls(t).List {
			if len(c.Arguments) == 0 && needsNothing(c.Tool.Value) {
				calls = append(calls, c)
			}
		}
		if len(calls) == 0 {
			kit.NothingSeen(t, "tool without required arguments was called", kit.ValidCalls(t).Refused, needsNothing)
		}
		s := t.Session()
		kit.EachCall(t, calls[:min(len(calls), 3)], func(t *T, c kit.ToolCall) {
			if !c.Reply.Answered() || kit.Refused(c.Reply) {
				t.Inconclusive("it fails with arguments {} too: %s", Got(c.Reply))
			}
			r := t.Ask(s, "tools/call", M{"name": c.Tool.Name})
			t.Expect(r).To(That("a result, as with arguments {}", func(r driver.Reply) bool { return !kit.Refused(r) }))
		})
	}),

	"tools/tool-failure-is-tool-error": Probe(func(t *T) {
		calls := kit.ValidCalls(t)
		if t.Revision < "2025-11-25" { // arguments may be refused in either way, whatever is wrong with them
			calls.List = slices.DeleteFunc(slices.Clone(calls.List), func(c kit.ToolCall) bool {
				code, _ := c.Reply.Code()
				return code == -32602
			})
		}
		expectToolErrors(t, "tool that was called has failed", calls)
	}),

	"tools/list-changed-sent": Probe(func(t *T) {
		if tools, _ := t.Server.Capabilities["tools"].(M); tools["listChanged"] != true {
			t.Skip("the server does not declare tools.listChanged")
		}
		if t.Server.Sessionless {
			t.Skip("the server has no sessions: there is no stream on which it could announce a change")
		}
		calls := kit.ValidCalls(t)
		switch {
		case calls.After == nil:
			t.Inconclusive("the session did not survive the calls of its tools")
		case slices.Equal(calls.Before, calls.After):
			kit.NothingSeen(t, "call has changed the list", calls.Refused, kit.AnyTool)
		}
		t.Expect(calls.Notified).To(Hold("notifications/tools/list_changed",
			"none, although the list changed from %s to %s", Show(calls.Before), Show(calls.After)))
	}),
}

// malformedCall is what comes of tools/call with params that name no tool.
func malformedCall(t *T, params M) driver.Reply {
	if !t.MayCallUnknown() {
		t.Inconclusive("tools are not called (--calls none)")
	}
	return t.Try(t.Hostile(), "tools/call", params)
}

// callable is the name of a tool that may be called with invalid arguments.
func callable(t *T) (name string) {
	var why []kit.Uncalled
	for _, tool := range kit.ReadOnlyFirst(kit.ListedTools(t)) {
		p := t.MayCall(tool)
		switch {
		case !p.Invalid:
			why = append(why, kit.Uncalled{Tool: tool, Why: p.Why})
		case kit.Uncallable(tool.Value) != "":
			why = append(why, kit.Uncalled{Tool: tool, Why: kit.Uncallable(tool.Value)})
		default:
			return tool.Name
		}
	}
	t.Inconclusive("no tool may be called (%v)", why[0]) // without any, the plan skips what needs one
	return ""
}

// wording is the kind and the text of a refusal.
func wording(r driver.Reply) string {
	text := kit.KindOf(r) + ": " + fmt.Sprint(Member(r.Error(), "message"))
	for _, block := range blocksOf(r.Result()) {
		text += fmt.Sprint(Member(block, "text"))
	}
	return text
}

// needsNothing reports whether a tool has no required arguments.
func needsNothing(tool M) bool {
	schema, ok := tool["inputSchema"].(M)
	required, _ := schema["required"].([]any)
	return ok && len(required) == 0
}
