package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// TestRequestNoOp checks that the no-op is the one for the era of the session, and that without a response the check is
// inconclusive and retried.
func TestRequestNoOp(t *testing.T) {
	tests := []struct {
		name   string
		answer string
		era    driver.Era
		asked  string
		want   catalogue.Verdict
	}{
		{"ordinary", `{"jsonrpc":"2.0","id":1,"result":{}}`, nil, "ping", catalogue.Pass},
		{
			"another no-op",
			`{"jsonrpc":"2.0","id":1,"result":{}}`,
			driver.Legacy{NoOpMethod: "tools/list"},
			"tools/list",
			catalogue.Pass,
		},
		{"refused", `{"jsonrpc":"2.0","id":1,"error":{"code":-32601}}`, nil, "ping", catalogue.Pass},
		{"silence", "", nil, "ping", catalogue.Inconclusive},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked string
				serve := func(_ context.Context, in io.Reader, out, _ io.Writer, _ <-chan struct{}) int {
					for d := json.NewDecoder(in); ; {
						var message struct{ Method string }
						if d.Decode(&message) != nil {
							return 0
						}
						asked = message.Method
						fmt.Fprintln(out, tt.answer)
					}
				}
				s, err := driver.Start(t.Context(), driver.Target{Serve: serve, Era: tt.era}, driver.Options{})
				if err != nil {
					t.Fatal(err)
				}
				o := outcomeOf(func(t *T) { RequestNoOp(t, s) })
				s.Close()
				if asked != tt.asked || o.Verdict != tt.want || o.Retryable != (tt.want == catalogue.Inconclusive) {
					t.Errorf("the server received %q, and the outcome is %+v", asked, o)
				}
			})
		})
	}
}

func TestExplain(t *testing.T) {
	tests := []struct {
		err  error
		want string
	}{
		{nil, "nothing wrong"},
		{errors.New("oh"), "oh"},
		{&driver.SessionEndError{Cause: "it exited"}, "it exited"},
		{
			&driver.SessionEndError{Cause: "it exited", Stderr: []string{"a", "b"}},
			"it exited; its last lines on stderr:\n  a\n  b",
		},
		{
			&driver.SessionEndError{Cause: "it exited",
				Stderr: []string{strings.Repeat("a", 301) + strings.Repeat("b", 999)}},
			"it exited; its last lines on stderr:\n  " + strings.Repeat("a", 300) + " … " + strings.Repeat("b", 100),
		},
	}
	for _, tt := range tests {
		if got := Explain(tt.err).Error(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
