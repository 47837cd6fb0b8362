package stdio

import (
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

var input = Suite{
	"stdio/input-split-across-writes": Probe(func(t *T) {
		s := t.Session()
		whole := t.Ask(s, "ping", nil)
		p := s.Expecting("mcpcheck-split", "ping")
		line := append(Compact(M{"jsonrpc": "2.0", "id": "mcpcheck-split", "method": "ping"}), '\n')
		s.Write(line[:len(line)/2], line[len(line)/2:])
		expectSame(t, s.Await(p), whole)
	}),

	"stdio/input-coalesced": Probe(func(t *T) {
		s := t.Session()
		alone := t.Ask(s, "ping", nil)
		ids := []string{"mcpcheck-1", "mcpcheck-2", "mcpcheck-3"}
		var lines strings.Builder
		var pending []driver.Pending
		for _, id := range ids {
			lines.Write(Compact(M{"jsonrpc": "2.0", "id": id, "method": "ping"}))
			lines.WriteByte('\n')
			pending = append(pending, s.Expecting(id, "ping"))
		}
		s.Write([]byte(lines.String()))
		for _, p := range pending {
			expectSame(t, s.Await(p), alone)
		}
	}),

	"stdio/crlf-input": Probe(func(t *T) {
		s := t.Hostile()
		mark := s.Mark()
		p := s.Expecting("mcpcheck-crlf", "ping")
		s.Write([]byte(`{"jsonrpc":"2.0","id":"mcpcheck-crlf","method":"ping"}` + "\r\n"))
		s.React(mark)
		t.Expect(s.AwaitFor(p, 0)).To(BeAnswered(), "a ping ended by CR LF")
	}),

	"stdio/large-message": Probe(func(t *T) {
		sizes := []Subject{{Name: "256 KiB"}, {Name: "2 MiB"}}
		bytes := map[string]int{"256 KiB": 256 << 10, "2 MiB": 2 << 20}
		t.Each(sizes, func(t *T, size Subject) {
			s := t.Hostile()
			t.Expect(t.Try(s, "ping", M{"_meta": M{"com.example/mcpcheck": strings.Repeat("x", bytes[size.Name])}})).To(BeAnswered())
		})
	}),
}

// expectSame wants an answer of the kind that the same request gets otherwise.
func expectSame(t *T, got, ordinary driver.Reply) {
	t.Expect(got).To(BeAnswered())
	t.Expect(got.Error() == nil || ordinary.Error() != nil).To(Hold("the answer that this request gets otherwise", "%s", Got(got)))
}
