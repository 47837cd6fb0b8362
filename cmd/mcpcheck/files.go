package main

import "os"

// isDir reports whether there is a directory of that name.
func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}
