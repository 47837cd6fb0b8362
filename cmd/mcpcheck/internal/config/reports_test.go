package config

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcheck/mcpcheck/reporters"
)

// TestFormatsAreKeys checks that each format of reports is a key of mcpcheck.yaml, and that the READMEs name it.
func TestFormatsAreKeys(t *testing.T) {
	var want []string
	for _, format := range reporters.Formats {
		want = append(want, format.Name)
	}
	slices.Sort(want)

	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(ReportFiles{}.byFormat()))); diff != "" {
		t.Errorf("the keys of ReportFiles differ from the formats:\n%s", diff)
	}

	root := filepath.Join("..", "..", "..", "..")
	for file, prefix := range map[string]string{"README.md": "", "reporters/README.md": "--"} {
		readme, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range want {
			if !strings.Contains(strings.ToLower(string(readme)), prefix+name) {
				t.Errorf("%s does not name %s%s", file, prefix, name)
			}
		}
	}
}
