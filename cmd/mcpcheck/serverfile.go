package main

import (
	"path/filepath"

	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// serverFile is the content of server.json in a directory, with which a server is published, up to a byte beyond
// harness.LongestFile; nil when there is no such file. Anything else of that name, which may block, is left alone.
func serverFile(dir string) []byte {
	name := filepath.Join(dir, "server.json")
	if !isFile(name) {
		return nil
	}
	text, err := readUpTo(name, harness.LongestFile)
	if err != nil {
		return nil
	}
	return text
}
