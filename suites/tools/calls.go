package tools

import (
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// callChecks are the checks of tools/call.
var callChecks = check.Suite{
	"tools/call-missing-name": check.Probe(func(t *check.T) {
		replies, codes := []driver.Reply{namelessCall(t)}, []int{errcode.InvalidParams}
		if t.IsModern() {
			usual := func() driver.Reply { return malformedCall(t, check.M{"arguments": check.M{}}) }
			other := func() driver.Reply { return malformedCall(t, check.M{"name": 5, "arguments": check.M{}}) }
			misnamed, _ := protocol.Compare(t, protocol.SameKind, replies[0], usual, other)
			replies = append(replies, misnamed)
			codes = append(codes, protocol.HeaderErrorCodes(t)...)
		}
		isRefused := check.BeRefused()
		if check.KnownUnanswered(t, "tools/call") != nil {
			isRefused = check.ReportedBy("jsonrpc/every-request-answered", isRefused)
		}
		for _, r := range replies {
			toolcall.RequireNotRateLimited(t, t.Session(check.ForInvalidInput), r, codes...)
			t.Expect(r).To(isRefused)
			t.ExpectShould(r).To(check.BeError(codes...))
		}
	}),

	"tools/call-missing-params": check.Probe(func(t *check.T) {
		r := malformedCall(t, nil)
		if silent := new(*driver.TimeoutError); errors.As(r.Err, silent) && errors.As(namelessCall(t).Err, silent) {
			t.Yield("a call without a name has no answer either")
		}
		t.Expect(r).To(check.BeRefused())
		t.ExpectShould(r).To(check.BeError(errcode.InvalidParams, errcode.InvalidRequest))
	}),

	"tools/call-arguments-not-object": check.Probe(func(t *check.T) {
		tool := callableTool(t)
		s := t.Session(check.ForInvalidInput)
		var replies []driver.Reply
		for _, arguments := range []any{"x", []any{1}} {
			replies = append(replies,
				invalid.RequestInvalid(t, s, "tools/call", check.M{"name": tool, "arguments": arguments}))
		}
		for _, r := range replies {
			t.Expect(r).To(check.BeRefused())
		}
		for _, r := range replies {
			t.ExpectShould(r).To(check.BeError())
		}
	}),

	"tools/call-meta-tolerated": check.Probe(func(t *check.T) {
		invalid.RequireCallsAllowed(t)
		s := t.Session()
		plain := check.M{"name": protocol.UnknownToolName(t), "arguments": check.M{"mcpcheck": "quoted"}}
		withMeta := maps.Clone(plain)
		withMeta["_meta"] = check.M{"progressToken": 1, "com.example/x": true}
		want := invalid.RequestInvalid(t, s, "tools/call", plain)
		usual := protocol.AskFunc(t, s, "tools/call", plain)
		r, same := protocol.Compare(t, protocol.SameKind, want, usual, protocol.AskFunc(t, s, "tools/call", withMeta))
		isSame := check.BeTrue(protocol.ReplyKind(want)+", as without _meta", "%s", r)
		t.Expect(same).To(check.ReportedBy("schema/request-meta-tolerated", isSame))
		complaint := regexp.MustCompile(`_meta|com\.example/x|progressToken`)
		complains := complaint.MatchString(r.MessageText()) && !complaint.MatchString(want.MessageText())
		quotes := strings.Contains(want.MessageText(), "quoted") // the text quotes whatever is in the params
		isOther := check.BeTrue("no complaint about _meta", "%s", r)
		t.Expect(!complains || quotes).To(check.ReportedBy("schema/request-meta-tolerated", isOther))
	}),

	"tools/call-arguments-optional": check.Probe(func(t *check.T) {
		var calls []toolcall.ToolCall
		for _, c := range toolcall.ValidCalls(t).List {
			if len(c.Arguments) == 0 && hasNoRequired(c.Tool.Value) {
				calls = append(calls, c)
			}
		}
		toolcall.RequireObserved(t, len(calls), "tool without required arguments was called",
			toolcall.ValidCalls(t).Uncalled,
			hasNoRequired)
		s, allowance, silent := t.Session(), toolcall.NewCallBudget(), false
		toolcall.EachToolCall(t, calls, func(t *check.T, c toolcall.ToolCall) {
			if silent {
				t.NoVerdict(check.Undecided, "another tool has not answered such a call")
			}
			if !c.Reply.Answered() || c.Reply.IsFailure() {
				t.NoVerdict(check.Undecided, "it fails with arguments {} too: %s", check.Got(c.Reply))
			}
			if why := allowance.ExhaustedReason(); why != "" {
				t.NoVerdict(check.Limit, "%s", why)
			}
			usual := protocol.AskFunc(t, s, "tools/call",
				toolcall.WithAllCapabilities(t, check.M{"name": c.Tool.Name, "arguments": check.M{}}))
			params := toolcall.WithAllCapabilities(t, check.M{"name": c.Tool.Name})
			bare := func() driver.Reply {
				r := t.Send(s, "tools/call", params, check.AllowSilence)
				if silent = !r.Answered(); silent {
					usual() // ends the check if that is not answered any more, either
				}
				t.Expect(r).To(check.BeAnswered(), "a call without arguments")
				return r
			}
			r, same := protocol.Compare(t, protocol.SameKind, c.Reply, usual, bare)
			t.Expect(same).To(check.BeTrue("a result, as with arguments {}", "%s", r))
		})
	}),

	"tools/tool-failure-is-tool-error": check.Probe(func(t *check.T) {
		calls := toolcall.ValidCalls(t)
		calls.List = slices.Concat(calls.List, differentlyAnswered(toolcall.VariedCalls(t).List, calls.List))
		// Before 2025-11-25, both kinds of errors are allowed for arguments. Answers to input requests that are refused
		// are left to the area mrtr.
		calls.List = slices.DeleteFunc(calls.List, func(c toolcall.ToolCall) bool {
			code, _ := c.Reply.Code()
			return code == errcode.InvalidParams && (t.Revision < "2025-11-25" || len(c.InputLoop.InputReplies) > 0)
		})
		expectToolErrors(t, "tool that was called has failed", calls)
	}),

	"tools/list-changed-sent": check.Probe(func(t *check.T) { toolcall.ExpectListChangeNotified(t, "tools") }),
}

// differentlyAnswered are the calls whose tool has answered none of the calls before with the same error: what a tool
// answers whatever its arguments are is one failure.
func differentlyAnswered(calls, before []toolcall.ToolCall) []toolcall.ToolCall {
	return slices.DeleteFunc(slices.Clone(calls), func(c toolcall.ToolCall) bool {
		code, isError := c.Reply.Code()
		return isError && slices.ContainsFunc(before, func(b toolcall.ToolCall) bool {
			other, alsoError := b.Reply.Code()
			return b.Tool.Name == c.Tool.Name && alsoError && other == code
		})
	})
}

// malformedCall returns the reply to a tools/call whose params name no tool.
func malformedCall(t *check.T, params check.M) driver.Reply {
	invalid.RequireCallsAllowed(t)
	r := invalid.TryInvalid(t, t.Session(check.ForInvalidInput), "tools/call", params)
	invalid.SkipUnlessServerRejects(t, r)
	skipUnlessAnyAnswer(t, r)
	return r
}

// namelessCall returns the reply to a tools/call with arguments and without a name.
func namelessCall(t *check.T) driver.Reply {
	return check.Step(t, "a call without a name",
		func(t *check.T) driver.Reply { return malformedCall(t, check.M{"arguments": check.M{}}) })
}

// callableTool returns the name of a tool that may be called with invalid arguments.
func callableTool(t *check.T) (name string) {
	var why []toolcall.Uncalled
	for _, tool := range toolcall.ToolsInCallOrder(t) {
		not := toolcall.CheckMayCallInvalid(t, tool)
		if not == nil {
			return tool.Name
		}
		why = append(why, *not)
	}
	// Without any tool, checks of tools are skipped before.
	t.NoVerdict(check.Undecided, "no tool may be called with invalid arguments (%v)", why[0])
	return ""
}

// hasNoRequired reports whether a tool has no required arguments.
func hasNoRequired(tool check.M) bool {
	schema, ok := tool["inputSchema"].(check.M)
	required, _ := schema["required"].([]any)
	return ok && len(required) == 0
}

// skipUnlessAnyAnswer ends a check whose call timed out or ended the server, when no call of a listed tool was answered
// either.
func skipUnlessAnyAnswer(t *check.T, r driver.Reply) {
	if !invalid.IsTimeout(r) && !protocol.IsConnectionLost(r) {
		return
	}
	check.RequireNotLate(t, r)
	if calls := slices.Concat(toolcall.ValidCalls(t).List,
		toolcall.InvalidCalls(t).List); len(calls) > 0 && len(toolcall.AnsweredCalls(calls)) == 0 {
		t.Yield("no call of a tool has an answer")
	}
}
