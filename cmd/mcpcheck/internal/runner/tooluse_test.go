package runner

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

func TestUsedTools(t *testing.T) {
	const ending = " after stdin was closed"
	session := func(lines ...string) *driver.Session {
		said := []driver.TraceLine{
			{Side: driver.FromClient, Text: []byte(`{"jsonrpc":"2.0","id":100,"method":"initialize","params":{}}`)},
			{Side: driver.FromServer, Text: []byte(`{"jsonrpc":"2.0","id":100,"result":{}}`)},
		}
		for _, l := range lines {
			side := map[byte]driver.Side{'>': driver.FromClient, '<': driver.FromServer, '.': driver.SessionEvent}[l[0]]
			said = append(said,
				driver.TraceLine{Side: side, Text: []byte(l[1:]), AfterShutdown: strings.HasSuffix(l, ending)})
		}
		s, _ := driver.Replay(time.Now(), "stdio", said, true)
		return s
	}
	call := func(id int, tool string) string {
		return fmt.Sprintf(`>{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q}}`, id, tool)
	}
	valid := func(id int, tool string) string {
		return strings.Replace(call(id, tool), `{"name`, `{"_meta":{"progressToken":1},"arguments":{"a":1},"name`, 1)
	}
	result := func(id int, rest string) string { return fmt.Sprintf(`<{"jsonrpc":"2.0","id":%d,%s}`, id, rest) }
	isError := func(id int, text string) string {
		return result(id, fmt.Sprintf(`"result":{"isError":true,"content":[{"type":"text","text":%q}]}`, text))
	}
	failed := func(id, code int, message string) string {
		return result(id, fmt.Sprintf(`"error":{"code":%d,"message":%q}`, code, message))
	}
	works := func(id int) string { return result(id, `"result":{}`) }
	const exit, ping = ".the server exited with status 2", `>{"jsonrpc":"2.0","id":9,"method":"ping"}`
	const cancelled = `>{"jsonrpc":"2.0","method":"notifications/cancelled"}`
	const refused = "connect ECONNREFUSED 127.0.0.1:5432"
	down := report.ToolUse{Answered: true, Failed: true, Faulty: true, Message: refused}
	crashed := report.ToolUse{Crashed: true, Failed: true, Faulty: true, Message: exit[1:]}

	for name, c := range map[string]struct {
		lines []string
		want  report.ToolUse
	}{
		"works": {[]string{valid(1, "x"), works(1)}, report.ToolUse{Answered: true, Works: true}},
		"works at last": {
			[]string{valid(1, "x"), isError(1, refused), valid(2, "x"), works(2)},
			report.ToolUse{Answered: true, Works: true},
		},
		"worked at first": {
			[]string{valid(1, "x"), works(1), valid(2, "x"), isError(2, refused)},
			report.ToolUse{Answered: true, Works: true},
		},
		"refuses invalid ones": {
			[]string{call(1, "x"), isError(1, "a is missing")},
			report.ToolUse{Answered: true},
		},
		"accepts invalid ones": {
			[]string{call(1, "x"), works(1), valid(2, "x"), isError(2, refused)},
			down,
		},
		"refuses made-up ones": {
			[]string{valid(1, "x"), isError(1, "no such file")},
			report.ToolUse{Answered: true, Failed: true, Message: "no such file"},
		},
		"by a code": {
			[]string{valid(1, "x"), failed(1, -32602, "no such file")},
			report.ToolUse{Answered: true, Failed: true, Message: "no such file"},
		},
		"a host that is made up": {
			[]string{valid(1, "x"), isError(1, "ENOTFOUND mcpcheck")},
			report.ToolUse{Answered: true, Failed: true, Message: "ENOTFOUND mcpcheck"},
		},
		"too many calls": {
			[]string{valid(1, "x"), failed(1, -32000, "rate limit")},
			report.ToolUse{Answered: true, Failed: true, Message: "rate limit"},
		},
		"requires another client": {
			[]string{valid(1, "x"), failed(1, -32021, "sampling")},
			report.ToolUse{Answered: true, Failed: true, Message: "sampling"},
		},
		"a dependency is down": {[]string{valid(1, "x"), isError(1, refused)}, down},
		"the most specific error": {
			[]string{valid(1, "x"), isError(1, refused), valid(2, "x"), isError(2, "a")},
			down,
		},
		"a protocol error": {
			[]string{valid(1, "x"), failed(1, -32603, "boom")},
			report.ToolUse{Answered: true, Failed: true, Faulty: true, Message: "boom"},
		},
		"kills": {[]string{valid(1, "x"), ping, exit}, crashed},
		"exits on invalid ones": {
			[]string{valid(1, "x"), works(1), call(2, "x"), exit},
			report.ToolUse{Answered: true, Works: true, Crashed: true},
		},
		"exits on another input":          {[]string{valid(1, "x"), cancelled, exit}, report.ToolUse{}},
		"another tool may cause the exit": {[]string{valid(1, "x"), valid(2, "y"), exit}, report.ToolUse{}},
		"its stdin was closed":            {[]string{valid(1, "x"), exit + ending}, report.ToolUse{Silent: true}},
		"never answers": {[]string{valid(1, "x"), call(2, "no such tool")},
			report.ToolUse{Silent: true}},
		"does not answer any more": {
			[]string{valid(1, "x"), works(1), valid(2, "x")},
			report.ToolUse{Answered: true, Works: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := &check.Server{Tools: []check.M{{"name": "idle"}, {"name": "x"}, {"name": "x"}, {"name": "y"}}}
			c.want.Name = "x"
			used := usedTools(server, []*driver.Session{session(c.lines...)})
			if len(used) == 0 || used[0] != c.want {
				t.Errorf("want %+v\n got %+v", c.want, used)
			}
		})
	}
	over := &check.Server{Transport: "http", Tools: []check.M{{"name": "x"}}}
	if used := usedTools(over, []*driver.Session{session(valid(1, "x"), exit)}); used[0].Crashed {
		t.Error("over HTTP another session may have ended the server")
	}
}
