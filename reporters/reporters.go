// Package reporters shows what a run came to: live on the console, and as files for machines.
//
// It shows; it does not judge. Verdicts, gates and the exit code are in the report before it gets here, and secrets are
// redacted before it gets here.
//
// To add a format, write one function from a report to a writer in a file of its own and name it in NewFormats.
package reporters

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// Reporter is told every result as it is known, and the whole report at the end. An interrupted run ends with Done too,
// with the results so far.
type Reporter interface {
	Result(report.Result)
	// Done completes the report. It returns what kept it from being written.
	Done(report.Report) error
}

// Format is a kind of report that needs only the end of the run.
type Format struct {
	Name     string // as in the flag: "junit"
	Ext      string // of its files, with the dot: ".xml"
	BaseName string // in a report directory, without Ext; report if empty, whose .json is another format's
	Write    func(io.Writer, report.Report) error

	// Variants are formats of the same name, for files with another extension. A format that has some takes no file
	// with an extension that none of them has.
	Variants []Format
}

// Options are what some formats want to know besides the report.
type Options struct {
	Location

	// FindRequirement finds a requirement of the catalogue, for its statement and what other profiles ask. It may be
	// nil.
	FindRequirement func(id string) (*catalogue.Requirement, bool)
}

// NewFormats returns all formats of files.
func NewFormats(o Options) []Format {
	sarif := func(w io.Writer, r report.Report) error { return SARIF(w, r, o) }
	html := func(w io.Writer, r report.Report) error { return HTML(w, r, o) }
	return []Format{
		{Name: "json", Ext: ".json", Write: JSON},
		{Name: "junit", Ext: ".xml", Write: withoutAdvice(JUnit)},
		{Name: "markdown", Ext: ".md", Write: withoutAdvice(Markdown)},
		{Name: "sarif", Ext: ".sarif", Write: withoutAdvice(sarif)},
		{Name: "html", Ext: ".html", Write: html},
		{Name: "tap", Ext: ".tap", Write: withoutAdvice(TAP)},
		{Name: "ctrf", Ext: ".json", BaseName: "ctrf", Write: withoutAdvice(CTRF)},
		{Name: "badge", Ext: ".svg", BaseName: "badge", Write: BadgeSVG,
			Variants: []Format{{Name: "badge", Ext: ".json", BaseName: "badge", Write: BadgeJSON}}},
	}
}

// Formats are all formats of files, without a catalogue to quote.
var Formats = NewFormats(Options{})

// NewDir returns reporters that write every format to the directory, which is made if there is none: report.json,
// report.xml and so on, ctrf.json, badge.svg and badge.json.
func NewDir(dir string, formats []Format) (reporters []Reporter, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("report directory %s: %w; name a directory that can be made", dir, WithoutPath(err))
	}
	for path, format := range dirFiles(dir, formats) {
		r, err := NewFile(format, path, nil)
		if err != nil {
			return nil, err
		}
		reporters = append(reporters, r)
	}
	return reporters, nil
}

// ClearDir removes the files that NewDir writes to the directory, those that are there.
func ClearDir(dir string, formats []Format) error {
	for path := range dirFiles(dir, formats) {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("report directory %s: cannot remove %s: %w", dir, filepath.Base(path), WithoutPath(err))
		}
	}
	return nil
}

// dirFiles yields the files of a report directory, and what is in each.
func dirFiles(dir string, formats []Format) iter.Seq2[string, Format] {
	return func(yield func(string, Format) bool) {
		for _, format := range formats {
			for _, f := range format.withVariants() {
				if !yield(filepath.Join(dir, cmp.Or(f.BaseName, "report")+f.Ext), f) {
					return
				}
			}
		}
	}
}

// withVariants are the format and those of the same name.
func (f Format) withVariants() []Format {
	return append([]Format{{Name: f.Name, Ext: f.Ext, BaseName: f.BaseName, Write: f.Write}}, f.Variants...)
}

// of is the format for a file.
func (f Format) forFile(path string) (Format, error) {
	if len(f.Variants) == 0 || path == "-" || path == "" {
		return f, nil
	}
	var known []string
	for _, format := range f.withVariants() {
		if format.Ext == filepath.Ext(path) {
			return format, nil
		}
		known = append(known, format.Ext)
	}
	return f, fmt.Errorf("%s report %s: unknown kind of file; name one that ends in %s",
		f.Name, path, strings.Join(known, " or "))
}
