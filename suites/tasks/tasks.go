// Package tasks is the area of the tasks of 2025-11-25: calls of tools that a client has run as tasks, asks after until
// they end, and gets the results of; and what servers have their clients run so.
package tasks

import (
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Checks are those of the area.
var Checks = check.MergeSuites(negotiationChecks, creationChecks, pollingChecks, resultChecks, listChecks, cancelChecks,
	messageChecks, clientTaskChecks)
