package main

import (
	"io"
	"os"
	"path/filepath"
)

// longestServerFile is how much of server.json is read, in bytes.
const longestServerFile = 1 << 20

// serverFile is the content of server.json in a directory, with which a server is published; nil when there is none.
func serverFile(dir string) []byte {
	f, err := os.Open(filepath.Join(dir, "server.json"))
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, longestServerFile))
	if err != nil {
		return nil
	}
	return text
}
