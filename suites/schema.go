package suites

import "github.com/mcpcheck/mcpcheck/suites/harness"

var schema = harness.Suite{}
