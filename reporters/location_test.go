package reporters

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/report"
)

func TestNewLocation(t *testing.T) {
	root := t.TempDir()
	for _, file := range []string{"mcpcheck.yaml", "app/dist/index.js", "a b.py"} {
		path := filepath.Join(root, filepath.FromSlash(file))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		config, dir string
		command     []string
		want        string
	}{
		{root + "/mcpcheck.yaml", "", nil, "mcpcheck.yaml"},
		{root + "/other.yaml", root + "/app", []string{"node", "dist/index.js"}, "app/dist/index.js"},
		{"", root, []string{"python3", "-u", "a b.py", "mcpcheck.yaml"}, "a b.py"},
		{"", root, []string{"node", "app"}, "README.md"}, // a directory
		{"", root + "/app", []string{"/bin/sh"}, "README.md"},
		{"", root + "/app", nil, "README.md"},
	} {
		got := NewLocation(root, c.config, report.TargetInfo{Dir: c.dir, Command: c.command})
		if got.pathOrDefault() != c.want {
			t.Errorf("%v: want %s, got %s", c, c.want, got.pathOrDefault())
		}
	}
	p := Location{Root: root}
	for path, want := range map[string]string{
		root + "/ci/b.yaml": "ci/b.yaml", "/elsewhere/b.yaml": "/elsewhere/b.yaml",
	} {
		if got := p.relativePath(path); got != want {
			t.Errorf("want %s, got %s", want, got)
		}
	}
	if got := uriReference("a b%:c.py"); got != "./a%20b%25:c.py" {
		t.Errorf("got the URI %s", got)
	}
}
