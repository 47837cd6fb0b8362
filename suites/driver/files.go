package driver

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// FileStates are the files that a server can be expected to write, at one time.
type FileStates struct {
	// ByPath has the state of each file.
	ByPath map[string]FileState
	// Truncated names the directories with more files than MaxFiles, of which only some were looked at.
	Truncated []string
}

// FileState is what changes when a file is written.
type FileState struct {
	Size     int64
	Modified time.Time
	// Entry is the path of the entry of one of the directories that is the file, or in which the file is.
	Entry string
}

// MaxFiles is how many files below a directory are looked at, those with the shortest paths first.
const MaxFiles = 2_000

// ChangesSince returns the paths of the files that are new or were written since an earlier time, in order.
func (a FileStates) ChangesSince(before FileStates) (paths []string) {
	for path, state := range a.ByPath {
		if old, known := before.ByPath[path]; !known || old.Size != state.Size || !old.Modified.Equal(state.Modified) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// Files returns the files below the working directory of the server, its HOME and its directory for temporary files. It
// fails if this run did not start the server.
func (t Target) Files() (FileStates, error) {
	command, dir, env := t.Command, t.Dir, t.Env
	if t.Site != nil {
		command, dir, env = t.Site.options.Command, t.Site.options.Dir, t.Site.options.Env
	}
	switch {
	case t.Outside.Files != nil:
		return t.Outside.Files(), nil
	case t.isInProcess():
		return FileStates{}, errors.New("the server runs inside this process")
	case len(command) == 0:
		return FileStates{}, errors.New("mcpcheck did not start the server")
	case isContainerTool(command[0]):
		return FileStates{}, errors.New("the server runs in a container")
	}
	home, temporary := homeDir(), os.TempDir()
	for _, entry := range env {
		switch name, value, _ := strings.Cut(entry, "="); name {
		case "HOME":
			home = value
		case "TMPDIR":
			temporary = value
		}
	}
	if dir == "" {
		dir = "."
	}
	states := FileStates{ByPath: map[string]FileState{}}
	for _, root := range []string{dir, home, temporary} {
		if root, err := filepath.Abs(root); err == nil && root != filepath.Dir(root) {
			states.addFilesBelow(root)
		}
	}
	return states, nil
}

func homeDir() string {
	home, _ := os.UserHomeDir()
	return home
}

// addFilesBelow adds the files below a directory, one level after the other. It follows no symbolic links.
func (a *FileStates) addFilesBelow(root string) {
	count := 0
	for level := []string{root}; len(level) > 0; {
		var next []string
		for _, dir := range level {
			entries, _ := os.ReadDir(dir) // what cannot be read is left out
			for _, entry := range entries {
				path := filepath.Join(dir, entry.Name())
				if entry.IsDir() {
					next = append(next, path)
				}
				if count++; count > MaxFiles {
					a.Truncated = append(a.Truncated, root)
					return
				}
				a.add(root, path, entry)
			}
		}
		level = next
	}
}

func (a *FileStates) add(root, path string, entry fs.DirEntry) {
	info, err := entry.Info()
	if err != nil || !entry.Type().IsRegular() {
		return
	}
	below, _ := filepath.Rel(root, path)
	first, _, _ := strings.Cut(below, string(filepath.Separator))
	a.ByPath[path] = FileState{info.Size(), info.ModTime(), filepath.Join(root, first)}
}
