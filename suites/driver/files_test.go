package driver

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
)

// TestFiles checks which files of a server are looked at, and what counts as a change.
func TestFiles(t *testing.T) {
	dir, home, temporary := t.TempDir(), t.TempDir(), t.TempDir()
	target := Target{Command: []string{"server"}, Dir: dir, Env: []string{"HOME=" + home, "TMPDIR=" + temporary}}
	write := func(text string, path ...string) string {
		name := filepath.Join(path...)
		if os.MkdirAll(filepath.Dir(name), 0o700) != nil || os.WriteFile(name, []byte(text), 0o600) != nil {
			t.Fatalf("%s cannot be written", name)
		}
		return name
	}
	look := func() FileStates {
		states, err := target.Files()
		if err != nil {
			t.Fatal(err)
		}
		return states
	}
	write("kept", dir, "kept")
	longer := write("a", home, "deep", "below", "longer")
	before := look()
	created := write("", temporary, "created")
	write("ab", longer)
	want := []string{created, longer}
	slices.Sort(want)
	after := look()
	if got := after.ChangesSince(before); !slices.Equal(got, want) {
		t.Errorf("got changes of %v, want %v", got, want)
	}
	if got, want := after.ByPath[longer].Entry, filepath.Join(home, "deep"); got != want {
		t.Errorf("%s is below %s, want %s", longer, got, want)
	}
	for i := range MaxFiles + 1 {
		write("", dir, "many", strconv.Itoa(i))
	}
	if got := look().Truncated; !slices.Equal(got, []string{dir}) {
		t.Errorf("got %v with too many files, want %s", got, dir)
	}
	if _, err := (Target{Command: []string{"docker", "run"}}).Files(); err == nil {
		t.Error("the files of a container were looked at")
	}
}
