package reporters

import (
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// TestChangesText checks that only former failures are reported as fixed, and that every change of a verdict is
// reported.
func TestChangesText(t *testing.T) {
	rep := func(verdicts ...catalogue.Verdict) (r report.Report) {
		for i, v := range verdicts {
			r.Results = append(r.Results, report.Result{ID: "a/" + string(rune('a'+i)), Revision: "1", Verdict: v})
		}
		return r
	}
	const pass, fail, skip, open = catalogue.Pass, catalogue.Fail, catalogue.Skip, catalogue.Inconclusive
	for name, tt := range map[string]struct {
		old, new report.Report
		want     string
	}{
		"nothing":       {rep(pass, fail), rep(pass, fail), "no verdict changed\n"},
		"fixed":         {rep(fail, fail), rep(pass, fail), "fixed      a/a\n"},
		"not tried yet": {rep(skip, open), rep(pass, pass), "also       2 other verdicts changed\n"},
		"no longer":     {rep(fail, pass), rep(skip, pass), "also       1 other verdict changed\n"},
		"not decided":   {rep(skip), rep(open), "also       1 other verdict changed\n"},
		"all of it": {rep(pass, fail, skip), rep(fail, pass, pass),
			"fails now  a/a\nfixed      a/b\nalso       1 other verdict changed\n"},
	} {
		var b strings.Builder
		if err := ChangesText(&b, report.CompareReports(tt.old, tt.new)); err != nil {
			t.Fatal(err)
		}
		if b.String() != tt.want {
			t.Errorf("%s: got %q, want %q", name, b.String(), tt.want)
		}
	}
}
