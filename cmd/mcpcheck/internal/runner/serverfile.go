package runner

import (
	"path/filepath"

	"github.com/mcpcheck/mcpcheck/reporters/files"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// readServerFile is the content of server.json in a directory, with which a server is published, up to a byte beyond
// check.MaxServerFile; nil when there is no such file. Anything else of that name, which may block, is left alone.
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
