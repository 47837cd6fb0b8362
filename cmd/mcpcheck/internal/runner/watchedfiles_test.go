package runner

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/suites/text"
)

// TestCommandFiles proves that only the file of a program is watched, the directory of a script, and nothing for a
// program on the PATH.
func TestCommandFiles(t *testing.T) {
	dir := makeFiles(t, map[string]string{
		"bin/server": "\x7fELF\x00", "run.sh": "#!/bin/sh\n", "dist/index.js": "1", "node": "\x00", "data/a.txt": "a",
	})
	for command, want := range map[string][]string{
		"./bin/server --stdio":                        {"bin/server"},
		filepath.Join(dir, "bin/server"):              {"bin/server"},
		"./run.sh":                                    {""},
		"node dist/index.js":                          {"dist"},
		"node dist/index.js dist/index.js":            {"dist"},
		"bin/server dist/index.js":                    {"bin/server", "dist"},
		"npx -y server":                               nil,
		"python missing.py data":                      nil,
		"node " + filepath.Join(dir, "dist/index.js"): {"dist"},
	} {
		var got []string
		for _, root := range commandFiles(strings.Fields(command), dir) {
			got = append(got, strings.TrimPrefix(strings.TrimPrefix(root, dir), string(os.PathSeparator)))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", command, diff)
		}
	}
}

// TestAwaitChange proves that a change is reported once it is over, and that ignored files and mcpcheck's own do not
// count.
func TestAwaitChange(t *testing.T) {
	type step func(dir string)
	put := func(name, content string) step {
		return func(dir string) { makeFile(t, filepath.Join(dir, name), content) }
	}
	remove := func(name string) step { return func(dir string) { os.RemoveAll(filepath.Join(dir, name)) } }
	for name, test := range map[string]struct {
		steps []step // one after each poll
		want  []string
	}{
		"a change":            {[]step{put("dist/index.js", "22")}, []string{"index.js"}},
		"a new file":          {[]step{put("dist/new.js", "2")}, []string{"new.js"}},
		"one that goes":       {[]step{remove("dist/other.js")}, []string{"other.js"}},
		"several":             {[]step{put("dist/new.js", "2"), put("dist/b/c.js", "3")}, []string{"c.js", "new.js"}},
		"built anew":          {[]step{remove("dist"), put("dist/index.js", "22")}, []string{"index.js", "other.js"}},
		"hidden, then a real": {[]step{put("dist/.git/x", "2"), put("dist/new.js", "2")}, []string{"new.js"}},
		"modules, then a real": {
			[]step{put("dist/node_modules/x/x.js", "2"), put("dist/new.js", "2")}, []string{"new.js"},
		},
		"a report, then a real": {[]step{put("dist/report.json", "2"), put("dist/new.js", "2")}, []string{"new.js"}},
		"a swap file, then a real": {
			[]step{put("dist/.index.js.swp", "2"), put("dist/new.js", "2")}, []string{"new.js"},
		},
		"a hidden file": {[]step{put("dist/.env", "2")}, []string{".env"}},
		"ended":         {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := makeFiles(t, map[string]string{"dist/index.js": "1", "dist/other.js": "1"})
			if err := os.Symlink("dist", filepath.Join(dir, "link")); err != nil {
				t.Skip(err) // as on Windows
			}
			w := &watchedFiles{
				roots:   []string{filepath.Join(dir, "link")},
				ignored: map[string]bool{filepath.Join(dir, "link", "report.json"): true},
			}
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				before, _ := w.snapshot()
				seen := make(chan []string)
				go func() { seen <- w.awaitChange(ctx, before) }()
				time.Sleep(pollInterval / 2) // in synthetic time: between two polls
				for _, do := range test.steps {
					do(dir)
					time.Sleep(pollInterval)
				}
				if test.steps == nil {
					cancel()
				}
				if diff := cmp.Diff(test.want, text.Map(<-seen, filepath.Base)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				cancel()
			})
		})
	}
}

// TestChangesDuringRun proves that a file which changes during two runs in a row does not cause another run.
func TestChangesDuringRun(t *testing.T) {
	dir := makeFiles(t, map[string]string{"server.log": "", "server.js": ""})
	var said strings.Builder
	cmd := &cobra.Command{}
	cmd.SetErr(&said)
	w := &watcher{cmd: cmd, files: &watchedFiles{roots: []string{dir}}}
	ended, end := context.WithCancel(t.Context())
	end()
	for i, want := range []string{"server.log", "", ""} {
		before, _ := w.files.snapshot()
		makeFile(t, filepath.Join(dir, "server.log"), strings.Repeat(".", i+1))
		if got := w.awaitChange(ended, before); got != want {
			t.Errorf("run %d: %q changed, want %q", i+1, got, want)
		}
	}
	if !strings.Contains(said.String(), "server.log changed in two runs in a row") {
		t.Error(said.String())
	}
	before, _ := w.files.snapshot()
	makeFile(t, filepath.Join(dir, "server.js"), "1")
	if got := w.awaitChange(ended, before); got != "server.js" {
		t.Errorf("%q changed, want server.js", got)
	}
}

// makeFiles creates files with these contents in a new directory.
func makeFiles(t *testing.T, contents map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, content := range contents {
		makeFile(t, filepath.Join(dir, name), content)
	}
	return dir
}

func makeFile(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
