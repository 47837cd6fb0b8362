package suites

import "github.com/mcpcheck/mcpcheck/suites/harness"

var tools = harness.Suite{}
