package reporters

import (
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/harness"
)

func TestHeadlineOfResult(t *testing.T) {
	for message, want := range map[string]string{
		"want error -32602\ngot error -32601":                   "want error -32602, got error -32601",
		"x:\n  want a\n  got b\ny:\n  want a\n  got c":          "x: want a, got b",
		"the server died":                                       "the server died",
		"want a\ngot \x1b[31mred\x00":                           `want a, got \x1b[31mred\x00`,
		"want a\ngot ##[error]gone":                             `want a, got ##\[error]gone`,
		"want a\ngot " + strings.Repeat("0123456789", 10) + "z": "want a, got 0123456789012345678901234…90123456789z",
	} {
		if got := Headline(harness.Result{Message: message}, 50); got != want {
			t.Errorf("%q: %q, want %q", message, got, want)
		}
	}
}
