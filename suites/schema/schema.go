// Package schema holds the checks of messages by the schema of the revision, and of what many messages share: _meta,
// trace context, icons and annotations.
//
// The checks watch the run. validateMessages validates each message once for all of them. Violations that belong to an
// entry of another area are left to that; the tables of package protocol assign them.
package schema

import (
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Checks holds the checks of the area by the ids of their entries.
var Checks = check.MergeSuites(messageChecks, metaChecks, traceChecks, iconChecks, annotationChecks)
