package tools

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

var unknown = Suite{
	"tools/unknown-tool-not-success": Probe(func(t *T) {
		_, r := kit.UnknownTool(t)
		kit.WantRefuser(t, r)
		kit.WantAnyAnswer(t, r)
		t.Expect(r).To(BeRefused())
	}),

	"tools/unknown-tool-protocol-error": Probe(func(t *T) {
		r := aboutStranger(t).reply
		if r.Member("error") == nil {
			kit.NotLimited(t, t.Session(), r)
		}
		t.Expect(r).To(BeError())
	}),

	"tools/unknown-tool-code": Probe(func(t *T) {
		r := aboutStranger(t).reply
		if r.Member("error") == nil {
			t.Yield("the unknown tool was not answered with a JSON-RPC error")
		}
		kit.NotLimited(t, t.Session(), r, -32602)
		t.Expect(r).To(BeError(-32602))
	}),

	"tools/name-case-sensitive": Probe(func(t *T) {
		unknown := aboutStranger(t)
		tool, swapped := otherCase(t)
		s := t.Session()
		call := func(name string) func() driver.Reply {
			return kit.Asking(t, s, "tools/call", M{"name": name, "arguments": M{"mcpcheck": 1}})
		}
		r := call(swapped)()
		if unknown.sameFor(r, swapped) || r.Refuses() && !kit.SayAlike(r, call(tool)()) {
			return
		}
		r, same := kit.Compare(t, kit.SayAlike, unknown.reply, call(unknown.name), call(swapped))
		t.Expect(same).To(Hold(swapped+" to be an unknown tool", "an answer as to %s: %s", tool, r))
	}),

	"tools/listed-tool-callable": Probe(func(t *T) {
		unknown := aboutStranger(t)
		valid := kit.ValidCalls(t)
		calls := kit.Answered(slices.Concat(valid.List, kit.InvalidCalls(t).List))
		kit.Seen(t, len(calls), "listed tool was called", valid.Uncalled, kit.AnyTool)
		var tools []Subject
		byTool := map[string][]kit.ToolCall{}
		for _, c := range calls {
			if byTool[c.Tool.Name] == nil {
				tools = append(tools, c.Tool)
			}
			byTool[c.Tool.Name] = append(byTool[c.Tool.Name], c)
		}
		t.Each(tools, func(t *T, tool Subject) {
			if valid.After != nil && !slices.Contains(valid.After, tool.Name) {
				t.Skip("the tool has left the list")
			}
			own := byTool[tool.Name]
			if slices.ContainsFunc(own, func(c kit.ToolCall) bool { return !unknown.missing(c) }) {
				return
			}
			first := own[0].Reply
			if kit.RunsAsTask(t, tool.Value) {
				t.Skip("the tool may run as a task")
			}
			if code, _ := first.Code(); code != -32601 && !unknown.plain() {
				t.Inconclusive("unknown tools and this one are answered alike, but not as unknown: %s", Got(first))
			}
			t.Fail("an answer other than to an unknown tool", "%s", first)
		})
	}),
}

// otherCase is the name of a tool that may be called, and the same in the other letter case, which no tool has.
func otherCase(t *T) (name, swapped string) {
	var refused []kit.Uncalled
	for _, tool := range kit.Choice(t) {
		swapped := strings.Map(swapCase, tool.Name)
		taken := slices.ContainsFunc(kit.ListedTools(t), func(x Subject) bool { return x.Name == swapped })
		switch {
		case kit.Uncallable(tool.Value, t.Revision) != "" || taken:
		case kit.MayVary(t, tool) != nil:
			refused = append(refused, *kit.MayVary(t, tool))
		default:
			return tool.Name, swapped
		}
	}
	kit.NothingSeen(t, "tool has a name with letters whose other case is free", refused, kit.AnyTool)
	return "", ""
}

func swapCase(r rune) rune {
	switch {
	case r > unicode.MaxASCII:
		return r
	case unicode.IsUpper(r):
		return unicode.ToLower(r)
	}
	return unicode.ToUpper(r)
}

// stranger is the answer to the call of an unknown tool, which is refused.
type stranger struct {
	name  string
	reply driver.Reply
}

func aboutStranger(t *T) stranger {
	name, r := kit.UnknownTool(t)
	switch {
	case !r.Answered():
		kit.WantRefuser(t, r)
		t.Inconclusive("%v", r.Err)
	case !r.Refuses():
		t.Yield("unknown tools are not refused")
	}
	return stranger{name, r}
}

// sameFor reports whether an answer says of the tool what the server says of unknown ones.
func (s stranger) sameFor(r driver.Reply, tool string) bool {
	return kit.SameKind(r, s.reply) && r.Text() == strings.ReplaceAll(s.reply.Text(), s.name, tool)
}

// missing reports whether a listed tool was answered as if it did not exist. A tool may hand on the -32601 with which
// mcpcheck has refused a request of the server.
func (s stranger) missing(c kit.ToolCall) bool {
	code, _ := c.Reply.Code()
	return code == -32601 && !askedUs(c) || s.sameFor(c.Reply, c.Tool.Name)
}

// askedUs reports whether the server requested something while it served the call.
func askedUs(c kit.ToolCall) bool {
	asked := false
	for _, f := range c.Session.Record(0) {
		switch {
		case f.Side == driver.FromClient && f.IsRequest() && driver.SameID(f.ID, c.Reply.Frame.Answers()):
			asked = false
		case f.Side == driver.FromServer && f.IsRequest() && f.Method != "ping":
			asked = true
		case f == c.Reply.Frame:
			return asked
		}
	}
	return asked
}

var unknownWords = regexp.MustCompile(
	`(?i)unknown|not found|no such|not exist|n't exist|not recogni[sz]ed|unrecogni[sz]ed|not registered|` +
		`not available|unsupported|invalid tool`,
)

// plain reports whether the answer says that the tool is unknown. Some servers hide all causes behind one text.
func (s stranger) plain() bool {
	text := s.reply.Text()
	about := strings.Contains(text, s.name) || strings.Contains(strings.ToLower(text), "tool")
	return about && unknownWords.MatchString(text)
}
