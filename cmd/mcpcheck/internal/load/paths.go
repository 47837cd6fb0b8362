package load

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/reporters/files"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// Paths say to which files the report is written.
type Paths struct {
	// byFormat has a path for each format: empty for no file, - for stdout.
	byFormat map[string]*string
	// dir is a directory for a file of each format; it may be empty.
	dir string
}

// Add defines the flags.
func (p *Paths) Add(flags *pflag.FlagSet) {
	p.byFormat = map[string]*string{}
	for _, format := range reporters.LoadFormats {
		p.byFormat[format.Name] = flags.String(format.Name, "", "write "+format.Help+" to `FILE` (- is stdout)")
	}
	flags.StringVar(&p.dir, "report-dir", "", "write a report in every format to the directory `DIR`")
}

// usesStdout reports whether a report is written to stdout.
func (p Paths) usesStdout() bool {
	for _, path := range p.byFormat {
		if *path == "-" {
			return true
		}
	}
	return false
}

// files yields the formats and the files of each.
func (p Paths) files() iter.Seq2[reporters.LoadFormat, string] {
	return func(yield func(reporters.LoadFormat, string) bool) {
		for _, format := range reporters.LoadFormats {
			if path := *p.byFormat[format.Name]; path != "" && !yield(format, path) {
				return
			}
			if p.dir != "" && !yield(format, filepath.Join(p.dir, "report"+format.Ext)) {
				return
			}
		}
	}
}

// check makes the directory, and returns an error of usage for a file that cannot be written.
func (p Paths) check() error {
	if p.dir != "" {
		if err := os.MkdirAll(p.dir, 0o755); err != nil {
			return exit.Usagef("report directory %s: %w; name a directory that can be made", p.dir,
				files.WithoutPath(err))
		}
	}
	for format, path := range p.files() {
		if path == "-" {
			continue
		}
		if err := files.CheckWritable(path); err != nil {
			return exit.Usagef("%s report %s: %w; name a file that can be written", format.Name, path,
				files.WithoutPath(err))
		}
	}
	return nil
}

// write writes the report in each format.
func (p Paths) write(stdout io.Writer, l report.Load) error {
	for format, path := range p.files() {
		var text bytes.Buffer
		err := format.Write(&text, l)
		switch {
		case err != nil:
		case path == "-":
			_, err = stdout.Write(text.Bytes())
		default:
			err = files.Replace(path, text.Bytes())
		}
		if err != nil {
			return fmt.Errorf("%s report %s: %w", format.Name, path, err)
		}
	}
	return nil
}
