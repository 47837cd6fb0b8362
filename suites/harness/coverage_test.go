package harness

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Every requirement of the revision over the transport is counted once, whatever came of it; a capability is named when
// the server declares it, nothing of it was tried, and nobody left that out.
func TestNewCoverage(t *testing.T) {
	holds := []string{NewestLegacy}
	requirement := func(id, capability string) *Requirement {
		return &Requirement{ID: id, Revisions: holds, Capability: capability}
	}
	catalogue := Catalogue{
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
	verdicts := map[string]Verdict{
		"a/passes": Pass, "a/fails": Fail, "a/skips": Skip, "a/open": Inconclusive, "a/broken": Error,
		"t/passes": Pass, "advice/passes": Pass, "p/open": Inconclusive,
	}
	var results []Result
	for id, verdict := range verdicts {
		results = append(results, Result{ID: id, Verdict: verdict})
	}
	check := Probe(func(*T) {})
	suite := Suite{"a/missed": check, "a/out": check, "c/out": check}
	for id := range verdicts {
		suite[id] = check
	}
	server := &Server{Transport: "stdio", Revision: NewestLegacy, Capabilities: M{
		"tools": M{}, "logging": M{}, "prompts": M{}, "completions": M{}, "of its own": M{},
	}}
	wanted := func(r *Requirement) bool { return r.ID != "a/out" && r.ID != "c/out" }

	want := Coverage{
		Revision: NewestLegacy, Requirements: 14, Tried: 3, NotApplicable: 2, NotTried: 4, Excluded: 2, NotChecked: 3,
		Unexercised: []string{"logging", "prompts"},
	}
	if diff := cmp.Diff(want, NewCoverage(catalogue, suite, server, wanted, results)); diff != "" {
		t.Errorf("- wanted, + got:\n%s", diff)
	}
}

// Of a server that could not be tested nothing is known to be missing.
func TestNewCoverageAfterFailedHandshake(t *testing.T) {
	catalogue := Catalogue{
		{ID: "a/open", Revisions: []string{NewestLegacy}},
		{ID: "r/unbuilt", Revisions: []string{NewestLegacy}, Capability: "resources"},
	}
	server := &Server{Transport: "stdio", Revision: NewestLegacy, Failure: "it exited"}
	want := Coverage{Revision: NewestLegacy, Requirements: 2, NotTried: 1, NotChecked: 1}
	got := NewCoverage(catalogue, Suite{"a/open": Probe(func(*T) {})}, server, func(*Requirement) bool { return true },
		[]Result{{ID: "a/open", Verdict: Inconclusive}})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("- wanted, + got:\n%s", diff)
	}
}
