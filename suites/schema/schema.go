// Package schema judges messages by the schema of the revision, and what several features share: _meta, icons,
// annotations.
package schema

import (
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Checks are the checks of the area.
var Checks = check.MergeSuites(messageChecks, metaChecks, traceChecks, iconChecks, annotationChecks)
