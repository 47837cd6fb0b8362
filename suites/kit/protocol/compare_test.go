package protocol

import (
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/kittest"
)

func TestSameText(t *testing.T) {
	for _, tt := range []struct {
		name string
		a, b driver.Reply
		want bool
	}{
		{"the same", kittest.CallReply(`{}`, kittest.ToolErrorJSON("no network")),
			kittest.CallReply(`{"a":1}`, kittest.ToolErrorJSON("no network")),
			true},
		{"a number", kittest.CallReply(`{}`, kittest.ToolErrorJSON("no network (1)")),
			kittest.CallReply(`{}`, kittest.ToolErrorJSON("no network (23)")), true},
		{"quoted arguments", kittest.CallReply(`{}`, kittest.ToolErrorJSON("cannot add {}")),
			kittest.CallReply(`{"a":true}`, kittest.ToolErrorJSON("cannot add {'a': True}")), true},
		{"another text", kittest.CallReply(`{}`, kittest.ToolErrorJSON("a is missing")),
			kittest.CallReply(`{"a":1}`, kittest.ToolErrorJSON("no network")), false},
		{"another kind", kittest.CallReply(`{}`, kittest.ToolErrorJSON("busy")),
			kittest.CallReply(`{}`, `{"error":{"code":1,"message":"busy"}}`), false},
		{"another code", kittest.CallReply(`{}`, `{"error":{"code":2,"message":"busy"}}`),
			kittest.CallReply(`{}`, `{"error":{"code":1,"message":"busy"}}`), false},
		{"success", kittest.CallReply(`{}`, `{"result":{"content":[]}}`),
			kittest.CallReply(`{}`, kittest.ToolErrorJSON("busy")), false},
	} {
		if got := SameText(tt.a, tt.b); got != tt.want {
			t.Errorf("%s: got %v", tt.name, got)
		}
	}
}
