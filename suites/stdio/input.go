package stdio

import (
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// inputChecks are the checks of what a server reads from stdin.
var inputChecks = check.Suite{
	"stdio/input-split-across-writes": check.Probe(func(t *check.T) {
		stringID := invalid.StringIDOrDefault(t, "")
		s := t.Session()
		whole := check.RequestNoOp(t, s)
		p, request := protocol.NewNoOp(s, 70061)
		line := append(text.CompactJSON(request), '\n')
		s.Write(line[:len(line)/2], line[len(line)/2:])
		expectSameKind(t, s.Await(p), whole)
		if stringID == nil || !invalid.ProbeID(s, "mcpcheck-whole é✓😀").HasRequestID() {
			return // jsonrpc/response-id-unicode judges how such ids are repeated
		}
		mark := s.Mark()
		p, request = protocol.NewNoOp(s, "mcpcheck-split é✓😀")
		s.Write(splitWithinCharacters(append(text.CompactJSON(request), '\n'))...)
		e := invalid.AwaitWithBarrier(s, mark, p, s.ReplyTimeout())
		t.Expect(e).To(invalid.HaveRequestID(e.ID), "a %s split within its characters", p.Method)
	}),

	"stdio/input-coalesced": check.Probe(func(t *check.T) {
		s := t.Session()
		alone := check.RequestNoOp(t, s)
		ids := []int{70062, 70063, 70064}
		var lines strings.Builder
		var pending []driver.Pending
		for _, id := range ids {
			p, request := protocol.NewNoOp(s, id)
			lines.Write(append(text.CompactJSON(request), '\n'))
			pending = append(pending, p)
		}
		s.Write([]byte(lines.String()))
		for _, p := range pending {
			expectSameKind(t, s.Await(p), alone)
		}
	}),

	"stdio/crlf-input": check.Probe(func(t *check.T) {
		s := t.Session(check.ForInvalidInput)
		mark := s.Mark()
		p, request := protocol.NewNoOp(s, 70065)
		s.Write(append(text.CompactJSON(request), "\r\n"...))
		s.AwaitReaction(mark)
		t.Expect(s.AwaitFor(p, 0)).To(check.BeAnswered(), "a %s ended by CR LF", p.Method)
	}),

	"stdio/large-message": check.Probe(func(t *check.T) {
		const ordinary = 72 << 10 // what a request with a file, or with some screens of text, may have
		sizes := []padding{{"12 KiB", 12 << 10}, {"72 KiB", ordinary}, {"256 KiB", 256 << 10}, {"2 MiB", 2 << 20}}
		silent := false
		check.Each(t, sizes, padding.subject, func(t *check.T, p padding) {
			if silent {
				t.NoVerdict(check.Undecided, "a smaller message is not answered, either")
			}
			s := t.Session(check.ForInvalidInput)
			method, _ := s.NoOp()
			params := check.M{"_meta": check.M{"com.example/mcpcheck": strings.Repeat("x", p.Bytes)}}
			mark := s.Mark()
			r := t.Send(s, method, params, check.AllowSilence)
			var ended *driver.SessionEndError
			isRefused := errors.As(r.Err, &ended) || slices.ContainsFunc(s.ReceivedSince(mark), isErrorWithoutID)
			if silent = !r.Answered(); p.Bytes <= ordinary && !isRefused {
				t.Expect(r).To(check.BeAnswered())
			}
			t.ExpectAdvice(r).To(check.BeAnswered())
		})
	}),
}

// isErrorWithoutID reports whether a frame is an error of the server that has no id, as for a line that was not read.
func isErrorWithoutID(f *driver.Frame) bool {
	return f.Side == driver.FromServer && f.JSON()["error"] != nil && f.JSON()["id"] == nil
}

// splitWithinCharacters splits a text after the first byte of each multi-byte character.
func splitWithinCharacters(text []byte) (pieces [][]byte) {
	begin := 0
	for i, r := range string(text) {
		if r >= utf8.RuneSelf {
			pieces = append(pieces, text[begin:i+1])
			begin = i + 1
		}
	}
	return append(pieces, text[begin:])
}

// padding is a member that makes a message large; Bytes is its size.
type padding struct {
	Name  string
	Bytes int
}

func (p padding) subject() check.Subject { return check.NamedSubject(p.Name) }

// expectSameKind requires a reply of the same kind as the same request gets otherwise.
func expectSameKind(t *check.T, got, ordinary driver.Reply) {
	t.Expect(got).To(check.BeAnswered())
	t.Expect(got.Error() == nil ||
		ordinary.Error() != nil).To(check.BeTrue("the answer that this request gets otherwise",
		"%s", got))
}
