package harness

import "testing"

// TestReadCatalogueNamesThePlace proves that a mistake in the catalogue is found, and said with line and column.
func TestReadCatalogueNamesThePlace(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"- id: a/b\n  titel: x\n", "2:3: field titel not found in type harness.Requirement"},
		{"- id: a/b\n  level: MOST\n", `2:10: unknown level "MOST" (have MUST, SHOULD, MAY, ADVICE)`},
		{"- id: a/b\n  level: {2025-11-25: MOST}\n", `2:10: unknown level "MOST" (have MUST, SHOULD, MAY, ADVICE)`},
		{"- id: a/b\n  pass: {legacy: x, legcy: x}\n", `2:21: unknown era "legcy" (have legacy, modern)`},
		{"- id: a/b\n  see: x\n", "2:3: cannot unmarshal !!str `x` into []string"},
		{"- id: [\n", "yaml: line 1: did not find expected node content"},
		{"- id: a/b\n  pass: [x]\n", "2:9: cannot unmarshal !!seq into string"},
	} {
		entries, err := ReadCatalogue([]byte(tt.text))
		if err == nil || err.Error() != tt.want || entries != nil {
			t.Errorf("%s: got %v, %v; want %s", tt.text, entries, err, tt.want)
		}
	}
}

// TestReadCatalogue reads an entry with each form of a value that may differ by revision or era.
func TestReadCatalogue(t *testing.T) {
	entries, err := ReadCatalogue([]byte("- id: a/b\n  level: {'2025-06-18': SHOULD, '2025-11-25': MUST}\n" +
		"  pass: {legacy: old, modern: new}\n  fail: both\n- id: a/c\n  level: MAY\n"))
	if err != nil || len(entries) != 2 {
		t.Fatalf("got %v, %v", entries, err)
	}
	first := entries[0]
	for what, ok := range map[string]bool{
		"level of 2025-06-18": first.Level.In("2025-06-18") == Should,
		"level of 2025-11-25": first.Level.In("2025-11-25") == Must,
		"level of all":        entries[1].Level.In("2024-11-05") == May,
		"pass of both eras":   first.Pass.In("2025-11-25") == "old" && first.Pass.In(Modern) == "new",
		"one fail for both":   first.Fail.In("2025-11-25") == "both" && first.Fail.In(Modern) == "both",
	} {
		if !ok {
			t.Errorf("%s: %+v", what, first)
		}
	}
}
