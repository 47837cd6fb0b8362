// Package mrtr is the area of results that ask for input, and are asked for again (multi round-trip requests).
package mrtr

import (
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Checks are those of the area.
var Checks = check.MergeSuites(resultChecks, loopChecks, capabilityChecks, responseChecks, stateChecks)
