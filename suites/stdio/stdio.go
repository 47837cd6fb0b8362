// Package stdio judges the transport over standard streams.
package stdio

import (
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Checks are the checks of the area.
var Checks = check.MergeSuites(outputChecks, inputChecks, shutdownChecks)
