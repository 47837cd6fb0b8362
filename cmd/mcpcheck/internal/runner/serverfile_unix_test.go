//go:build unix

package runner

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/check"
)

// TestReadServerFile proves that only a regular file is read, and a long one only until it is known to be too long.
func TestReadServerFile(t *testing.T) {
	write := func(length int) func(string) error {
		return func(name string) error { return os.WriteFile(name, make([]byte, length), 0o600) }
	}
	tests := map[string]struct {
		create func(name string) error
		want   int
	}{
		"nothing":     {func(string) error { return nil }, 0},
		"a file":      {write(12), 12},
		"a long file": {write(check.MaxServerFile + 100), check.MaxServerFile + 1},
		"a directory": {func(name string) error { return os.Mkdir(name, 0o700) }, 0},
		"a pipe":      {func(name string) error { return syscall.Mkfifo(name, 0o600) }, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := tt.create(filepath.Join(dir, "server.json")); err != nil {
				t.Fatal(err)
			}
			if got := len(readServerFile(dir)); got != tt.want {
				t.Errorf("%d bytes, want %d", got, tt.want)
			}
		})
	}
}
