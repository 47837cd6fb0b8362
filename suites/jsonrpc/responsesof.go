package jsonrpc

import (
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
)

// hasWrongID reports whether the response has another id than the request that it answers.
func hasWrongID(r *transcript.Response) bool {
	return r.Call != nil && !driver.SameID(r.ID, r.Call.Request.ID) && !protocol.MayLackID(r.Frame)
}

// judgeResponses runs a check on the responses for which keep returns true; what names them in the reason when there
// are none.
func judgeResponses(
	t *check.T, what string, all []*transcript.Transcript, keep func(*transcript.Response) bool,
	run func(*check.T, *transcript.Response),
) {
	var kept []*transcript.Response
	for _, d := range all {
		for _, r := range d.Responses {
			if keep(r) {
				kept = append(kept, r)
			}
		}
	}
	check.Judge(t, what, kept, (*transcript.Response).Subject, run)
}

// isUnsolicited reports whether a response has no id and belongs to nothing that was sent: to no request and, as far as
// timing tells, to no notification.
func isUnsolicited(r *transcript.Response) bool {
	return r.LacksID() && r.GuessedCall == nil && !r.MaybeForNotification
}
