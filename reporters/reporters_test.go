package reporters

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBadgeKindByExtension(t *testing.T) {
	badge := Formats[slices.IndexFunc(Formats, func(f Format) bool { return f.Name == "badge" })]
	dir := t.TempDir()
	for file, want := range map[string]string{"b.svg": "<svg ", "b.json": "{\n"} {
		path := filepath.Join(dir, file)
		rep, err := NewFile(badge, path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := rep.Done(httpReport()); err != nil {
			t.Fatal(err)
		}
		if text, _ := os.ReadFile(path); !strings.HasPrefix(string(text), want) {
			t.Errorf("%s: got %s", file, text)
		}
	}
	const want = "badge report b.png: unknown kind of file; name one that ends in .svg or .json"
	if _, err := NewFile(badge, "b.png", nil); err == nil || err.Error() != want {
		t.Errorf("want %s\n got %v", want, err)
	}
}

func TestNewDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	reporters, err := NewDir(dir, Formats)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range reporters {
		if err := r.Done(fullReport()); err != nil {
			t.Error(err)
		}
	}
	var names []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err != nil || info.Size() == 0 {
			t.Errorf("%s is empty", e.Name())
		}
		names = append(names, e.Name())
	}
	want := []string{
		"badge.json", "badge.svg", "ctrf.json", "report.html", "report.json", "report.md", "report.sarif", "report.tap",
		"report.xml",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	_, err = NewDir(filepath.Join(dir, "report.md"), Formats)
	const remedy = "; name a directory that can be made"
	if err == nil || errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), remedy) {
		t.Errorf("a file in place of the directory: got error %v", err)
	}
}

func TestClearDir(t *testing.T) {
	dir := t.TempDir()
	notOurs := filepath.Join(dir, "notes.md")
	reporters, err := NewDir(dir, Formats)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range reporters {
		if err := r.Done(fullReport()); err != nil {
			t.Error(err)
		}
	}
	if err := os.WriteFile(notOurs, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // The second time there is nothing to remove.
		if err := ClearDir(dir, Formats); err != nil {
			t.Error(err)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || !slices.Equal(left, []string{notOurs}) {
		t.Errorf("left is %v, error %v, want %s", left, err, notOurs)
	}
	if err := os.MkdirAll(filepath.Join(dir, "report.sarif", "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := ClearDir(dir, Formats); err == nil ||
		!strings.Contains(err.Error(), dir+": cannot remove report.sarif: ") {
		t.Errorf("a report that cannot be removed: got error %v", err)
	}
}
