package suites

import (
	"path"
	"slices"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// TestPending proves that the list is of use: each pattern in it leaves out a check, and nothing else is left out.
func TestPending(t *testing.T) {
	for _, pattern := range pending {
		if !slices.ContainsFunc(Built(), func(r *harness.Requirement) bool {
			matched, _ := path.Match(pattern, r.ID)
			return matched && slices.ContainsFunc(harness.Modern, r.Holds)
		}) {
			t.Errorf("%s leaves out no check that holds in a revision without a handshake", pattern)
		}
	}
	for _, revision := range harness.Revisions {
		suite := For(revision)
		for id := range Checks() {
			_, has := suite[id]
			if want := !harness.IsModern(revision) || !isPending(id); has != want {
				t.Errorf("%s in %s: has %v, want %v", id, revision, has, want)
			}
		}
	}
}

// TestIsTried: a requirement is tried where it holds and a check is written for it.
func TestIsTried(t *testing.T) {
	tests := []struct {
		id, revision string
		want         bool
	}{
		{"tools/unknown-tool-code", "2025-11-25", true},
		{"tools/unknown-tool-code", "2026-07-28", true},
		{"batch/response-is-array", "2025-11-25", false},
		{"batch/response-is-array", "2025-03-26", true},
		{"pagination/no-cursor-first-page", "2025-11-25", false},
	}
	for _, tt := range tests {
		r, found := Find(tt.id)
		if !found {
			t.Fatalf("there is no entry %s", tt.id)
		}
		if got := IsTried(r, tt.revision); got != tt.want {
			t.Errorf("%s in %s: got %v", tt.id, tt.revision, got)
		}
	}
}
