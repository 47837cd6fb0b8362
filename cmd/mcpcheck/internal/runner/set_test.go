package runner

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/baseline"
	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// writeSetFile writes a requirement set with these entries to a file.
func writeSetFile(t *testing.T, entries ...catalogue.SetEntry) (name string) {
	t.Helper()
	wanted := func(r *catalogue.Requirement) *catalogue.SetEntry {
		for i, e := range entries {
			if e.ID == r.ID {
				return &entries[i]
			}
		}
		return nil
	}
	var frozen catalogue.Catalogue
	for _, r := range suites.Implemented() {
		if e := wanted(r); e != nil {
			as := *r
			as.Level, as.Checklist = catalogue.ByRevision[catalogue.Level]{All: e.Level}, e.Checklist
			frozen = append(frozen, &as)
		}
	}
	tentative := func(r *catalogue.Requirement) bool { return wanted(r).Tentative }
	set := catalogue.NewSet(frozen, "2025-11-25", catalogue.ProgramInfo{Name: "mcpcheck", Version: "0.1.0"}, tentative)
	content, err := json.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	name = filepath.Join(t.TempDir(), "set.json")
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestRunWithSet proves that a run with a requirement set judges only its requirements, at its levels, and that
// tentative ones gate only with --tentative=gate.
func TestRunWithSet(t *testing.T) {
	const id = "ping/empty-result"
	for name, test := range map[string]struct {
		entry catalogue.SetEntry
		flags string
		gate  catalogue.Gate
		held  bool
	}{
		"a MUST":        {entry: catalogue.SetEntry{ID: id, Level: catalogue.Must}, gate: catalogue.GateMust},
		"a SHOULD then": {entry: catalogue.SetEntry{ID: id, Level: catalogue.Should}},
		"of the checklist then": {
			entry: catalogue.SetEntry{ID: id, Level: catalogue.Should, Checklist: true}, gate: catalogue.GateChecklist,
		},
		"tentative": {entry: catalogue.SetEntry{ID: id, Level: catalogue.Must, Tentative: true}, held: true},
		"tentative, and gating": {
			entry: catalogue.SetEntry{ID: id, Level: catalogue.Must, Tentative: true}, flags: "--tentative gate",
			gate: catalogue.GateMust,
		},
	} {
		t.Run(name, func(t *testing.T) {
			set := writeSetFile(t, test.entry)
			_, rep := runFaultyServer(t, strings.TrimSpace("--set "+set+" "+test.flags), id, baseline.File{})
			if len(rep.Results) != 1 {
				t.Fatalf("%d results", len(rep.Results))
			}
			r, entry := rep.Results[0], test.entry.Level
			if r.Verdict != catalogue.Fail || r.EntryLevel != entry || r.GatedBy != test.gate ||
				r.Tentative != test.held {
				t.Errorf("%s at %s, gated by %q, tentative %v", r.Verdict, r.EntryLevel, r.GatedBy, r.Tentative)
			}
			name, n := rep.Revisions[0].Set.Name, rep.Coverage[0].Requirements
			if name != "2025-11-25@0.1.0" || n != 1 {
				t.Errorf("judged by the set %s, %d requirements", name, n)
			}
			if (rep.ExitCode == report.ExitFails) != (test.gate != catalogue.NoGate) {
				t.Errorf("exit code %d", rep.ExitCode)
			}
		})
	}
}
