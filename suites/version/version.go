// Package version is the area of the versions and eras of the protocol that a server answers for, request by request.
package version

import . "github.com/mcpcheck/mcpcheck/suites/harness"

// Checks are those of the area.
var Checks = Suite{}
