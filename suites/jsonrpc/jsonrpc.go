// Package jsonrpc holds the checks of JSON-RPC 2.0 as the base protocol restricts it: envelopes, ids, errors and their
// codes, notifications, methods, and responses to each request.
//
// Many checks watch the traffic of the whole run. The others read the steps of package invalid, which send ids of all
// types, unknown methods and malformed messages.
package jsonrpc

import (
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Checks holds the checks of the area by the ids of their entries.
var Checks = check.MergeSuites(envelopeChecks, idChecks, errorChecks, codeChecks, responseChecks, notificationChecks,
	methodChecks, malformedChecks)
