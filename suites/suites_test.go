package suites

import (
	"path"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// TestAreasAreFolders proves that each area has its file in a folder of its name, with entries of its name only, and
// that no file is left out.
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

// TestEntriesAreValid holds every entry of the catalogue against its vocabulary.
func TestEntriesAreValid(t *testing.T) {
	bases := []string{"keyword", "schema", "imported", "declarative", "inferred", "advice"}
	tiers := []string{"core", "core-should", "auto-fixture", "fixture", "process", "extension", "auth", "advice"}
	safeties := []string{"safe", "calls-tool-invalid", "calls-tool-valid", "kills-process"}
	seen := map[string]bool{}
	for _, r := range All() {
		legal := func(ok bool, what string) {
			t.Helper()
			if !ok {
				t.Errorf("%s: %s", r.ID, what)
			}
		}
		legal(!seen[r.ID], "a second entry of this id")
		seen[r.ID] = true
		legal(slices.Contains(bases, r.Basis), "unknown basis "+r.Basis)
		legal(slices.Contains(tiers, r.Tier), "unknown tier "+r.Tier)
		legal(slices.Contains(safeties, r.Safety), "unknown safety "+r.Safety)
		legal(len(r.Title) > 0 && len(r.Title) <= 90, "the title has more than 90 characters, or none")
		legal(len(r.ApplicableRevisions()) > 0, "holds in no revision")
		for _, revision := range r.ApplicableRevisions() {
			legal(r.Level.In(revision) != 0, "no level in "+revision)
		}
		for revision := range r.Spec {
			legal(slices.Contains(catalogue.Revisions, revision), "unknown revision "+revision)
		}
		for _, transport := range r.Transports {
			legal(slices.Contains([]string{"stdio", "http", "sse"}, transport), "unknown transport "+transport)
		}
		legal(r.Statement != "", "no statement")
		legal((r.Pass.Legacy+r.Pass.Modern) != "" && (r.Fail.Legacy+r.Fail.Modern) != "", "no pass or no fail")
	}
}

// TestEveryCheckHasAnEntry proves that catalogue and code match one to one.
func TestEveryCheckHasAnEntry(t *testing.T) {
	for id := range Checks() {
		if _, ok := Find(id); !ok {
			t.Errorf("the check %s has no entry in %s.yaml", id, catalogue.AreaOf(id))
		}
	}
}

// TestImplementedAreasAreComplete proves that what a built area says of a handshake revision has a check.
func TestImplementedAreasAreComplete(t *testing.T) {
	for _, a := range Areas {
		for _, r := range a.Requirements() {
			for _, revision := range catalogue.LegacyRevisions {
				if len(a.Checks) > 0 && !HasCheck(r) && r.AppliesIn(revision) {
					t.Errorf("%s holds in %s and has no check", r.ID, revision)
				}
			}
		}
	}
}

// TestEntriesWithCheckHaveFix proves that a check whose fail can gate tells a server author what to change.
func TestEntriesWithCheckHaveFix(t *testing.T) {
	for _, r := range All() {
		if HasCheck(r) && r.Fix == "" {
			t.Errorf("%s has no fix", r.ID)
		}
	}
}

// TestEntriesYieldToEntries proves that whatever an entry yields to is tried, and reported by one of them.
func TestEntriesYieldToEntries(t *testing.T) {
	if err := check.CheckYields(All(), Checks()); err != nil {
		t.Error(err)
	}
}

// TestOwners: what an entry owns is reported by nobody else, so it needs a check.
func TestOwners(t *testing.T) {
	if err := All().CheckOwners(schemas.Defines); err != nil {
		t.Error(err)
	}
	for _, r := range All() {
		if len(r.Owns) > 0 && !HasCheck(r) {
			t.Errorf("%s owns %v and has no check", r.ID, r.Owns)
		}
	}
}
