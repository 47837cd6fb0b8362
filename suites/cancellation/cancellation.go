// Package cancellation holds the checks of requests that are taken back.
package cancellation

import (
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// Checks are those of the area.
var Checks = Merge(ignored, inFlight, Suite{
	"cancellation/server-targets-own-requests": WatchAfter(kit.CallTools, func(t *T, w Wire) {
		t.Judge(cancellations(t, w), func(t *T, m Message) {
			const crossing = time.Second // in which an answer may have crossed the cancellation
			id := target(m.Frame)
			asked, answered := history(m, id)
			t.Expect(asked != nil).To(Hold("the id of one of its own requests", "%s", Show(idOf(m.Frame))))
			if answered != nil {
				since := m.At - answered.At
				t.Expect(since < crossing).To(Hold("a request that has no answer yet",
					"%s, which was answered %v before", Show(idOf(m.Frame)), since.Round(time.Millisecond)))
			}
		})
	}),

	"cancellation/server-cancelled-only-listen": WatchAfter(kit.CallTools, func(t *T, w Wire) {
		t.Judge(cancellations(t, w), func(t *T, m Message) {
			id := target(m.Frame)
			listens := slices.ContainsFunc(m.Session.Record(0), func(f *driver.Frame) bool {
				return f.Side == driver.FromClient && f.Method == kit.Listen && driver.SameID(f.ID, id)
			})
			t.Expect(listens).To(Hold("the id of a request "+kit.Listen, "%s", Show(idOf(m.Frame))))
		})
	}),
})

// cancellations are those of the server in sessions whose record is whole.
func cancellations(t *T, w Wire) Messages {
	whole := Wire{Sessions: w.Whole()}
	return whole.Notifications().Established(t.Revision).Filter("cancellation", func(m Message) bool {
		return m.Method == cancelled
	})
}

const cancelled = "notifications/cancelled"

// idOf is what a cancellation names as the request.
func idOf(m *driver.Frame) any {
	params, _ := m.JSON()["params"].(M)
	return Member(params, "requestId")
}

// target is idOf as it was written; nil when there is none.
func target(m *driver.Frame) []byte {
	if id := idOf(m); id != (Absent{}) {
		return Compact(id)
	}
	return nil
}

// history is the latest request of the server that had an id when a message came, and the answer of the client to it;
// nil where there is none.
func history(m Message, id []byte) (asked, answered *driver.Frame) {
	for _, f := range m.Session.Record(0) {
		if f == m.Frame {
			break
		}
		for _, x := range f.Members() {
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
