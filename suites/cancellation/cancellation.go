// Package cancellation holds the checks of requests that are taken back.
package cancellation

import (
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
)

// Checks are those of the area.
var Checks = MergeSuites(ignoredChecks, inFlightChecks, Suite{
	"cancellation/server-targets-own-requests": WatchWithSetup(toolcall.CallTools, func(t *T, w Wire) {
		t.Judge(cancellations(t, w), func(t *T, m Message) {
			const crossing = time.Second // in which an answer may have crossed the cancellation
			id := rawRequestID(m.Frame)
			asked, answered := findRequest(m, id)
			t.Expect(asked != nil).To(BeTrue("the id of one of its own requests", "%s", Show(requestIDOf(m.Frame))))
			if answered != nil {
				since := m.At - answered.At
				t.Expect(since < crossing).To(BeTrue("a request that has no answer yet",
					"%s, which was answered %v before", Show(requestIDOf(m.Frame)), since.Round(time.Millisecond)))
			}
		})
	}),

	"cancellation/server-cancelled-only-listen": WatchWithSetup(toolcall.CallTools, func(t *T, w Wire) {
		t.Judge(cancellations(t, w), func(t *T, m Message) {
			id := rawRequestID(m.Frame)
			listens := slices.ContainsFunc(m.Session.FramesSince(0), func(f *driver.Frame) bool {
				return f.Side == driver.FromClient && f.Method == transcript.ListenMethod && driver.SameID(f.ID, id)
			})
			t.Expect(listens).To(BeTrue("the id of a request "+transcript.ListenMethod, "%s", Show(requestIDOf(m.Frame))))
		})
	}),
})

// cancellations are those of the server in sessions whose record is whole.
func cancellations(t *T, w Wire) Messages {
	whole := Wire{Sessions: w.CompleteSessions()}
	return whole.Notifications().Negotiated(t.Revision).Filter("cancellation", func(m Message) bool {
		return m.Method == cancelledMethod
	})
}

const cancelledMethod = "notifications/cancelled"

// requestIDOf is what a cancellation names as the request.
func requestIDOf(m *driver.Frame) any {
	params, _ := m.JSON()["params"].(M)
	return Member(params, "requestId")
}

// rawRequestID is requestIDOf as it was written; nil when there is none.
func rawRequestID(m *driver.Frame) []byte {
	if id := requestIDOf(m); id != (Absent{}) {
		return CompactJSON(id)
	}
	return nil
}

// findRequest is the latest request of the server that had an id when a message came, and the answer of the client to
// it; nil where there is none.
func findRequest(m Message, id []byte) (asked, answered *driver.Frame) {
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
