// Package tasksext is the area of the extension of tasks.
package tasksext

import . "github.com/mcpcheck/mcpcheck/suites/harness"

// Checks are those of the area.
var Checks = Suite{}
