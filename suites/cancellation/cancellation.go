// Package cancellation holds the checks of cancelled requests: by notifications/cancelled, or by closing the response
// stream in the modern revisions over HTTP.
//
// The checks of ignoredChecks send cancellations that must have no effect. Those of inFlightChecks cancel running calls
// and read the shared step of cancelSlowCall. That of workChecks looks at what a cancelled call was doing. What the
// server itself cancels is watched.
package cancellation

import (
	"net/http"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
	"github.com/mcpcheck/mcpcheck/suites/text"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// Checks holds the checks of the area by the ids of their entries.
var Checks = check.MergeSuites(ignoredChecks, inFlightChecks, workChecks, check.Suite{
	"cancellation/server-targets-own-requests": check.WatchWithSetup(toolcall.CallTools,
		func(t *check.T, w check.Wire) {
			t.Judge(cancellations(t, w), func(t *check.T, m check.Message) {
				id := rawRequestID(m.Frame)
				asked, answered := findRequest(m, id)
				if asked == nil && transcript.IsOnGETStream(t, m.Frame) {
					t.NoVerdict(check.Undecided, "the request %s may have been lost while that stream was not open",
						check.Show(requestIDOf(m.Frame)))
				}
				t.Expect(asked != nil).To(check.BeTrue("the id of one of its own requests", "%s",
					check.Show(requestIDOf(m.Frame))))
				if answered != nil {
					since := m.At - answered.At
					if since >= crossingTime(m, answered) && !hasReactedSince(m, answered) {
						t.NoVerdict(check.Undecided, "the server may not have read the response yet: it has "+
							"answered no request that came after it")
					}
					t.Expect(since < crossingTime(m, answered)).To(check.BeTrue("a request that has no answer yet",
						"%s, which was answered %v before", check.Show(requestIDOf(m.Frame)), since.Round(
							time.Millisecond)))
				}
			})
		}),

	"cancellation/server-cancelled-only-listen": check.WatchWithSetup(toolcall.CallTools,
		func(t *check.T, w check.Wire) {
			t.Judge(cancellations(t, w), func(t *check.T, m check.Message) {
				id := rawRequestID(m.Frame)
				listens := slices.ContainsFunc(m.Session.FramesSince(0), func(f *driver.Frame) bool {
					return f.Side == driver.FromClient && f.Method == transcript.ListenMethod && driver.SameID(f.ID, id)
				})
				t.Expect(listens).To(check.BeTrue("the id of a request "+transcript.ListenMethod, "%s",
					check.Show(requestIDOf(m.Frame))))
			})
		}),
})

// cancellations returns the cancellations by the server in sessions with a complete record.
func cancellations(t *check.T, w check.Wire) check.Messages {
	whole := check.Wire{Sessions: w.CompleteSessions()}
	return whole.Notifications().Negotiated(t.Revision).Filter("cancellation", func(m check.Message) bool {
		return m.Method == cancelledMethod
	})
}

const cancelledMethod = "notifications/cancelled"

// requestIDOf returns the id of the request that a cancellation names.
func requestIDOf(m *driver.Frame) any {
	params, _ := m.JSON()["params"].(check.M)
	return check.Member(params, "requestId")
}

// rawRequestID returns the id of requestIDOf as it was written; nil if there is none.
func rawRequestID(m *driver.Frame) []byte {
	if id := requestIDOf(m); id != (check.Absent{}) {
		return text.CompactJSON(id)
	}
	return nil
}

// findRequest returns the latest server request with an id before a message, and the response of the client; nil if
// there is none.
func findRequest(m check.Message, id []byte) (asked, answered *driver.Frame) {
	for _, f := range m.Session.FramesSince(0) {
		if f == m.Frame {
			break
		}
		for _, x := range f.Messages() {
			switch {
			case !driver.SameID(x.ID, id):
			case f.Side == driver.FromServer && x.IsRequest():
				asked, answered = x, nil
			case f.Side == driver.FromClient && x.IsResponse() && !isLost(f):
				answered = f
			}
		}
	}
	return asked, answered
}

// crossingTime returns how long a response to a server request and its cancellation may cross: what the server sends
// may be on its way for as long as the slowest of the responses that came in the meantime. Calls of tools take their
// own time.
func crossingTime(m check.Message, answered *driver.Frame) time.Duration {
	slowest := timing.Crossing
	for _, r := range (check.Wire{Sessions: []*driver.Session{m.Session}}).Responses().List {
		isLater := r.At > answered.At && r.At <= m.At
		if r.Request != nil && r.Request.Method != "tools/call" && r.Request.Method != "tasks/result" && isLater {
			slowest = max(slowest, r.At-r.Request.At)
		}
	}
	return slowest
}

// hasReactedSince reports whether the server, before the cancellation, answered a request that was sent after the
// client's response: one that reads messages in turn has then read the response.
func hasReactedSince(m check.Message, answered *driver.Frame) bool {
	responses := check.Wire{Sessions: []*driver.Session{m.Session}}.Responses().List
	return slices.ContainsFunc(responses, func(r check.Message) bool {
		return r.Request != nil && r.Request.At > answered.At && r.At <= m.At
	})
}

// isLost reports whether a message of the client was not accepted, so that the server may not have it.
func isLost(f *driver.Frame) bool {
	return f.RoundTrip != nil && f.RoundTrip.Response().StatusCode >= http.StatusBadRequest
}
