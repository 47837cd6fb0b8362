package harness

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

func TestUsedTools(t *testing.T) {
	session := func(lines ...string) *driver.Session {
		said := []driver.Saying{
			{Side: driver.FromClient, Text: []byte(`{"jsonrpc":"2.0","id":100,"method":"initialize","params":{}}`)},
			{Side: driver.FromServer, Text: []byte(`{"jsonrpc":"2.0","id":100,"result":{}}`)},
		}
		for _, l := range lines {
			side := map[byte]driver.Side{'>': driver.FromClient, '<': driver.FromServer, '.': driver.Event}[l[0]]
			said = append(said, driver.Saying{Side: side, Text: []byte(l[1:])})
		}
		s, _ := driver.Replay(time.Now(), "stdio", said, true)
		return s
	}
	call := func(id int, tool string) string {
		return fmt.Sprintf(`>{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q}}`, id, tool)
	}
	valid := func(id int, tool string) string {
		return strings.Replace(call(id, tool), `"params":{`, `"params":{"_meta":{"progressToken":1},`, 1)
	}
	result := func(id int, rest string) string { return fmt.Sprintf(`<{"jsonrpc":"2.0","id":%d,%s}`, id, rest) }
	const failed = `"result":{"isError":true,"content":[{"type":"text","text":"no key"}]}`
	server := &Server{}
	for _, name := range []string{"works", "fails", "hangs", "kills", "idle", "works"} {
		server.Tools = append(server.Tools, M{"name": name})
	}
	got := UsedTools(server, []*driver.Session{
		session(call(1, "works"), call(2, "hangs"), result(1, `"result":{}`), valid(3, "fails"), result(3, failed),
			".stdin closed"),
		session(call(1, "works"), result(1, failed), call(2, "no such tool"), call(3, "fails"),
			result(3, `"error":{"code":-32603,"message":"refused"}`), call(4, "kills"), ".the server died"),
	})
	want := []ToolUse{
		{Name: "works", Answered: true}, {Name: "fails", Answered: true, Failed: true, Said: "no key"},
		{Name: "hangs", Silent: true}, {Name: "kills"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("want %+v\n got %+v", want, got)
	}

	half := []ToolUse{
		{Name: "works", Answered: true, Failed: true, Said: "no"}, {Name: "fails", Answered: true, Failed: true},
		{Name: "hangs"},
	}
	merged := addUse(slices.Clone(half), got)
	lacks := func(use ToolUse) bool { return !slices.Contains(merged, use) }
	if slices.ContainsFunc(want, lacks) || len(merged) != len(want) {
		t.Errorf("shards come to %+v", merged)
	}
	if back := addUse(slices.Clone(got), half); !slices.Equal(back, want) {
		t.Errorf("the other way round they come to %+v", back)
	}
}
