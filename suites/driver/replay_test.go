package driver

import (
	"strings"
	"testing"
	"time"
)

// TestReplay checks that a replayed session has the recorded messages, and that those after the client violated the
// protocol are marked as after invalid input.
func TestReplay(t *testing.T) {
	const (
		initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`
		result     = `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}}`
		discover   = `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":` +
			`{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
		ping = `{"jsonrpc":"2.0","id":"s","method":"ping"}`
	)
	for name, test := range map[string]struct {
		lines    []string // lines of the server begin with <
		fault    string
		revision string
	}{
		"a handshake":   {lines: []string{initialize, "<" + result}, revision: "2025-11-25"},
		"no handshake":  {lines: []string{discover, `<{"jsonrpc":"2.0","id":1,"result":{}}`}, revision: "2026-07-28"},
		"a ping before": {lines: []string{`{"jsonrpc":"2.0","id":0,"method":"ping"}`}},
		"too early": {lines: []string{initialize, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`},
			fault: "line 2 of the session: the client sent tools/list before"},
		"an id twice": {lines: []string{initialize, "<" + result, initialize},
			fault: "the client used the id 1", revision: "2025-11-25"},
		"an id that is null": {lines: []string{`{"jsonrpc":"2.0","id":null,"method":"ping"}`},
			fault: "the client used the id null"},
		"not JSON":   {lines: []string{"hello"}, fault: "not a JSON-RPC message"},
		"no version": {lines: []string{`{"id":1,"method":"ping"}`}, fault: "not JSON-RPC 2.0"},
		"a batch":    {lines: []string{"[" + initialize + "]"}, fault: "not a JSON-RPC message"},
		"an answer":  {lines: []string{"<" + ping, `{"jsonrpc":"2.0","id":"s","result":{}}`}},
		"an unsolicited response": {lines: []string{`{"jsonrpc":"2.0","id":"s","result":{}}`},
			fault: "answered what nobody asked"},
	} {
		t.Run(name, func(t *testing.T) {
			var lines []TraceLine
			for i, text := range test.lines {
				line := TraceLine{At: time.Duration(i) * time.Second, Side: FromClient, Text: []byte(text)}
				if text, ours := strings.CutPrefix(text, "<"); ours {
					line.Side, line.Text = FromServer, []byte(text)
				}
				lines = append(lines, line)
			}
			s, fault := Replay(time.Now(), "stdio", lines, true)
			if !strings.Contains(fault, test.fault) || (fault == "") != (test.fault == "") {
				t.Errorf("fault %q, want %q", fault, test.fault)
			}
			if s.NegotiatedRevision() != test.revision || s.IsAlive() || !s.HasBeginning() ||
				s.HasInvalidInput() != (fault != "") {
				t.Errorf("revision %q, alive %v, whole %v, invalid input %v", s.NegotiatedRevision(), s.IsAlive(),
					s.HasBeginning(), s.HasInvalidInput())
			}
			if last := s.FramesSince(0)[len(lines)-1]; last.AfterInvalidInput != (fault != "") ||
				s.ShutdownAt() != last.At {
				t.Errorf("after invalid input %v, shutdown at %v", last.AfterInvalidInput, s.ShutdownAt())
			}
		})
	}
}

// TestReplayOfPart checks that a session is judged up to the first gap in its trace.
func TestReplayOfPart(t *testing.T) {
	ping := TraceLine{Side: FromClient, Text: []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)}
	for name, part := range map[string]TraceLine{
		"a line that is cut": {Side: FromServer, Text: []byte(`{"jsonrpc":"2.0","id":1,"resu…`), Truncated: true},
		"lines are left out": {Side: SessionEvent, Text: []byte("3 lines are left out here"), AfterGap: true},
	} {
		t.Run(name, func(t *testing.T) {
			s, fault := Replay(time.Now(), "stdio", []TraceLine{ping, part, ping}, true)
			if want := "line 2 of the session: the record leaves out what was said"; fault != want {
				t.Errorf("fault %q, want %q", fault, want)
			}
			if n := len(s.FramesSince(0)); n != 1 || s.LimitErr(0) == nil || s.HasInvalidInput() {
				t.Errorf("%d lines, limit error %v, invalid input %v", n, s.LimitErr(0), s.HasInvalidInput())
			}
		})
	}
}
