package catalogue

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRevisionRanges: each range stands for its revisions, wherever an entry names revisions.
func TestRevisionRanges(t *testing.T) {
	for key, want := range map[string][]string{
		"2025-06-18":               {"2025-06-18"},
		"2024-11-05 to 2025-06-18": {"2024-11-05", "2025-03-26", "2025-06-18"},
		"2025-06-18 to 2025-06-18": {"2025-06-18"},
		"2025-06-18+":              Revisions[2:],
		"2026-07-28+":              Revisions[4:],
		"2024-11-05+":              Revisions,
	} {
		spec, level, revisions := SpecPages{}, map[string]Level{}, RevisionList{}
		for _, revision := range want {
			spec[revision], level[revision] = "server/tools#one", Should
			revisions = append(revisions, revision)
		}
		got, err := ReadCatalogue([]byte("- spec: {'" + key + "': server/tools#one}\n  level: {'" + key +
			"': SHOULD}\n  revisions: ['" + key + "']\n"))
		if err != nil {
			t.Errorf("%s: %v", key, err)
			continue
		}
		if !maps.Equal(got[0].Spec, spec) || !maps.Equal(got[0].Level.Values, level) ||
			!cmp.Equal(got[0].Revisions, revisions) {
			t.Errorf("%s: got %v, %v, %v", key, got[0].Spec, got[0].Level.Values, got[0].Revisions)
		}
	}
}

// TestRevisionRangesAreOpen proves that an entry with an open range holds in a revision that is published later, and
// one with an end does not. Not in parallel: it changes the table.
func TestRevisionRangesAreOpen(t *testing.T) {
	before := Revisions
	t.Cleanup(func() { Revisions = before })
	Revisions = append(before[:len(before):len(before)], "2099-01-02")
	for key, want := range map[string]bool{
		"2024-11-05+": true, "2026-07-28+": true, "2026-07-28": false, "2024-11-05 to 2026-07-28": false,
	} {
		got, err := ReadCatalogue([]byte("- spec: {'" + key + "': server/tools#one}\n"))
		if err != nil || got[0].AppliesIn("2099-01-02") != want {
			t.Errorf("%s: got %v, %v", key, got[0].Spec, err)
		}
	}
}

// TestRevisionRangeErrors proves that a mistake is one line with its position, and what to write instead.
func TestRevisionRangeErrors(t *testing.T) {
	have := strings.Join(Revisions, ", ")
	const noPage = "no page (want PAGE#ANCHOR, as server/tools#calling-tools)"
	const form = " (want REVISION, REVISION to REVISION, or REVISION+ for this and all later ones)"
	for name, tt := range map[string]struct{ text, want string }{
		"unknown revision": {"- spec: {2025-06-19: a#b}", `1:10: unknown revision "2025-06-19" (have ` + have + `)`},
		"unknown first":    {"- spec: {2025-06-19+: a#b}", `1:10: unknown revision "2025-06-19" (have ` + have + `)`},
		"unknown last": {"- spec: {2025-06-18 to 2026: a#b}",
			`1:10: unknown revision "2026" (have ` + have + `)`},
		"empty range": {"- spec:\n    2025-11-25 to 2025-06-18: a#b",
			`2:5: the range "2025-11-25 to 2025-06-18" is empty (want the earlier revision first)`},
		"overlap of ranges": {"- spec:\n    2024-11-05 to 2025-06-18: a#b\n    2025-06-18+: a#c",
			`3:5: "2025-06-18+" overlaps "2024-11-05 to 2025-06-18": both have 2025-06-18 ` +
				`(end one before the other begins)`},
		"overlap with a revision": {"- spec: {2024-11-05+: a#b, 2026-07-28: a#c}",
			`1:28: "2026-07-28" overlaps "2024-11-05+": both have 2026-07-28 (end one before the other begins)`},
		"a revision twice": {"- level: {2025-06-18: MUST, 2025-06-18: MAY}",
			`1:29: "2025-06-18" overlaps "2025-06-18": both have 2025-06-18 (end one before the other begins)`},
		"overlap in a list": {"- revisions: [2025-06-18, 2024-11-05+]",
			`1:27: "2024-11-05+" overlaps "2025-06-18": both have 2025-06-18 (end one before the other begins)`},
		"another notation": {"- spec: {2025-06-18 - 2025-11-25: a#b}",
			`1:10: invalid revisions "2025-06-18 - 2025-11-25"` + form},
		"no key":       {"- spec: {'': a#b}", `1:10: invalid revisions ""` + form},
		"no page":      {"- spec: {2025-06-18+: }", "1:23: " + noPage},
		"an anchor":    {"- spec: {2025-06-18: '#b'}", "1:22: " + noPage},
		"pages":        {"- spec: {2025-06-18: [a#b]}", "1:22: cannot unmarshal !!seq into string"},
		"a page alone": {"- spec: a#b", "1:9: cannot unmarshal !!str `a#b` into map[string]string"},
		"no list":      {"- revisions: 2025-06-18+", "1:14: cannot unmarshal !!str `2025-06...` into []string"},
		"unknown level": {"- level: {2025-06-18+: MOST}",
			`1:24: unknown level "MOST" (have MUST, SHOULD, MAY, ADVICE)`},
	} {
		entries, err := ReadCatalogue([]byte(tt.text + "\n"))
		if err == nil || err.Error() != tt.want || entries != nil {
			t.Errorf("%s: got %v, %v; want %s", name, entries, err, tt.want)
		}
	}
}
