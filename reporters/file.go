package reporters

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mcpcheck/mcpcheck/suites/report"
)

// NewFile returns a reporter that writes the format to the file path, or to stdout if path is "-".
//
// NewFile checks at once, before the run starts, whether the file can be written. The file changes only when the whole
// report is complete: see ReplaceFile. Directories are not created. Errors name the file and say what to do.
func NewFile(format Format, path string, stdout io.Writer) (Reporter, error) {
	format, err := format.forFile(path)
	if err != nil {
		return nil, err
	}
	if path == "-" {
		return newFileReporter(stdout, format), nil
	}
	if err := CheckWritable(path); err != nil {
		return nil, unwritableError(format, path, err)
	}
	return &fileReporter{format: format, path: path,
		write: func(text []byte) error { return ReplaceFile(path, text) }}, nil
}

// fileReporter writes one format when the run is over.
type fileReporter struct {
	format Format
	path   string // "-" is standard output
	write  func(text []byte) error
}

func newFileReporter(stdout io.Writer, format Format) *fileReporter {
	return &fileReporter{format: format, path: "-", write: func(text []byte) error {
		_, err := stdout.Write(text)
		return err
	}}
}

func (*fileReporter) Result(report.Result) {}

// Done renders the report in memory before it writes, so that a format that fails leaves the previous file unchanged.
func (a *fileReporter) Done(r report.Report) error {
	var text bytes.Buffer
	err := a.format.Write(&text, r)
	if err == nil {
		err = a.write(text.Bytes())
	}
	switch {
	case err != nil && a.path == "-":
		return fmt.Errorf("%s report: standard output: %w", a.format.Name, WithoutPath(err))
	case err != nil:
		return fmt.Errorf("%s report %s: %w", a.format.Name, a.path, WithoutPath(err))
	}
	return nil
}

// CheckWritable returns an error if a file cannot be written. It does not change the file.
func CheckWritable(path string) error {
	info, err := os.Stat(path)
	switch {
	case path == "":
		return fs.ErrInvalid
	case err != nil: // The file does not exist yet.
		f, err := os.CreateTemp(filepath.Dir(path), ".mcpcheck-*")
		if err != nil {
			return err
		}
		return errors.Join(f.Close(), os.Remove(f.Name()))
	case info.Mode()&fs.ModeNamedPipe != 0:
		return nil // Opening a pipe would wait for a reader.
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

// ReplaceFile writes a file atomically, as ReplaceFileFunc does.
func ReplaceFile(name string, text []byte) error {
	return ReplaceFileFunc(name, 0o644, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// ReplaceFileFunc writes a file atomically: readers find either the old text or the new one. The text is written while
// write produces it, so that it need not fit into memory. The file keeps its permissions; a new file gets mode. If name
// is a symbolic link, its target is replaced. A pipe or a device is written to directly, and so is a file that cannot
// be replaced, such as one that is mounted by itself.
func ReplaceFileFunc(name string, mode fs.FileMode, write func(io.Writer) error) error {
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	old, _ := os.Stat(name) // nil if there is none
	if old != nil && !old.Mode().IsRegular() {
		return overwrite(name, write)
	}
	beside := filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+"."+rand.Text())
	f, err := os.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	switch {
	case err != nil && old != nil:
		return overwrite(name, write)
	case err != nil:
		return renameInError(beside, name, err)
	}
	defer os.Remove(beside) // It does not exist any more after a success.
	err = writeBuffered(f, write)
	if err == nil && old != nil {
		err = f.Chmod(old.Mode().Perm())
	}
	if err = cmp.Or(err, f.Sync(), f.Close()); err != nil {
		return renameInError(beside, name, err)
	}
	if err = os.Rename(beside, name); err != nil && old != nil {
		return overwrite(name, write)
	}
	return err
}

// renameInError returns an error that names the file name wherever err names the file of.
func renameInError(of, name string, err error) error {
	var path *fs.PathError
	if errors.As(err, &path) && path.Path == of {
		return &fs.PathError{Op: path.Op, Path: name, Err: path.Err}
	}
	return err
}

// overwrite writes to an existing file.
func overwrite(name string, write func(io.Writer) error) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	return cmp.Or(writeBuffered(f, write), f.Close())
}

// writeBuffered calls write with a buffered writer.
func writeBuffered(w io.Writer, write func(io.Writer) error) error {
	b := bufio.NewWriter(w)
	return cmp.Or(write(b), b.Flush())
}

// unwritableError says why a report file cannot be written and what to do about it.
func unwritableError(format Format, path string, err error) error {
	switch dir := filepath.Dir(path); {
	case path == "":
		return fmt.Errorf("%s report: no file named; name one, or - for standard output", format.Name)
	case IsDir(path):
		return fmt.Errorf("%s report %s: is a directory; name a file in it, such as %s", format.Name, path,
			filepath.Join(path, "mcpcheck"+format.Ext))
	case !IsDir(dir):
		return fmt.Errorf("%s report %s: no directory %s; create it first", format.Name, path, dir)
	}
	return fmt.Errorf("%s report %s: %w; name a file that can be written", format.Name, path, WithoutPath(err))
}

// WithoutPath returns an error without the path, for messages that name the path already.
func WithoutPath(err error) error {
	var opening *fs.PathError
	if errors.As(err, &opening) {
		return opening.Err
	}
	return err
}

// IsDir reports whether path is a directory.
func IsDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
