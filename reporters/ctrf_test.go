package reporters

import (
	"encoding/json"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

func parseCTRF(t *testing.T, r report.Report) (doc ctrfReport) {
	t.Helper()
	if err := json.Unmarshal(render(t, CTRF, r), &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// TestCTRFIsRedWhenTheRunFails checks that a test fails exactly if the run does, that the counts are those of the
// tests, and that tests are unique.
func TestCTRFIsRedWhenTheRunFails(t *testing.T) {
	for name, r := range sampleReports() {
		t.Run(name, func(t *testing.T) {
			doc := parseCTRF(t, r)
			s := doc.Results.Summary
			if red, want := s.Failed > 0, r.ExitCode != report.ExitConforms; red != want {
				t.Errorf("exit code %d: want red %v, got %v", r.ExitCode, want, red)
			}
			sum, listed := s.Passed+s.Failed+s.Skipped+s.Pending+s.Other, len(doc.Results.Tests)
			if sum != s.Tests || listed != s.Tests {
				t.Errorf("%d tests, and %d by status, in a list of %d", s.Tests, sum, listed)
			}
			seen := map[string]bool{}
			for _, test := range doc.Results.Tests {
				if seen[test.Name] {
					t.Errorf("%s is there twice", test.Name)
				}
				seen[test.Name] = true
			}
		})
	}
}

func TestCTRFStatus(t *testing.T) {
	for status, r := range map[string]report.Result{
		"passed":  {Verdict: catalogue.Pass},
		"skipped": {Verdict: catalogue.Skip},
		"failed":  {Verdict: catalogue.Fail, Gates: true},
		"other":   {Verdict: catalogue.Fail, Known: &report.KnownInfo{}},
	} {
		if got := ctrfStatus(r); got != status {
			t.Errorf("%+v: want %s, got %s", r, status, got)
		}
	}
	for _, lost := range []report.Result{{Verdict: catalogue.Error}, {Verdict: catalogue.Inconclusive, Gates: true}} {
		if got := ctrfStatus(lost); got != "failed" {
			t.Errorf("%+v: want failed, got %s", lost, got)
		}
	}
}
