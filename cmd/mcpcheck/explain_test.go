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

	"github.com/mcpcheck/mcpcheck/suites"
)

var updating = flag.Bool("update", false, "write suites/CHECKS.md")

// checksPage is the page of all checks, as mcpcheck prints it.
func checksPage(t *testing.T) string {
	t.Helper()
	var page bytes.Buffer
	if code := run([]string{"explain", "--all", "--markdown"}, strings.NewReader(""), &page, io.Discard); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	return page.String()
}

func TestChecksPageIsCurrent(t *testing.T) {
	file := filepath.Join("..", "..", "suites", "CHECKS.md")
	page := checksPage(t)
	if *updating {
		if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if content(t, file) != page {
		t.Error("suites/CHECKS.md does not say what mcpcheck explain says; run go generate ./suites")
	}
}

// Every check has its anchor, a level, and what tries it.
func TestChecksPageIsComplete(t *testing.T) {
	page := checksPage(t)
	sections := map[string]string{}
	for _, section := range strings.Split(page, "\n### ")[1:] {
		id := regexp.MustCompile(`^<a id="([^"]*)"></a>`).FindStringSubmatch(section)
		if id == nil {
			t.Fatalf("a heading without an anchor: %.100s", section)
		}
		if sections[id[1]] != "" {
			t.Errorf("a second anchor %s", id[1])
		}
		sections[id[1]] = section
	}
	if len(sections) != len(suites.Built()) {
		t.Errorf("%d sections, want %d", len(sections), len(suites.Built()))
	}
	for _, r := range suites.Built() {
		for _, label := range []string{"Level", "Where", "Tried by", "Passes", "Fails", "Fix"} {
			if !strings.Contains(sections[r.ID], "\n- **"+label+":** ") {
				t.Errorf("%s: no %s", r.ID, label)
			}
		}
		for _, revision := range r.In() {
			if url := r.URL(revision); url != "" && !strings.Contains(sections[r.ID], fmt.Sprintf("[%s](%s)", revision, url)) {
				t.Errorf("%s: no link to %s", r.ID, url)
			}
		}
	}
}

func TestInMarkdown(t *testing.T) {
	for text, want := range map[string]string{
		"plain text, with a dash - and {}": "plain text, with a dash - and {}",
		"_meta and *any*":                  `\_meta and \*any\*`,
		"a[0] of [x](y)":                   `a\[0\] of \[x\](y)`,
		"<id> & `code`":                    "\\<id\\> \\& \\`code\\`",
		"$ref and $defs":                   "&#36;ref and &#36;defs",
		"C:\\dir | ~~no~~":                 `C:\\dir \| \~\~no\~\~`,
		"one\ntwo\n":                       "one<br>two",
	} {
		if got := inMarkdown(text); got != want {
			t.Errorf("inMarkdown(%q) = %q, want %q", text, got, want)
		}
	}
}

// A section hangs beside its title, in lines of at most 88 characters.
func TestSection(t *testing.T) {
	var b strings.Builder
	section(&b, "fix", strings.Repeat("words ", 14)+"at the\nend")
	want := "\nfix        " + strings.Repeat("words ", 12) + "words\n" +
		"           words at the\n" +
		"           end\n"
	if got := b.String(); got != want {
		t.Errorf("want %q\n got %q", want, got)
	}
	b.Reset()
	if section(&b, "notes", ""); b.Len() > 0 {
		t.Errorf("no text: got %q", b.String())
	}
}
