package main

import (
	"errors"
	"os"
	"path/filepath"
)

// isDir reports whether there is a directory of that name.
func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// replaceFile writes a file in one go: whoever reads it finds the old text or the new one. It keeps the permissions,
// and what a symbolic link points to is what changes.
func replaceFile(name string, text []byte) error {
	mode := os.FileMode(0o644)
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
		if info, err := os.Stat(name); err == nil {
			mode = info.Mode().Perm()
		}
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // unless it has become the file
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(mode), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
