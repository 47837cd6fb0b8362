package resources

import (
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

const updated = "notifications/resources/updated"

// updates are the checks of what a server says of changes.
var updates = Suite{
	"resources/updated-schema": WatchAfter(kit.CallTools, func(t *T, w Wire) {
		t.Judge(updatesIn(t, w), func(t *T, m Message) {
			t.Expect(Member(m.JSON(), "params")).To(BeObject(), "params")
			t.Expect(Member(paramsOf(m.Frame), "uri")).To(BeString(), "params.uri")
		})
	}),

	"resources/updated-only-if-subscribed": WatchAfter(kit.CallTools, func(t *T, w Wire) {
		t.Judge(updatesIn(t, w), func(t *T, m Message) {
			uri, isString := paramsOf(m.Frame)["uri"].(string)
			switch asked := askedBefore(m); {
			case !isString:
				t.Yield("it has no uri")
			case !declares(t, "subscribe"):
				t.Yield("no update is to be sent at all")
			case slices.ContainsFunc(asked, func(a string) bool { return strings.HasPrefix(uri, a) }):
			case len(asked) > 0 && !isListed(t, uri):
				t.Inconclusive("%s may be a part of a resource that was subscribed to", uri)
			case !m.Session.Whole():
				t.Because(Limit).Inconclusive("mcpcheck does not keep what was asked for at first: too much came since")
			default:
				t.Fail("updates of resources that were subscribed to", "one of %s", uri)
			}
		})
	}),

	"resources/updated-sent": Probe(func(t *T) {
		wantSubscribe(t)
		kit.WantAnnouncer(t)
		calls := kit.ValidCalls(t)
		touched := slices.DeleteFunc(slices.Clone(calls.Watched), func(x kit.Watched) bool {
			return !x.Changed && !x.Updated
		})
		if len(touched) == 0 {
			kit.NothingSeen(t, "call has changed a resource that was subscribed to", calls.Uncalled, kit.AnyTool)
		}
		Each(t, touched, kit.Watched.Subject, func(t *T, x kit.Watched) {
			if x.Unheard != nil && !x.Updated {
				t.Inconclusive("%v", x.Unheard)
			}
			t.Expect(x.Updated).To(Hold(updated, "none, although its contents have changed"))
		})
	}),

	"resources/list-changed-sent": Probe(func(t *T) { kit.ExpectAnnounced(t, "resources") }),
}

// updatesIn are the updates of the run.
func updatesIn(t *T, w Wire) Messages {
	return w.Notifications().Established(t.Revision).Filter("update of a resource", func(m Message) bool {
		return m.Method == updated
	})
}

func paramsOf(f *driver.Frame) M {
	params, _ := f.JSON()["params"].(M)
	return params
}

func isListed(t *T, uri string) bool {
	return slices.ContainsFunc(t.Server.Resources, func(resource M) bool { return resource["uri"] == uri })
}

// askedBefore are the resources that were subscribed to in the session of an update when it came. One that was taken
// back counts for a moment more, in which updates may have been on their way.
func askedBefore(m Message) (uris []string) {
	const moment = time.Second
	taken := map[string]time.Duration{}
	for _, f := range m.Session.Record(0) {
		if f == m.Frame || f.At > m.At {
			break
		}
		if f.Side != driver.FromClient {
			continue
		}
		switch uri, _ := paramsOf(f)["uri"].(string); f.Method {
		case subscribe:
			uris = append(uris, uri)
			delete(taken, uri)
		case unsubscribe:
			taken[uri] = f.At
		}
	}
	return slices.DeleteFunc(uris, func(uri string) bool {
		at, is := taken[uri]
		return is && m.At-at > moment
	})
}
