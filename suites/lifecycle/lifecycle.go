// Package lifecycle judges how a session begins, what a server does while it serves, and how it ends.
package lifecycle

import (
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Checks are the checks of the area.
var Checks = check.MergeSuites(initializeChecks, versionChecks, earlyRequestChecks, earlyMessageChecks, operationChecks,
	shutdownChecks)
