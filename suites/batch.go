package suites

import "github.com/mcpcheck/mcpcheck/suites/harness"

var batch = harness.Suite{}
