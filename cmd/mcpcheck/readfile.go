package main

import (
	"io"
	"os"
)

// readUpTo is the content of a file, as far as one byte beyond a bound, by which who reads it sees that there is more:
// a file that was not meant, or a device, must not make mcpcheck grow.
func readUpTo(name string, most int64) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, most+1))
}
