package stdio

import (
	"strings"
	"unicode/utf8"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

var input = Suite{
	"stdio/input-split-across-writes": Probe(func(t *T) {
		s := t.Session()
		whole := AskHarmless(t, s)
		p, request := kit.Harmless(s, 70061)
		line := append(Compact(request), '\n')
		s.Write(line[:len(line)/2], line[len(line)/2:])
		expectSame(t, s.Await(p), whole)
		if kit.TextID(t, "") == nil || !kit.Echo(s, "mcpcheck-whole é✓😀").Named() {
			return // how such ids are repeated, jsonrpc/response-id-unicode judges
		}
		mark := s.Mark()
		p, request = kit.Harmless(s, "mcpcheck-split é✓😀")
		s.Write(withinCharacters(append(Compact(request), '\n'))...)
		e := kit.Await(s, mark, p, s.Patience())
		t.Expect(e).To(kit.BeNamed(e.ID), "a %s split within its characters", p.Method)
	}),

	"stdio/input-coalesced": Probe(func(t *T) {
		s := t.Session()
		alone := AskHarmless(t, s)
		ids := []int{70062, 70063, 70064}
		var lines strings.Builder
		var pending []driver.Pending
		for _, id := range ids {
			p, request := kit.Harmless(s, id)
			lines.Write(append(Compact(request), '\n'))
			pending = append(pending, p)
		}
		s.Write([]byte(lines.String()))
		for _, p := range pending {
			expectSame(t, s.Await(p), alone)
		}
	}),

	"stdio/crlf-input": Probe(func(t *T) {
		s := t.Hostile()
		mark := s.Mark()
		p, request := kit.Harmless(s, 70065)
		s.Write(append(Compact(request), "\r\n"...))
		s.React(mark)
		t.Expect(s.AwaitFor(p, 0)).To(BeAnswered(), "a %s ended by CR LF", p.Method)
	}),

	"stdio/large-message": Probe(func(t *T) {
		Each(t, []padding{{"256 KiB", 256 << 10}, {"2 MiB", 2 << 20}}, padding.subject, func(t *T, p padding) {
			s := t.Hostile()
			method, _ := s.Harmless()
			params := M{"_meta": M{"com.example/mcpcheck": strings.Repeat("x", p.Bytes)}}
			t.Expect(t.Try(s, method, params)).To(BeAnswered())
		})
	}),
}

// withinCharacters splits a text after the first byte of each character that has several.
func withinCharacters(text []byte) (pieces [][]byte) {
	begin := 0
	for i, r := range string(text) {
		if r >= utf8.RuneSelf {
			pieces = append(pieces, text[begin:i+1])
			begin = i + 1
		}
	}
	return append(pieces, text[begin:])
}

// padding is what makes a message large.
type padding struct {
	Name  string
	Bytes int
}

func (p padding) subject() Subject { return Named(p.Name) }

// expectSame wants an answer of the kind that the same request gets otherwise.
func expectSame(t *T, got, ordinary driver.Reply) {
	t.Expect(got).To(BeAnswered())
	t.Expect(got.Error() == nil || ordinary.Error() != nil).To(Hold("the answer that this request gets otherwise",
		"%s", got))
}
