package suites

import "testing"

// TestHasCheckIn checks that a requirement has a check in the revisions that it applies to.
func TestHasCheckIn(t *testing.T) {
	tests := []struct {
		id, revision string
		want         bool
	}{
		{"tools/unknown-tool-code", "2025-11-25", true},
		{"tools/unknown-tool-code", "2026-07-28", true},
		{"batch/no-outgoing-array", "2026-07-28", true},
		{"batch/response-is-array", "2025-11-25", false},
		{"batch/response-is-array", "2025-03-26", true},
		{"pagination/no-cursor-first-page", "2025-11-25", false},
	}
	for _, tt := range tests {
		r, found := Find(tt.id)
		if !found {
			t.Fatalf("there is no entry %s", tt.id)
		}
		if got := HasCheckIn(r, tt.revision); got != tt.want {
			t.Errorf("%s in %s: got %v", tt.id, tt.revision, got)
		}
	}
}
