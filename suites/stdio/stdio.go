// Package stdio holds the checks of the stdio transport: only messages on stdout, one per line and in UTF-8, what the
// server reads from stdin, the use of stderr, and the end of the process.
//
// The checks of output watch the raw lines of the run. Lines that are parts of one message are recognised by
// splitMessageLines.
package stdio

import (
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Checks holds the checks of the area by the ids of their entries.
var Checks = check.MergeSuites(outputChecks, inputChecks, shutdownChecks)
