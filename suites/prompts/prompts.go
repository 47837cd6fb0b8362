// Package prompts judges prompts: lists, definitions, what comes of getting one, and errors.
package prompts

import (
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Checks are the checks of the area.
var Checks = check.MergeSuites(listChecks, getChecks, contentChecks, refusalChecks)
