package advice

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// resultChecks are the checks of the results of tools that are called with valid arguments.
var resultChecks = check.Suite{
	"advice/tool-output-schema-present": check.Probe(func(t *check.T) {
		calls, data := successfulCalls(t), []toolcall.ToolCall{}
		for _, c := range calls.List {
			if isMachineReadable(c.Reply.Result()) {
				data = append(data, c)
			}
		}
		toolcall.RequireObserved(t, len(data), "tool has returned data", calls.Uncalled, toolcall.AnyTool)
		toolcall.EachToolCall(t, data, func(t *check.T, c toolcall.ToolCall) {
			t.Expect(check.HasMember(c.Tool.Value, "outputSchema")).
				To(check.BeTrue("an outputSchema, since the tool returns data", "none"))
		})
	}),

	"advice/response-size-bounded": check.Probe(func(t *check.T) {
		calls := successfulCalls(t)
		toolcall.RequireObserved(t, len(calls.List), "tool was called successfully", calls.Uncalled, toolcall.AnyTool)
		toolcall.EachToolCall(t, calls.List, func(t *check.T, c toolcall.ToolCall) {
			text := c.Reply.MessageText()
			n := utf8.RuneCountInString(text)
			t.Expect(n <= 20_000 || truncationPattern.MatchString(text)).To(check.BeTrue(
				"at most 20,000 characters, or a hint that there is more", "%d"+byPattern, n))
		})
	}),

	"advice/result-tokens": check.Probe(func(t *check.T) {
		calls := successfulCalls(t)
		toolcall.RequireObserved(t, len(calls.List), "tool was called successfully", calls.Uncalled, toolcall.AnyTool)
		largest := textSize{}
		toolcall.EachToolCall(t, calls.List, func(t *check.T, c toolcall.ToolCall) {
			size := measureTexts(c.Reply.MessageText())
			if size.bytes > largest.bytes {
				largest = size
			}
			t.Expect(size.tokens <= tolerated).To(check.BeTrue(fmt.Sprintf("at most %d tokens", maxTokens), "%s", size))
		})
		t.Note("%s in the largest result", largest)
	}),

	"advice/read-only-deterministic": check.Probe(func(t *check.T) {
		calls := successfulCalls(t)
		closed := slices.DeleteFunc(calls.List, func(c toolcall.ToolCall) bool { return !isClosedWorld(c.Tool.Value) })
		toolcall.RequireObserved(t, len(closed), "read-only tool of a closed world was called successfully",
			calls.Uncalled,
			isClosedWorld)
		allowance := toolcall.NewCallBudget()
		toolcall.EachToolCall(t, closed, func(t *check.T, c toolcall.ToolCall) {
			if why := allowance.ExhaustedReason(); why != "" {
				t.NoVerdict(check.Undecided, "%s", why)
			}
			replies := distinctReplies(t, c, allowance)
			t.Expect(len(replies) < maxDistinctResults).To(check.BeTrue("the same result for the same arguments",
				"each time another one: %s, then %s", replies[0], replies[len(replies)-1]))
		})
	}),
}

// successfulCalls returns the calls with valid arguments that have succeeded.
func successfulCalls(t *check.T) toolcall.ToolCalls {
	calls := toolcall.ValidCalls(t)
	calls.List = slices.DeleteFunc(slices.Clone(calls.List), func(c toolcall.ToolCall) bool {
		_, has := c.Reply.Result()["content"].([]any)
		return !has || c.Reply.IsFailure()
	})
	return calls
}

// isMachineReadable reports whether a result is for programs: it is structured, or a single text that is a JSON object
// or array.
func isMachineReadable(result check.M) bool {
	blocks := protocol.ObjectsIn(result["content"])
	if check.HasMember(result, "structuredContent") {
		return true
	}
	if len(blocks) != 1 {
		return false
	}
	text := textIn(blocks[0], "text")
	if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
		return false
	}
	switch v := driver.Decode([]byte(text)).(type) {
	case check.M:
		return len(v) > 0
	case []any:
		return len(check.Objects(v)) > 0
	}
	return false
}

// truncationPattern matches a text that says that it is incomplete.
var truncationPattern = regexp.MustCompile(
	`(?i)truncat|\bmore (?:results|lines|items|entries|characters|rows|available)\b|` +
		`\b(?:next|previous) (?:page|cursor)|cursor|\boffset\b|page \d+ of|omitted|left out|remaining|shortened|…\s*$`)

// isClosedWorld reports whether a tool declares that it is read-only and that it reaches nothing outside.
func isClosedWorld(tool check.M) bool {
	return report.IsReadOnly(tool) && hintsOf(tool)["openWorldHint"] == false
}

// maxDistinctResults is how many different results of one call are too many. The calls of other checks may change once
// what a tool reads.
const maxDistinctResults = 4

// distinctReplies repeats a call until a result comes again, and returns the different replies. The check ends if the
// tool asks for input, or if a repeated call fails.
func distinctReplies(t *check.T, c toolcall.ToolCall, a *toolcall.CallBudget) (replies []driver.Reply) {
	replies = []driver.Reply{c.Reply}
	if len(c.InputLoop.InputReplies) > 0 {
		t.Skip(check.NotApplicable, "the tools ask for input first")
	}
	s := t.Session()
	for len(replies) < maxDistinctResults {
		r := t.Send(s, "tools/call",
			toolcall.WithAllCapabilities(t, check.M{"name": c.Tool.Name, "arguments": c.Arguments}))
		a.Charge(r)
		if _, has := r.Result()["content"].([]any); !has || r.IsFailure() {
			t.NoVerdict(check.Undecided, "the tool was called once more, and came to %s", check.Got(r))
		}
		if slices.ContainsFunc(replies, func(before driver.Reply) bool { return sameResult(before, r) }) {
			return replies
		}
		replies = append(replies, r)
	}
	return replies
}

// sameResult reports whether two calls have the same content and structuredContent.
func sameResult(a, b driver.Reply) bool {
	for _, member := range []string{"content", "structuredContent"} {
		if !bytes.Equal(text.CompactJSON(a.Result()[member]), text.CompactJSON(b.Result()[member])) {
			return false
		}
	}
	return true
}
