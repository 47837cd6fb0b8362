// Package extensions is the area of extensions, as they are negotiated.
package extensions

import . "github.com/mcpcheck/mcpcheck/suites/harness"

// Checks are those of the area.
var Checks = Suite{}
