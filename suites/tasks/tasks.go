// Package tasks holds the checks of the experimental tasks of 2025-11-25: tool calls that run as tasks, which the
// client polls and whose results it fetches, and requests that servers have their clients run as tasks.
//
// runTasks creates the tasks once for all checks, with a client that has all capabilities, and follows them to their
// end. Some checks create another task with the slowest tool. The tasks of the later extension belong to package
// tasksext.
package tasks

import (
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Checks holds the checks of the area by the ids of their entries.
var Checks = check.MergeSuites(negotiationChecks, creationChecks, pollingChecks, resultChecks, listChecks, cancelChecks,
	messageChecks, clientTaskChecks)
