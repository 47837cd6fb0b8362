package reporters

import (
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// TestChangesText: only what failed can be fixed, and no change of a verdict goes untold.
func TestChangesText(t *testing.T) {
	report := func(verdicts ...harness.Verdict) (r harness.Report) {
		for i, v := range verdicts {
			r.Results = append(r.Results, harness.Result{ID: "a/" + string(rune('a'+i)), Revision: "1", Verdict: v})
		}
		return r
	}
	const pass, fail, skip, open = harness.Pass, harness.Fail, harness.Skip, harness.Inconclusive
	for name, tt := range map[string]struct {
		old, new harness.Report
		want     string
	}{
		"nothing":       {report(pass, fail), report(pass, fail), "no verdict changed\n"},
		"fixed":         {report(fail, fail), report(pass, fail), "fixed      a/a\n"},
		"not tried yet": {report(skip, open), report(pass, pass), "also       2 other verdicts changed\n"},
		"no longer":     {report(fail, pass), report(skip, pass), "also       1 other verdict changed\n"},
		"not decided":   {report(skip), report(open), "also       1 other verdict changed\n"},
		"all of it": {report(pass, fail, skip), report(fail, pass, pass),
			"fails now  a/a\nfixed      a/b\nalso       1 other verdict changed\n"},
	} {
		var b strings.Builder
		if err := ChangesText(&b, harness.CompareReports(tt.old, tt.new)); err != nil {
			t.Fatal(err)
		}
		if b.String() != tt.want {
			t.Errorf("%s: got %q, want %q", name, b.String(), tt.want)
		}
	}
}
