// Package auth judges authorization over HTTP: tokens, challenges and the metadata behind them.
package auth

import . "github.com/mcpcheck/mcpcheck/suites/harness"

// Checks are the checks of the area.
var Checks = Merge(tokens, challenges, metadata, issuers)
