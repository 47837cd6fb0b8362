// Package tools holds the checks of tools: tools/list, definitions with their schemas and headers, calls with valid,
// invalid and malformed arguments, unknown tools, and the content of results.
//
// Calls are made once for all checks by the steps of package toolcall: ValidCalls, InvalidCalls and CallTools.
// readAllPages reads the list once.
package tools

import (
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Checks holds the checks of the area by the ids of their entries.
var Checks = check.MergeSuites(listChecks, definitionChecks, headerChecks, unknownToolChecks, callChecks, inputChecks,
	handleChecks, contentChecks)
