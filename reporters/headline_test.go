package reporters

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

func TestHeadlineOfResult(t *testing.T) {
	digits := strings.Repeat("0123456789", 10)
	for message, want := range map[string]string{
		"expected error -32602\ngot error -32601":              "expected error -32602, got error -32601",
		"x:\n  expected a\n  got b\ny:\n  expected a\n  got c": "x: expected a, got b",
		"the server died":                 "the server died",
		"expected a\ngot \x1b[31mred\x00": `expected a, got \x1b[31mred\x00`,
		"expected a\ngot ##[error]gone":   `expected a, got ##\[error]gone`,
		"expected a\ngot " + digits + "z": "expected a, got 012345678901234567890…90123456789z",
	} {
		if got := Headline(report.Result{Message: message}, 50); got != want {
			t.Errorf("%q: %q, want %q", message, got, want)
		}
	}
}

// TestCommonCause checks that the verdict names the reason for which many requirements at MUST are not decided, and
// their number.
func TestCommonCause(t *testing.T) {
	results := func(n int, level catalogue.Level, verdict catalogue.Verdict, message string) []report.Result {
		return slices.Repeat([]report.Result{{Level: level, Verdict: verdict, Message: message}}, n)
	}
	barred := slices.Repeat([]report.Result{
		{Level: catalogue.Must, Verdict: catalogue.Inconclusive, Reason: report.CallsOff, Message: "not allowed"},
	}, 20)
	many := results(10, catalogue.Must, catalogue.Inconclusive, "search did not answer")
	for name, c := range map[string]struct {
		results []report.Result
		want    string
	}{
		"many":       {many, "10 MUSTs not decided: search did not answer"},
		"few":        {many[1:], ""},
		"two causes": {slices.Concat(many[1:], results(9, catalogue.Must, catalogue.Inconclusive, "another")), ""},
		"the largest": {
			slices.Concat(many, results(11, catalogue.Must, catalogue.Inconclusive, "a")),
			"11 MUSTs not decided: a",
		},
		"barred":  {barred, ""},
		"SHOULD":  {results(20, catalogue.Should, catalogue.Inconclusive, "search did not answer"), ""},
		"skipped": {results(20, catalogue.Must, catalogue.Skip, "not offered"), ""},
	} {
		if got := commonCause(c.results); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
