package auth

import (
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Checks are the checks of the area. Those that need a token of the user are skipped without it.
var Checks = check.MergeSuites(tokenChecks, challengeChecks, metadataChecks, issuerChecks).WhenProtected()
