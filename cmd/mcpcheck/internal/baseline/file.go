// Package baseline reads, updates and writes files of known failures.
//
// A File holds the entries of such a file and its text. What an entry means for a result is decided by
// report.KnownFails; this package handles the file: Read is strict and bounded, and its errors name the line.
//
// UpdateFor compares a file with a report: it returns entries to add, for failures that are new, and entries to remove,
// for failures that no longer occur. Update.Write changes only the lines of these entries (edit.go): comments, order
// and spacing of everything else stay as a person wrote them.
package baseline

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/yamlfile"
	"github.com/mcpcheck/mcpcheck/reporters/files"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// File is a file of known failures. Entries that have expired are judged by its date Today.
type File struct {
	// Name is the path of the file; it is empty when there is none.
	Name string
	// text is the content of the file as it was read.
	text    string
	Entries report.KnownFails
	Today   time.Time
}

// Read reads a file of known failures. Its errors are of wrong usage and name the place.
func Read(name string) (b File, err error) {
	b = File{Name: name, Today: time.Now()}
	content, err := files.ReadAtMost(name, MaxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return b, exit.Usagef("cannot read the baseline: %w; mcpcheck baseline --baseline %s writes it", err, name)
	}
	if err != nil {
		return b, exit.Usagef("cannot read the baseline: %w", err)
	}
	b.text = string(content)
	b.Entries, err = parse(name, content)
	return b, err
}

// MaxBytes is the size limit of a file of known failures.
const MaxBytes = 128 << 10

// parse parses the text of a file of known failures. The name is for errors.
func parse(name string, content []byte) (entries report.KnownFails, err error) {
	if len(content) > MaxBytes {
		return nil, exit.Usagef("%s is longer than %d KB; this is not a baseline, or too many entries: use globs",
			name, MaxBytes>>10)
	}
	list, err := yamlfile.Read(name, content, &entries)
	if err != nil {
		return nil, err
	}
	for i := range entries {
		place := yamlfile.Find(list, i)
		entries[i].Line = place.Line
		if key, err := validateEntry(entries[i]); err != nil {
			return nil, exit.Usagef("%s%s: %w", name, yamlfile.Position(cmp.Or(yamlfile.Find(place, key), place)), err)
		}
		same := func(k report.KnownFail) bool { return k.SameAs(entries[i]) }
		if first := slices.IndexFunc(entries[:i], same); first >= 0 {
			return nil, exit.Usagef("%s%s: %s is listed in line %d already; take one of them out",
				name, yamlfile.Position(place), entries[i].Check, entries[first].Line)
		}
	}
	return entries, nil
}

// validateEntry returns what is wrong with an entry, and the key that is wrong.
func validateEntry(k report.KnownFail) (key string, err error) {
	_, badGlob := path.Match(k.Check, "")
	_, badDate := time.Parse(time.DateOnly, k.Expires)
	transports := []string{"stdio", "http", "sse"}
	switch {
	case strings.TrimSpace(k.Check) == "":
		return "check", errors.New("this entry has no check; give an id, or a glob such as tools/*")
	case badGlob != nil:
		return "check", fmt.Errorf("bad pattern %q", k.Check)
	case strings.TrimSpace(k.Reason) == "":
		return "reason", fmt.Errorf("the entry %s has no reason; say why the failure is accepted", k.Check)
	case k.Revision != "" && !slices.Contains(catalogue.Revisions, k.Revision):
		return "revision", fmt.Errorf("unknown protocol revision %q (have %s)",
			k.Revision, strings.Join(catalogue.Revisions, ", "))
	case k.Transport != "" && !slices.Contains(transports, k.Transport):
		return "transport", fmt.Errorf("unknown transport %q (have %s)",
			k.Transport, strings.Join(transports, ", "))
	case k.Expires != "" && badDate != nil:
		return "expires", fmt.Errorf("%q is not a date such as 2026-12-31", k.Expires)
	}
	return "", nil
}

// validateDirectory finds out before a server is started whether the file can be created.
func (b File) validateDirectory() error {
	if dir := filepath.Dir(b.Name); !files.IsDir(dir) {
		return exit.Usagef("cannot write %s: no directory %s; create it first", b.Name, dir)
	}
	return nil
}
