package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// readAtMost is the content of a file, as far as one byte beyond a bound, by which who reads it sees that there is
// more: a file that was not meant, or a device, must not make mcpcheck grow.
func readAtMost(name string, most int) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, int64(most)+1))
}

// readLimited is the content of a file that is no longer than a bound.
func readLimited(name string, most int) ([]byte, error) {
	text, err := readAtMost(name, most)
	if err == nil && len(text) > most {
		return nil, &fs.PathError{Op: "read", Path: name,
			Err: fmt.Errorf("it is longer than the %s that are read", driver.FormatSize(most))}
	}
	return text, err
}

// Bounds of what people name.
const (
	maxConfigBytes  = 1 << 20  // mcpcheck.yaml, and a list of servers with its keys
	maxHostsBytes   = 64 << 20 // a host's file, and a registry's with all its servers
	maxEnvFileBytes = 1 << 20  // a file of variables
	maxCACertBytes  = 8 << 20  // certificates: those of a system take a quarter of a MiB
	maxReportBytes  = 64 << 20 // a JSON report or a page: the longest that are known have a tenth of it
	maxRowBytes     = 1 << 20  // of a server of a fleet
	maxSetBytes     = 8 << 20  // of requirements
)
