// Package lifecycle holds the checks of the lifecycle of a session in the legacy revisions: the handshake and the
// negotiation of the version, messages before its end, messages that need a declared capability, and the shutdown over
// stdio.
//
// Checks of the handshake run scenarios of package handshake, which begin a session in deviating but legal ways. The
// others watch the sessions of the run. Those of timeoutChecks leave requests of the server unanswered, for as long as
// the operator has declared.
package lifecycle

import (
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Checks holds the checks of the area by the ids of their entries.
var Checks = check.MergeSuites(initializeChecks, versionChecks, earlyRequestChecks, earlyMessageChecks, operationChecks,
	timeoutChecks, shutdownChecks)
