package runner

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// TestNewCoverage checks that every requirement for the revision and transport is counted once, and that a capability
// is named if the server declares it and nothing of it was tried although it was selected.
func TestNewCoverage(t *testing.T) {
	holds := []string{catalogue.NewestLegacy}
	requirement := func(id, capability string) *catalogue.Requirement {
		return &catalogue.Requirement{ID: id, Revisions: holds, Capability: capability}
	}
	entries := catalogue.Catalogue{
		requirement("a/passes", ""), requirement("a/fails", ""), requirement("a/skips", ""),
		requirement("a/open", ""), requirement("a/broken", ""), requirement("a/missed", ""),
		requirement("a/out", ""), requirement("a/unbuilt", ""),
		requirement("t/passes", "tools"), requirement("t/unbuilt", "tools"),
		requirement("l/unbuilt", "logging"), requirement("p/open", "prompts"),
		requirement("r/unbuilt", "resources"), requirement("c/out", "completions"),
		requirement("advice/passes", "tools"), requirement("advice/unbuilt", ""),
		{ID: "a/old", Revisions: []string{"2024-11-05"}},
		{ID: "a/web", Revisions: holds, Transports: []string{"http"}},
	}
	verdicts := map[string]catalogue.Verdict{
		"a/passes": catalogue.Pass, "a/fails": catalogue.Fail, "a/skips": catalogue.Skip,
		"a/open": catalogue.Inconclusive, "a/broken": catalogue.Error,
		"t/passes": catalogue.Pass, "advice/passes": catalogue.Pass, "p/open": catalogue.Inconclusive,
	}
	var results []report.Result
	for id, verdict := range verdicts {
		results = append(results, report.Result{ID: id, Verdict: verdict})
	}
	probe := check.Probe(func(*check.T) {})
	suite := check.Suite{"a/missed": probe, "a/out": probe, "c/out": probe}
	for id := range verdicts {
		suite[id] = probe
	}
	server := &check.Server{Transport: "stdio", Revision: catalogue.NewestLegacy, Capabilities: check.M{
		"tools": check.M{}, "logging": check.M{}, "prompts": check.M{}, "completions": check.M{},
		"of its own": check.M{},
	}}
	wanted := func(r *catalogue.Requirement) bool { return r.ID != "a/out" && r.ID != "c/out" }

	want := report.Coverage{
		Revision: catalogue.NewestLegacy, Requirements: 14, Tried: 3, NotApplicable: 2, NotTried: 4, Excluded: 2,
		NotChecked:  3,
		Unexercised: []string{"logging", "prompts"},
	}
	if diff := cmp.Diff(want, newCoverage(entries, suite, server, wanted, results)); diff != "" {
		t.Errorf("- want, + got:\n%s", diff)
	}
}

// TestNewCoverageAfterFailedHandshake checks that no capability is named if the server could not be tested.
func TestNewCoverageAfterFailedHandshake(t *testing.T) {
	entries := catalogue.Catalogue{
		{ID: "a/open", Revisions: []string{catalogue.NewestLegacy}},
		{ID: "r/unbuilt", Revisions: []string{catalogue.NewestLegacy}, Capability: "resources"},
	}
	server := &check.Server{Transport: "stdio", Revision: catalogue.NewestLegacy, Failure: "it exited"}
	want := report.Coverage{Revision: catalogue.NewestLegacy, Requirements: 2, NotTried: 1, NotChecked: 1}
	got := newCoverage(entries, check.Suite{"a/open": check.Probe(func(*check.T) {})}, server,
		func(*catalogue.Requirement) bool { return true },
		[]report.Result{{ID: "a/open", Verdict: catalogue.Inconclusive}})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("- want, + got:\n%s", diff)
	}
}
