package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// writeFiles creates files with these contents in a new directory.
func writeFiles(t *testing.T, paths map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, content := range paths {
		writeTextFile(t, filepath.Join(dir, name), content)
	}
	return dir
}

func writeTextFile(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestWatchServer proves that a change of the server's file starts another run, which begins with what failed, and then
// shows what has changed and what still blocks. Ctrl-C ends it.
func TestWatchServer(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the server is a script of a POSIX shell")
	}
	const faulty, honest = "exec mcpcheck serve --fault ping/empty-result\n", "exec mcpcheck serve\n"
	dir := writeFiles(t, map[string]string{"server.sh": faulty})
	cmd := exec.CommandContext(t.Context(), "mcpcheck", "run", "--watch", "--protocol", "2025-11-25",
		"--only", "ping", "--json", "report.json", "--", "sh", "./server.sh")
	cmd.Dir = dir
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stdout strings.Builder
	cmd.Stdout = &stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	steps := []func() error{
		func() error { return os.WriteFile(filepath.Join(dir, "server.sh"), []byte(honest+"\n"), 0o644) },
		func() error { return os.WriteFile(filepath.Join(dir, "server.sh"), []byte("exit 3\n"), 0o644) },
		func() error { return cmd.Process.Signal(os.Interrupt) },
	}
	var told []string
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		if progressPattern.MatchString(lines.Text() + "\n") {
			continue
		}
		told = append(told, lines.Text())
		if strings.HasPrefix(lines.Text(), "mcpcheck: watching ") && len(steps) > 0 {
			if err := steps[0](); err != nil {
				t.Fatal(err)
			}
			steps = steps[1:]
		}
	}
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit code %d", code)
	}
	want := []string{
		"mcpcheck: watching 1 file; Ctrl-C ends", "mcpcheck: server.sh changed",
		"mcpcheck: re-running last failures first",
		"mcpcheck: watching 1 file; Ctrl-C ends", "mcpcheck: server.sh changed",
		"mcpcheck: watching 1 file; Ctrl-C ends",
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	shown := stdout.String()
	for _, part := range []string{
		"✗ ping/empty-result ", "FAIL  1 blocking failure", "PASS  1 passed", "fixed      ping/empty-result\n",
		"\nPASS  ",
		"NOT TESTED  the server exited with status 3",
	} {
		_, after, found := strings.Cut(shown, part)
		if !found {
			t.Errorf("%q is missing in:\n%s", part, shown)
		}
		shown = after
	}
}
