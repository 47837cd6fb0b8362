package catalogue

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcheck/mcpcheck/suites/text"
)

// setCatalogue returns a catalogue with an entry of each kind.
func setCatalogue(t *testing.T) Catalogue {
	t.Helper()
	all, err := ReadCatalogue([]byte(`
- {id: ping/a, level: {2025-06-18: SHOULD, 2025-11-25: MUST}, spec: {2025-06-18: p#a, 2025-11-25: p#a}}
- {id: ping/b, level: SHOULD, checklist: true, spec: {2025-11-25: p#b}, since: 1.4}
- {id: http/c, level: MUST, transports: [http], spec: {2025-11-25: p#c}}
- {id: ping/d, level: MUST, spec: {2026-07-28: p#d}}
- {id: ping/e, level: ADVICE, revisions: [2025-11-25]}
`))
	if err != nil {
		t.Fatal(err)
	}
	all.AssignRules([]DirectoryRule{{ID: "d/r", Checks: []string{"ping/e"}}})
	Area{Name: "http", ChooseRevision: AtLeast("2025-11-25")}.AssignTo(all[2:3])
	return all
}

// TestNewSet checks that a set has the requirements of a revision over any transport, and that its digest depends on
// nothing else.
func TestNewSet(t *testing.T) {
	all := setCatalogue(t)
	set := func(revision, version string) *RequirementSet {
		return NewSet(all, revision, ProgramInfo{"mcpcheck", version}, all.Tentative(version))
	}
	want := []SetEntry{
		{ID: "ping/a", Level: Must}, {ID: "ping/b", Level: Should, Checklist: true, Tentative: true},
		{ID: "http/c", Level: Must}, {ID: "ping/e", Level: Advice, DirectoryRules: []DirectoryRule{{ID: "d/r"}}},
	}
	now := set("2025-11-25", "1.4.0")
	if diff := cmp.Diff(want, now.Entries); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if now.Name != "2025-11-25@1.4.0" {
		t.Errorf("name %s", now.Name)
	}
	old := []SetEntry{{ID: "ping/a", Level: Should}, {ID: "http/c", Level: Must, JudgedBy: "2025-11-25"}}
	if diff := cmp.Diff(old, set("2025-06-18", "1.4.0").Entries); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if patch := set("2025-11-25", "1.4.1"); patch.Digest != now.Digest {
		t.Error("another version with the same requirements has another digest")
	}
	if next := set("2025-11-25", "1.5.0"); next.Digest == now.Digest || next.Entries[1].Tentative {
		t.Errorf("a requirement is still tentative, or the digest is the same: %v", next.Entries[1])
	}
}

// TestReadSet checks that a set is read as it was created, and that any change is an error.
func TestReadSet(t *testing.T) {
	all := setCatalogue(t)
	made := NewSet(all, "2025-11-25", ProgramInfo{"mcpcheck", "1.4.0"}, all.Tentative("1.4.0"))
	content := string(text.CompactJSON(made))
	got, err := ReadSet([]byte(content))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(made, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, test := range map[string]struct{ text, want string }{
		"changed":        {strings.Replace(content, `"level":"SHOULD"`, `"level":"MUST"`, 1), "it was changed"},
		"one less":       {strings.Replace(content, `{"id":"http/c","level":"MUST"},`, "", 1), "it was changed"},
		"another digest": {strings.Replace(content, "sha256:", "sha256:0", 1), "it was changed"},
		"no JSON":        {"list", "it is not the JSON of a set"},
		"a list":         {"[]", "it is not the JSON of a set"},
		"another object": {`{"schemaVersion":1}`, "not a requirement set"},
		"a later one":    {`{"set":2}`, "version 2 of the format is not known"},
		"no revision":    {`{"set":1,"revision":"1999-01-01"}`, `revision "1999-01-01" is not known`},
		"empty":          {`{"set":1,"revision":"2025-11-25"}`, "there is no requirement in it"},
		"two":            {content + content, "something follows the set"},
	} {
		if _, err := ReadSet([]byte(test.text)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
}

// TestRestrict checks that requirements restricted to a set have the levels that they had when it was created.
func TestRestrict(t *testing.T) {
	then := setCatalogue(t)
	set := NewSet(then, "2025-11-25", ProgramInfo{"mcpcheck", "1.4.0"}, then.Tentative("1.4.0"))
	now := setCatalogue(t)
	now[0].Level = ByRevision[Level]{All: May}
	now[1].Checklist, now[4].DirectoryRules = false, nil
	frozen, missing := set.Restrict(now[:3])
	if diff := cmp.Diff([]string{"ping/e"}, missing); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
	if len(frozen) != 3 || frozen[0].Level.In("2025-11-25") != Must || !frozen[1].Checklist || now[1].Checklist {
		t.Errorf("%+v", frozen)
	}
	if by, applies := frozen[2].JudgingRevision("2025-06-18", "http"); by != "2025-11-25" || !applies {
		t.Error("the requirement has lost its area")
	}
	if !set.Tentative(now[1]) || set.Tentative(now[0]) {
		t.Error("Tentative selects other requirements than before")
	}
}
