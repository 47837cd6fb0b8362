// Package stdio judges the transport over standard streams.
package stdio

import . "github.com/mcpcheck/mcpcheck/suites/harness"

// Checks are the checks of the area.
var Checks = MergeSuites(outputChecks, inputChecks, shutdownChecks)
