package catalogue

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReadCatalogue checks that an entry may have one value for all revisions and eras, or several.
func TestReadCatalogue(t *testing.T) {
	const entries = `
- id: tools/one
  title: does one thing
  level: MUST
  spec: {2025-06-18: server/tools#one, 2025-11-25: server/tools#one}
  pass: It does.
- id: tools/two
  level: {2025-06-18: SHOULD, 2025-11-25: ADVICE}
  revisions: [2025-06-18, 2026-07-28]
  fail: {legacy: It does not., modern: Nor does it.}
`
	got, err := ReadCatalogue([]byte(entries))
	if err != nil {
		t.Fatal(err)
	}
	one, two := got[0], got[1]
	levels := []Level{
		one.Level.In("2025-06-18"), two.Level.In("2025-06-18"), two.Level.In("2025-11-25"), two.Level.In("2026-07-28"),
	}
	if diff := cmp.Diff([]Level{Must, Should, Advice, 0}, levels); diff != "" {
		t.Error(diff)
	}
	revisions := [][]string{{"2025-06-18", "2025-11-25"}, {"2025-06-18", "2026-07-28"}}
	if diff := cmp.Diff(revisions, [][]string{one.ApplicableRevisions(), two.ApplicableRevisions()}); diff != "" {
		t.Error(diff)
	}
	if one.Pass != (ByEra{"It does.", "It does."}) || two.Fail != (ByEra{"It does not.", "Nor does it."}) {
		t.Errorf("got %+v, %+v", one.Pass, two.Fail)
	}
}

// TestReadCatalogueErrorPosition checks that errors in the catalogue are reported with line and column.
func TestReadCatalogueErrorPosition(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"- id: a/b\n  titel: x\n", "2:3: field titel not found in type catalogue.Requirement"},
		{"- id: a/b\n  level: MOST\n", `2:10: unknown level "MOST" (have MUST, SHOULD, MAY, ADVICE)`},
		{"- id: a/b\n  level: {2025-11-25: MOST}\n", `2:23: unknown level "MOST" (have MUST, SHOULD, MAY, ADVICE)`},
		{"- id: a/b\n  pass: {legacy: x, legcy: x}\n", `2:21: unknown era "legcy" (have legacy, modern)`},
		{"- id: a/b\n  needs: x\n", "2:3: cannot unmarshal !!str `x` into []string"},
		{"- id: [\n", "yaml: line 1: did not find expected node content"},
		{"- id: a/b\n  pass: [x]\n", "2:9: cannot unmarshal !!seq into string"},
		{"- id: a/b\n  owns: [/a, /b/]\n", `2:14: owns "/b/" (want [DEFINITION ]/PATH, with * for any step and ` +
			"** for any number of steps)"},
	} {
		entries, err := ReadCatalogue([]byte(tt.text))
		if err == nil || err.Error() != tt.want || entries != nil {
			t.Errorf("%s: got %v, %v; want %s", tt.text, entries, err, tt.want)
		}
	}
}

func TestURLOfOtherPages(t *testing.T) {
	tests := map[string]struct{ page, revision, want string }{
		"no sentence": {"", "2025-06-18", ""},
		"an early schema": {"schema#tool", "2025-03-26",
			"https://github.com/modelcontextprotocol/modelcontextprotocol/blob/main/schema/2025-03-26/schema.ts"},
		"an extension": {"ext-tasks#task-polling", "2026-07-28",
			"https://github.com/modelcontextprotocol/ext-tasks/blob/main/specification/2026-07-28/tasks.md" +
				"#task-polling"},
		"a proposal": {"seps/2663-tasks-extension#x", "2025-11-25",
			"https://modelcontextprotocol.io/seps/2663-tasks-extension#x"},
		"security, a guide": {"basic/security_best_practices#x", "2025-11-25",
			"https://modelcontextprotocol.io/docs/2025-11-25/tutorials/security/security_best_practices#x"},
	}
	for name, tt := range tests {
		r := &Requirement{Spec: map[string]string{tt.revision: tt.page}}
		if tt.page == "" {
			r.Spec = nil
		}
		if got := r.URL(tt.revision); got != tt.want {
			t.Errorf("%s: got %s, want %s", name, got, tt.want)
		}
	}
}
