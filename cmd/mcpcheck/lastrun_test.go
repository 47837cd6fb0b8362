package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// TestLastRun: what fails is remembered until it is seen to pass, or not to apply.
func TestLastRun(t *testing.T) {
	result := func(id string, v harness.Verdict) harness.Result { return harness.Result{ID: id, Verdict: v} }
	fails, passes := result("ping/a", harness.Fail), result("ping/a", harness.Pass)
	untried, gating := result("ping/a", harness.Inconclusive), result("ping/a", harness.Inconclusive)
	gating.Gates = true
	watch := result("ping/a", harness.Fail)
	watch.TriggeredBy = []string{"tools/b"}
	provoked := []failedCheck{{ID: "ping/a", TriggeredBy: []string{"tools/b"}}}
	one, other := []failedCheck{{ID: "ping/a"}}, []failedCheck{{ID: "ping/b"}}
	blocked := []failedCheck{{ID: "ping/a", Blocked: true}}
	blocks := fails
	blocks.Gates = true
	undecided := []failedCheck{{ID: "ping/a", Blocked: true, OnlyInconclusive: true}}
	for name, test := range map[string]struct {
		before []failedCheck
		run    []harness.Result
		want   []failedCheck
	}{
		"nothing":                  {nil, nil, []failedCheck{}},
		"a fail":                   {nil, []harness.Result{fails}, one},
		"provoked":                 {nil, []harness.Result{watch}, provoked},
		"an error":                 {nil, []harness.Result{result("ping/a", harness.Error)}, one},
		"blocking":                 {nil, []harness.Result{blocks}, blocked},
		"blocked once":             {nil, []harness.Result{gating, fails}, blocked},
		"undecided":                {nil, []harness.Result{gating}, undecided},
		"advice":                   {nil, []harness.Result{result("advice/a", harness.Fail)}, []failedCheck{}},
		"not judged":               {other, []harness.Result{passes}, other},
		"passes":                   {one, []harness.Result{passes}, []failedCheck{}},
		"skipped":                  {one, []harness.Result{result("ping/a", harness.Skip)}, []failedCheck{}},
		"not tried":                {one, []harness.Result{untried}, one},
		"blocked then, fails":      {blocked, []harness.Result{fails}, one},
		"blocked then, not tried":  {blocked, []harness.Result{untried}, one},
		"blocked then, not in it":  {blocked, nil, one},
		"undecided then and still": {undecided, []harness.Result{untried}, []failedCheck{}},
		"undecided then, fails":    {undecided, []harness.Result{fails}, one},
		"one revision":             {nil, []harness.Result{fails, passes}, one},
	} {
		t.Run(name, func(t *testing.T) {
			last := lastRun{Failed: test.before}
			last.addReport(harness.Report{Results: test.run})
			if diff := cmp.Diff(test.want, last.Failed); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestPruneFiles: of many files the oldest go.
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
	if diff := cmp.Diff([]string{"0", "1"}, mapStrings(left, filepath.Base)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
