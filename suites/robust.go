package suites

import "github.com/mcpcheck/mcpcheck/suites/harness"

var robust = harness.Suite{}
