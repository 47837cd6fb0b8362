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
			var said []Saying
			for i, text := range test.said {
				line := Saying{At: time.Duration(i) * time.Second, Side: FromClient, Text: []byte(text)}
				if text, ours := strings.CutPrefix(text, "<"); ours {
					line.Side, line.Text = FromServer, []byte(text)
				}
				said = append(said, line)
			}
			s, fault := Replay(time.Now(), "stdio", said, true)
			if !strings.Contains(fault, test.fault) || (fault == "") != (test.fault == "") {
				t.Errorf("fault %q, want %q", fault, test.fault)
			}
			if s.Agreed() != test.revision || s.Alive() || !s.Whole() || s.IsHostile() != (fault != "") {
				t.Errorf("revision %q, alive %v, whole %v, hostile %v", s.Agreed(), s.Alive(), s.Whole(), s.IsHostile())
			}
			if last := s.Record(0)[len(said)-1]; last.Hostile != (fault != "") || s.LeftAt() != last.At {
				t.Errorf("hostile %v, left at %v", last.Hostile, s.LeftAt())
			}
		})
	}
}

// TestReplayOfPart: a record is judged up to where it leaves something out.
func TestReplayOfPart(t *testing.T) {
	ping := Saying{Side: FromClient, Text: []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)}
	for name, part := range map[string]Saying{
		"a line that is cut": {Side: FromServer, Text: []byte(`{"jsonrpc":"2.0","id":1,"resu…`), Cut: true},
		"lines are left out": {Side: Event, Text: []byte("3 lines are left out here"), Gap: true},
	} {
		t.Run(name, func(t *testing.T) {
			s, fault := Replay(time.Now(), "stdio", []Saying{ping, part, ping}, true)
			if want := "line 2 of the session: the record leaves out what was said"; fault != want {
				t.Errorf("fault %q, want %q", fault, want)
			}
			if n := len(s.Record(0)); n != 1 || s.Excess(0) == nil || s.IsHostile() {
				t.Errorf("%d lines, excess %v, hostile %v", n, s.Excess(0), s.IsHostile())
			}
		})
	}
}
