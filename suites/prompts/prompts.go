// Package prompts holds the checks of prompts: prompts/list and its definitions, prompts/get and the content of its
// results, and errors.
//
// Listed prompts are requested once for all checks, with made-up arguments, by package toolcall; listPages reads the
// list once.
package prompts

import (
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Checks holds the checks of the area by the ids of their entries.
var Checks = check.MergeSuites(listChecks, getChecks, contentChecks, refusalChecks)
