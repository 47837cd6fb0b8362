package transcript

import (
	"maps"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

// ListenMethod is the method of the request that opens a subscription.
const ListenMethod = "subscriptions/listen"

// AcknowledgedMethod is the method of the notification that a subscription begins with.
const AcknowledgedMethod = "notifications/subscriptions/acknowledged"

// SubscriptionIDOf is the subscription id in the _meta of a message.
func SubscriptionIDOf(m *driver.Frame) any {
	object, _ := m.JSON()["params"].(check.M)
	if m.IsResponse() {
		object, _ = m.JSON()["result"].(check.M)
	}
	return check.Member(protocol.MetaOf(object), driver.MetaSubscription)
}

// OpenFilters are the filters, as acknowledged, of the subscriptions of a session that neither side has ended.
func OpenFilters(s *driver.Session) []check.M {
	open := map[string]check.M{} // by the id of the request
	for _, f := range s.FramesSince(0) {
		for _, m := range f.Messages() {
			switch {
			case f.Manual || f.ForOtherSession:
			case m.Method == "notifications/cancelled":
				delete(open, CancelledID(m))
			case m.IsResponse():
				delete(open, driver.IDKey(m.RequestID()))
			case m.Method == AcknowledgedMethod && !hasEnded(f.RoundTrip):
				params, _ := m.JSON()["params"].(check.M)
				open[acknowledgedID(m)], _ = params["notifications"].(check.M)
			}
		}
	}
	return slices.Collect(maps.Values(open))
}

// hasEnded reports whether the stream of a subscription over HTTP has ended.
func hasEnded(x *driver.RoundTrip) bool { return x != nil && x.Response().Ended }
