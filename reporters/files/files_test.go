package files

import (
	"os"
	"path/filepath"
	"testing"
)

// TestReplaceFile checks that a file is replaced where it is, with its permissions, and that no other file is left.
func TestReplaceFile(t *testing.T) {
	dir := t.TempDir()
	name, link := filepath.Join(dir, "known.yaml"), filepath.Join(dir, "link.yaml")
	if err := os.WriteFile(name, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("known.yaml", link); err != nil {
		t.Skip("this system makes no symbolic links")
	}
	if err := Replace(link, []byte("new")); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(name)
	info, err := os.Lstat(link)
	if err != nil || string(text) != "new" || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("%q, %v, %v, want the file behind the link to be new", text, info.Mode(), err)
	}
	if info, _ := os.Stat(name); info.Mode().Perm() != 0o600 {
		t.Errorf("permissions %v, want 0600", info.Mode().Perm())
	}
	if left, _ := os.ReadDir(dir); len(left) != 2 {
		t.Errorf("left behind: %v", left)
	}
}
