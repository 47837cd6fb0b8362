package suites

import (
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

var stdio = Suite{
	"stdio/stdout-only-messages": Watch(func(t *T, w Wire) {
		t.Judge(w.Lines().Filter("output", wholeLine), func(t *T, m Message) {
			if joins(m) {
				t.Skip("a message that spans several lines: stdio/one-message-per-line")
			}
			t.Expect(isMessage(m.Frame)).To(Hold("nothing but MCP messages on stdout", "%q", driver.Brief(m.Raw)))
		})
	}),

	"stdio/one-message-per-line": WatchAfter(func(t *T) {
		if t.MayCallUnknown() { // a server that repeats the name shows whether it escapes it
			t.Try(t.Session(), "tools/call", M{"name": "mcpcheck no\nsuch tool", "arguments": M{}})
		}
	}, func(t *T, w Wire) {
		t.Judge(w.Lines().Filter("output", wholeLine), func(t *T, m Message) {
			t.Expect(!joins(m)).To(Hold("a whole message on one line", "a part of one: %q", driver.Brief(m.Raw)))
		})
	}),

	"stdio/message-terminated-by-newline": Probe(func(t *T) {
		s := t.Session()
		r := s.Await(s.RequestID("mcpcheck-newline", "ping", nil))
		if r.Answered() {
			return // its newline came with it
		}
		partial := s.Partial()
		if partial == 0 {
			t.Inconclusive("%v", r.Err)
		}
		t.Expect(partial).To(BeOneOf(0), "bytes of an answer without a newline after it")
	}),

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

	"stdio/stderr-utf8": Watch(func(t *T, w Wire) {
		var spoke []Subject
		heads := map[string][]byte{}
		for _, s := range w.Sessions {
			if head, _ := s.Stderr(); len(head) > 0 && !s.IsHostile() { // servers log what they read

				spoke = append(spoke, Subject{Name: s.Name()})
				heads[s.Name()] = head
			}
		}
		if len(spoke) == 0 {
			t.Skip("the server wrote nothing to stderr")
		}
		t.Each(spoke, func(t *T, session Subject) {
			t.Inform(utf8.Valid(heads[session.Name])).To(Hold("UTF-8 text on stderr", "%q", aroundInvalid(heads[session.Name])))
		})
	}),

	"stdio/responsive-without-stderr-reader": Fresh(func(t *T) {
		o := begin(t, opening{muted: true})
		t.Expect(o.welcome).To(BeResult(), "initialize, with stderr going nowhere")
		t.Expect(o.list).To(BeAnswered(), "a list, with stderr going nowhere")
	}),

	"stdio/exits-on-eof": Ending(func(t *T) {
		e := atEOF(t)
		t.Expect(e.byItself).To(Hold("the process gone within 5s of the end of stdin", "%s", e.how))
		t.Inform(e.took <= 2*time.Second).To(Hold("an exit within 2s", "%v", e.took.Round(10*time.Millisecond)))
	}),

	"stdio/shutdown-output-clean": Ending(func(t *T) {
		e := atEOF(t)
		if !e.byItself {
			t.Skip("the process did not exit by itself: stdio/exits-on-eof")
		}
		for _, f := range e.output {
			t.Expect(isMessage(f)).To(Hold("nothing but MCP messages while shutting down", "%q", driver.Brief(f.Raw)))
		}
	}),
}

// exitLimit is how long a process may take to end once it was asked to.
const exitLimit = 5 * time.Second

// ending is how a server took the end of its stdin.
type ending struct {
	byItself bool
	how      string // what it needed otherwise
	took     time.Duration
	exit     driver.Exit
	output   []*driver.Frame // written after the end of stdin
	stderr   string          // written after the end of stdin
}

// atEOF closes the stdin of a session that has served, and watches the end.
func atEOF(t *T) ending {
	return Shared(t, "end of stdin", func(t *T) (e ending) {
		s := t.Last()
		t.Ask(s, "ping", nil)
		before := strings.Join(s.StderrTail(), "\n")
		begin := time.Now()
		s.CloseInput()
		if !t.Alone() { // most are gone at once; who is not has the whole time when it is confirmed
			if e.exit, e.byItself = s.AwaitExit(exitLimit / 5); !e.byItself {
				t.Doubt()
				t.Again("the process did not end soon after its stdin")
			}
		}
		e.exit, e.byItself = s.AwaitExit(exitLimit)
		e.took = time.Since(begin)
		if !e.byItself {
			e.how = "an end by SIGTERM only"
			s.Terminate()
			if e.exit, _ = s.AwaitExit(exitLimit); s.Alive() {
				e.how = "an end by SIGKILL only"
			}
		}
		for _, f := range s.Since(0) {
			if f.AfterEOF && f.Ended {
				e.output = append(e.output, f)
			}
		}
		e.stderr = strings.TrimPrefix(strings.Join(s.StderrTail(), "\n"), before)
		return e
	})
}

// aroundInvalid is the part of a text around the first bytes that are no UTF-8.
func aroundInvalid(text []byte) []byte {
	at := 0
	for at < len(text) {
		r, size := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	return text[max(0, at-40):min(len(text), at+40)]
}

// wholeLine leaves out what a server was writing when it was ended.
func wholeLine(m Message) bool { return m.Ended }

// isMessage reports whether a line is a JSON-RPC message; arrays of them are
// judged by the area batch.
func isMessage(f *driver.Frame) bool {
	if f.Shape == driver.Array {
		return true
	}
	return f.Shape == driver.Object && (f.HasMethod || f.HasResult || f.HasError || f.ID != nil)
}

// joins reports whether a line that is no JSON is a part of a message: together
// with lines next to it, it is one.
func joins(m Message) bool {
	if m.Shape != driver.NotJSON || len(strings.TrimSpace(string(m.Raw))) == 0 {
		return false
	}
	var lines []*driver.Frame
	at := -1
	for _, f := range m.Session.Since(0) {
		if f == m.Frame {
			at = len(lines)
		}
		lines = append(lines, f)
	}
	first := at
	for first > 0 && at-first < mostJoined && !opens(lines[first]) {
		first--
	}
	if at < 0 || !opens(lines[first]) {
		return false
	}
	var spread, broken []byte // over lines as white space, or by a newline that was not escaped
	for _, f := range lines[first:min(len(lines), first+mostJoined)] {
		spread = append(append(spread, f.Raw...), '\n')
		broken = append(broken, f.Raw...)
		if json.Valid(spread) || json.Valid(broken) {
			return true
		}
		broken = append(broken, `\n`...)
	}
	return false
}

// mostJoined is how many lines are looked at for the parts of one message.
const mostJoined = 2000

// opens reports whether a line may be the first of a message that spans several.
func opens(f *driver.Frame) bool {
	return f.Shape == driver.NotJSON && strings.HasPrefix(strings.TrimLeft(string(f.Raw), " \t\r"), "{")
}

// expectSame wants an answer of the kind that the same request gets otherwise.
func expectSame(t *T, got, ordinary driver.Reply) {
	t.Expect(got).To(BeAnswered())
	t.Expect(got.Error() == nil || ordinary.Error() != nil).To(Hold("the answer that this request gets otherwise", "%s", Got(got)))
}
