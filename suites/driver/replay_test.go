package driver

import (
	"strings"
	"testing"
	"time"
)

// TestReplay: a recorded session is what was said in it, and hostile from where its client broke the protocol on.
func TestReplay(t *testing.T) {
	const (
		greet   = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`
		welcome = `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}}`
		modern  = `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":` +
			`{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
		asks = `{"jsonrpc":"2.0","id":"s","method":"ping"}`
	)
	for name, test := range map[string]struct {
		said     []string // those of the server begin with <
		fault    string
		revision string
	}{
		"a handshake":   {said: []string{greet, "<" + welcome}, revision: "2025-11-25"},
		"without one":   {said: []string{modern, `<{"jsonrpc":"2.0","id":1,"result":{}}`}, revision: "2026-07-28"},
		"a ping before": {said: []string{`{"jsonrpc":"2.0","id":0,"method":"ping"}`}},
		"too early": {said: []string{greet, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`},
			fault: "line 2 of the session: the client sent tools/list before"},
		"an id twice": {said: []string{greet, "<" + welcome, greet},
			fault: "the client used the id 1", revision: "2025-11-25"},
		"an id that is null": {said: []string{`{"jsonrpc":"2.0","id":null,"method":"ping"}`},
			fault: "the client used the id null"},
		"no JSON":    {said: []string{"hello"}, fault: "not a JSON-RPC message"},
		"no version": {said: []string{`{"id":1,"method":"ping"}`}, fault: "not JSON-RPC 2.0"},
		"a batch":    {said: []string{"[" + greet + "]"}, fault: "not a JSON-RPC message"},
		"an answer":  {said: []string{"<" + asks, `{"jsonrpc":"2.0","id":"s","result":{}}`}},
		"an answer to none": {said: []string{`{"jsonrpc":"2.0","id":"s","result":{}}`},
			fault: "answered what nobody asked"},
	} {
		t.Run(name, func(t *testing.T) {
			var said []TraceLine
			for i, text := range test.said {
				line := TraceLine{At: time.Duration(i) * time.Second, Side: FromClient, Text: []byte(text)}
				if text, ours := strings.CutPrefix(text, "<"); ours {
					line.Side, line.Text = FromServer, []byte(text)
				}
				said = append(said, line)
			}
			s, fault := Replay(time.Now(), "stdio", said, true)
			if !strings.Contains(fault, test.fault) || (fault == "") != (test.fault == "") {
				t.Errorf("fault %q, want %q", fault, test.fault)
			}
			if s.NegotiatedRevision() != test.revision || s.IsAlive() || !s.HasBeginning() ||
				s.HasInvalidInput() != (fault != "") {
				t.Errorf("revision %q, alive %v, whole %v, hostile %v", s.NegotiatedRevision(), s.IsAlive(),
					s.HasBeginning(), s.HasInvalidInput())
			}
			if last := s.FramesSince(0)[len(said)-1]; last.AfterInvalidInput != (fault != "") ||
				s.ShutdownAt() != last.At {
				t.Errorf("hostile %v, left at %v", last.AfterInvalidInput, s.ShutdownAt())
			}
		})
	}
}

// TestReplayOfPart: a record is judged up to where it leaves something out.
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
				t.Errorf("%d lines, excess %v, hostile %v", n, s.LimitErr(0), s.HasInvalidInput())
			}
		})
	}
}
