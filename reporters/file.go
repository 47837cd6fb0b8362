package reporters

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"

	"github.com/mcpcheck/mcpcheck/reporters/files"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// NewFile returns a reporter that writes the format to the file path, or to stdout if path is "-".
//
// Whether the file can be written is found out at once, before the run starts, but nothing appears there until the
// whole report is: see Replace. Directories are not created. Errors name the file and say what to do.
func NewFile(format Format, path string, stdout io.Writer) (Reporter, error) {
	format, err := format.forFile(path)
	if err != nil {
		return nil, err
	}
	if path == "-" {
		return newFileReporter(stdout, format), nil
	}
	if err := files.CheckWritable(path); err != nil {
		return nil, unwritableError(format, path, err)
	}
	return &fileReporter{format: format, path: path,
		write: func(text []byte) error { return files.Replace(path, text) }}, nil
}

// fileReporter writes one format when the run is over.
type fileReporter struct {
	format Format
	path   string // - is standard output
	write  func(text []byte) error
}

func newFileReporter(stdout io.Writer, format Format) *fileReporter {
	return &fileReporter{format: format, path: "-", write: func(text []byte) error {
		_, err := stdout.Write(text)
		return err
	}}
}

func (*fileReporter) Result(report.Result) {}

// Done renders the report in memory and writes it in one go, so that a format that fails leaves the previous file as it
// was.
func (a *fileReporter) Done(r report.Report) error {
	var text bytes.Buffer
	err := a.format.Write(&text, r)
	if err == nil {
		err = a.write(text.Bytes())
	}
	switch {
	case err != nil && a.path == "-":
		return fmt.Errorf("%s report: standard output: %w", a.format.Name, files.WithoutPath(err))
	case err != nil:
		return fmt.Errorf("%s report %s: %w", a.format.Name, a.path, files.WithoutPath(err))
	}
	return nil
}

// unwritableError says why a report file cannot be written and what to do about it.
func unwritableError(format Format, path string, err error) error {
	switch dir := filepath.Dir(path); {
	case path == "":
		return fmt.Errorf("%s report: no file named; name one, or - for standard output", format.Name)
	case files.IsDir(path):
		return fmt.Errorf("%s report %s: is a directory; name a file in it, such as %s", format.Name, path,
			filepath.Join(path, "mcpcheck"+format.Ext))
	case !files.IsDir(dir):
		return fmt.Errorf("%s report %s: no directory %s; create it first", format.Name, path, dir)
	}
	return fmt.Errorf("%s report %s: %w; name a file that can be written", format.Name, path, files.WithoutPath(err))
}
