// Package mrtr holds the checks of multi round-trip requests (modern revisions): results with input_required, and
// requests that are retried with the responses.
//
// The loops are found once for all checks, by inputLoops, with a client that responds to everything. The checks repeat
// some of them with other responses, another state or other capabilities.
package mrtr

import (
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Checks holds the checks of the area by the ids of their entries.
var Checks = check.MergeSuites(resultChecks, loopChecks, capabilityChecks, responseChecks, stateChecks)
