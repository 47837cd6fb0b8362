package suites

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"slices"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/harness"
)

var update = flag.Bool("update", false, "write catalogue.json")

// readYAML reads the files that people edit.
func readYAML(t *testing.T) (all harness.Catalogue) {
	t.Helper()
	for _, area := range Areas {
		text, err := os.ReadFile(area.Name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		entries, err := harness.ReadCatalogue(text)
		if err != nil {
			t.Fatalf("%s.yaml: %v", area.Name, err)
		}
		for _, r := range entries {
			if r.Area() != area.Name {
				t.Errorf("%s.yaml holds %s", area.Name, r.ID)
			}
		}
		all = append(all, entries...)
	}
	return all
}

func TestCatalogueIsCurrent(t *testing.T) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	byArea := map[string]harness.Catalogue{}
	for _, r := range readYAML(t) {
		byArea[r.Area()] = append(byArea[r.Area()], r)
	}
	if err := enc.Encode(byArea); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("catalogue.json", b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(b.Bytes(), catalogueJSON) {
		t.Error("catalogue.json does not say what the YAML files say; run go generate ./suites")
	}
}

func TestEntriesAreLegal(t *testing.T) {
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
		legal(len(r.In()) > 0, "holds in no revision")
		for _, revision := range r.In() {
			legal(r.Level.In(revision) != 0, "no level in "+revision)
		}
		for revision := range r.Spec {
			legal(slices.Contains(harness.Revisions, revision), "unknown revision "+revision)
		}
		for _, transport := range r.Transports {
			legal(slices.Contains([]string{"stdio", "http", "sse"}, transport), "unknown transport "+transport)
		}
		legal(r.Statement != "" && (r.Pass.Legacy+r.Pass.Modern) != "" && (r.Fail.Legacy+r.Fail.Modern) != "", "statement, pass and fail are needed")
	}
}

// Catalogue and code match one to one.
func TestEveryCheckHasAnEntry(t *testing.T) {
	for id := range Checks() {
		if _, ok := Find(id); !ok {
			t.Errorf("the check %s has no entry in %s.yaml", id, harness.AreaOf(id))
		}
	}
}

// What a built area says of a handshake revision has a check.
func TestBuiltAreasAreComplete(t *testing.T) {
	for _, r := range Planned() {
		for _, revision := range harness.Handshake {
			if slices.Contains(built, r.Area()) && r.Holds(revision) {
				t.Errorf("%s holds in %s and has no check", r.ID, revision)
			}
		}
	}
}

// A check whose fail can gate tells a server author what to change.
func TestBuiltEntriesHaveAFix(t *testing.T) {
	for _, r := range All() {
		if HasCheck(r) && r.Fix == "" {
			t.Errorf("%s has no fix", r.ID)
		}
	}
}
