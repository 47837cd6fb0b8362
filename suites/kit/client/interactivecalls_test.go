package client

import (
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"strings"
	"testing"
)

// What a call asks alone takes the place of what it asked beside others, but nothing that it asked is lost.
func TestInteractions(t *testing.T) {
	for _, tt := range []struct{ beside, alone, want string }{
		{"", "roots", "roots"},
		{"sampling", "roots sampling", "roots sampling"},
		{"sampling", "roots", "sampling | roots"},
		{"roots sampling", "roots", "roots sampling | roots"},
	} {
		asked, call := interactions{}, &toolcall.ToolCall{}
		for _, methods := range []string{tt.beside, tt.alone} {
			i := &InteractiveCall{}
			for _, method := range strings.Fields(methods) {
				i.ServerRequests = append(i.ServerRequests, ServerRequest{Method: method})
			}
			asked.add(call, i)
		}
		var got []string
		for _, i := range asked[call] {
			var methods []string
			for _, q := range i.ServerRequests {
				methods = append(methods, q.Method)
			}
			got = append(got, strings.Join(methods, " "))
		}
		if all := strings.Join(got, " | "); all != tt.want {
			t.Errorf("%q, and alone %q: got %q, want %q", tt.beside, tt.alone, all, tt.want)
		}
		for _, method := range strings.Fields(tt.beside + " " + tt.alone) {
			if !asked.asksFor(call, method) {
				t.Errorf("%q, and alone %q: it does not ask for %s", tt.beside, tt.alone, method)
			}
		}
	}
}
