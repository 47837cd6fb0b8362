// Package http judges the transport Streamable HTTP.
package http

import . "github.com/mcpcheck/mcpcheck/suites/harness"

// Checks are the checks of the area.
var Checks = Merge(
	methods, answers, oneWayChecks, headers, ids, sessions, security, streams, delivery, resumptionChecks,
	mirror, mirroredArguments, leftovers,
)
