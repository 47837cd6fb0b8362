package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
)

// TestCompareReports checks that each kind of difference is in its list, and that only a fault of the server is a
// regression.
func TestCompareReports(t *testing.T) {
	known := resultOf("a/1", catalogue.Fail)
	known.Gates, known.GatedBy, known.Known = false, catalogue.NoGate, &KnownInfo{Reason: "later"}
	should := resultOf("a/1", catalogue.Fail)
	should.Level, should.EntryLevel = catalogue.Should, catalogue.Should
	should.Gates, should.GatedBy = false, catalogue.NoGate
	otherwise := resultOf("a/1", catalogue.Fail)
	otherwise.Message = "in another way"
	renamed := resultOf("a/1", catalogue.Pass)
	renamed.Fix = "do it"
	newer := resultOf("a/1", catalogue.Fail)
	newer.Revision = "2026-07-28"
	for name, test := range map[string]struct {
		old, new    []Result
		list        func(Comparison) int
		regressions int
	}{
		"newly failing": {[]Result{resultOf("a/1", catalogue.Pass)}, []Result{resultOf("a/1", catalogue.Fail)},
			func(c Comparison) int { return len(c.NewlyFailing) }, 1},
		"newly failing, and known": {[]Result{resultOf("a/1", catalogue.Pass)}, []Result{known},
			func(c Comparison) int { return len(c.NewlyFailing) }, 0},
		"newly failing, not gating": {[]Result{resultOf("a/1", catalogue.Pass)}, []Result{should},
			func(c Comparison) int { return len(c.NewlyFailing) }, 0},
		"newly passing": {[]Result{resultOf("a/1", catalogue.Inconclusive)}, []Result{resultOf("a/1", catalogue.Pass)},
			func(c Comparison) int { return len(c.NewlyPassing) }, 0},
		"not judged any more": {[]Result{resultOf("a/1", catalogue.Pass)},
			[]Result{resultOf("a/1", catalogue.Inconclusive)},
			func(c Comparison) int { return len(c.NotJudged) }, 0},
		"another text": {[]Result{resultOf("a/1", catalogue.Fail)}, []Result{otherwise},
			func(c Comparison) int { return len(c.Changed) }, 0},
		"known no more": {[]Result{known}, []Result{resultOf("a/1", catalogue.Fail)},
			func(c Comparison) int { return len(c.Changed) }, 1},
		"the catalogue raised the level": {[]Result{should}, []Result{resultOf("a/1", catalogue.Fail)},
			func(c Comparison) int { return min(len(c.Changed), len(c.RequirementChanges)) }, 0},
		"the catalogue says otherwise": {[]Result{resultOf("a/1", catalogue.Pass)}, []Result{renamed},
			func(c Comparison) int { return len(c.RequirementChanges) }, 0},
		"came": {nil, []Result{resultOf("a/1", catalogue.Fail)}, func(c Comparison) int { return len(c.Added) }, 0},
		"went": {[]Result{resultOf("a/1", catalogue.Fail)}, nil, func(c Comparison) int { return len(c.Removed) }, 0},
		"fails in a new revision": {[]Result{resultOf("a/1", catalogue.Pass)}, []Result{newer},
			func(c Comparison) int { return len(c.NewlyFailing) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			c := CompareReports(Report{Results: test.old}, Report{Results: test.new})
			all := len(c.NewlyFailing) + len(c.NewlyPassing) + len(c.NotJudged) + len(c.Changed) +
				len(c.Added) + len(c.Removed)
			if test.list(c) != 1 || all > 1 || c.Regressions != test.regressions {
				t.Errorf("%d listed, %d in all, %d regressions, want 1, 1, %d",
					test.list(c), all, c.Regressions, test.regressions)
			}
		})
	}
}

// TestCompareReportsProblem checks that a run that is not complete is a regression after one that was.
func TestCompareReportsProblem(t *testing.T) {
	c := CompareReports(Report{ExitCode: ExitFails}, Report{ExitCode: ExitUntestable, Problem: "it is gone"})
	if c.Regressions != 1 || c.Problem != "it is gone" {
		t.Errorf("%+v", c)
	}
	if c := CompareReports(Report{ExitCode: ExitUntestable}, Report{ExitCode: ExitUntestable}); c.Regressions != 0 {
		t.Errorf("%+v", c)
	}
}

func TestNearest(t *testing.T) {
	results := []Result{{Revision: "2024-11-05"}, {Revision: "2025-06-18"}, {Revision: "2025-03-26"}}
	for revision, want := range map[string]string{
		"2025-06-18": "2025-06-18", "2025-11-25": "2025-06-18", "2025-04-01": "2025-03-26", "2024-10-07": "2024-11-05",
	} {
		if diff := cmp.Diff(want, nearestResult(results, revision).Revision); diff != "" {
			t.Errorf("%s: %s", revision, diff)
		}
	}
	if nearestResult(nil, "2025-06-18") != nil {
		t.Error("nearestResult returned a result of no results")
	}
}
