package catalogue

import (
	"fmt"
	"testing"
)

func TestMemberPattern(t *testing.T) {
	for text, legal := range map[string]bool{
		"/": true, "/a": true, "/**": true, "/*/b": true, "D /": true, "D /**/a~1b/**": true,
		"": false, "D": false, "a": false, "d /a": false, "D  /a": false, "D /a b": false, "//": false, "/a/": false,
		"/a*": false, "/***": false, "/**/**": false, "/a~2": false, "D /a ": false,
	} {
		var p MemberPattern
		if err := p.UnmarshalText([]byte(text)); (err == nil) != legal {
			t.Errorf("%q: %v", text, err)
		}
		if legal && p.String() != text {
			t.Errorf("%q is written %q", text, p)
		}
	}
}

// TestOwners checks which of several matching patterns counts, whatever their order.
func TestOwners(t *testing.T) {
	for _, tt := range []struct {
		name, path string
		// specific is the pattern that counts, and lesser one that matches as well; both may be empty.
		specific, lesser string
	}{
		{"the value itself", "", "/", ""},
		{"any step", "/a/0/b", "/a/*/b", ""},
		{"one step", "/a/0/1/b", "", ""},
		{"no step", "/a", "/a/**", ""},
		{"many steps", "/a/0/b", "/a/**", ""},
		{"anywhere", "/a/0/b", "/**/b", ""},
		{"another definition", "/b", "", ""},
		{"the rest is last", "", "/", "D /**"},
		{"the rest of a definition is not that of all", "/x", "D /**", "/**"},
		{"further down", "/a/0/icons/0/src", "/**/icons/**", "D /a/**"},
		{"further down, its end", "/a/0/_meta", "/**/_meta", "D /a/*/**"},
		{"the last of several places", "/icons/a/icons/b", "/**/icons/**", "D /icons/**"},
		{"named definition", "/p/_meta", "D /p/_meta", "/**/_meta"},
		{"named definition, wildcards", "/a/_meta", "D /a/*/**", "/**/_meta"},
		{"more named steps", "/p/q/_meta", "/**/p/q/*/**", "/**/_meta"},
		{"wildcards later", "/a/b", "/a/*", "/*/b"},
		{"wildcards later, kinds of them", "/a/b", "/*/b", "/**/b"},
	} {
		for _, order := range [][]string{{tt.specific, tt.lesser}, {tt.lesser, tt.specific}} {
			var entries Catalogue
			for _, pattern := range append(order, "D /a/*/c", "E /b") {
				if pattern != "" {
					entries = append(entries, entryOwning(t, pattern, pattern))
				}
			}
			got, isRest := entries.Owner("2025-06-18", "D", tt.path)
			if rest := tt.specific == "D /**"; got != tt.specific || isRest != rest {
				t.Errorf("%s: got %q, %v; want %q, %v", tt.name, got, isRest, tt.specific, rest)
			}
		}
	}
}

// TestOwnersByRevision checks that an entry owns something only in the revisions that it applies to.
func TestOwnersByRevision(t *testing.T) {
	early, late := entryOwning(t, "a/early", "D /a"), entryOwning(t, "a/late", "D /a/**")
	early.Revisions, late.Revisions = []string{"2025-06-18"}, []string{"2025-06-18", "2025-11-25"}
	entries := Catalogue{early, late}
	for revision, want := range map[string]string{"2025-03-26": "", "2025-06-18": "a/early", "2025-11-25": "a/late"} {
		if got, _ := entries.Owner(revision, "D", "/a"); got != want {
			t.Errorf("%s: got %q, want %q", revision, got, want)
		}
	}
}

func TestCheckOwners(t *testing.T) {
	has := func(revision, definition string, steps ...string) bool {
		return definition != "E" && (definition == "" || revision >= "2025-11-25") && steps[0] != "none"
	}
	for _, tt := range []struct {
		revisions, one, other, want string
	}{
		{"2025-06-18, 2025-11-25", "D /a", "/a", ""},
		{"2025-06-18", "/a", "/b", ""},
		{"2025-06-18", "D /a", "/a", "a/one owns D /a: no revision in which it holds has that"},
		{"2025-11-25", "D /a", "E /a", "a/other owns E /a: no revision in which it holds has that"},
		{"2025-11-25", "D /a", "D /none/*", "a/other owns D /none/*: no revision in which it holds has that"},
		{"2025-11-25", "D /a", "D /a", "a/other owns D /a in 2025-11-25, which a/one owns already"},
	} {
		catalogue, err := ReadCatalogue(fmt.Appendf(nil, `[
			{id: a/one, revisions: [%[1]s], owns: [%[2]s]},
			{id: a/other, revisions: [%[1]s], owns: [%[3]s]}, {id: a/later, revisions: [2026-07-28], owns: [%[2]s]}]`,
			tt.revisions, tt.one, tt.other))
		if err != nil {
			t.Fatal(err)
		}
		if err = catalogue.CheckOwners(has); err == nil && tt.want != "" || err != nil && err.Error() != tt.want {
			t.Errorf("%+v: got %v", tt, err)
		}
	}
}

// entryOwning returns an entry that owns what a pattern matches.
func entryOwning(t *testing.T, id, pattern string) *Requirement {
	r := &Requirement{ID: id, Revisions: []string{"2025-06-18"}, Owns: make([]MemberPattern, 1)}
	if err := r.Owns[0].UnmarshalText([]byte(pattern)); err != nil {
		t.Fatal(err)
	}
	return r
}
