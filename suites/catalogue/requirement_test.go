package catalogue

import (
	"strings"
	"testing"
)

func TestURL(t *testing.T) {
	tests := map[string]string{
		"server/tools#tool-names": "https://modelcontextprotocol.io/specification/2025-11-25/server/tools#tool-names",
		"basic/index#meta":        "https://modelcontextprotocol.io/specification/2025-11-25/basic#meta",
		"schema#tool":             "https://modelcontextprotocol.io/specification/2025-11-25/schema#tool",
	}
	for page, want := range tests {
		r := &Requirement{Spec: map[string]string{NewestLegacy: page}}
		if got := r.URL(NewestLegacy); got != want {
			t.Errorf("%s: got %s, want %s", page, got, want)
		}
	}
}

// TestJudgingRevision checks by which revision a requirement judges a server that negotiated a revision without it,
// which depends on the area.
func TestJudgingRevision(t *testing.T) {
	areas := map[string]Area{
		"plain": {Name: "plain"},
		"http":  {Name: "http", ChooseRevision: AtLeast("2025-03-26")},
		"sse":   {Name: "sse", ChooseRevision: NearestRevision},
	}
	tests := []struct {
		area string
		// revisions are those that the requirement applies to.
		revisions  string
		negotiated string
		by         string
	}{
		{"plain", "2025-03-26 2025-06-18", "2025-06-18", "2025-06-18"},
		{"plain", "2025-03-26 2025-06-18", "2024-11-05", ""},
		{"plain", "2025-03-26 2025-06-18", "2025-11-25", ""},
		{"http", "2025-03-26 2025-06-18", "2025-06-18", "2025-06-18"},
		{"http", "2025-03-26 2025-06-18", "2024-11-05", "2025-03-26"},
		{"http", "2025-03-26", "2024-11-05", "2025-03-26"},
		{"http", "2025-03-26", "2025-06-18", ""},
		{"http", "2025-06-18", "2024-11-05", ""},
		{"http", "2025-06-18", "2025-11-25", ""},
		{"http", "2025-06-18", "2025-03-26", ""},
		{"sse", "2024-11-05", "2025-11-25", "2024-11-05"},
		{"sse", "2024-11-05 2025-03-26", "2025-06-18", "2025-03-26"},
		{"sse", "2025-11-25", "2024-11-05", "2025-11-25"},
		{"sse", "2024-11-05 2025-06-18", "2025-03-26", "2024-11-05"},
		{"sse", "2024-11-05", "2026-07-28", ""},
		{"sse", "2026-07-28", "2025-11-25", ""},
	}
	for _, tt := range tests {
		r := &Requirement{ID: tt.area + "/entry", Revisions: strings.Fields(tt.revisions),
			Transports: []string{"http"}}
		areas[tt.area].AssignTo(Catalogue{r})
		by, applies := r.JudgingRevision(tt.negotiated, "http")
		if by != tt.by || applies != (tt.by != "") {
			t.Errorf("%s, for %s, negotiated %s: got %q, %v, want %q", tt.area, tt.revisions, tt.negotiated, by,
				applies, tt.by)
		}
		if by, applies := r.JudgingRevision(tt.negotiated, "stdio"); applies {
			t.Errorf("%s applies over stdio, by %s", tt.area, by)
		}
	}
}
