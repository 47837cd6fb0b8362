package client

import (
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// TestInteractions proves that the server requests of an exclusive call replace those of the same call among others,
// unless that loses a method.
func TestInteractions(t *testing.T) {
	for _, tt := range []struct{ shared, exclusive, want string }{
		{"", "roots", "roots"},
		{"sampling", "roots sampling", "roots sampling"},
		{"sampling", "roots", "sampling | roots"},
		{"roots sampling", "roots", "roots sampling | roots"},
	} {
		asked, call := interactions{}, &toolcall.ToolCall{}
		for _, methods := range []string{tt.shared, tt.exclusive} {
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
			t.Errorf("%q, and exclusively %q: got %q, want %q", tt.shared, tt.exclusive, all, tt.want)
		}
		for _, method := range strings.Fields(tt.shared + " " + tt.exclusive) {
			if !asked.asksFor(call, method) {
				t.Errorf("%q, and exclusively %q: it does not ask for %s", tt.shared, tt.exclusive, method)
			}
		}
	}
}
