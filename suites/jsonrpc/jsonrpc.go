// Package jsonrpc judges messages by JSON-RPC: ids, answers, errors, notifications.
package jsonrpc

import (
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Checks are the checks of the area.
var Checks = check.MergeSuites(envelopeChecks, idChecks, errorChecks, codeChecks, responseChecks, notificationChecks,
	methodChecks, malformedChecks)
