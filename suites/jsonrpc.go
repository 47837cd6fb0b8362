package suites

import "github.com/mcpcheck/mcpcheck/suites/harness"

var jsonrpc = harness.Suite{}
