// Package subscriptions is the area of streams of notifications that the client listens to.
package subscriptions

import (
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Checks are those of the area.
var Checks = check.MergeSuites(listenChecks, changeChecks, endChecks)
