package reporters

import (
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// TestTentative checks that a failure of a new check is reported as one that does not block for this reason, under
// every profile.
func TestTentative(t *testing.T) {
	r := report.Result{ID: "ping/a", Verdict: catalogue.Fail, Level: catalogue.Must, EntryLevel: catalogue.Must,
		Tentative: true}
	if got := levelText(r); got != "MUST, tentative" {
		t.Errorf("level %q", got)
	}
	if got := resultGate(r); !strings.HasPrefix(got, "not blocking: the check is new") {
		t.Errorf("gate %q", got)
	}
	if gatesUnderProfile(catalogue.Strict, report.Report{Profile: catalogue.Spec}, r, Options{}) {
		t.Error("it gates under another profile")
	}
	r.Verdict = catalogue.Pass
	if got := levelText(r) + resultGate(r); strings.Contains(got, "tentative") || strings.Contains(got, "new") {
		t.Errorf("a pass: %q", got)
	}
}

// TestSets checks that reports name the sets of requirements of the run, and that no name controls a terminal.
func TestSets(t *testing.T) {
	r := printableReport(report.Report{Revisions: []report.RevisionInfo{
		{Revision: "2025-11-25", Set: &catalogue.SetInfo{Name: "2025-11-25@1.4.0", Digest: "sha256:1\x1b[2J"}},
		{Revision: "2026-07-28"},
	}})
	if got := setsText(r); !strings.HasPrefix(got, "2025-11-25@1.4.0 (sha256:1") || strings.Contains(got, "\x1b") {
		t.Errorf("%q", got)
	}
	if got := setsText(report.Report{}); got != "" {
		t.Errorf("without any: %q", got)
	}
}
