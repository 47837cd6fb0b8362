package resources

import (
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/report"
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
			switch asked := subscribedBefore(m); {
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
		if lost := updatesForTwoClients(t); lost != nil {
			check.Each(t, []*lostUpdate{lost}, func(l *lostUpdate) check.Subject { return l.subject },
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
// again after their subscriptions were taken back.
func callAfterUnsubscribe(t *check.T) {
	toolcall.CallTools(t)
	if t.IsModern() || t.IsQuick() || check.SavesRequests(t) || len(t.Server.Tools) == 0 {
		return
	}
	calls := toolcall.ValidCalls(t)
	check.Step(t, "calls after unsubscribe", func(t *check.T) (called int) {
		s := t.Session()
		for _, x := range calls.SubscribedResources { // an update of one may be about a part of another one
			params := check.M{"uri": x.URI}
			if x.Notified && s.Call(subscribeMethod, params).Result() != nil {
				called++
			}
			s.Call(unsubscribeMethod, params)
		}
		if called == 0 {
			return 0
		}
		s.Sleep(grace + grace/10)
		const most = 5
		for _, c := range calls.List {
			if c.IsDirectSuccess() && c.Duration < grace/2 && !report.IsReadOnly(c.Tool.Value) && called < most {
				s.Call("tools/call", check.M{"name": c.Tool.Name, "arguments": c.Arguments})
				called++
			}
		}
		return called
	})
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
