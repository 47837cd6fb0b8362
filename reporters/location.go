package reporters

import (
	"net/url"
	"os"
	"path/filepath"

	"github.com/mcpcheck/mcpcheck/suites/report"
)

// Location is the file of a repository at which findings are shown. They are about a running server, not about a line
// of it, but GitHub shows none without a file.
type Location struct {
	Root string // directory of the repository; the working directory if empty
	Path string // a file in it, relative to it, with slashes; README.md if empty
}

// NewLocation is the place of findings about a target: its configuration file, if it has one in the repository, else
// the first file of the repository that its command line names, else README.md.
func NewLocation(root, config string, target report.TargetInfo) Location {
	files := []string{config}
	for _, arg := range target.Command {
		if !filepath.IsAbs(arg) {
			arg = filepath.Join(target.Dir, arg)
		}
		files = append(files, arg)
	}
	p := Location{Root: root}
	for _, file := range files {
		location := p.relativePath(file)
		inside := filepath.IsLocal(filepath.FromSlash(location))
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && inside {
			p.Path = location
			break
		}
	}
	return p
}

// pathOrDefault is the file with its default.
func (p Location) pathOrDefault() string {
	if p.Path == "" {
		return "README.md"
	}
	return p.Path
}

// relativePath is a path as seen from the root, with slashes. A path that leads out of the root stays as it is.
func (p Location) relativePath(path string) string {
	root, err := filepath.Abs(p.Root)
	if err != nil {
		return filepath.ToSlash(path)
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return filepath.ToSlash(path)
	}
	if rel, err := filepath.Rel(root, full); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return filepath.ToSlash(path)
}

// uriReference is a path with slashes as a URI reference.
func uriReference(path string) string { return (&url.URL{Path: path}).String() }
