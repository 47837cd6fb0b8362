// Package files has what the reports and the program need of files, beyond package os.
//
// Replace writes a file in one go, so that who reads it finds the old text or the new one, whatever happens meanwhile;
// CheckWritable finds out beforehand whether it can. ReadLimited reads a file that people name, but no more of it than
// it can be meant to have: a device or a wrong file must not make mcpcheck grow. Errors name the file that was meant,
// or are given without it by WithoutPath, for texts that name it already.
package files

import (
	"cmp"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

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

// Replace writes a file in one go, as ReplaceFunc does.
func Replace(name string, text []byte) error {
	return ReplaceFunc(name, 0o644, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// ReplaceFunc writes a file in one go: who reads it finds the old text or the new one, whatever happens meanwhile.
// It is written as it is made, so that no more of it is in memory than is at hand, and has the permissions of the old
// one, or those that are given. What a symbolic link points to is what changes. A pipe or a device is written to, and
// so is a file in whose place no other can be put, such as one that is mounted by itself.
func ReplaceFunc(name string, mode fs.FileMode, write func(io.Writer) error) error {
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	old, _ := os.Stat(name) // nil: there is none
	if old != nil && !old.Mode().IsRegular() {
		return overwrite(name, write)
	}
	temporary := filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+"."+rand.Text())
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	switch {
	case err != nil && old != nil:
		return overwrite(name, write)
	case err != nil:
		return renameInError(temporary, name, err)
	}
	defer os.Remove(temporary) // unless it has become the file
	err = WriteBuffered(f, write)
	if err == nil && old != nil {
		err = f.Chmod(old.Mode().Perm())
	}
	if err = cmp.Or(err, f.Sync(), f.Close()); err != nil {
		return renameInError(temporary, name, err)
	}
	if err = os.Rename(temporary, name); err != nil && old != nil {
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
	return cmp.Or(WriteBuffered(f, write), f.Close())
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
