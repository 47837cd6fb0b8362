package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// TestLastRun proves that a failure is stored until the check passes or does not apply.
func TestLastRun(t *testing.T) {
	result := func(id string, v catalogue.Verdict) report.Result { return report.Result{ID: id, Verdict: v} }
	fails, passes := result("ping/a", catalogue.Fail), result("ping/a", catalogue.Pass)
	untried, gating := result("ping/a", catalogue.Inconclusive), result("ping/a", catalogue.Inconclusive)
	gating.Gates = true
	watch := result("ping/a", catalogue.Fail)
	watch.TriggeredBy = []string{"tools/b"}
	provoked := []failedCheck{{ID: "ping/a", TriggeredBy: []string{"tools/b"}}}
	one, other := []failedCheck{{ID: "ping/a"}}, []failedCheck{{ID: "ping/b"}}
	blocked := []failedCheck{{ID: "ping/a", Blocked: true}}
	blocks := fails
	blocks.Gates = true
	undecided := []failedCheck{{ID: "ping/a", Blocked: true, OnlyInconclusive: true}}
	for name, test := range map[string]struct {
		before []failedCheck
		run    []report.Result
		want   []failedCheck
	}{
		"nothing":                  {nil, nil, []failedCheck{}},
		"a fail":                   {nil, []report.Result{fails}, one},
		"provoked":                 {nil, []report.Result{watch}, provoked},
		"an error":                 {nil, []report.Result{result("ping/a", catalogue.Error)}, one},
		"blocking":                 {nil, []report.Result{blocks}, blocked},
		"blocked once":             {nil, []report.Result{gating, fails}, blocked},
		"undecided":                {nil, []report.Result{gating}, undecided},
		"advice":                   {nil, []report.Result{result("advice/a", catalogue.Fail)}, []failedCheck{}},
		"not judged":               {other, []report.Result{passes}, other},
		"passes":                   {one, []report.Result{passes}, []failedCheck{}},
		"skipped":                  {one, []report.Result{result("ping/a", catalogue.Skip)}, []failedCheck{}},
		"not tried":                {one, []report.Result{untried}, one},
		"blocked then, fails":      {blocked, []report.Result{fails}, one},
		"blocked then, not tried":  {blocked, []report.Result{untried}, one},
		"blocked then, not in it":  {blocked, nil, one},
		"undecided then and still": {undecided, []report.Result{untried}, []failedCheck{}},
		"undecided then, fails":    {undecided, []report.Result{fails}, one},
		"one revision":             {nil, []report.Result{fails, passes}, one},
	} {
		t.Run(name, func(t *testing.T) {
			last := lastRun{Failed: test.before}
			last.addReport(report.Report{Results: test.run})
			if diff := cmp.Diff(test.want, last.Failed); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestPruneFiles proves that the oldest of too many files are removed.
func TestPruneFiles(t *testing.T) {
	dir := t.TempDir()
	for i := range 5 {
		name := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		changed := time.Unix(int64(1000-i), 0)
		if err := os.Chtimes(name, changed, changed); err != nil {
			t.Fatal(err)
		}
	}
	pruneFiles(dir, 2)
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"0", "1"}, text.Map(left, filepath.Base)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
