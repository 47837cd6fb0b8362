package suites

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
)

// TestAreasAreFolders checks that each area has its file in a directory of its name, with only its own entries, and
// that every file belongs to an area.
func TestAreasAreFolders(t *testing.T) {
	names, err := filepath.Glob("*/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var areas []string
	for _, a := range Areas {
		areas = append(areas, a.Name)
		for _, r := range a.Requirements() {
			if r.Area() != a.Name {
				t.Errorf("%s is an entry of the area %s", r.ID, a.Name)
			}
		}
		for id := range a.Checks {
			if catalogue.AreaOf(id) != a.Name {
				t.Errorf("%s is a check of the area %s", id, a.Name)
			}
		}
	}
	for _, name := range names {
		name = filepath.ToSlash(name)
		if area := path.Dir(name); name != area+"/"+area+".yaml" || !slices.Contains(areas, area) {
			t.Errorf("%s is not the file of an area", name)
		}
	}
}

// TestEntriesAreValid checks the values of every entry of the catalogue.
func TestEntriesAreValid(t *testing.T) {
	bases := strings.Fields("keyword schema imported declarative inferred advice")
	safeties := strings.Fields("safe calls-tool-invalid calls-tool-valid kills-process")
	capabilities := strings.Fields("completions logging prompts resources tasks tools elicitation roots sampling")
	transports := strings.Fields("stdio http sse")
	seen := map[string]bool{}
	for _, r := range All() {
		expect := func(ok bool, what string) {
			t.Helper()
			if !ok {
				t.Errorf("%s: %s", r.ID, what)
			}
		}
		expectOneOf := func(key, value string, known []string) {
			t.Helper()
			expect(slices.Contains(known, value), fmt.Sprintf("%s is %q, and not one of %q", key, value, known))
		}
		expect(!seen[r.ID], "a second entry with this id")
		seen[r.ID] = true
		expectOneOf("basis", r.Basis, bases)
		expectOneOf("safety", r.Safety, safeties)
		if r.Capability != "" {
			expectOneOf("capability", r.Capability, capabilities)
		}
		expect(len(r.Title) > 0 && len(r.Title) <= 90, "the title has more than 90 characters, or none")
		expect(len(r.ApplicableRevisions()) > 0, "holds in no revision")
		var highest catalogue.Level
		for _, revision := range r.ApplicableRevisions() {
			expect(r.Level.In(revision) != 0, "no level in "+revision)
			highest = max(highest, r.Level.In(revision))
		}
		expect((highest == catalogue.Advice) == (r.Basis == "advice"),
			"the basis is advice if the level is ADVICE in all revisions, and only then")
		for revision := range r.Spec {
			expect(slices.Contains(catalogue.Revisions, revision), "unknown revision "+revision)
		}
		for _, transport := range r.Transports {
			expectOneOf("transports", transport, transports)
		}
		expect(r.Statement != "", "no statement")
		expect((r.Pass.Legacy+r.Pass.Modern) != "" && (r.Fail.Legacy+r.Fail.Modern) != "", "no pass or no fail")
	}
}

// TestEveryCheckHasAnEntry checks that every check has an entry in the catalogue.
func TestEveryCheckHasAnEntry(t *testing.T) {
	for id := range Checks() {
		if _, ok := Find(id); !ok {
			t.Errorf("the check %s has no entry in %s.yaml", id, catalogue.AreaOf(id))
		}
	}
}

// TestImplementedAreasAreComplete checks that every entry of an implemented area has a check if it is part of a
// revision with a handshake.
func TestImplementedAreasAreComplete(t *testing.T) {
	for _, a := range Areas {
		for _, r := range a.Requirements() {
			for _, revision := range catalogue.LegacyRevisions {
				if len(a.Checks) > 0 && !HasCheck(r) && r.AppliesIn(revision) {
					t.Errorf("%s applies in %s and has no check", r.ID, revision)
				}
			}
		}
	}
}

// TestEntriesWithCheckHaveFix checks that every entry with a check tells server authors what to change.
func TestEntriesWithCheckHaveFix(t *testing.T) {
	for _, r := range All() {
		if HasCheck(r) && r.Fix == "" {
			t.Errorf("%s has no fix", r.ID)
		}
	}
}

// TestOwners checks that entries own members that exist, each its own, and that an entry that owns any has a check,
// since no other entry reports their violations.
func TestOwners(t *testing.T) {
	if err := All().CheckOwners(schemas.HasMember); err != nil {
		t.Error(err)
	}
	for _, r := range All() {
		if len(r.Owns) > 0 && !HasCheck(r) {
			t.Errorf("%s owns %v and has no check", r.ID, r.Owns)
		}
	}
}
