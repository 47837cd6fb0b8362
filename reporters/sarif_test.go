package reporters

import (
	"encoding/json"
	"fmt"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// writeSARIFWithCatalogue is SARIF with a catalogue of one requirement.
func writeSARIFWithCatalogue(w io.Writer, r report.Report) error {
	rules := func(id string) (*catalogue.Requirement, bool) {
		entry := &catalogue.Requirement{ID: id, Statement: "Servers MUST\n do [it](http://x).", Checklist: true}
		return entry, id == "tools/unknown-tool-code"
	}
	return SARIF(w, r, Options{Location: Location{Path: "mcpcheck.yaml"}, FindRequirement: rules})
}

// TestSARIFIsValid uses the schema of the OASIS standard with errata 01, which github.com/owenrumney/go-sarif/v3
// contains.
func TestSARIFIsValid(t *testing.T) {
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	s, err := c.Compile("testdata/sarif-schema-2.1.0.json")
	if err != nil {
		t.Fatal(err)
	}
	checkValid(t, s, writeSARIFWithCatalogue, allSampleReports())
}

// parseSARIF returns the only run of a SARIF file.
func parseSARIF(t *testing.T, r report.Report) sarifRun {
	t.Helper()
	var log sarifLog
	if err := json.Unmarshal(render(t, writeSARIFWithCatalogue, r), &log); err != nil {
		t.Fatal(err)
	}
	return log.Runs[0]
}

// TestSARIFIsWhatCodeScanningWants checks that everything which GitHub's page "SARIF support for code scanning" calls
// required exists, is not empty, and is not too long.
func TestSARIFIsWhatCodeScanningWants(t *testing.T) {
	for name, r := range allSampleReports() {
		t.Run(name, func(t *testing.T) {
			run := parseSARIF(t, r)
			seen := map[string]bool{}
			for _, rule := range run.Tool.Driver.Rules {
				for what, text := range map[string]string{
					"id": rule.ID, "short description": rule.ShortDescription.Text,
					"full description": rule.FullDescription.Text, "help": rule.Help.Text,
				} {
					if text == "" || what != "help" && len([]rune(text)) > 1024 {
						t.Errorf("%s: %s %q", rule.ID, what, text)
					}
				}
				if seen[rule.ID] {
					t.Errorf("two rules %s", rule.ID)
				}
				seen[rule.ID] = true
			}
			for _, x := range run.Results {
				if run.Tool.Driver.Rules[x.RuleIndex].ID != x.RuleID {
					t.Errorf("rule %d is not %s", x.RuleIndex, x.RuleID)
				}
				if x.Message.Text == "" || len(x.Fingerprints) == 0 {
					t.Errorf("%s: %+v", x.RuleID, x)
				}
				if len(x.Locations) != 1 || x.Locations[0].Physical.Artifact.URI != "mcpcheck.yaml" {
					t.Errorf("%s: at %+v", x.RuleID, x.Locations)
				}
				if (x.Suppressions == nil) != (r.Baseline == nil) {
					t.Errorf("%s: some results have suppressions, some not", x.RuleID)
				}
			}
		})
	}
}

func TestSARIFLevels(t *testing.T) {
	got := map[string]string{}
	for name, r := range map[string]report.Report{"": fullReport(), "strict ": strictReport(),
		"known ": acceptedReport()} {
		for _, x := range parseSARIF(t, r).Results {
			got[name+x.RuleID] = joinParts(x.Kind, x.Level, fmt.Sprint(len(x.Suppressions)))
		}
	}
	want := map[string]string{
		"jsonrpc/error-message":           "fail · note · 0",
		"lifecycle/requests-gated":        "fail · error · 0", // by the checklist
		"stdio/stdout-only-messages":      "fail · error · 0",
		"tools/input-schema-valid":        "fail · error · 0",
		"tools/name-characters":           "fail · warning · 0",
		"tools/unknown-tool-code":         "fail · error · 0",
		"known jsonrpc/error-message":     "fail · note · 0",
		"known lifecycle/requests-gated":  "fail · note · 1",
		"known tools/name-characters":     "fail · warning · 0",
		"known tools/unknown-tool-code":   "fail · note · 1",
		"strict jsonrpc/error-message":    "fail · note · 0",
		"strict lifecycle/requests-gated": "fail · error · 0",
		"strict tools/call-result-schema": "open · none · 0",
		"strict tools/input-schema-valid": "fail · error · 0",
		"strict tools/name-characters":    "fail · error · 0",
		"strict tools/structured-content": "open · none · 0",
		"strict tools/unknown-tool-code":  "fail · error · 0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestSARIFFingerprintsAreStable checks that the fingerprint of a finding does not depend on what the server sent.
func TestSARIFFingerprintsAreStable(t *testing.T) {
	prints := func(r report.Report) (all []string) {
		for _, x := range parseSARIF(t, r).Results {
			all = append(all, fmt.Sprint(x.RuleID, x.Fingerprints))
		}
		return all
	}
	changed := fullReport()
	for i := range changed.Results {
		x := &changed.Results[i]
		x.Message, x.Subjects, x.Revision, x.Evidence = "other "+x.ID, nil, "2025-06-18", nil
	}
	if diff := cmp.Diff(prints(fullReport()), prints(changed)); diff != "" {
		t.Errorf("fingerprints vary with the run:\n%s", diff)
	}
}

func TestSARIFNotifications(t *testing.T) {
	for name, c := range map[string]struct {
		report     report.Report
		successful bool
		execution  int
		settings   int
	}{
		"everything": {fullReport(), false, 1, 0}, "problem": {untestableReport(), false, 1, 0},
		"baseline": {baselineReport(), true, 0, 3}, "http": {httpReport(), true, 0, 0},
	} {
		i := parseSARIF(t, c.report).Invocations[0]
		if i.Successful != c.successful || i.ExitCode != c.report.ExitCode {
			t.Errorf("%s: got %+v", name, i)
		}
		if len(i.Execution) != c.execution || len(i.Configuration) != c.settings {
			t.Errorf("%s: got %+v", name, i)
		}
	}
}
