package subscriptions

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// changes are the checks of what subscriptions bring.
var changes = Suite{
	"subscriptions/all-tagged": WatchAfter(kit.CallTools, func(t *T, w Wire) {
		eachChange(t, w, func(t *T, c change) {
			if c.of == nil && kit.Tag(c.message.Frame) != (Absent{}) {
				t.Yield("it is of no subscription here")
			}
			t.Expect(c.of != nil && c.of.Tagged(c.message.Frame)).To(Hold(
				driver.MetaSubscription+" in _meta, the id of the subscription", "%s", Show(kit.Tag(c.message.Frame))))
		})
	}),

	"subscriptions/filter-honoured": WatchAfter(kit.CallTools, func(t *T, w Wire) {
		eachChange(t, w, func(t *T, c change) {
			if c.of == nil {
				t.Yield("it is of no subscription")
			}
			if c.isNameless() {
				t.Yield("it names no resource")
			}
			t.Expect(c.isWanted(t)).To(Hold("what was asked for", "%s", c.message.Method))
		})
	}),

	"subscriptions/no-state-across-connections": WatchAfter(kit.CallTools, func(t *T, w Wire) {
		eachChange(t, w, func(t *T, c change) {
			if kit.Tag(c.message.Frame) == (Absent{}) {
				t.Yield("it says of no subscription that it is its own")
			}
			t.Expect(c.of != nil).To(Hold("announcements for subscriptions of this connection alone",
				"one for %s", Show(kit.Tag(c.message.Frame))))
		})
	}),

	"subscriptions/no-request-scoped": WatchAfter(kit.CallTools, func(t *T, w Wire) {
		sent := w.Notifications().Established(t.Revision).Filter("message about a request", isOfRequest)
		if len(sent.List) == 0 {
			kit.NothingSeen(t, "log message and no progress was seen", kit.ValidCalls(t).Uncalled, kit.AnyTool)
		}
		streams, others := listening(t, w)
		t.Judge(sent, func(t *T, m Message) {
			if others[m.Frame] {
				t.Yield("it is about another request")
			}
			t.Expect(streams[m.HTTP] || isTagged(m)).To(BeOneOf(false), "on the stream of a subscription")
		})
	}),

	"subscriptions/stdio-cancel-stops": WatchAfter(kit.CallTools, func(t *T, w Wire) {
		all := takenBack(t, w)
		if len(all) == 0 {
			kit.NothingSeen(t, "change was announced that a subscription was for which was taken back",
				kit.ValidCalls(t).Uncalled, kit.AnyTool)
		}
		Each(t, all, (*kit.Subscription).Subject, func(t *T, u *kit.Subscription) {
			for _, m := range u.Changes() {
				t.Expect(!u.IsLate(m)).To(Hold("nothing more once it was taken back", "%s", m.Method))
			}
		})
	}),
}

// change is an announcement, and the subscription that it came for; nil when it is of none.
type change struct {
	message kit.Heard
	of      *kit.Subscription
}

func (c change) subject() Subject {
	return Subject{Name: c.message.Method, Frames: []*driver.Frame{c.message.Frame}}
}

// isWanted reports whether the client has asked for it. A resource that is not listed may be part of one that is.
func (c change) isWanted(t *T) bool {
	if kit.Covers(c.of.Filter, c.message) {
		return true
	}
	params, _ := c.message.JSON()["params"].(M)
	isListed := slices.ContainsFunc(t.Server.Resources, func(r M) bool { return r["uri"] == params["uri"] })
	return params["uri"] != nil && wants(c.of.Filter, "resourceSubscriptions") && !isListed
}

// isNameless reports whether it is of a resource, and does not say of which.
func (c change) isNameless() bool {
	params, _ := c.message.JSON()["params"].(M)
	_, isText := params["uri"].(string)
	return c.message.Method == "notifications/resources/updated" && !isText
}

// eachChange tries a check on the announcements of the run.
func eachChange(t *T, w Wire, run func(*T, change)) {
	var all []change
	for _, s := range kit.Heeded(t, w) {
		subscriptions := kit.SubscriptionsIn(s)
		for _, m := range subscriptions.Strays {
			all = append(all, change{message: m})
		}
		for _, u := range subscriptions.List {
			for _, m := range u.Changes() {
				all = append(all, change{m, u})
			}
		}
	}
	if len(all) == 0 {
		kit.NothingSeen(t, "change was announced", kit.ValidCalls(t).Uncalled, kit.AnyTool)
	}
	Each(t, Bounded(t, all), change.subject, run)
}

// isOfRequest reports whether a notification is about a request that is served.
func isOfRequest(m Message) bool {
	return m.Method == "notifications/message" || kit.IsProgress(m.Frame)
}

// isTagged reports whether a notification has the id or the token of a subscription.
func isTagged(m Message) bool {
	params, _ := m.JSON()["params"].(M)
	return params["progressToken"] == kit.OnSubscription || kit.Tag(m.Frame) != (Absent{})
}

// listening are the streams of subscriptions over HTTP, and there the reports of progress of requests whose answers
// have streams of their own.
func listening(t *T, w Wire) (streams map[*driver.Exchange]bool, others map[*driver.Frame]bool) {
	streams, others = map[*driver.Exchange]bool{}, map[*driver.Frame]bool{}
	for _, s := range kit.Established(t, w) {
		for _, u := range kit.SubscriptionsIn(s).List {
			streams[u.Request.HTTP] = u.Request.HTTP != nil
		}
		for _, r := range kit.ReportsOf(t, s) {
			others[r.Frame] = r.HTTP != nil && r.Of != nil && r.Of.Request.HTTP != r.HTTP
		}
	}
	return streams, others
}

// takenBack are the subscriptions that were taken back before something was announced to another one of the session
// that they were for.
func takenBack(t *T, w Wire) (all []*kit.Subscription) {
	for _, s := range kit.Heeded(t, w) {
		list := kit.SubscriptionsIn(s).List
		for _, u := range list {
			if slices.ContainsFunc(list, func(other *kit.Subscription) bool {
				return other != u && slices.ContainsFunc(other.Changes(), u.Missed)
			}) {
				all = append(all, u)
			}
		}
	}
	return all
}
