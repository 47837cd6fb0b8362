// Package subscriptions holds the checks of subscriptions/listen (modern revisions): the acknowledgment with its
// filter, the notifications of the stream, several subscriptions in one session, and their end.
//
// The checks of listening read the step of trySubscriptions. Those of notifications watch the subscriptions that all
// sessions of the run have.
package subscriptions

import (
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Checks holds the checks of the area by the ids of their entries.
var Checks = check.MergeSuites(listenChecks, changeChecks, endChecks)
