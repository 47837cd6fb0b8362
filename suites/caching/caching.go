// Package caching is the area of hints for caches.
package caching

import . "github.com/mcpcheck/mcpcheck/suites/harness"

// Checks are those of the area.
var Checks = Suite{}
