package tools

import (
	"bytes"
	"slices"
	"strings"

	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

var input = Suite{
	"tools/inputs-validated-required": Probe(func(t *T) {
		expectRefusal(t, kit.InvalidCalls(t).Refused, "required")
	}),

	"tools/inputs-validated-type": Probe(func(t *T) {
		expectRefusal(t, kit.InvalidCalls(t).Refused, "type")
	}),

	"tools/inputs-validated-enum": Probe(func(t *T) {
		expectRefusal(t, kit.InvalidCalls(t).Refused, "enum", "const")
	}),

	"tools/inputs-validated-bounds": Probe(func(t *T) {
		expectRefusal(t, kit.ValidCalls(t).Refused, kit.Bounds...)
	}),

	"tools/inputs-validated-additional": Probe(func(t *T) {
		expectRefusal(t, kit.ValidCalls(t).Refused, "additionalProperties")
	}),

	"tools/invalid-input-is-tool-error": Probe(func(t *T) {
		expectToolErrors(t, "invalid input was refused", kit.InvalidCalls(t))
	}),
}

// expectRefusal wants the calls to be refused whose arguments break one of the keywords.
func expectRefusal(t *T, uncalled []kit.Uncalled, keywords ...string) {
	var calls []kit.ToolCall
	for _, c := range kit.InvalidCalls(t).List {
		if slices.Contains(keywords, c.Broken.Keyword) {
			calls = append(calls, c)
		}
	}
	if len(calls) == 0 {
		mentions := func(tool M) bool {
			schema := Compact(tool["inputSchema"])
			return slices.ContainsFunc(keywords, func(k string) bool {
				return bytes.Contains(schema, []byte(`"`+k+`":`))
			})
		}
		broken := "tool was called with arguments that break " + strings.Join(keywords, " or ")
		kit.NothingSeen(t, broken, uncalled, mentions)
	}
	kit.EachCall(t, calls, func(t *T, c kit.ToolCall) {
		switch {
		case !c.Reply.Answered():
			t.Inconclusive("%v", c.Reply.Err)
		case isTask(c.Reply.Result()):
			t.Inconclusive("the call was answered with a task")
		case kit.Refused(c.Reply) && failsAnyway(t, c):
			t.Inconclusive("the tool fails alike with valid arguments: %s", Got(c.Reply))
		}
		want := "an error, or a result with isError true, since " + c.Broken.Why
		if wrappable(c) {
			t.Warn(kit.Refused(c.Reply)).To(Hold(want, "%s", Got(c.Reply)))
			return
		}
		t.Expect(kit.Refused(c.Reply)).To(Hold(want, "%s", Got(c.Reply)))
	})
}

// failsAnyway reports whether a tool fails with valid arguments just as it does with these: for want of a network, say.
// Its failure tells nothing of validation.
func failsAnyway(t *T, c kit.ToolCall) bool {
	return slices.ContainsFunc(kit.ValidCalls(t).List, func(valid kit.ToolCall) bool {
		return valid.Tool.Name == c.Tool.Name && valid.Reply.Answered() && kit.Refused(valid.Reply) &&
			wording(valid.Reply) == wording(c.Reply)
	})
}

// wrappable reports whether one value came in place of an array: some servers make an array of it, and lose nothing.
func wrappable(c kit.ToolCall) bool {
	schema, _ := c.Tool.Value["inputSchema"].(M)
	properties, _ := schema["properties"].(M)
	property, _ := properties[strings.TrimPrefix(c.Broken.Path, "/")].(M)
	return c.Broken.Keyword == "type" && property["type"] == "array"
}

// expectToolErrors wants refused calls to be answered with isError. A tool that the server does not know is the
// business of tools/listed-tool-callable, and -32042 asks the user for something.
func expectToolErrors(t *T, what string, calls kit.ToolCalls) {
	unknown := aboutStranger(t)
	var failed []kit.ToolCall
	for _, c := range kit.Answered(calls.List) {
		if c.Broken != nil && failsAnyway(t, c) {
			continue
		}
		if code, _ := c.Reply.Code(); kit.Refused(c.Reply) && code != -32042 && !unknown.missing(c) {
			failed = append(failed, c)
		}
	}
	if len(failed) == 0 {
		kit.NothingSeen(t, what, calls.Refused, kit.AnyTool)
	}
	kit.EachCall(t, failed, func(t *T, c kit.ToolCall) { t.Expect(c.Reply).To(BeToolError()) })
}
