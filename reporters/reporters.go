// Package reporters shows the results of a run: live on the console, and as files for people and machines.
//
// Begin with Reporter, which gets each result and at the end the report, Console, which is the one for terminals, and
// Format, which is a kind of file. NewFormats returns all formats, NewFile and NewDir write them. To add a format,
// write a function from a report to a writer in its own file and name it in NewFormats.
//
// The package does not judge. Verdicts, blocking results and the exit code are in the report when it arrives here, and
// secrets are redacted in it. Callers may rely on this: no format changes a report, text from a server controls neither
// a terminal, a parser, a page nor a workflow, and a file is replaced only as a whole.
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

	"github.com/mcpcheck/mcpcheck/reporters/files"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// Reporter gets every result when it is known, and the whole report at the end. An interrupted run ends with Done too,
// with the results so far.
type Reporter interface {
	Result(report.Result)
	// Done completes the report. It returns the error of writing it, if any.
	Done(report.Report) error
}

// Format is a kind of report that is written at the end of the run.
type Format struct {
	// Name is the name in flags and in mcpcheck.yaml, such as "junit".
	Name string
	// Help says what the format is, after "write", such as "a JUnit XML report".
	Help string
	// Ext is the extension of its files with the dot, such as ".xml".
	Ext string
	// BaseName is the file name in a report directory without Ext; empty for "report". It is set where report has the
	// extension of another format.
	BaseName string
	Write    func(io.Writer, report.Report) error

	// Variants are formats of the same name for files with other extensions. A format that has variants does not accept
	// a file with another extension.
	Variants []Format
}

// Options are what some formats need besides the report.
type Options struct {
	Location

	// FindRequirement returns a requirement of the catalogue, for its statement and for what other profiles require. It
	// may be nil.
	FindRequirement func(id string) (*catalogue.Requirement, bool)
}

// NewFormats returns all formats of files.
func NewFormats(o Options) []Format {
	sarif := func(w io.Writer, r report.Report) error { return SARIF(w, r, o) }
	html := func(w io.Writer, r report.Report) error { return HTML(w, r, o) }
	return []Format{
		{Name: "json", Help: "a JSON report", Ext: ".json", Write: JSON},
		{Name: "junit", Help: "a JUnit XML report", Ext: ".xml", Write: withoutAdvice(JUnit)},
		{Name: "markdown", Help: "a Markdown report (for pull request comments and step summaries)", Ext: ".md",
			Write: withoutAdvice(Markdown)},
		{Name: "sarif", Help: "a SARIF 2.1.0 report (for code scanning)", Ext: ".sarif", Write: withoutAdvice(sarif)},
		{Name: "html", Help: "an HTML report (one self-contained page)", Ext: ".html", Write: html},
		{Name: "tap", Help: "a TAP 14 report", Ext: ".tap", Write: withoutAdvice(TAP)},
		{Name: "ctrf", Help: "a CTRF report (Common Test Report Format)", Ext: ".json", BaseName: "ctrf",
			Write: withoutAdvice(CTRF)},
		{Name: "badge", Help: "a badge, .svg or .json (for shields.io)", Ext: ".svg", BaseName: "badge",
			Write: BadgeSVG, Variants: []Format{{Name: "badge", Ext: ".json", BaseName: "badge", Write: BadgeJSON}}},
	}
}

// Formats are all formats of files, without a catalogue to quote.
var Formats = NewFormats(Options{})

// NewDir returns reporters that write every format to a directory: report.json, report.xml and so on, ctrf.json,
// badge.svg and badge.json. It creates the directory if there is none.
func NewDir(dir string, formats []Format) (reporters []Reporter, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("report directory %s: %w; name a directory that can be made", dir,
			files.WithoutPath(err))
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

// ClearDir removes the files that NewDir writes to the directory, if they exist.
func ClearDir(dir string, formats []Format) error {
	for path := range dirFiles(dir, formats) {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("report directory %s: cannot remove %s: %w", dir, filepath.Base(path),
				files.WithoutPath(err))
		}
	}
	return nil
}

// dirFiles yields the files of a report directory with their formats.
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

// withVariants returns the format and its variants.
func (f Format) withVariants() []Format {
	return append([]Format{{Name: f.Name, Ext: f.Ext, BaseName: f.BaseName, Write: f.Write}}, f.Variants...)
}

// forFile returns the format or variant for a file.
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
