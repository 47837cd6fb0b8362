// Package stateless is the area of requests that depend on no session.
package stateless

import (
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Checks are those of the area.
var Checks = check.MergeSuites(incompleteChecks, independenceChecks, listChecks)
