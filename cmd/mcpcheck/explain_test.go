package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/explain"
	"github.com/mcpcheck/mcpcheck/suites"
)

var updatePages = flag.Bool("update", false, "write the pages of suites")

// markdownPage returns the output of mcpcheck explain --markdown for areas, or for all when none is named.
func markdownPage(t *testing.T, args ...string) string {
	t.Helper()
	var page bytes.Buffer
	args = append([]string{"explain", "--markdown"}, args...)
	if code := run(args, strings.NewReader(""), &page, io.Discard); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	return page.String()
}

// TestPagesAreCurrent proves that the pages in suites are those that package explain writes; with -update it writes
// them.
func TestPagesAreCurrent(t *testing.T) {
	suitesDir := filepath.Join("..", "..", "suites")
	var sentences strings.Builder
	if err := explain.WriteSentencesPage(&sentences); err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{
		filepath.Join(suitesDir, "README.md"):    markdownPage(t),
		filepath.Join(suitesDir, "SENTENCES.md"): sentences.String(),
	}
	for _, area := range suites.Areas {
		pages[filepath.Join(suitesDir, area.Name, "README.md")] = markdownPage(t, area.Name)
	}
	for file, want := range pages {
		if *updatePages {
			if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if readFile(t, file) != want {
			t.Errorf("%s does not say what package explain says; run go generate ./suites", file)
		}
	}
}

// TestPagesAreSmall keeps every page well below the size up to which GitHub renders Markdown.
func TestPagesAreSmall(t *testing.T) {
	const most = 256 << 10
	for _, area := range suites.Areas {
		if n := len(markdownPage(t, area.Name)); n > most {
			t.Errorf("the page of %s has %d bytes, more than %d", area.Name, n, most)
		}
	}
}

// TestPagesAreComplete proves that every check has an anchor, a level, and a description of its test.
func TestPagesAreComplete(t *testing.T) {
	sections := map[string]string{}
	for _, section := range strings.Split(markdownPage(t, "--all"), "\n## ")[1:] {
		id := regexp.MustCompile(`^<a id="([^"]*)"></a>`).FindStringSubmatch(section)
		if id == nil && strings.HasPrefix(section, "Not tested yet\n") {
			continue
		}
		if id == nil {
			t.Fatalf("a heading without an anchor: %.100s", section)
		}
		if sections[id[1]] != "" {
			t.Errorf("a second anchor %s", id[1])
		}
		sections[id[1]] = section
	}
	if len(sections) != len(suites.Implemented()) {
		t.Errorf("%d sections, want %d", len(sections), len(suites.Implemented()))
	}
	for _, r := range suites.Implemented() {
		for _, label := range []string{"Level", "Where", "How", "Passes", "Fails", "Fix"} {
			if !strings.Contains(sections[r.ID], "\n- **"+label+":** ") {
				t.Errorf("%s: no %s", r.ID, label)
			}
		}
		for _, revision := range r.ApplicableRevisions() {
			if url := r.URL(revision); url != "" &&
				!strings.Contains(sections[r.ID], fmt.Sprintf("[%s](%s)", revision, url)) {
				t.Errorf("%s: no link to %s", r.ID, url)
			}
		}
	}
}
