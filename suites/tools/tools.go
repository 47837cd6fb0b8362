// Package tools judges tools: lists, definitions, calls and results.
package tools

import (
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Checks are the checks of the area.
var Checks = check.MergeSuites(listChecks, definitionChecks, headerChecks, unknownToolChecks, callChecks, inputChecks,
	contentChecks)
