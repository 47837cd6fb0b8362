package resources

import (
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

const updatedMethod = "notifications/resources/updated"

// updateChecks are the checks of notifications of changes.
var updateChecks = check.Suite{
	"resources/updated-schema": check.WatchWithSetup(toolcall.CallTools, func(t *check.T, w check.Wire) {
		t.Judge(updatesIn(t, w), func(t *check.T, m check.Message) {
			t.Expect(check.Member(m.JSON(), "params")).To(check.BeObject(), "params")
			t.Expect(check.Member(paramsOf(m.Frame), "uri")).To(check.BeString(), "params.uri")
		})
	}),

	"resources/updated-only-if-subscribed": check.WatchWithSetup(causeUpdates, func(t *check.T, w check.Wire) {
		t.Judge(updatesIn(t, w), func(t *check.T, m check.Message) {
			uri, isString := paramsOf(m.Frame)["uri"].(string)
			switch asked := slices.DeleteFunc(subscribedBefore(m), toolcall.IsUnlisted); {
			case !isString:
				t.Yield("it has no uri")
			case !declaresFeature(t, "subscribe"):
				t.Yield("no update is to be sent at all")
			case slices.ContainsFunc(asked, func(a string) bool { return strings.HasPrefix(uri, a) }):
			case len(asked) > 0:
				t.NoVerdict(check.Undecided, "%s may be a part of a resource that was subscribed to", uri)
			case !m.Session.HasBeginning():
				t.NoVerdict(check.Limit, "mcpcheck does not keep what was asked for at first: too much came since")
			default:
				t.Fail("updates of resources that were subscribed to", "one of %s", uri)
			}
		})
	}),

	"resources/updated-sent": check.Probe(func(t *check.T) {
		skipUnlessSubscribe(t)
		toolcall.SkipUnlessCanNotify(t)
		calls := toolcall.ValidCalls(t)
		touched := slices.DeleteFunc(slices.Clone(calls.SubscribedResources), func(x toolcall.SubscribedResource) bool {
			return !x.Changed && !x.Notified
		})
		if len(touched) == 0 {
			toolcall.SkipNotObserved(t, "call has changed a resource that was subscribed to", calls.Uncalled,
				toolcall.AnyTool)
		}
		check.Each(t, touched, toolcall.SubscribedResource.Subject, func(t *check.T, x toolcall.SubscribedResource) {
			if x.LimitErr != nil && !x.Notified {
				t.NoVerdict(check.Undecided, "%v", x.LimitErr)
			}
			if x.OtherUpdate != "" && !x.Notified {
				t.NoVerdict(check.Undecided, "an update of %s came, which may be a part of it", x.OtherUpdate)
			}
			t.Expect(x.Notified).To(check.BeTrue(updatedMethod, "none, although its contents have changed"))
		})
		lost := []*lostUpdate{callAfterUnsubscribe(t), updatesForTwoClients(t)}
		lost = slices.DeleteFunc(lost, func(l *lostUpdate) bool { return l == nil })
		if len(lost) > 0 {
			check.Each(t, lost, func(l *lostUpdate) check.Subject { return l.subject },
				func(t *check.T, l *lostUpdate) {
					t.Fail(updatedMethod+" for each client that has subscribed", "%s", l.description)
				})
		}
	}),

	"resources/list-changed-sent": check.Probe(func(t *check.T) { toolcall.ExpectListChangeNotified(t, "resources") }),
}

// updatesIn returns the notifications of updates in the run.
func updatesIn(t *check.T, w check.Wire) check.Messages {
	return w.Notifications().Negotiated(t.Revision).Filter("update of a resource", func(m check.Message) bool {
		return m.Method == updatedMethod
	})
}

func paramsOf(f *driver.Frame) check.M {
	params, _ := f.JSON()["params"].(check.M)
	return params
}

// grace is how long updates may come after a subscription was cancelled, since notifications may cross the request.
const grace = time.Second

// causeUpdates calls tools that update resources, for a client that has unsubscribed and for one that has never
// subscribed.
func causeUpdates(t *check.T) {
	callAfterUnsubscribe(t)
	updatesForTwoClients(t)
}

// callAfterUnsubscribe calls tools and, if that has changed resources that were subscribed to, calls some of the tools
// again after their subscriptions were taken back. It returns an update that the client has lost because it has
// unsubscribed from another resource.
func callAfterUnsubscribe(t *check.T) *lostUpdate {
	toolcall.CallTools(t)
	if t.IsModern() || t.IsQuick() || check.SavesRequests(t) || len(t.Server.Tools) == 0 {
		return nil
	}
	calls := toolcall.ValidCalls(t)
	return check.Step(t, "calls after unsubscribe", func(t *check.T) *lostUpdate {
		s, uris, isExclusive := subscribeAgain(t, calls)
		if len(uris) == 0 {
			return nil
		}
		lost := unsubscribeFromOthers(s, uris, updatingCalls(calls, uris[0]))
		for _, x := range calls.SubscribedResources { // an update of one may be about a part of another one
			if !slices.Contains(uris[1:], x.URI) {
				s.Call(unsubscribeMethod, check.M{"uri": x.URI})
			}
		}
		for _, uri := range toolcall.UnlistedURIs(t, s) { // nothing is a part of these
			s.Call(subscribeMethod, check.M{"uri": uri})
		}
		s.Sleep(grace + grace/10)
		const most = 8
		called := 0
		for _, c := range slices.Concat(calls.ForOtherChanges, calls.List) {
			if c.IsDirectSuccess() && c.Duration < grace/2 && !report.IsReadOnly(c.Tool.Value) && called < most {
				s.Call("tools/call", check.M{"name": c.Tool.Name, "arguments": c.Arguments})
				called++
			}
		}
		check.ObserveLate(t, time.Now()) // what has changed of its own accord is announced until then
		if isExclusive {
			check.KeepIdle(t, s)
		}
		return lost
	})
}

// subscribeAgain subscribes to the resources that calls have updated, and to another one if that is one only, and
// returns their URIs. Where calls have updated several, and over HTTP, where a session takes no process, it does so
// in an exclusive session, in which no other check subscribes or unsubscribes.
func subscribeAgain(t *check.T, calls toolcall.ToolCalls) (s *driver.Session, uris []string, isExclusive bool) {
	var updated, others []string
	for _, x := range calls.SubscribedResources {
		switch {
		case !x.Notified:
			others = append(others, x.URI)
		case !slices.Contains(updated, x.URI):
			updated = append(updated, x.URI)
		}
	}
	isSingle := len(updated) == 1
	if isSingle && len(others) > 0 {
		updated = append(updated, others[0])
	}
	switch {
	case len(updated) == 0:
		return nil, nil, false
	case len(updated) == 1, isSingle && t.Server.Transport == "stdio":
		s = t.Session()
	default:
		if s, isExclusive = t.Session(check.Exclusive), true; t.Server.Transport == "http" {
			roundtrip.ListeningResponse(t, s) // updates come on this stream
		}
	}
	return s, slices.DeleteFunc(updated, func(uri string) bool {
		if s.Call(subscribeMethod, check.M{"uri": uri}).Result() == nil {
			return true
		}
		s.Call(subscribeMethod, check.M{"uri": uri}) // one cancellation ends what was asked for twice, or refused then
		return false
	}), isExclusive
}

// unsubscribeFromOthers unsubscribes from all resources but the first, the last of them at first, and returns the
// update of the first one that no longer comes: one of these calls has brought it before, and does so once the client
// has subscribed again, each time twice, since some servers leave out updates that follow soon.
func unsubscribeFromOthers(s *driver.Session, uris []string, calls []toolcall.ToolCall) *lostUpdate {
	uri := uris[0]
	if len(uris) == 1 {
		return nil
	}
	i := slices.IndexFunc(calls, func(c toolcall.ToolCall) bool { return isToldAfter(s, c, uri, timing.ShortWait) })
	isTold := func() bool { return isToldAfter(s, calls[i], uri, timing.ListChanged) }
	isTried := i >= 0 && isTold()
	var left driver.Reply
	for _, other := range slices.Backward(uris[1:]) {
		left = s.Call(unsubscribeMethod, check.M{"uri": other})
	}
	if !isTried || isTold() || s.Call(subscribeMethod, check.M{"uri": uri}).Result() == nil || !isTold() || !isTold() {
		return nil
	}
	return &lostUpdate{"none once the client had unsubscribed from another resource, until it subscribed again",
		check.Subject{Name: uri, Frames: []*driver.Frame{left.Request, left.Frame}}}
}

// subscribedBefore returns the resources that the session of a notification was subscribed to at its time. A cancelled
// subscription counts for another second, and one whose cancellation was not answered with a result for good.
func subscribedBefore(m check.Message) (uris []string) {
	taken := map[string]time.Duration{}
	for _, f := range m.Session.FramesSince(0) {
		if f == m.Frame || f.At > m.At {
			break
		}
		if f.Side != driver.FromClient {
			continue
		}
		switch uri, _ := paramsOf(f)["uri"].(string); f.Method {
		case subscribeMethod:
			uris = append(uris, uri)
			delete(taken, uri)
		case unsubscribeMethod:
			if m.Session.AwaitFor(driver.Pending{ID: f.ID}, 0).Result() != nil {
				taken[uri] = f.At
			}
		}
	}
	return slices.DeleteFunc(uris, func(uri string) bool { at, is := taken[uri]; return is && m.At-at > grace })
}
