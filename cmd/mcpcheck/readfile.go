package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// readUpTo is the content of a file, as far as one byte beyond a bound, by which who reads it sees that there is more:
// a file that was not meant, or a device, must not make mcpcheck grow.
func readUpTo(name string, most int) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, int64(most)+1))
}

// readWhole is the content of a file that is no longer than a bound.
func readWhole(name string, most int) ([]byte, error) {
	text, err := readUpTo(name, most)
	if err == nil && len(text) > most {
		return nil, &fs.PathError{Op: "read", Path: name,
			Err: fmt.Errorf("it is longer than the %s that are read", driver.Size(most))}
	}
	return text, err
}

// Bounds of what people name.
const (
	longestConfig = 1 << 20  // mcpcheck.yaml, and a list of servers with its keys
	longestHosts  = 64 << 20 // a host's file, and a registry's with all its servers
	longestEnv    = 1 << 20  // a file of variables
	longestRoots  = 8 << 20  // certificates: those of a system take a quarter of a MiB
	longestReport = 64 << 20 // a JSON report or a page: the longest that are known have a tenth of it
	longestRow    = 1 << 20  // of a server of a fleet
	longestSet    = 8 << 20  // of requirements
)
