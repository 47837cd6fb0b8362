package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// written is a set with these entries, in a file.
func writeSetFile(t *testing.T, entries ...harness.SetEntry) (name string) {
	t.Helper()
	wanted := func(r *harness.Requirement) *harness.SetEntry {
		for i, e := range entries {
			if e.ID == r.ID {
				return &entries[i]
			}
		}
		return nil
	}
	var catalogue harness.Catalogue
	for _, r := range suites.Implemented() {
		if e := wanted(r); e != nil {
			as := *r
			as.Level, as.Checklist = harness.ByRevision[harness.Level]{All: e.Level}, e.Checklist
			catalogue = append(catalogue, &as)
		}
	}
	tentative := func(r *harness.Requirement) bool { return wanted(r).Tentative }
	set := harness.NewSet(catalogue, "2025-11-25", harness.ProgramInfo{Name: "mcpcheck", Version: "0.1.0"}, tentative)
	text, err := json.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	name = filepath.Join(t.TempDir(), "set.json")
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestRunWithSet: of a set only its requirements are judged, at its levels; what is tentative in it does not gate but
// with --tentative=gate.
func TestRunWithSet(t *testing.T) {
	const id = "ping/empty-result"
	for name, test := range map[string]struct {
		entry harness.SetEntry
		flags string
		gate  harness.Gate
		held  bool
	}{
		"a MUST":        {entry: harness.SetEntry{ID: id, Level: harness.Must}, gate: harness.GateMust},
		"a SHOULD then": {entry: harness.SetEntry{ID: id, Level: harness.Should}},
		"of the checklist then": {
			entry: harness.SetEntry{ID: id, Level: harness.Should, Checklist: true}, gate: harness.GateChecklist,
		},
		"tentative": {entry: harness.SetEntry{ID: id, Level: harness.Must, Tentative: true}, held: true},
		"tentative, and gating": {
			entry: harness.SetEntry{ID: id, Level: harness.Must, Tentative: true}, flags: "--tentative gate",
			gate: harness.GateMust,
		},
	} {
		t.Run(name, func(t *testing.T) {
			set := writeSetFile(t, test.entry)
			_, report := runFaultyServer(t, strings.TrimSpace("--set "+set+" "+test.flags), id, baseline{})
			if len(report.Results) != 1 {
				t.Fatalf("%d results", len(report.Results))
			}
			r, entry := report.Results[0], test.entry.Level
			if r.Verdict != harness.Fail || r.EntryLevel != entry || r.GatedBy != test.gate ||
				r.Tentative != test.held {
				t.Errorf("%s at %s, gated by %q, tentative %v", r.Verdict, r.EntryLevel, r.GatedBy, r.Tentative)
			}
			name, n := report.Revisions[0].Set.Name, report.Coverage[0].Requirements
			if name != "2025-11-25@0.1.0" || n != 1 {
				t.Errorf("judged by the set %s, %d requirements", name, n)
			}
			if (report.ExitCode == harness.ExitFails) != (test.gate != harness.NoGate) {
				t.Errorf("exit code %d", report.ExitCode)
			}
		})
	}
}
