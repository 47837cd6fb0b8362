package toolcall

import (
	"bytes"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// MaxSubscribedResources is how many resources are subscribed to.
const MaxSubscribedResources = 3

// Watched is a resource whose updates were asked for before tools were called, and what came of that.
type SubscribedResource struct {
	URI      string
	Changed  bool               // its contents are others than before
	Notified bool               // the server has said so
	LimitErr *driver.LimitError // why that may have come and was not kept; nil: it was not

	before driver.Reply
	after  driver.Reply
}

// Subject names the resource, and shows it before and after.
func (x SubscribedResource) Subject() check.Subject {
	return check.Subject{Name: x.URI, Frames: []*driver.Frame{x.before.Frame, x.after.Frame}}
}

// watch asks for the updates of the first resources that are listed, as far as the server declares that it sends them.
// Without a handshake that is what the subscriptions of the session are for.
func subscribeResources(t *check.T, s *driver.Session) (watched []SubscribedResource) {
	capability, _ := s.Capabilities["resources"].(check.M)
	if capability["subscribe"] != true || !t.Server.CanNotify() || check.KnownUnanswered(t, "resources/read") != nil {
		return nil
	}
	for _, resource := range t.Server.Resources[:min(len(t.Server.Resources), MaxSubscribedResources)] {
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

// isSubscribedToResource reports whether a subscription of the session is open that is for updates of a resource.
func isSubscribedToResource(s *driver.Session, uri string) bool {
	return slices.ContainsFunc(transcript.SessionSubscriptions(s).List, func(u *transcript.Subscription) bool {
		uris, _ := u.AcknowledgedFilter()["resourceSubscriptions"].([]any)
		return slices.Contains(uris, any(uri)) && u.EndMessage() == nil && u.CancelIndex == 0
	})
}

// observe is the resource with what became of it since the mark. One that is another each time it is read has not
// changed.
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
		_, err := s.Wait(mark, ListChangedTimeout, says)
		x.Notified, x.LimitErr = err == nil, s.UnsolicitedLimitErr(mark)
	}
	return x
}

// isUpdate reports whether a message says that the resource, or a part of it, has changed.
func (x SubscribedResource) isUpdate(f *driver.Frame) bool {
	if f.Method != "notifications/resources/updated" {
		return false
	}
	params, _ := f.JSON()["params"].(check.M)
	uri, _ := params["uri"].(string)
	return strings.HasPrefix(uri, x.URI)
}

// contentsOf are what was read, as it was written; nil when nothing was.
func contentsOf(r driver.Reply) []byte {
	if contents, isList := r.Result()["contents"].([]any); isList {
		return text.CompactJSON(contents)
	}
	return nil
}
