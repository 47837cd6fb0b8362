package suites

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
)

var update = flag.Bool("update", false, "write catalogue.json anew")

// TestCatalogueIsCurrent checks that catalogue.json is generated from the YAML files of the areas as they are, and that
// yields_to names entries that have checks there, without a circle.
func TestCatalogueIsCurrent(t *testing.T) {
	var all catalogue.Catalogue
	for _, a := range Areas {
		name := a.Name + "/" + a.Name + ".yaml"
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		entries, err := catalogue.ReadCatalogue(text)
		if err != nil {
			t.Fatalf("suites/%s:%v", name, err)
		}
		all = append(all, entries...)
	}
	if err := all.CheckYields(slices.Collect(maps.Keys(Checks()))); err != nil {
		t.Fatal(err)
	}
	const file = "catalogue/catalogue.json"
	want := entriesJSON(t, all)
	if *update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
		t.Error("suites/catalogue/catalogue.json differs from the YAML files: run make generate")
	}
}

// entriesJSON returns a JSON array with an entry on each line, without members that have no value.
func entriesJSON(t *testing.T, entries catalogue.Catalogue) []byte {
	t.Helper()
	var lines [][]byte
	for _, entry := range entries {
		var members any
		text, err := json.Marshal(entry)
		if err == nil {
			err = json.Unmarshal(text, &members)
		}
		if err != nil {
			t.Fatal(err)
		}
		removeEmpty(members)
		line, _ := json.Marshal(members)
		lines = append(lines, line)
	}
	return append(append([]byte("[\n"), bytes.Join(lines, []byte(",\n"))...), "\n]\n"...)
}

// removeEmpty removes the members of objects that have no value.
func removeEmpty(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, member := range v {
			removeEmpty(member)
		}
		maps.DeleteFunc(v, func(_ string, member any) bool { return isEmpty(member) })
	case []any:
		for _, item := range v {
			removeEmpty(item)
		}
	}
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return v == nil || v == "" || v == false
}
