package runner

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/reporters/files"
)

// watchedFiles are the files whose change starts another run. They are polled: that takes only a stat of each, and
// works the same on every system and file system, including containers and network drives, where change notifications
// are missing.
type watchedFiles struct {
	// roots are files, and directories with everything below them.
	roots []string
	// ignored are the paths of files that mcpcheck itself writes.
	ignored map[string]bool
}

const (
	maxWatchedFiles = 5000
	pollInterval    = 300 * time.Millisecond
)

// newWatchedFiles returns the files of the tested server: those of --watch-path or, without it, the user's own program
// that the command starts, and the scripts that the command names, with their directories. mcpcheck.yaml and the
// baseline are always among them.
func (j *serverRun) newWatchedFiles() (*watchedFiles, error) {
	w := &watchedFiles{ignored: map[string]bool{}}
	for _, file := range slices.Concat(slices.Collect(maps.Values(j.ReportFiles))...) {
		w.ignored[files.Abs(file)] = true
	}
	for _, file := range []string{j.Flags.Trace, j.ReportDir} {
		if file != "" {
			w.ignored[files.Abs(file)] = true
		}
	}
	for _, path := range j.Flags.WatchPaths {
		if files.IsMissing(path) {
			return nil, exit.Usagef("--watch-path: there is no %s", path)
		}
		w.roots = append(w.roots, files.Abs(path))
	}
	if len(w.roots) == 0 {
		w.roots = commandFiles(j.target.Command, j.target.Dir)
	}
	if len(w.roots) == 0 {
		return nil, exit.Usagef("--watch finds no file of this server by its command; name files or directories " +
			"with --watch-path")
	}
	for _, file := range []string{j.File.Name, j.Baseline} {
		if file != "" {
			w.roots = append(w.roots, files.Abs(file))
		}
	}
	return w, nil
}

// commandFiles returns the files of a server that its command names, relative to a directory: only the file for a
// program, and the directory as well for a script, since it contains what the script needs.
func commandFiles(command []string, dir string) (roots []string) {
	for i, word := range command {
		file := word
		if !filepath.IsAbs(file) {
			file = filepath.Join(dir, file)
		}
		if !files.IsRegular(file) || i == 0 && !strings.ContainsRune(word, os.PathSeparator) {
			continue // a program on the PATH
		}
		if root := files.Abs(file); isBinary(root) {
			roots = append(roots, root)
		} else {
			roots = append(roots, filepath.Dir(root))
		}
	}
	slices.Sort(roots)
	return slices.Compact(roots)
}

// isBinary reports whether a file is an executable rather than a text.
func isBinary(name string) bool {
	head, err := files.ReadAtMost(name, 512)
	return err == nil && slices.Contains(head, 0)
}

// fileSnapshot is the state of files at one time: the modification time and size of each, by path.
type fileSnapshot map[string]string

// snapshot returns the state of the files. missing reports that a root does not exist, as during a build.
func (w *watchedFiles) snapshot() (seen fileSnapshot, missing bool) {
	seen = fileSnapshot{}
	for _, root := range w.roots {
		missing = missing || files.IsMissing(root)
		from := root
		if files.IsDir(root) {
			from += string(os.PathSeparator) // follow a symbolic link
		}
		filepath.WalkDir(from, func(name string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return nil
			case name != from && isIgnored(entry), w.ignored[name]:
				if entry.IsDir() {
					return fs.SkipDir
				}
				return nil
			case len(seen) >= maxWatchedFiles:
				return fs.SkipAll
			}
			if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
				seen[name] = fmt.Sprint(info.ModTime().UnixNano(), " ", info.Size())
			}
			return nil
		})
	}
	return seen, missing
}

// isIgnored reports whether a file does not belong to the server itself: a hidden directory, installed modules, an
// editor's temporary file.
func isIgnored(entry fs.DirEntry) bool {
	name := entry.Name()
	hidden := strings.HasPrefix(name, ".")
	if entry.IsDir() {
		return hidden || name == "node_modules" || name == "__pycache__"
	}
	return strings.HasSuffix(name, "~") || hidden && strings.HasPrefix(filepath.Ext(name), ".sw")
}

// changedSince returns the files whose state differs from an earlier one.
func (now fileSnapshot) changedSince(before fileSnapshot) (changed []string) {
	for name, how := range now {
		if before[name] != how {
			changed = append(changed, name)
		}
	}
	for name := range before {
		if _, there := now[name]; !there {
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	return changed
}

// awaitChange waits until files have changed and then until they stop changing, since a build writes one after the
// other. It returns nil when the context ends.
func (w *watchedFiles) awaitChange(ctx context.Context, before fileSnapshot) (changed []string) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for latest := before; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		now, missing := w.snapshot()
		if changed = now.changedSince(before); len(changed) > 0 && !missing && maps.Equal(now, latest) {
			return changed
		}
		latest = now
	}
}
