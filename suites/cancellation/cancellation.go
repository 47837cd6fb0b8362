// Package cancellation holds the checks of requests that are taken back.
package cancellation

import (
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// Checks are those of the area.
var Checks = check.MergeSuites(ignoredChecks, inFlightChecks, check.Suite{
	"cancellation/server-targets-own-requests": check.WatchWithSetup(toolcall.CallTools,
		func(t *check.T, w check.Wire) {
			t.Judge(cancellations(t, w), func(t *check.T, m check.Message) {
				const crossing = time.Second // in which an answer may have crossed the cancellation
				id := rawRequestID(m.Frame)
				asked, answered := findRequest(m, id)
				t.Expect(asked != nil).To(check.BeTrue("the id of one of its own requests", "%s",
					check.Show(requestIDOf(m.Frame))))
				if answered != nil {
					since := m.At - answered.At
					t.Expect(since < crossing).To(check.BeTrue("a request that has no answer yet",
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

// cancellations are those of the server in sessions whose record is whole.
func cancellations(t *check.T, w check.Wire) check.Messages {
	whole := check.Wire{Sessions: w.CompleteSessions()}
	return whole.Notifications().Negotiated(t.Revision).Filter("cancellation", func(m check.Message) bool {
		return m.Method == cancelledMethod
	})
}

const cancelledMethod = "notifications/cancelled"

// requestIDOf is what a cancellation names as the request.
func requestIDOf(m *driver.Frame) any {
	params, _ := m.JSON()["params"].(check.M)
	return check.Member(params, "requestId")
}

// rawRequestID is requestIDOf as it was written; nil when there is none.
func rawRequestID(m *driver.Frame) []byte {
	if id := requestIDOf(m); id != (check.Absent{}) {
		return text.CompactJSON(id)
	}
	return nil
}

// findRequest is the latest request of the server that had an id when a message came, and the answer of the client to
// it; nil where there is none.
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
			case f.Side == driver.FromClient && x.IsResponse():
				answered = f
			}
		}
	}
	return asked, answered
}
