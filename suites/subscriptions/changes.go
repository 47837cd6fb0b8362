package subscriptions

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// changeChecks are the checks of the notifications of subscriptions.
var changeChecks = check.Suite{
	"subscriptions/all-tagged": check.WatchWithSetup(toolcall.CallTools, func(t *check.T, w check.Wire) {
		eachChange(t, w, func(t *check.T, c change) {
			if c.subscription == nil && transcript.SubscriptionIDOf(c.message.Frame) != (check.Absent{}) {
				t.Yield("it is of no subscription here")
			}
			t.Expect(c.subscription != nil && c.subscription.IsNamedIn(c.message.Frame)).To(reportedByAckID(
				check.BeTrue(driver.MetaSubscription+" in _meta, the id of the subscription", "%s", check.Show(
					transcript.SubscriptionIDOf(c.message.Frame)))))
		})
	}),

	"subscriptions/filter-honoured": check.WatchWithSetup(toolcall.CallTools, func(t *check.T, w check.Wire) {
		eachChange(t, w, func(t *check.T, c change) {
			if c.subscription == nil {
				t.Yield("it is of no subscription")
			}
			if c.hasNoURI() {
				t.Yield("it names no resource")
			}
			isWanted := check.BeTrue("what was asked for", "%s", c.message.Method)
			if c.isForOther() { // which is not told then
				isWanted = check.ReportedBy("subscriptions/concurrent", isWanted)
			}
			t.Expect(c.isRequested()).To(isWanted)
		})
	}),

	"subscriptions/no-state-across-connections": check.WatchWithSetup(toolcall.CallTools,
		func(t *check.T, w check.Wire) {
			eachChange(t, w, func(t *check.T, c change) {
				if transcript.SubscriptionIDOf(c.message.Frame) == (check.Absent{}) {
					t.Skip(check.NotApplicable, "it says of no subscription that it is its own")
				}
				t.Expect(c.subscription != nil).
					To(reportedByAckID(check.BeTrue("announcements for subscriptions of this connection alone",
						"one for %s", check.Show(transcript.SubscriptionIDOf(c.message.Frame)))))
			})
		}),

	"subscriptions/no-request-scoped": check.WatchWithSetup(toolcall.CallTools, func(t *check.T, w check.Wire) {
		sent := w.Notifications().Negotiated(t.Revision).Filter("message about a request", isRequestNotification)
		if len(sent.List) == 0 {
			toolcall.SkipNotObserved(t, "log message and no progress was seen", toolcall.ValidCalls(t).Uncalled,
				toolcall.AnyTool)
		}
		streams, others := listenStreams(t, w)
		onShared := progressOfSubscriptions(t, w)
		t.Judge(sent, func(t *check.T, m check.Message) {
			if others[m.Frame] {
				t.Yield("it is about another request")
			}
			isHere := streams[m.RoundTrip] || onShared[m.Frame] || m.RoundTrip == nil && isTagged(m)
			t.Expect(isHere || hasListenToken(m)).To(check.BeOneOf(false), "on the stream of a subscription")
		})
	}),

	"subscriptions/id-only-on-subscription": check.WatchWithSetup(toolcall.CallTools, func(t *check.T, w check.Wire) {
		streams, _ := listenStreams(t, w)
		sent := w.Notifications().Negotiated(t.Revision)
		others := sent.Filter("notification of a request", func(m check.Message) bool {
			return m.RoundTrip != nil && !streams[m.RoundTrip] && !isSubscriptionNotification(m)
		})
		if len(others.List) == 0 {
			toolcall.SkipNotObserved(t, "notification came on the stream of a request", toolcall.ValidCalls(t).Uncalled,
				toolcall.AnyTool)
		}
		t.Judge(others, func(t *check.T, m check.Message) {
			t.Expect(transcript.SubscriptionIDOf(m.Frame)).To(check.BeOneOf[any](check.Absent{}),
				driver.MetaSubscription+" of a notification that comes by no subscription")
		})
	}),

	"subscriptions/stdio-cancel-stops": check.WatchWithSetup(toolcall.CallTools, func(t *check.T, w check.Wire) {
		all := cancelledSubscriptions(t, w)
		if len(all) == 0 {
			toolcall.SkipNotObserved(t, "change was announced that a subscription was for which was taken back",
				toolcall.ValidCalls(t).Uncalled, toolcall.AnyTool)
		}
		check.Each(t, all, (*subscription).Subject, func(t *check.T, u *subscription) {
			for _, m := range u.ChangeNotifications() {
				t.Expect(!u.IsAfterCancel(m)).To(check.BeTrue("nothing more once it was taken back", "%s", m.Method))
			}
		})
	}),
}

// change is a change notification with the subscription that it belongs to; nil if it belongs to none.
type change struct {
	message      indexedFrame
	subscription *subscription
	// sessionSubscriptions are all subscriptions of the session.
	sessionSubscriptions []*subscription
}

func (c change) subject() check.Subject {
	return check.Subject{Name: c.message.Method, Frames: []*driver.Frame{c.message.Frame}}
}

