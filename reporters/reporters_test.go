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
		rep, err := ToFile(badge, path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := rep.Done(overHTTP()); err != nil {
			t.Fatal(err)
		}
		if text, _ := os.ReadFile(path); !strings.HasPrefix(string(text), want) {
			t.Errorf("%s: got %s", file, text)
		}
	}
	const want = "badge report b.png: unknown kind of file; name one that ends in .svg or .json"
	if _, err := ToFile(badge, "b.png", nil); err == nil || err.Error() != want {
		t.Errorf("want %s\n got %v", want, err)
	}
}

func TestDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	reporters, err := Dir(dir, Formats)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range reporters {
		if err := r.Done(everything()); err != nil {
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
	want := []string{"badge.json", "badge.svg", "report.json", "report.md", "report.sarif", "report.xml"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	_, err = Dir(filepath.Join(dir, "report.md"), Formats)
	const remedy = "; name a directory that can be made"
	if err == nil || errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), remedy) {
		t.Errorf("a file in place of the directory: got error %v", err)
	}
}
