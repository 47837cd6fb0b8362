package http

import (
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Checks are the checks of the area.
var Checks = check.MergeSuites(
	methodChecks, responseChecks, oneWayChecks, headerChecks, sessionIDChecks, sessionChecks, securityChecks,
	streamChecks, deliveryChecks, resumptionChecks,
	mirroredHeaderChecks, paramHeaderChecks, legacyChecks,
)
