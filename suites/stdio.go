package suites

import "github.com/mcpcheck/mcpcheck/suites/harness"

var stdio = harness.Suite{}
