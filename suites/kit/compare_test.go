package kit

import (
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

// callReply is an answer to a call of add.
func callReply(arguments, answer string) driver.Reply {
	request := []byte(`{"method":"tools/call","params":{"name":"add","arguments":` + arguments + `}}`)
	m, _ := driver.Decode([]byte(answer)).(M)
	return driver.Reply{
		Request:   &driver.Frame{Raw: driver.Text(request), Kind: driver.Object},
		Frame:     &driver.Frame{Raw: driver.Text(answer), Kind: driver.Object},
		Synthetic: m,
	}
}

func toolErrorJSON(text string) string {
	return `{"result":{"isError":true,"content":[{"type":"text","text":"` + text + `"}]}}`
}

func TestSameText(t *testing.T) {
	for _, tt := range []struct {
		name string
		a, b driver.Reply
		want bool
	}{
		{"the same", callReply(`{}`, toolErrorJSON("no network")), callReply(`{"a":1}`, toolErrorJSON("no network")),
			true},
		{"a number", callReply(`{}`, toolErrorJSON("no network (1)")),
			callReply(`{}`, toolErrorJSON("no network (23)")), true},
		{"quoted arguments", callReply(`{}`, toolErrorJSON("cannot add {}")),
			callReply(`{"a":true}`, toolErrorJSON("cannot add {'a': True}")), true},
		{"another text", callReply(`{}`, toolErrorJSON("a is missing")),
			callReply(`{"a":1}`, toolErrorJSON("no network")), false},
		{"another kind", callReply(`{}`, toolErrorJSON("busy")),
			callReply(`{}`, `{"error":{"code":1,"message":"busy"}}`), false},
		{"another code", callReply(`{}`, `{"error":{"code":2,"message":"busy"}}`),
			callReply(`{}`, `{"error":{"code":1,"message":"busy"}}`), false},
		{"success", callReply(`{}`, `{"result":{"content":[]}}`), callReply(`{}`, toolErrorJSON("busy")), false},
	} {
		if got := SameText(tt.a, tt.b); got != tt.want {
			t.Errorf("%s: got %v", tt.name, got)
		}
	}
}
