package reporters

import (
	"net/url"
	"os"
	"path/filepath"

	"github.com/mcpcheck/mcpcheck/suites/report"
)

// Location is the file of a repository at which findings are shown. They are about a running server, not about a line
// of a file, but GitHub shows no annotation without a file.
type Location struct {
	// Root is the directory of the repository; empty for the working directory.
	Root string
	// Path is a file relative to Root, with slashes; empty for README.md.
	Path string
}

// NewLocation returns the location of findings about a target: its configuration file if that is in the repository,
// else the first file of the repository that its command line names, else README.md.
func NewLocation(root, config string, target report.TargetInfo) Location {
	paths := []string{config}
	for _, arg := range target.Command {
		if !filepath.IsAbs(arg) {
			arg = filepath.Join(target.Dir, arg)
		}
		paths = append(paths, arg)
	}
	p := Location{Root: root}
	for _, file := range paths {
		location := p.relativePath(file)
		inside := filepath.IsLocal(filepath.FromSlash(location))
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && inside {
			p.Path = location
			break
		}
	}
	return p
}

// pathOrDefault returns Path or its default.
func (p Location) pathOrDefault() string {
	if p.Path == "" {
		return "README.md"
	}
	return p.Path
}

// relativePath returns a path relative to the root, with slashes. It returns paths outside of the root unchanged.
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

// uriReference returns a path with slashes as a URI reference.
func uriReference(path string) string { return (&url.URL{Path: path}).String() }
