// Package auth judges authorization over HTTP: tokens, challenges and the metadata behind them.
package auth

import (
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Checks are the checks of the area, which see themselves whether they have the tokens that they need.
var Checks = check.MergeSuites(tokenChecks, challengeChecks, metadataChecks, issuerChecks).WhenProtected()
