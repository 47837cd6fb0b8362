package toolcall

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
)

// OpenSubscription requests a subscription, and waits until it is acknowledged or refused. Over stdio any
// acknowledgment may be its own.
func OpenSubscription(s *driver.Session, id any, params check.M) driver.Pending {
	mark := s.Mark()
	p := s.OpenStreamWithID(id, transcript.ListenMethod, params)
	s.Wait(mark, s.ReplyTimeout(), func(f *driver.Frame) bool {
		if f.RoundTrip != nil && !driver.SameID(f.RoundTrip.RequestID(), p.ID) {
			return false
		}
		return f.RoundTrip != nil && f.Side == driver.StatusOnly ||
			f.Side == driver.FromServer && slices.ContainsFunc(f.Messages(), func(m *driver.Frame) bool {
				return m.Method == transcript.AcknowledgedMethod || m.IsResponse() && driver.SameID(m.RequestID(), p.ID)
			})
	})
	return p
}

// UnlistedURI is the URI of a resource that no server has, of whose updates a subscription asks to be told. Nothing is
// a part of it, so that no update is for that subscription.
const UnlistedURI = "test://mcpcheck/watched-resource"

// unlistedName is the last part of the URIs of UnlistedURIs that differ from listed ones only in that: a number, since
// servers may compare what comes before one.
const unlistedName = "/8376290514"

// UnlistedURIs are UnlistedURI and, for a few listed resources, URIs next to theirs that the server does not know.
func UnlistedURIs(t *check.T, s *driver.Session) []any {
	const few = 3
	uris := []any{UnlistedURI}
	for _, resource := range SubscribableResources(t) {
		listed, _ := resource["uri"].(string)
		i := strings.LastIndex(listed, "/")
		if i < 0 || len(uris) > few || slices.Contains(uris, any(listed[:i]+unlistedName)) ||
			check.KnownUnanswered(t, "resources/read") != nil {
			continue
		}
		uri := listed[:i] + unlistedName
		if IsNotFound(s.Call("resources/read", check.M{"uri": uri})) {
			uris = append(uris, uri)
		}
	}
	return uris
}

// IsUnlisted reports whether a URI is one of UnlistedURIs.
func IsUnlisted(uri string) bool { return uri == UnlistedURI || strings.HasSuffix(uri, unlistedName) }

// openExtraSubscriptions opens subscriptions next to the one that the session has, so that watches see what each
// receives: over stdio one for everything that is cancelled at once, and one for updates; one for changes of tools,
// and for updates of a resource that does not exist, which a server may refuse; one for nothing; for changes of tools
// and no resources, one with an empty list and, over stdio, one without; and one for everything but changes of tools,
// with members in _meta that only other requests use. The last is for something, since a server may serve the latest
// only, and for the same updates as the first, which a server may then no longer serve.
func openExtraSubscriptions(t *check.T, s *driver.Session) {
	resources, _ := t.Server.Capabilities["resources"].(check.M)
	updates := resources["subscribe"] == true
	isListen := func(f *driver.Frame) bool { return f.Method == transcript.ListenMethod }
	if !t.IsModern() || !slices.ContainsFunc(s.FramesSince(0), isListen) && !updates {
		return
	}
	id := func(name string) string { return fmt.Sprintf("mcpcheck-%s-%d", name, s.Number()) }
	if t.Server.Transport == "stdio" {
		p := OpenSubscription(s, id("taken-back"), check.M{"notifications": FullFilter(t)})
		s.Cancel(p, "mcpcheck has heard enough")
		s.Barrier(s.Mark())
		if uris := FullFilter(t)["resourceSubscriptions"]; updates && uris != nil {
			OpenSubscription(s, id("updates"), check.M{"notifications": check.M{"resourceSubscriptions": uris}})
		}
	}
	tools := check.M{"toolsListChanged": true, "promptsListChanged": false, "resourcesListChanged": false}
	watching := maps.Clone(tools)
	watching["resourceSubscriptions"] = UnlistedURIs(t, s)
	if !updates || s.AwaitFor(OpenSubscription(s, id("tools"), check.M{"notifications": watching}), 0).Error() != nil {
		name := map[bool]string{true: "tools-only", false: "tools"}[updates]
		OpenSubscription(s, id(name), check.M{"notifications": tools})
	}
	OpenSubscription(s, id("nothing"), check.M{"notifications": check.M{}})
	if updates { // as the one for nothing, which servers may end at once
		lists := check.M{"toolsListChanged": true, "resourceSubscriptions": []any{}}
		OpenSubscription(s, id("no-resources"), check.M{"notifications": lists})
	}
	if updates && t.Server.Transport == "stdio" { // over HTTP each takes a connection
		OpenSubscription(s, id("lists"), check.M{"notifications": check.M{"toolsListChanged": true}})
	}
	meta := check.M{driver.MetaLogLevel: "debug", "progressToken": SubscriptionProgressToken}
	others := FullFilter(t)
	others["toolsListChanged"] = false
	all := maps.Clone(others)
	if uris := urisOf(SubscribableResources(t)); len(uris) > 0 {
		all["resourceSubscriptions"] = uris
	}
	p := OpenSubscription(s, id("others"), check.M{"notifications": all, "_meta": meta})
	if s.AwaitFor(p, 0).Error() != nil { // it may be too many resources
		OpenSubscription(s, id("fewer-others"), check.M{"notifications": others, "_meta": meta})
	}
}

// isSubscribedToList reports whether an open subscription of a session is for changes of a list.
func isSubscribedToList(s *driver.Session, family string) bool {
	return slices.ContainsFunc(transcript.OpenFilters(s),
		func(filter check.M) bool { return filter[family+"ListChanged"] == true })
}

// isSubscribedToResource reports whether an open subscription of a session is for updates of a resource.
func isSubscribedToResource(s *driver.Session, uri string) bool {
	return slices.ContainsFunc(transcript.OpenFilters(s), func(filter check.M) bool {
		uris, _ := filter["resourceSubscriptions"].([]any)
		return slices.Contains(uris, any(uri))
	})
}

// SubscriptionProgressToken is the progress token in requests for subscriptions, for which no progress may come.
const SubscriptionProgressToken = "mcpcheck-subscription"

// FullFilter is the filter for every notification of the server; of resources, it names the first ones that discovery
// lists.
func FullFilter(t *check.T) check.M {
	const most = 50
	all := check.M{"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true}
	if uris := urisOf(t.Server.Resources[:min(most, len(t.Server.Resources))]); len(uris) > 0 {
		all["resourceSubscriptions"] = uris
	}
	return all
}

func urisOf(resources []check.M) (uris []any) {
	for _, resource := range resources {
		uris = append(uris, resource["uri"])
	}
	return uris
}
