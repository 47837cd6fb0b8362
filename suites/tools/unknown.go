package tools

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// unknownToolChecks are the checks of calls of unknown tools.
var unknownToolChecks = check.Suite{
	"tools/unknown-tool-not-success": check.Probe(func(t *check.T) {
		_, r := invalid.CallUnknownTool(t)
		invalid.SkipUnlessServerRejects(t, r)
		skipUnlessAnyAnswer(t, r)
		t.Expect(r).To(check.BeRefused())
	}),

	"tools/unknown-tool-protocol-error": check.Probe(func(t *check.T) {
		r := requireUnknownToolReply(t).reply
		if r.Member("error") == nil {
			toolcall.RequireNotRateLimited(t, t.Session(), r)
		}
		t.Expect(r).To(check.BeError())
	}),

	"tools/unknown-tool-code": check.Probe(func(t *check.T) {
		r := requireUnknownToolReply(t).reply
		if r.Member("error") == nil {
			t.Yield("the unknown tool was not answered with a JSON-RPC error")
		}
		toolcall.RequireNotRateLimited(t, t.Session(), r, errcode.InvalidParams)
		t.Expect(r).To(check.BeError(errcode.InvalidParams))
	}),

	"tools/name-case-sensitive": check.Probe(func(t *check.T) {
		unknown := requireUnknownToolReply(t)
		tool, swapped := otherCase(t)
		s := t.Session()
		call := func(name string) func() driver.Reply {
			return protocol.AskFunc(t, s, "tools/call", check.M{"name": name, "arguments": check.M{"mcpcheck": 1}})
		}
		r := call(swapped)()
		if unknown.matches(r, swapped) || r.IsFailure() && !protocol.SameText(r, call(tool)()) {
			return
		}
		r, same := protocol.Compare(t, protocol.SameText, unknown.reply, call(unknown.name), call(swapped))
		t.Expect(same).To(check.BeTrue(swapped+" to be an unknown tool", "an answer as to %s: %s", tool, r))
	}),

	"tools/listed-tool-callable": check.Probe(func(t *check.T) {
		unknown := requireUnknownToolReply(t)
		valid := toolcall.ValidCalls(t)
		calls := toolcall.AnsweredCalls(slices.Concat(valid.List, toolcall.InvalidCalls(t).List))
		toolcall.RequireObserved(t, len(calls), "listed tool was called", valid.Uncalled, toolcall.AnyTool)
		var tools []check.Subject
		byTool := map[string][]toolcall.ToolCall{}
		for _, c := range calls {
			if byTool[c.Tool.Name] == nil {
				tools = append(tools, c.Tool)
			}
			byTool[c.Tool.Name] = append(byTool[c.Tool.Name], c)
		}
		t.Each(tools, func(t *check.T, tool check.Subject) {
			if valid.HasLeft(tool.Name) {
				t.Skip(check.NotApplicable, "the tool has left the list")
			}
			own := byTool[tool.Name]
			if slices.ContainsFunc(own, func(c toolcall.ToolCall) bool { return !unknown.isMissing(c) }) {
				return
			}
			first := own[0].Reply
			if mayRunAsTask(t, tool.Value) {
				t.Skip(check.NotApplicable, "the tool may run as a task")
			}
			if code, _ := first.Code(); code != errcode.MethodNotFound && !unknown.isExplicit() {
				t.NoVerdict(check.Undecided, "unknown tools and this one are answered alike, but not as unknown: %s",
					check.Got(first))
			}
			t.Fail("an answer other than to an unknown tool", "%s", first)
		})
	}),
}

// otherCase returns the name of a tool that may be called, and the same name with the case of its letters swapped,
// which no tool has.
func otherCase(t *check.T) (name, swapped string) {
	var refused []toolcall.Uncalled
	for _, tool := range toolcall.ToolsInCallOrder(t) {
		swapped := strings.Map(swapCase, tool.Name)
		taken := slices.ContainsFunc(toolcall.ListedTools(t), func(x check.Subject) bool { return x.Name == swapped })
		switch {
		case toolcall.UncallableReason(tool.Value, t.Revision) != "" || taken:
		case toolcall.CheckMayVary(t, tool) != nil:
			refused = append(refused, *toolcall.CheckMayVary(t, tool))
		default:
			return tool.Name, swapped
		}
	}
	toolcall.SkipNotObserved(t, "tool has a name with letters whose other case is free", refused, toolcall.AnyTool)
	return "", ""
}

// swapCase swaps the case of an ASCII letter.
func swapCase(r rune) rune {
	switch {
	case r > unicode.MaxASCII:
		return r
	case unicode.IsUpper(r):
		return unicode.ToLower(r)
	}
	return unicode.ToUpper(r)
}

// unknownToolReply is the reply to a call of an unknown tool.
type unknownToolReply struct {
	name  string
	reply driver.Reply
}

func requireUnknownToolReply(t *check.T) unknownToolReply {
	name, r := invalid.CallUnknownTool(t)
	switch {
	case !r.Answered():
		invalid.SkipUnlessServerRejects(t, r)
		t.NoVerdict(check.Undecided, "%v", r.Err)
	case !r.IsFailure():
		t.Yield("unknown tools are not refused")
	}
	return unknownToolReply{name, r}
}

// matches reports whether a reply says the same of a tool as the server says of unknown ones.
func (s unknownToolReply) matches(r driver.Reply, tool string) bool {
	return protocol.SameKind(r, s.reply) && r.MessageText() == strings.ReplaceAll(s.reply.MessageText(), s.name, tool)
}

// isMissing reports whether a listed tool was answered as if it did not exist. A tool may pass on the -32601 with which
// mcpcheck has rejected a server request.
func (s unknownToolReply) isMissing(c toolcall.ToolCall) bool {
	code, _ := c.Reply.Code()
	return code == errcode.MethodNotFound && !hasServerRequest(c) || s.matches(c.Reply, c.Tool.Name)
}

// hasServerRequest reports whether the server sent a request while the call was running.
func hasServerRequest(c toolcall.ToolCall) bool {
	asked := false
	for _, f := range c.Session.FramesSince(0) {
		switch {
		case f.Side == driver.FromClient && f.IsRequest() && driver.SameID(f.ID, c.Reply.Frame.RequestID()):
			asked = false
		case f.Side == driver.FromServer && f.IsRequest() && f.Method != "ping":
			asked = true
		case f == c.Reply.Frame:
			return asked
		}
	}
	return asked
}

// unknownPattern matches a text that says that something is unknown.
var unknownPattern = regexp.MustCompile(
	`(?i)unknown|not found|no such|not exist|n't exist|not recogni[sz]ed|unrecogni[sz]ed|not registered|` +
		`not available|unsupported|invalid tool`,
)

// isExplicit reports whether the reply says that the tool is unknown. Some servers use one text for all causes.
func (s unknownToolReply) isExplicit() bool {
	text := s.reply.MessageText()
	about := strings.Contains(text, s.name) || strings.Contains(strings.ToLower(text), "tool")
	return about && unknownPattern.MatchString(text)
}

// mayRunAsTask reports whether by its definition a call of a tool may run as a task (2025-11-25).
func mayRunAsTask(t *check.T, tool check.M) bool {
	execution, _ := tool["execution"].(check.M)
	return !t.IsModern() && t.Server.Declares("tasks") && execution["taskSupport"] == "optional"
}
