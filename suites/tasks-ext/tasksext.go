// Package tasksext is the area of the extension of tasks: calls of tools that are answered at once by a task, which is
// asked after until it has the result.
package tasksext

import (
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Checks are those of the area.
var Checks = check.MergeSuites(negotiationChecks, creationChecks, pollingChecks, inputChecks, cancelChecks,
	listenChecks)
