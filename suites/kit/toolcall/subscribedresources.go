package toolcall

import (
	"bytes"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/text"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// SubscribableResources are the first listed resources, to which mcpcheck subscribes: many, since some servers keep the
// first few subscriptions only, and few of a slow server, since each is read before and after calls.
func SubscribableResources(t *check.T) []check.M {
	const few, most = 3, 12
	count := most
	if t.Server.IsSlow() {
		count = few
	}
	return t.Server.Resources[:min(count, len(t.Server.Resources))]
}

// SubscribedResource is a resource with a subscription during the calls of tools.
type SubscribedResource struct {
	URI string
	// Changed reports whether its contents changed.
	Changed bool
	// Notified reports whether the server sent a notification of that.
	Notified bool
	// LimitErr is why a notification may have come but was not kept; nil when everything was kept.
	LimitErr *driver.LimitError
	// OtherUpdate is the URI of another update that came meanwhile, which may be that of a part; empty if there was
	// none.
	OtherUpdate string

	before driver.Reply
	after  driver.Reply
}

// Subject shows the contents before and after.
func (x SubscribedResource) Subject() check.Subject {
	return check.Subject{Name: x.URI, Frames: []*driver.Frame{x.before.Frame, x.after.Frame}}
}

// subscribeResources subscribes to the first listed resources if the server declares that. In modern revisions the
// subscriptions of the session include them.
func subscribeResources(t *check.T, s *driver.Session) (watched []SubscribedResource) {
	capability, _ := s.Capabilities["resources"].(check.M)
	if capability["subscribe"] != true || !t.Server.CanNotify() || check.KnownUnanswered(t, "resources/read") != nil {
		return nil
	}
	for _, resource := range SubscribableResources(t) {
		uri, isString := resource["uri"].(string)
		switch {
		case !isString:
		case t.IsModern() && !isSubscribedToResource(s, uri):
		case !t.IsModern() && s.Call("resources/subscribe", check.M{"uri": uri}).Result() == nil:
		default:
			watched = append(watched,
				SubscribedResource{URI: uri, before: s.Call("resources/read", check.M{"uri": uri})})
		}
	}
	return watched
}

// observe returns the resource with what happened to it since the mark. One that differs each time it is read does not
// count as changed.
func (x SubscribedResource) observe(s *driver.Session, mark int) SubscribedResource {
	says := func(f *driver.Frame) bool { return f.Side == driver.FromServer && x.isUpdate(f) }
	if x.Notified = slices.ContainsFunc(s.ReceivedSince(mark), says); x.Notified || contentsOf(x.before) == nil {
		return x
	}
	read := func() driver.Reply { return s.Call("resources/read", check.M{"uri": x.URI}) }
	x.after = read()
	is := contentsOf(x.after)
	x.Changed = is != nil && !bytes.Equal(is, contentsOf(x.before)) && bytes.Equal(is, contentsOf(read()))
	if x.Changed {
		_, err := s.Wait(mark, timing.ListChanged, says)
		x.Notified, x.LimitErr = err == nil, s.UnsolicitedLimitErr(mark)
	}
	for _, f := range s.ReceivedSince(mark) {
		if uri := updatedURI(f); f.Side == driver.FromServer && uri != "" {
			x.OtherUpdate = uri
		}
	}
	return x
}

// isUpdate reports whether a frame is a notification that the resource or a part of it was updated, as far as its URI
// tells.
func (x SubscribedResource) isUpdate(f *driver.Frame) bool {
	uri := updatedURI(f)
	return uri != "" && strings.HasPrefix(uri, x.URI)
}

// updatedURI is the URI in a notification of an update; empty for other messages.
func updatedURI(f *driver.Frame) string {
	if f.Method != "notifications/resources/updated" {
		return ""
	}
	params, _ := f.JSON()["params"].(check.M)
	uri, _ := params["uri"].(string)
	return uri
}

// contentsOf is the JSON of the contents that were read; nil when there are none.
func contentsOf(r driver.Reply) []byte {
	if contents, isList := r.Result()["contents"].([]any); isList {
		return text.CompactJSON(contents)
	}
	return nil
}
