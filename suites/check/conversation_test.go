package check

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check/internal/attempt"
	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// TestConversation checks what a check receives where a recording is judged: a session is recorded as lines, of the
// client (>), of the server (<) and about the session (·).
func TestConversation(t *testing.T) {
	const handshake = `> {"id":1,"jsonrpc":"2.0","method":"initialize","params":{"capabilities":{}}}
< {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{}}}
`
	ping := func(id string) string { return fmt.Sprintf(`> {"id":%s,"jsonrpc":"2.0","method":"ping"}`, id) }
	pong := func(id string) string { return fmt.Sprintf(`< {"id":%s,"jsonrpc":"2.0","result":{}}`, id) }
	const garbage, unreadable, log = "> {oops", `< {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}`,
		`< {"jsonrpc":"2.0","method":"notifications/message"}`
	lines := func(all ...string) string { return handshake + strings.Join(all, "\n") }
	const live = "needs a live server"
	tests := []struct {
		name     string
		recorded []string
		kind     recordedKind
		sent     []string
		want     string
	}{
		{"usual ids are changed", []string{lines(ping("5"), pong("5"))}, recordedLines, []string{ping("7")}, pong("7")},
		{"other ids are not", []string{lines(ping("5"), pong("5"))}, recordedLines, []string{ping("-1")}, live},
		{"no id for another", []string{lines(ping("-1"), pong("-1"))}, recordedLines, []string{ping("-1")}, pong("-1")},
		{"an unreadable line", []string{lines(garbage, unreadable, ping("2"), pong("2"))}, recordedLines,
			[]string{garbage, ping("3")}, unreadable + "\n" + pong("3")},
		{"silence", []string{lines(garbage, ping("2"), pong("2"))}, recordedLines, []string{garbage}, ""},
		{"the record ends", []string{lines(garbage)}, recordedLines, []string{garbage}, live},
		{"the server ends", []string{lines(garbage, "· the server exited")}, recordedLines, []string{garbage},
			"· the server exited"},
		{"no response in time", []string{lines(ping("2"), ping("3"), pong("3"))}, recordedLines,
			[]string{ping("8"), ping("9")}, pong("9")},
		{"elsewhere", []string{lines(ping("2"), pong("2")), lines(garbage, unreadable, ping("3"), pong("3"))},
			recordedLines, []string{ping("2"), garbage}, pong("2") + "\n" + unreadable},
		{"from the first line", []string{lines(ping("2"), pong("2"))}, recordedWhole, []string{ping("2")}, live},
		{"with no line left out", []string{lines(garbage, ping("2"), pong("2"))}, recordedWhole,
			[]string{strings.Split(handshake, "\n")[0], ping("2")}, live},
		{"in a session that goes on alike", []string{lines(garbage, ping("2"), pong("2")), lines(ping("2"), pong("2"))},
			recordedWhole, []string{strings.Split(handshake, "\n")[0], ping("2")},
			strings.Split(handshake, "\n")[1] + "\n" + pong("2")},
		{"what is between lines", []string{lines(ping("2"), pong("2"), log, ping("3"), pong("3"))}, recordedLines,
			[]string{ping("2"), ping("3")}, pong("2") + "\n" + log + "\n" + pong("3")},
		{"what may depend on earlier lines", []string{lines(ping("2"), log, pong("2"))}, recordedCalls,
			[]string{ping("2")}, live},
		{"another revision", []string{strings.ReplaceAll(lines(ping("2"), pong("2")), "2025-11-25", "2025-06-18")},
			recordedLines, []string{ping("2")}, live},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var sessions []*driver.Session
			for _, recorded := range tt.recorded {
				s, _ := driver.Replay(time.Now(), "stdio", traceLines(recorded), true)
				sessions = append(sessions, s)
			}
			run := &attempt.Run{IsReplay: true, WatchedSessions: sessions, RecordedSessions: sessions}
			x := NewT(&Server{Era: driver.Legacy{}}, "2025-11-25", 1, Credentials{}, &attempt.Attempt{Run: run})
			if got := received(replayedSession(x, tt.kind), tt.sent); got != tt.want {
				t.Errorf("received\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// received sends lines and returns what is received then.
func received(s *driver.Session, sent []string) (all string) {
	defer func() {
		if _, isLive := recover().(driver.NoServer); isLive {
			all = "needs a live server"
		}
	}()
	for _, line := range sent {
		s.Send([]byte(strings.TrimPrefix(line, "> ")))
	}
	var lines []string
	for _, f := range s.FramesSince(0) {
		if f.Side != driver.FromClient {
			mark := map[driver.Side]string{driver.FromServer: "< ", driver.SessionEvent: "· "}[f.Side]
			lines = append(lines, mark+f.Raw.String())
		}
	}
	return strings.Join(lines, "\n")
}

func traceLines(recorded string) (lines []driver.TraceLine) {
	for i, line := range strings.Split(strings.TrimSuffix(recorded, "\n"), "\n") {
		mark, content, _ := strings.Cut(line, " ")
		side := map[string]driver.Side{">": driver.FromClient, "<": driver.FromServer, "·": driver.SessionEvent}[mark]
		lines = append(lines, driver.TraceLine{At: time.Duration(i), Side: side, Text: []byte(content)})
	}
	return lines
}
