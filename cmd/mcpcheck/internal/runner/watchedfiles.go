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

// watchedFiles are the files whose change has a server judged again. They are looked at again and again: that needs no
// more than a stat of each, and is the same on every system and file system, also where the kernel tells of no change,
// as in containers and on network drives.
type watchedFiles struct {
	roots   []string        // files, and directories with what is below them
	ignored map[string]bool // what mcpcheck itself writes
}

const (
	maxWatchedFiles = 5000 // files
	pollInterval    = 300 * time.Millisecond
)

// newWatchedFiles are the files of the server that is judged: those that --watch-path names or, without it, a program
// of its own that the command starts, and scripts that the command names, with their directories. mcpcheck.yaml and the
// baseline belong to them.
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

// commandFiles are the files of a server that its command names, relative to a directory: a program alone, and a script
// with its directory, in which is what it needs.
func commandFiles(command []string, dir string) (roots []string) {
	for i, word := range command {
		file := word
		if !filepath.IsAbs(file) {
			file = filepath.Join(dir, file)
		}
		if !files.IsRegular(file) || i == 0 && !strings.ContainsRune(word, os.PathSeparator) {
			continue // a program that is looked up
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

// isBinary reports whether a file is something that was built, and not a text.
func isBinary(name string) bool {
	head, err := files.ReadAtMost(name, 512)
	return err == nil && slices.Contains(head, 0)
}

// fileSnapshot is how files look at a moment: when each was changed, and its size.
type fileSnapshot map[string]string

// snapshot looks at the files. missing reports whether one is not there that is to be, as while a server is being
// built.
func (w *watchedFiles) snapshot() (seen fileSnapshot, missing bool) {
	seen = fileSnapshot{}
	for _, root := range w.roots {
		missing = missing || files.IsMissing(root)
		from := root
		if files.IsDir(root) {
			from += string(os.PathSeparator) // what a link points to
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

// isIgnored reports whether something is none of the server's own files: a hidden directory, modules of others, what an
// editor keeps beside a file.
func isIgnored(entry fs.DirEntry) bool {
	name := entry.Name()
	hidden := strings.HasPrefix(name, ".")
	if entry.IsDir() {
		return hidden || name == "node_modules" || name == "__pycache__"
	}
	return strings.HasSuffix(name, "~") || hidden && strings.HasPrefix(filepath.Ext(name), ".sw")
}

// changedSince are the files that look otherwise than before.
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

// awaitChange waits until files look otherwise than before, and then for that to be over: a build changes one after the
// other. Nothing has changed when the context ends.
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
