// Package apps is the area of the extension of apps.
package apps

import . "github.com/mcpcheck/mcpcheck/suites/harness"

// Checks are those of the area.
var Checks = Suite{}
