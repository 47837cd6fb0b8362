package tools

import (
	"bytes"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// inputChecks are the checks of how servers validate arguments.
var inputChecks = check.Suite{
	"tools/inputs-validated-required": check.Probe(func(t *check.T) { expectRefusal(t, "required") }),

	typesCheck: check.Probe(func(t *check.T) { expectRefusal(t, "type") }),

	"tools/inputs-validated-enum": check.Probe(func(t *check.T) { expectRefusal(t, "enum", "const") }),

	"tools/inputs-validated-bounds": check.Probe(func(t *check.T) { expectRefusal(t, toolcall.BoundKeywords...) }),

	"tools/inputs-validated-composition": check.Probe(func(t *check.T) {
		expectRefusal(t, schemas.CompositionKeywords...)
	}),

	"tools/inputs-validated-additional": check.Probe(func(t *check.T) { expectRefusal(t, "additionalProperties") }),

	"tools/invalid-input-is-tool-error": check.Probe(func(t *check.T) {
		expectToolErrors(t, "invalid input was refused", toolcall.InvalidCalls(t))
	}),
}

// typesCheck is the id of the check that also reports a tool that validates nothing.
const typesCheck = "tools/inputs-validated-type"

// takesAnyType reports whether a tool takes any value for its arguments, as one that validates nothing does: all calls
// with values of other types succeed, apart from those that some servers convert. Of a tool that was not called so, the
// others tell.
func takesAnyType(t *check.T, tool string) bool {
	calls, _ := callsBreaking(toolcall.InvalidCalls(t), []string{"type"})
	calls = slices.DeleteFunc(calls, func(c toolcall.ToolCall) bool {
		return c.Counterexample.IsCoercible || !c.Reply.Answered() || isUnfinished(c.Reply.Result())
	})
	isOfTool := func(c toolcall.ToolCall) bool { return c.Tool.Name == tool }
	if slices.ContainsFunc(calls, isOfTool) {
		calls = slices.DeleteFunc(calls, func(c toolcall.ToolCall) bool { return !isOfTool(c) })
	}
	return len(calls) > 0 && !slices.ContainsFunc(calls, func(c toolcall.ToolCall) bool { return c.Reply.IsFailure() })
}

// takesAnyTypeAt reports whether a tool takes a value of another type in the place that a call has changed, or within
// the same argument: nothing validates that place, or what is below the argument.
func takesAnyTypeAt(t *check.T, c toolcall.ToolCall) bool {
	calls, _ := callsBreaking(toolcall.InvalidCalls(t), []string{"type"})
	argument, inner := brokenArgument(c)
	inner = inner || slices.Contains(schemas.CompositionKeywords, c.Counterexample.Keyword) // they are about members
	return slices.ContainsFunc(calls, func(other toolcall.ToolCall) bool {
		name, below := brokenArgument(other)
		isAt := other.Counterexample.Path == c.Counterexample.Path || inner && below && name == argument
		return other.Tool.Name == c.Tool.Name && isAt &&
			!other.Counterexample.IsCoercible && other.Reply.Result() != nil && !other.Reply.IsFailure() &&
			!isUnfinished(other.Reply.Result())
	})
}

// brokenArgument returns the name of the argument that a call breaks, and whether the broken place is below it.
func brokenArgument(c toolcall.ToolCall) (argument string, below bool) {
	argument, _, below = strings.Cut(strings.TrimPrefix(c.Counterexample.Path, "/"), "/")
	return argument, below
}

// expectRefusal requires calls to be rejected whose arguments violate one of the keywords.
func expectRefusal(t *check.T, keywords ...string) {
	calls, uncalled := callsBreaking(toolcall.InvalidCalls(t), keywords)
	what := "tool was called with arguments that break " + strings.Join(keywords, " or ")
	toolcall.RequireObserved(t, len(calls), what, uncalled, toolcall.AnyTool)
	toolcall.EachToolCall(t, calls, func(t *check.T, c toolcall.ToolCall) {
		switch {
		case !c.Reply.Answered():
			t.NoVerdict(check.Undecided, "%v", c.Reply.Err)
		case isUnfinished(c.Reply.Result()):
			t.NoVerdict(check.Undecided, "the call was answered with a task, or with what the tool wants to know first")
		case isErrorOfAnotherType(c.Reply.Result()):
			t.Yield("isError is not a boolean")
		case c.Reply.IsFailure() && failsAnyway(t, c):
			t.NoVerdict(check.Undecided, "the tool fails with valid arguments, too: %s", check.Got(c.Reply))
		}
		want := "an error, or a result with isError true, since " + c.Counterexample.Reason
		isRefused := check.BeTrue(want, "%s", c.Reply)
		if c.Counterexample.Keyword != "type" && (takesAnyType(t, c.Tool.Name) || takesAnyTypeAt(t, c)) {
			isRefused = check.ReportedBy(typesCheck, isRefused)
		}
		if c.Counterexample.IsCoercible { // some servers wrap, or round, such a value, and go on with that
			t.ExpectShould(c.Reply.IsFailure()).To(isRefused)
			return
		}
		t.Expect(c.Reply.IsFailure()).To(isRefused)
	})
}

// isErrorOfAnotherType reports whether a result has an isError that is not a boolean.
func isErrorOfAnotherType(result check.M) bool {
	_, isBoolean := result["isError"].(bool)
	return check.HasMember(result, "isError") && !isBoolean
}

// callsBreaking returns the calls whose arguments violate one of the keywords, and those that were not made.
func callsBreaking(
	all toolcall.ToolCalls, keywords []string,
) (calls []toolcall.ToolCall, uncalled []toolcall.Uncalled) {
	for _, c := range all.List {
		if slices.Contains(keywords, c.Counterexample.Keyword) {
			calls = append(calls, c)
		}
	}
	for _, u := range all.Uncalled {
		if slices.Contains(keywords, u.Keyword) || u.Keyword == "" && usesKeyword(u.Tool.Value, keywords) {
			uncalled = append(uncalled, u)
		}
	}
	return calls, uncalled
}

// usesKeyword reports whether one of the keywords occurs in the inputSchema of a tool.
func usesKeyword(tool check.M, keywords []string) bool {
	schema := text.CompactJSON(tool["inputSchema"])
	return slices.ContainsFunc(keywords, func(k string) bool { return bytes.Contains(schema, []byte(`"`+k+`":`)) })
}

// failsAnyway reports whether a tool fails with valid arguments in the same way as with these, for example without a
// network, or differently each time. Such a failure says nothing about validation.
func failsAnyway(t *check.T, c toolcall.ToolCall) bool {
	calls := toolcall.ValidCalls(t).List
	i := slices.IndexFunc(calls, func(valid toolcall.ToolCall) bool { return valid.Tool.Name == c.Tool.Name })
	if i < 0 || !calls[i].Reply.IsFailure() {
		return false
	}
	return protocol.SameText(calls[i].Reply, c.Reply) || !protocol.SameText(calls[i].Reply, secondReply(t, calls[i]))
}

// secondReply returns the reply to a repeated call.
func secondReply(t *check.T, c toolcall.ToolCall) driver.Reply {
	return check.Step(t, "second call of "+c.Tool.Name, func(t *check.T) driver.Reply {
		params := toolcall.WithAllCapabilities(t, check.M{"name": c.Tool.Name, "arguments": c.Arguments})
		return t.Send(t.Session(), "tools/call", params)
	})
}

// isClientError reports whether a call was refused for something that the client has to do first: let the user visit a
// URL or, in the modern revisions, repeat arguments in headers or declare a capability.
func isClientError(t *check.T, r driver.Reply) bool {
	code, _ := r.Code()
	return code == errcode.URLElicitationRequired || t.IsModern() && (code == errcode.HeaderMismatch ||
		code == errcode.MissingRequiredClientCapability)
}

// expectToolErrors requires rejected calls to be answered with isError. Tools that the server does not know are left to
// tools/listed-tool-callable.
func expectToolErrors(t *check.T, what string, calls toolcall.ToolCalls) {
	unknown := requireUnknownToolReply(t)
	var failed []toolcall.ToolCall
	for _, c := range toolcall.AnsweredCalls(calls.List) {
		if c.Counterexample != nil && failsAnyway(t, c) {
			continue
		}
		if c.Reply.IsFailure() && !isClientError(t, c.Reply) && !unknown.isMissing(c) && !c.Reply.IsForbidden() {
			failed = append(failed, c)
		}
	}
	toolcall.RequireObserved(t, len(failed), what, calls.Uncalled, toolcall.AnyTool)
	isError := func(c toolcall.ToolCall) bool { return c.Reply.Member("error") != nil }
	if i := slices.IndexFunc(failed, isError); i >= 0 {
		requireSameAlone(t, failed[i])
	}
	toolcall.EachToolCall(t, failed,
		func(t *check.T, c toolcall.ToolCall) { t.Expect(c.Reply).To(check.BeToolError()) })
}

// requireSameAlone ends the check if a call has another outcome when no other call was made before: the server may have
// a rate limit, without saying so.
func requireSameAlone(t *check.T, c toolcall.ToolCall) {
	r := t.Send(t.Session(check.Exclusive), "tools/call",
		toolcall.WithAllCapabilities(t, check.M{"name": c.Tool.Name, "arguments": c.Arguments}), check.AllowSilence)
	if !protocol.SameKind(c.Reply, r) {
		t.NoVerdict(check.Undecided, "the call of %s is answered otherwise when it is the first one: %s", c.Tool.Name,
			check.Got(r))
	}
}
