package tools

import (
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

var callChecks = Suite{
	"tools/call-missing-name": Probe(func(t *T) {
		replies, codes := []driver.Reply{namelessCall(t)}, []int{-32602}
		if t.IsModern() {
			usual := func() driver.Reply { return malformedCall(t, M{"arguments": M{}}) }
			other := func() driver.Reply { return malformedCall(t, M{"name": 5, "arguments": M{}}) }
			misnamed, _ := kit.Compare(t, kit.SameKind, replies[0], usual, other)
			replies = append(replies, misnamed)
			codes = append(codes, kit.HeaderErrorCodes(t)...)
		}
		for _, r := range replies {
			kit.RequireNotRateLimited(t, t.SessionForInvalidInput(), r, codes...)
			t.Expect(r).To(BeRefused())
			t.ExpectShould(r).To(BeError(codes...))
		}
	}),

	"tools/call-missing-params": Probe(func(t *T) {
		r := malformedCall(t, nil)
		if silent := new(*driver.TimeoutError); errors.As(r.Err, silent) && errors.As(namelessCall(t).Err, silent) {
			t.Yield("a call without a name has no answer either")
		}
		t.Expect(r).To(BeRefused())
		t.ExpectShould(r).To(BeError(-32602, -32600))
	}),

	"tools/call-arguments-not-object": Probe(func(t *T) {
		tool := callableTool(t)
		s := t.SessionForInvalidInput()
		var replies []driver.Reply
		for _, arguments := range []any{"x", []any{1}} {
			replies = append(replies, kit.RequestInvalid(t, s, "tools/call", M{"name": tool, "arguments": arguments}))
		}
		for _, r := range replies {
			t.Expect(r).To(BeRefused())
		}
		for _, r := range replies {
			t.ExpectShould(r).To(BeError())
		}
	}),

	"tools/call-meta-tolerated": Probe(func(t *T) {
		kit.RequireCallsAllowed(t)
		s := t.Session()
		plain := M{"name": kit.UnknownToolName(t), "arguments": M{"mcpcheck": "quoted"}}
		dressed := maps.Clone(plain)
		dressed["_meta"] = M{"progressToken": 1, "com.example/x": true}
		want := kit.RequestInvalid(t, s, "tools/call", plain)
		usual := kit.AskFunc(t, s, "tools/call", plain)
		r, same := kit.Compare(t, kit.SameKind, want, usual, kit.AskFunc(t, s, "tools/call", dressed))
		t.Expect(same).To(BeTrue(kit.ReplyKind(want)+", as without _meta", "%s", r))
		complaint := regexp.MustCompile(`_meta|com\.example/x|progressToken`)
		complains := complaint.MatchString(r.MessageText()) && !complaint.MatchString(want.MessageText())
		quotes := strings.Contains(want.MessageText(), "quoted") // the text has whatever was in the params
		t.Expect(!complains || quotes).To(BeTrue("no complaint about _meta", "%s", r))
	}),

	"tools/call-arguments-optional": Probe(func(t *T) {
		var calls []kit.ToolCall
		for _, c := range kit.ValidCalls(t).List {
			if len(c.Arguments) == 0 && hasNoRequired(c.Tool.Value) {
				calls = append(calls, c)
			}
		}
		kit.RequireObserved(t, len(calls), "tool without required arguments was called", kit.ValidCalls(t).Uncalled,
			hasNoRequired)
		s, allowance := t.Session(), kit.NewCallBudget()
		kit.EachToolCall(t, calls, func(t *T, c kit.ToolCall) {
			if !c.Reply.Answered() || c.Reply.IsFailure() {
				t.Inconclusive("it fails with arguments {} too: %s", Got(c.Reply))
			}
			if why := allowance.ExhaustedReason(); why != "" {
				t.WithReason(Limit).Inconclusive("%s", why)
			}
			usual := kit.AskFunc(t, s, "tools/call",
				kit.WithAllCapabilities(t, M{"name": c.Tool.Name, "arguments": M{}}))
			bare := kit.AskFunc(t, s, "tools/call", kit.WithAllCapabilities(t, M{"name": c.Tool.Name}))
			r, same := kit.Compare(t, kit.SameKind, c.Reply, usual, bare)
			t.Expect(same).To(BeTrue("a result, as with arguments {}", "%s", r))
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
			t.WithReason(NotDeclared).Skip("the server does not declare tools.listChanged")
		}
		kit.SkipUnlessCanNotify(t)
		calls := kit.ValidCalls(t)
		switch {
		case calls.ToolsAfter == nil:
			t.WithReason(Died).Inconclusive("the session did not survive the calls of its tools")
		case slices.Equal(calls.ToolsBefore, calls.ToolsAfter):
			kit.SkipNotObserved(t, "call has changed the list", calls.Uncalled, kit.AnyTool)
		case !calls.Notified && calls.LimitErr != nil:
			t.Inconclusive("%v", calls.LimitErr)
		case calls.NoStream:
			t.Yield("no subscription for it is open")
		}
		t.Expect(calls.Notified).To(BeTrue("notifications/tools/list_changed",
			"none, although the list changed from %s to %s", Show(calls.ToolsBefore), Show(calls.ToolsAfter)))
	}),
}

// malformedCall is what comes of tools/call with params that name no tool.
func malformedCall(t *T, params M) driver.Reply {
	kit.RequireCallsAllowed(t)
	r := kit.TryInvalid(t, t.SessionForInvalidInput(), "tools/call", params)
	kit.SkipUnlessServerRejects(t, r)
	kit.SkipUnlessAnyAnswer(t, r)
	return r
}

// namelessCall is what comes of tools/call with arguments and no name.
func namelessCall(t *T) driver.Reply {
	return Step(t, "a call without a name", func(t *T) driver.Reply { return malformedCall(t, M{"arguments": M{}}) })
}

// callableTool is the name of a tool that may be called with invalid arguments.
func callableTool(t *T) (name string) {
	var why []kit.Uncalled
	for _, tool := range kit.ToolsInCallOrder(t) {
		not := kit.CheckMayCallInvalid(t, tool)
		if not == nil {
			return tool.Name
		}
		why = append(why, *not)
	}
	// Without any tool, the plan skips what needs one.
	t.Inconclusive("no tool may be called with invalid arguments (%v)", why[0])
	return ""
}

// hasNoRequired reports whether a tool has no required arguments.
func hasNoRequired(tool M) bool {
	schema, ok := tool["inputSchema"].(M)
	required, _ := schema["required"].([]any)
	return ok && len(required) == 0
}
