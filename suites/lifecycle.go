package suites

import "github.com/mcpcheck/mcpcheck/suites/harness"

var lifecycle = harness.Suite{}
