package advice

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// results are what tools come to when they are called with valid arguments.
var results = Suite{
	"advice/tool-output-schema-present": Probe(func(t *T) {
		calls, data := succeeded(t), []kit.ToolCall{}
		for _, c := range calls.List {
			if isData(c.Reply.Result()) {
				data = append(data, c)
			}
		}
		kit.Seen(t, len(data), "tool has returned data", calls.Uncalled, kit.AnyTool)
		kit.EachCall(t, data, func(t *T, c kit.ToolCall) {
			t.Expect(Has(c.Tool.Value, "outputSchema")).To(Hold("an outputSchema, since the tool returns data", "none"))
		})
	}),

	"advice/response-size-bounded": Probe(func(t *T) {
		calls := succeeded(t)
		kit.Seen(t, len(calls.List), "tool was called successfully", calls.Uncalled, kit.AnyTool)
		kit.EachCall(t, calls.List, func(t *T, c kit.ToolCall) {
			text := c.Reply.Text()
			n := utf8.RuneCountInString(text)
			t.Expect(n <= 20_000 || goesOn.MatchString(text)).To(Hold(
				"at most 20,000 characters, or a hint that there is more", "%d"+byPattern, n))
		})
	}),

	"advice/read-only-deterministic": Probe(func(t *T) {
		calls := succeeded(t)
		closed := slices.DeleteFunc(calls.List, func(c kit.ToolCall) bool { return !isClosed(c.Tool.Value) })
		kit.Seen(t, len(closed), "read-only tool of a closed world was called successfully", calls.Uncalled, isClosed)
		allowance := kit.NewAllowance()
		kit.EachCall(t, closed, func(t *T, c kit.ToolCall) {
			if why := allowance.Spent(); why != "" {
				t.Inconclusive("%s", why)
			}
			replies := differing(t, c, allowance)
			t.Expect(len(replies) < alwaysOther).To(Hold("the same result for the same arguments",
				"each time another one: %s, then %s", replies[0], replies[len(replies)-1]))
		})
	}),
}

// succeeded are the calls with valid arguments that have come to a result.
func succeeded(t *T) kit.ToolCalls {
	calls := kit.ValidCalls(t)
	calls.List = slices.DeleteFunc(slices.Clone(calls.List), func(c kit.ToolCall) bool {
		_, has := c.Reply.Result()["content"].([]any)
		return !has || c.Reply.Refuses()
	})
	return calls
}

// isData reports whether a result is for programs: it is structured, or one text that is a JSON object or a list.
func isData(result M) bool {
	blocks := kit.ObjectsIn(result["content"])
	if Has(result, "structuredContent") {
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
	case M:
		return len(v) > 0
	case []any:
		return len(Objects(v)) > 0
	}
	return false
}

// goesOn matches a text that says that it is not all there is.
var goesOn = regexp.MustCompile(`(?i)truncat|\bmore (?:results|lines|items|entries|characters|rows|available)\b|` +
	`\b(?:next|previous) (?:page|cursor)|cursor|\boffset\b|page \d+ of|omitted|left out|remaining|shortened|…\s*$`)

// isClosed reports whether a tool says that it changes nothing and asks nobody.
func isClosed(tool M) bool {
	return IsReadOnly(tool) && hintsOf(tool)["openWorldHint"] == false
}

// alwaysOther is how many different results are too many: what other checks call may change once what a tool reads.
const alwaysOther = 4

// differing are the results of the same call until one comes again: of a tool of which that can be told.
func differing(t *T, c kit.ToolCall, a *kit.Allowance) (replies []driver.Reply) {
	replies = []driver.Reply{c.Reply}
	if len(c.Input.Asked) > 0 {
		t.Because(NotApplicable).Skip("the tools ask for input first")
	}
	s := t.Session()
	for len(replies) < alwaysOther {
		r := t.Ask(s, "tools/call", kit.Enabling(t, M{"name": c.Tool.Name, "arguments": c.Arguments}))
		a.Spend(r)
		if _, has := r.Result()["content"].([]any); !has || r.Refuses() {
			t.Inconclusive("the tool was called once more, and came to %s", Got(r))
		}
		if slices.ContainsFunc(replies, func(before driver.Reply) bool { return sameResult(before, r) }) {
			return replies
		}
		replies = append(replies, r)
	}
	return replies
}

// sameResult reports whether two calls came to the same, whatever is said beside it.
func sameResult(a, b driver.Reply) bool {
	for _, member := range []string{"content", "structuredContent"} {
		if !bytes.Equal(Compact(a.Result()[member]), Compact(b.Result()[member])) {
			return false
		}
	}
	return true
}
