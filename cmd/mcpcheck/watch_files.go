package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/reporters"
)

// watched are the files whose change has a server judged again. They are looked at again and again: that needs no more
// than a stat of each, and is the same on every system and file system, also where the kernel tells of no change, as in
// containers and on network drives.
type watched struct {
	roots []string        // files, and directories with what is below them
	own   map[string]bool // what mcpcheck itself writes
}

const (
	mostWatched = 5000 // files
	lookEvery   = 300 * time.Millisecond
)

// watchedBy are the files of the server that is judged: those that --watch-path names or, without it, a program of its
// own that the command starts, and scripts that the command names, with their directories. mcpcheck.yaml and the
// baseline belong to them.
func (j *judgement) watchedBy() (*watched, error) {
	w := &watched{own: map[string]bool{}}
	for _, file := range slices.Concat(slices.Collect(maps.Values(j.reports))...) {
		w.own[absolute(file)] = true
	}
	for _, file := range []string{j.flags.trace, j.reportDir} {
		if file != "" {
			w.own[absolute(file)] = true
		}
	}
	for _, path := range j.flags.watched {
		if isMissing(path) {
			return nil, usage("--watch-path: there is no %s", path)
		}
		w.roots = append(w.roots, absolute(path))
	}
	if len(w.roots) == 0 {
		w.roots = filesOf(j.target.command, j.target.dir)
	}
	if len(w.roots) == 0 {
		return nil, usage("--watch finds no file of this server by its command; name files or directories " +
			"with --watch-path")
	}
	for _, file := range []string{j.config.name, j.Baseline} {
		if file != "" {
			w.roots = append(w.roots, absolute(file))
		}
	}
	return w, nil
}

func absolute(path string) string {
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return path
}

// filesOf are the files of a server that its command names, relative to a directory: a program alone, and a script with
// its directory, in which is what it needs.
func filesOf(command []string, dir string) (roots []string) {
	for i, word := range command {
		file := word
		if !filepath.IsAbs(file) {
			file = filepath.Join(dir, file)
		}
		if !isFile(file) || i == 0 && !strings.ContainsRune(word, os.PathSeparator) {
			continue // a program that is looked up
		}
		if root := absolute(file); isProgram(root) {
			roots = append(roots, root)
		} else {
			roots = append(roots, filepath.Dir(root))
		}
	}
	slices.Sort(roots)
	return slices.Compact(roots)
}

// isProgram reports whether a file is something that was built, and not a text.
func isProgram(name string) bool {
	head, err := readUpTo(name, 512)
	return err == nil && slices.Contains(head, 0)
}

// sight is how files look at a moment: when each was changed, and its size.
type sight map[string]string

// look looks at the files. missing reports whether one is not there that is to be, as while a server is being built.
func (w *watched) look() (seen sight, missing bool) {
	seen = sight{}
	for _, root := range w.roots {
		missing = missing || isMissing(root)
		from := root
		if reporters.IsDir(root) {
			from += string(os.PathSeparator) // what a link points to
		}
		filepath.WalkDir(from, func(name string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return nil
			case name != from && isAside(entry), w.own[name]:
				if entry.IsDir() {
					return fs.SkipDir
				}
				return nil
			case len(seen) >= mostWatched:
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

// isAside reports whether something is none of the server's own files: a hidden directory, modules of others, what an
// editor keeps beside a file.
func isAside(entry fs.DirEntry) bool {
	name := entry.Name()
	hidden := strings.HasPrefix(name, ".")
	if entry.IsDir() {
		return hidden || name == "node_modules" || name == "__pycache__"
	}
	return strings.HasSuffix(name, "~") || hidden && strings.HasPrefix(filepath.Ext(name), ".sw")
}

// since are the files that look otherwise than before.
func (now sight) since(before sight) (changed []string) {
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

// await waits until files look otherwise than before, and then for that to be over: a build changes one after the
// other. Nothing has changed when the context ends.
func (w *watched) await(ctx context.Context, before sight) (changed []string) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for latest := before; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		now, missing := w.look()
		if changed = now.since(before); len(changed) > 0 && !missing && maps.Equal(now, latest) {
			return changed
		}
		latest = now
	}
}

// isMissing reports whether a file is not there.
func isMissing(name string) bool {
	_, err := os.Stat(name)
	return errors.Is(err, fs.ErrNotExist)
}