// isRequested reports whether the subscription asks for the notification. Any resource may be part of another one,
// whatever their URIs, but not of one that does not exist.
func (c change) isRequested() bool {
	if filterMatches(c.subscription.Filter, c.message) {
		return true
	}
	params, _ := c.message.JSON()["params"].(check.M)
	return params["uri"] != nil && isInFilter(c.subscription.Filter, "resourceSubscriptions") &&
		!c.subscription.WatchesUnlisted()
}

// isForOther reports whether another subscription of the session asks for the notification.
func (c change) isForOther() bool {
	return slices.ContainsFunc(c.sessionSubscriptions, func(u *subscription) bool {
		return u != c.subscription && filterMatches(u.Filter, c.message)
	})
}

// hasNoURI reports whether the notification is of a resource and does not have a URI.
func (c change) hasNoURI() bool {
	params, _ := c.message.JSON()["params"].(check.M)
	_, isText := params["uri"].(string)
	return c.message.Method == "notifications/resources/updated" && !isText
}

// key is the same for notifications of one subscription that differ in nothing that the checks look at.
func (c change) key() any {
	params, _ := c.message.JSON()["params"].(check.M)
	uri, id := text.CompactJSON(params["uri"]), text.CompactJSON(transcript.SubscriptionIDOf(c.message.Frame))
	return [4]any{c.subscription, c.message.Method, string(uri), string(id)}
}

// distinctChanges are the first changes of each key: a flood of those that were asked for hides none that was not.
func distinctChanges(all []change) (distinct []change) {
	seen := map[any]bool{}
	for _, c := range all {
		if key := c.key(); !seen[key] {
			seen[key] = true
			distinct = append(distinct, c)
		}
	}
	return distinct
}

// eachChange runs a check on the change notifications of the run.
func eachChange(t *check.T, w check.Wire, run func(*check.T, change)) {
	var all []change
	for _, s := range untruncatedSessions(t, w) {
		subscriptions := subscriptionsIn(s)
		for _, m := range subscriptions.Unassigned {
			all = append(all, change{message: m})
		}
		for _, u := range subscriptions.List {
			for _, m := range u.ChangeNotifications() {
				all = append(all, change{m, u, subscriptions.List})
			}
		}
	}
	if len(all) == 0 {
		toolcall.SkipNotObserved(t, "change was announced", toolcall.ValidCalls(t).Uncalled, toolcall.AnyTool)
	}
	check.Each(t, check.Cap(t, distinctChanges(all)), change.subject, run)
}

// isRequestNotification reports whether a notification belongs to a running request.
func isRequestNotification(m check.Message) bool {
	return m.Method == "notifications/message" || transcript.IsProgress(m.Frame)
}

// isSubscriptionNotification reports whether a notification belongs to subscriptions, on whatever stream it comes.
func isSubscriptionNotification(m check.Message) bool {
	return filterMemberOf[m.Method] != "" || m.Method == transcript.AcknowledgedMethod
}

// isTagged reports whether a notification has the id of a subscription.
func isTagged(m check.Message) bool { return transcript.SubscriptionIDOf(m.Frame) != (check.Absent{}) }

// hasListenToken reports whether a notification has the progress token of a subscription.
func hasListenToken(m check.Message) bool {
	params, _ := m.JSON()["params"].(check.M)
	return params["progressToken"] == toolcall.SubscriptionProgressToken
}

// listenStreams returns the streams of subscriptions over HTTP. The second result are the progress notifications that
// were received on another stream than that of their request.
func listenStreams(t *check.T, w check.Wire) (streams map[*driver.RoundTrip]bool, others map[*driver.Frame]bool) {
	streams, others = map[*driver.RoundTrip]bool{}, map[*driver.Frame]bool{}
	for _, s := range transcript.EstablishedSessions(t, w) {
		for _, u := range subscriptionsIn(s).List {
			streams[u.Request.RoundTrip] = u.Request.RoundTrip != nil
		}
		for _, r := range transcript.SessionProgress(t, s) {
			others[r.Frame] = r.RoundTrip != nil && r.ForRequest != nil && r.ForRequest.Request.RoundTrip != r.RoundTrip
		}
	}
	return streams, others
}

// progressOfSubscriptions returns the progress notifications that name a subscription, and no other request.
func progressOfSubscriptions(t *check.T, w check.Wire) map[*driver.Frame]bool {
	all := map[*driver.Frame]bool{}
	for _, s := range transcript.EstablishedSessions(t, w) {
		for _, r := range transcript.SessionProgress(t, s) {
			all[r.Frame] = r.OnSubscriptionStream && r.ForRequest == nil
		}
	}
	return all
}

// cancelledSubscriptions returns the subscriptions that would have received a later notification of another
// subscription, if they had not been cancelled.
func cancelledSubscriptions(t *check.T, w check.Wire) (all []*subscription) {
	for _, s := range untruncatedSessions(t, w) {
		list := subscriptionsIn(s).List
		for _, u := range list {
			if slices.ContainsFunc(list, func(other *subscription) bool {
				return other != u && slices.ContainsFunc(other.ChangeNotifications(),
					func(m indexedFrame) bool { return u.IsAfterCancel(m) && filterMatches(u.acknowledged, m) })
			}) {
				all = append(all, u)
			}
		}
	}
	return all
}
