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
// Whether the file can be written is found out at once, before the run starts, but nothing appears there until the
// whole report is: see ReplaceFile. Directories are not created. Errors name the file and say what to do.
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
		return fmt.Errorf("%s report: standard output: %w", a.format.Name, WithoutPath(err))
	case err != nil:
		return fmt.Errorf("%s report %s: %w", a.format.Name, a.path, WithoutPath(err))
	}
	return nil
}

// CheckWritable finds out whether a file can be written, and leaves it as it was.
func CheckWritable(path string) error {
	info, err := os.Stat(path)
	switch {
	case path == "":
		return fs.ErrInvalid
	case err != nil: // there is none yet
		f, err := os.CreateTemp(filepath.Dir(path), ".mcpcheck-*")
		if err != nil {
			return err
		}
		return errors.Join(f.Close(), os.Remove(f.Name()))
	case info.Mode()&fs.ModeNamedPipe != 0:
		return nil // to open it would wait for a reader
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

// ReplaceFile writes a file in one go, as ReplaceFileFunc does.
func ReplaceFile(name string, text []byte) error {
	return ReplaceFileFunc(name, 0o644, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// ReplaceFileFunc writes a file in one go: who reads it finds the old text or the new one, whatever happens meanwhile.
// It is written as it is made, so that no more of it is in memory than is at hand, and has the permissions of the old
// one, or those that are given. What a symbolic link points to is what changes. A pipe or a device is written to, and
// so is a file in whose place no other can be put, such as one that is mounted by itself.
func ReplaceFileFunc(name string, mode fs.FileMode, write func(io.Writer) error) error {
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	old, _ := os.Stat(name) // nil: there is none
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
	defer os.Remove(beside) // unless it has become the file
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

// renameInError is an error that names another file, where it names that one.
func renameInError(of, name string, err error) error {
	var path *fs.PathError
	if errors.As(err, &path) && path.Path == of {
		return &fs.PathError{Op: path.Op, Path: name, Err: path.Err}
	}
	return err
}

// overwrite writes to what is there.
func overwrite(name string, write func(io.Writer) error) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	return cmp.Or(writeBuffered(f, write), f.Close())
}

// writeBuffered has something written piece by piece.
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

// WithoutPath is an error without the path, for where that is named already.
func WithoutPath(err error) error {
	var opening *fs.PathError
	if errors.As(err, &opening) {
		return opening.Err
	}
	return err
}

// IsDir reports whether there is a directory of that name.
func IsDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
