// Package stateless is the area of requests that depend on no session.
package stateless

import . "github.com/mcpcheck/mcpcheck/suites/harness"

// Checks are those of the area.
var Checks = MergeSuites(incompleteChecks, independenceChecks, listChecks)
