// Package tasksext holds the checks of the tasks extension of the modern revisions: tool calls that are answered
// immediately with a task, which the client polls until it has the result.
//
// runTasks creates the tasks once for all checks, with a client that declares the extension, and follows them to their
// end. What a client without the extension gets is read from the calls of package toolcall.
package tasksext

import (
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Checks holds the checks of the area by the ids of their entries.
var Checks = check.MergeSuites(negotiationChecks, creationChecks, pollingChecks, inputChecks, cancelChecks,
	listenChecks)
