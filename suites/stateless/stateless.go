// Package stateless holds the checks of the modern revisions that each request carries what it needs, and depends on no
// session: required members of _meta, nothing inherited from earlier requests, and the same lists on every connection.
//
// The checks read steps of package handshake, which send incomplete requests and list on other connections.
package stateless

import (
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Checks holds the checks of the area by the ids of their entries.
var Checks = check.MergeSuites(incompleteChecks, independenceChecks, listChecks)
