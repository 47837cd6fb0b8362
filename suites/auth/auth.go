// Package auth judges authorization over HTTP: tokens, challenges and the metadata behind them.
package auth

import . "github.com/mcpcheck/mcpcheck/suites/harness"

// Checks are the checks of the area, which see themselves whether they have the tokens that they need.
var Checks = MergeSuites(tokenChecks, challengeChecks, metadataChecks, issuerChecks).WhenProtected()
