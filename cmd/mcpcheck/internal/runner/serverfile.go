package runner

import (
	"path/filepath"

	"github.com/mcpcheck/mcpcheck/reporters/files"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// readServerFile returns the content of the server.json in a directory, with which a server is published; nil means
// that there is none. It reads one byte more than check.MaxServerFile at most. It opens only regular files, since
// others may block.
func readServerFile(dir string) []byte {
	name := filepath.Join(dir, "server.json")
	if !files.IsRegular(name) {
		return nil
	}
	content, err := files.ReadAtMost(name, check.MaxServerFile)
	if err != nil {
		return nil
	}
	return content
}
