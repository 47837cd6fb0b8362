package transcript

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/text"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// ListenMethod is the method of the request that opens a subscription.
const ListenMethod = "subscriptions/listen"

// AcknowledgedMethod is the method of the notification that a subscription begins with.
const AcknowledgedMethod = "notifications/subscriptions/acknowledged"

// FilterMemberOf is the member of a subscription's filter that asks for a notification, by the method of that.
var FilterMemberOf = map[string]string{
	"notifications/tools/list_changed":     "toolsListChanged",
	"notifications/prompts/list_changed":   "promptsListChanged",
	"notifications/resources/list_changed": "resourcesListChanged",
	"notifications/resources/updated":      "resourceSubscriptions",
}

// Subscription is a request for notifications with what the server sent for it: over HTTP everything on its stream,
// over stdio the messages that name it.
type Subscription struct {
	Session *driver.Session
	Request *driver.Frame
	// Filter is the requested filter.
	Filter check.M
	// OpenOthers is how many subscriptions of the session were open when this one was requested.
	OpenOthers int
	// ClosingOthers is how many others had ended so recently that the server may not have noticed yet.
	ClosingOthers int
	// StreamEnded reports whether over HTTP the stream had ended when it was last read.
	StreamEnded bool

	subscriptionMessages

	pending driver.Pending
	// mark is the position of the request in the session.
	mark int
	// requestsWhileOpen are the positions of requests that were sent while the subscription was open, by id.
	requestsWhileOpen map[string]int
	// answeredRequests are those of them that were answered before the subscription ended.
	answeredRequests []answeredRequest
	// CancelIndex is the position where the client cancelled the subscription over stdio; 0 when it did not.
	CancelIndex int
	// cancelledAt is when the client cancelled the subscription.
	cancelledAt time.Duration
	// barriers are the ids of the requests that were sent after the cancellation.
	barriers map[string]bool
	// barrierIndex is the position where the first of the barriers was answered; 0 when none was.
	barrierIndex int
}

// answeredRequest holds the positions of a request and its response in the session, and the time of the response.
type answeredRequest struct {
	requestIndex, responseIndex int
	at                          time.Duration
}

// IndexedFrame is a message with its position in the session.
type IndexedFrame struct {
	*driver.Frame
	index int
}

// subscriptionMessages are the messages of a subscription. The important ones are noted as they come, since a server
// may send too many notifications to search all of them for each.
type subscriptionMessages struct {
	// Messages are the messages or, of an HTTP response without one, its status.
	Messages []IndexedFrame

	ack, reply, end *IndexedFrame
	acknowledged    check.M
}

// add notes a message.
func (h *subscriptionMessages) add(m IndexedFrame) {
	h.Messages = append(h.Messages, m)
	switch {
	case m.Method == AcknowledgedMethod && h.ack == nil:
		params, _ := m.JSON()["params"].(check.M)
		h.acknowledged, _ = params["notifications"].(check.M)
		h.ack = &m
	case m.isFinal() && h.reply == nil:
		h.reply = &m
	}
	if h.end == nil && (m.isFinal() || m.Method == "notifications/cancelled") {
		h.end = &m
	}
}

// SubscriptionRequest is a subscription to request, with its id.
type SubscriptionRequest struct {
	ID     any
	Params check.M
}

// Subscribe requests a subscription with this id and waits until it is acknowledged or refused. It ends the check when
// the server sends more than mcpcheck keeps.
func Subscribe(t *check.T, s *driver.Session, id any, params check.M) *Subscription {
	return SubscribeAll(t, s, SubscriptionRequest{id, params})[0]
}

// SubscribeAll is Subscribe for several at a time over HTTP, where each has its own stream.
func SubscribeAll(t *check.T, s *driver.Session, wishes ...SubscriptionRequest) (all []*Subscription) {
	mark := s.Mark()
	var sent []driver.Pending
	for _, w := range wishes {
		sent = append(sent, s.OpenStreamWithID(w.ID, ListenMethod, w.Params))
	}
	for _, p := range sent {
		awaitAcknowledged(s, mark, p)
		came := readSubscriptions(s.FramesSince(0), s)
		u := came.findByID(p.ID)
		if limitErr := s.UnsolicitedLimitErr(mark); limitErr != nil && (u == nil || u.Ack() == nil) {
			t.NoVerdict(check.Limit, "%v", limitErr)
		}
		u.pending, u.mark = p, mark
		if errors.As(u.Reply().Err, new(*driver.TimeoutError)) {
			check.TryNoOp(t, s) // shows whether anything is answered any more
			u.requireNotLate(t)
		}
		all = append(all, u)
	}
	return all
}

// requireNotLate ends a check whose subscription is acknowledged within twice the timeout: the server is slow, but not
// wrong.
func (u *Subscription) requireNotLate(t *check.T) {
	if u.Refresh(); u.Ack() == nil {
		left := u.Request.SentAt() + 2*u.Session.ReplyTimeout() - u.Session.ShutdownAt()
		u.Session.Wait(u.mark, left, func(f *driver.Frame) bool {
			own := u.IsNamedIn(f)
			if f.RoundTrip != nil {
				own = f.RoundTrip == u.Request.RoundTrip
			}
			return own && f.Method == AcknowledgedMethod
		})
	} else if u.Ack().At <= u.Request.SentAt()+u.Session.ReplyTimeout() {
		return
	}
	if u.Refresh(); u.Ack() != nil {
		t.Retry(check.Silent, "the server acknowledged %s, but after the --timeout of %v",
			ListenMethod, u.Session.ReplyTimeout())
	}
}

// subscribe requests a subscription and waits as Subscribe does, but reads nothing.
func subscribe(s *driver.Session, id any, params check.M) driver.Pending {
	mark := s.Mark()
	p := s.OpenStreamWithID(id, ListenMethod, params)
	awaitAcknowledged(s, mark, p)
	return p
}

// awaitAcknowledged waits until a subscription is acknowledged or refused. Over stdio any acknowledgment may be its
// own.
func awaitAcknowledged(s *driver.Session, mark int, p driver.Pending) {
	s.Wait(mark, s.ReplyTimeout(), func(f *driver.Frame) bool {
		if f.RoundTrip != nil && !driver.SameID(f.RoundTrip.RequestID(), p.ID) {
			return false
		}
		return f.RoundTrip != nil && f.Side == driver.StatusOnly ||
			f.Side == driver.FromServer && slices.ContainsFunc(f.Messages(), func(m *driver.Frame) bool {
				return m.Method == AcknowledgedMethod || m.IsResponse() && driver.SameID(m.RequestID(), p.ID)
			})
	})
}

// Refresh reads the messages again, with those that have come since.
func (u *Subscription) Refresh() {
	u.StreamEnded = u.Request.RoundTrip != nil && u.Request.RoundTrip.Response().Ended
	all := readSubscriptions(u.Session.FramesSince(0), u.Session)
	if now := all.findByID(u.Request.ID); now != nil {
		u.subscriptionMessages = now.subscriptionMessages
	}
}

// Cancel cancels the subscription.
func (u *Subscription) Cancel() { u.Session.Cancel(u.pending, cancelReason) }

// cancelReason is the reason in cancellations of subscriptions.
const cancelReason = "mcpcheck has heard enough"

// Subscriptions are the subscriptions of a session, and the change notifications in it that belong to none.
type Subscriptions struct {
	List       []*Subscription
	Unassigned []IndexedFrame

	index int
}

// SessionSubscriptions are the subscriptions of a session up to the first invalid input.
func SessionSubscriptions(s *driver.Session) Subscriptions {
	frames := s.FramesSince(0)
	if i := slices.IndexFunc(frames, func(f *driver.Frame) bool { return f.AfterInvalidInput }); i >= 0 {
		frames = frames[:i]
	}
	return readSubscriptions(frames, s)
}

// readSubscriptions are the subscriptions in a part of a session.
func readSubscriptions(frames []*driver.Frame, s *driver.Session) (all Subscriptions) {
	for _, f := range frames {
		all.index++
		switch {
		case f.Manual || f.ForOtherSession:
		case f.Side == driver.FromClient:
			all.addSent(s, f)
		case f.Side == driver.StatusOnly:
			if u := all.findByStream(f); u != nil {
				u.add(IndexedFrame{f, all.index})
			}
		case f.Side == driver.FromServer:
			for _, m := range f.Messages() {
				all.addReceived(f, IndexedFrame{m, all.index})
			}
		}
	}
	return all
}

// addSent notes a frame of the client.
func (all *Subscriptions) addSent(s *driver.Session, f *driver.Frame) {
	if f.Method == "notifications/cancelled" {
		params, _ := f.JSON()["params"].(check.M)
		if u := all.findByID(text.CompactJSON(params["requestId"])); u != nil {
			u.CancelIndex, u.cancelledAt, u.barriers = all.index, f.At, map[string]bool{}
		}
	}
	if !f.IsRequest() {
		return
	}
	open, closing := 0, 0
	for _, u := range all.List {
		if u.isClosing(f) {
			closing++
		}
		switch {
		case u.CancelIndex > 0:
			u.barriers[driver.IDKey(f.ID)] = true
		case u.isOpen(f):
			open++
			u.requestsWhileOpen[driver.IDKey(f.ID)] = all.index
		}
	}
	if f.Method == ListenMethod {
		params, _ := f.JSON()["params"].(check.M)
		filter, _ := params["notifications"].(check.M)
		all.List = append(all.List, &Subscription{
			Session: s, Request: f, Filter: filter, OpenOthers: open, ClosingOthers: closing,
			requestsWhileOpen: map[string]int{},
		})
	}
}

// isOpen reports whether the subscription was acknowledged, and neither side had ended it when a frame was sent.
func (u *Subscription) isOpen(f *driver.Frame) bool {
	return u.Ack() != nil && u.EndMessage() == nil && u.CancelIndex == 0 && !u.isClosedAt(f)
}

// isClosing reports whether the subscription had ended so shortly before a frame was sent that the server may not know
// yet.
func (u *Subscription) isClosing(f *driver.Frame) bool {
	switch {
	case u.CancelIndex > 0:
		return f.At < u.cancelledAt+timing.ShortWait
	case u.isClosedAt(f):
		return f.At < u.Request.RoundTrip.Response().EndedAt+timing.ShortWait
	}
	return false
}

// isClosedAt reports whether over HTTP either side had ended the stream when a frame was sent.
func (u *Subscription) isClosedAt(f *driver.Frame) bool {
	if u.Request.RoundTrip == nil {
		return false
	}
	a := u.Request.RoundTrip.Response()
	return a.Ended && a.EndedAt <= f.At
}

// addReceived notes a message of the server, which came in the frame f.
func (all *Subscriptions) addReceived(f *driver.Frame, m IndexedFrame) {
	if m.IsResponse() {
		all.addResponse(f, m)
	}
	u := all.find(f, m.Frame)
	switch {
	case u != nil:
		u.add(m)
	case FilterMemberOf[m.Method] != "":
		all.Unassigned = append(all.Unassigned, m)
	}
}

// addResponse notes a response, which came in the frame f, for each subscription.
func (all *Subscriptions) addResponse(f *driver.Frame, m IndexedFrame) {
	id := driver.IDKey(m.RequestID())
	for _, u := range all.List {
		if u.barrierIndex == 0 && u.barriers[id] {
			u.barrierIndex = m.index
		}
		if place := u.requestsWhileOpen[id]; place > 0 && u.isOpen(f) {
			u.answeredRequests = append(u.answeredRequests, answeredRequest{place, m.index, f.At})
		}
	}
}

// find is the subscription that a message belongs to; nil when there is none. Over stdio an acknowledgment that names
// none belongs to the latest subscription if that has none.
func (all *Subscriptions) find(f, m *driver.Frame) *Subscription {
	if f.RoundTrip != nil {
		return all.findByStream(f)
	}
	params, _ := m.JSON()["params"].(check.M)
	switch {
	case m.IsResponse():
		return all.findByID(m.RequestID())
	case m.Method == "notifications/cancelled":
		return all.findByID(text.CompactJSON(params["requestId"]))
	}
	u := all.findByID(text.CompactJSON(SubscriptionIDOf(m)))
	if u == nil && m.Method == AcknowledgedMethod && len(all.List) > 0 {
		if last := all.List[len(all.List)-1]; last.Ack() == nil {
			return last
		}
	}
	return u
}

// findByStream is the subscription on whose stream a frame came.
func (all *Subscriptions) findByStream(f *driver.Frame) *Subscription {
	return all.findFunc(func(u *Subscription) bool { return u.Request.RoundTrip == f.RoundTrip })
}

// findByID is the subscription whose request has this id.
func (all *Subscriptions) findByID(id []byte) *Subscription {
	return all.findFunc(func(u *Subscription) bool { return driver.SameID(u.Request.ID, id) })
}

func (all *Subscriptions) findFunc(fits func(*Subscription) bool) *Subscription {
	if i := slices.IndexFunc(all.List, fits); i >= 0 {
		return all.List[i]
	}
	return nil
}

// SubscriptionIDOf is the subscription id in the _meta of a message.
func SubscriptionIDOf(m *driver.Frame) any {
	object, _ := m.JSON()["params"].(check.M)
	if m.IsResponse() {
		object, _ = m.JSON()["result"].(check.M)
	}
	return check.Member(protocol.MetaOf(object), driver.MetaSubscription)
}

// IsNamedIn reports whether a message names the subscription as its own.
func (u *Subscription) IsNamedIn(m *driver.Frame) bool {
	return driver.SameID(u.Request.ID, text.CompactJSON(SubscriptionIDOf(m)))
}

// Ack is the acknowledgment; nil when none came.
func (h *subscriptionMessages) Ack() *IndexedFrame { return h.ack }

// Frames are the request, the acknowledgment, and the message that ended the subscription.
func (u *Subscription) Frames() []*driver.Frame {
	frames := []*driver.Frame{u.Request}
	for _, m := range []*IndexedFrame{u.ack, u.end} {
		if m != nil {
			frames = append(frames, m.Frame)
		}
	}
	return frames
}

// AckLatency is how long the acknowledgment took; 0 when none came.
func (u *Subscription) AckLatency() time.Duration {
	ack := u.Ack()
	if ack == nil {
		return 0
	}
	return ack.At - u.Request.At
}

// AcknowledgedFilter is the filter in the acknowledgment; nil when there is none.
func (h *subscriptionMessages) AcknowledgedFilter() check.M { return h.acknowledged }

// EndMessage is the message by which the server ended the subscription: a response, an HTTP status in its place, or
// over stdio a cancellation; nil when there is none.
func (h *subscriptionMessages) EndMessage() *IndexedFrame { return h.end }

// isFinal reports whether the message is a response or an HTTP status in its place.
func (m IndexedFrame) isFinal() bool { return m.Side == driver.StatusOnly || m.IsResponse() }

// IsAnsweredByBody reports whether over HTTP the server answered with a result in the body instead of a stream.
func (u *Subscription) IsAnsweredByBody() bool {
	return u.Request.RoundTrip != nil && !u.Request.RoundTrip.Response().IsStream && u.Reply().Result() != nil
}

// Reply is the response; it is not answered when there is none.
func (u *Subscription) Reply() driver.Reply {
	r := driver.Reply{Method: ListenMethod, Request: u.Request}
	switch m := u.reply; {
	case m == nil:
		r.Err = &driver.TimeoutError{Method: ListenMethod, After: u.Session.ReplyTimeout()}
	case m.Side == driver.StatusOnly:
		r = driver.HTTPErrorReply(m.Frame)
	default:
		r.Frame = m.Frame
	}
	return r
}

// ChangeNotifications are the change notifications that came.
func (h *subscriptionMessages) ChangeNotifications() (changes []IndexedFrame) {
	for _, m := range h.Messages {
		if FilterMemberOf[m.Method] != "" {
			changes = append(changes, m)
		}
	}
	return changes
}

// MustReceive reports whether a notification that came to another subscription of the session had to come to this one
// as well. Both were open, and this one for so long that a later request was answered at least ShortWait afterwards,
// since a server may notify one subscription after the other. Over HTTP an earlier request was answered as well, since
// earlier notifications may still be on their way on another stream.
func (u *Subscription) MustReceive(m IndexedFrame, other *Subscription) bool {
	ack, end := u.Ack(), u.EndMessage()
	if ack == nil || m.index < ack.index || end != nil && end.index < m.index || !FilterMatches(u.Filter, m) ||
		!FilterMatches(u.AcknowledgedFilter(), m) || other.CancelIndex > 0 && other.CancelIndex < m.index {
		return false
	}
	isKnown := func(r answeredRequest) bool { return r.responseIndex < m.index }
	return (u.Request.RoundTrip == nil || slices.ContainsFunc(u.answeredRequests, isKnown)) &&
		slices.ContainsFunc(u.answeredRequests,
			func(r answeredRequest) bool { return r.requestIndex > m.index && r.at >= m.At+timing.ShortWait })
}

// WouldHaveReceived reports whether a notification matches the subscription, but came after the server knew of its
// cancellation.
func (u *Subscription) WouldHaveReceived(m IndexedFrame) bool {
	return u.barrierIndex > 0 && m.index > u.barrierIndex && FilterMatches(u.AcknowledgedFilter(), m)
}

// IsAfterCancel reports whether the server sent a message after it knew that the subscription was cancelled.
func (u *Subscription) IsAfterCancel(m IndexedFrame) bool {
	return u.barrierIndex > 0 && m.index > u.barrierIndex
}

// FilterMatches reports whether a filter asks for a notification. A resource may be updated by way of one below it.
func FilterMatches(filter check.M, m IndexedFrame) bool {
	switch wanted := filter[FilterMemberOf[m.Method]].(type) {
	case bool:
		return wanted
	case []any:
		params, _ := m.JSON()["params"].(check.M)
		uri, _ := params["uri"].(string)
		return slices.ContainsFunc(wanted, func(v any) bool {
			subscribed, _ := v.(string)
			return strings.HasPrefix(uri, subscribed)
		})
	}
	return false
}

// Subject shows the request and the first messages that came.
func (u *Subscription) Subject() check.Subject {
	const most = 2
	frames := []*driver.Frame{u.Request}
	for _, m := range u.Messages[:min(most, len(u.Messages))] {
		frames = append(frames, m.Frame)
	}
	return check.Subject{Name: string(text.CompactJSON(u.Filter)), Frames: frames}
}

// UntruncatedSessions are the sessions of the run whose notifications were all kept. It ends a check when some were not
// and no session is left.
func UntruncatedSessions(t *check.T, w check.Wire) (sessions []*driver.Session) {
	var limitErr *driver.LimitError
	for _, s := range EstablishedSessions(t, w) {
		if err := s.UnsolicitedLimitErr(0); err != nil {
			limitErr = err
		} else {
			sessions = append(sessions, s)
		}
	}
	if sessions == nil && limitErr != nil {
		t.NoVerdict(check.Limit, "%v", limitErr)
	}
	return sessions
}

// UnlistedURI is the URI of a resource that no server has, of whose updates a subscription asks to be told. Nothing is
// a part of it, so that no update is for that subscription.
const UnlistedURI = "test://mcpcheck/watched-resource"

// OpenExtraSubscriptions opens subscriptions next to the one that the session has, so that watches see what each
// receives: one for changes of tools, and for updates of a resource that does not exist, which a server may refuse; one
// for everything else, with members in _meta that only other requests use; and over stdio one for everything that is
// cancelled at once.
func OpenExtraSubscriptions(t *check.T, s *driver.Session) {
	resources, _ := t.Server.Capabilities["resources"].(check.M)
	updates := resources["subscribe"] == true
	if !t.IsModern() || len(SessionSubscriptions(s).List) == 0 && !updates {
		return
	}
	id := func(name string) string { return fmt.Sprintf("mcpcheck-%s-%d", name, s.Number()) }
	if t.Server.Transport == "stdio" {
		s.Cancel(subscribe(s, id("taken-back"), check.M{"notifications": FullFilter(t)}), cancelReason)
		s.Barrier(s.Mark())
	}
	tools := check.M{"toolsListChanged": true}
	watching := check.M{"toolsListChanged": true, "resourceSubscriptions": []any{UnlistedURI}}
	if !updates || s.AwaitFor(subscribe(s, id("tools"), check.M{"notifications": watching}), 0).Error() != nil {
		name := map[bool]string{true: "tools-only", false: "tools"}[updates]
		subscribe(s, id(name), check.M{"notifications": tools})
	}
	subscribe(s, id("others"), check.M{
		"notifications": filterWithout(FullFilter(t), "toolsListChanged"),
		"_meta":         check.M{driver.MetaLogLevel: "debug", "progressToken": SubscriptionProgressToken},
	})
}

// WatchesUnlisted reports whether the subscription asks for updates of UnlistedURI.
func (u *Subscription) WatchesUnlisted() bool {
	uris, _ := u.Filter["resourceSubscriptions"].([]any)
	return slices.Contains(uris, any(UnlistedURI))
}

// IsSubscribedToList reports whether an open subscription of a session is for changes of a list. The member is that of
// the filter, such as "toolsListChanged".
func IsSubscribedToList(s *driver.Session, member string) bool {
	return slices.ContainsFunc(SessionSubscriptions(s).List, func(u *Subscription) bool {
		ended := u.Request.RoundTrip != nil && u.Request.RoundTrip.Response().Ended
		return u.AcknowledgedFilter()[member] == true && u.EndMessage() == nil && u.CancelIndex == 0 && !ended
	})
}

// SubscriptionProgressToken is the progress token in requests for subscriptions, for which no progress may come.
const SubscriptionProgressToken = "mcpcheck-subscription"

// FullFilter is the filter for every notification of the server; of resources, it names the first ones that discovery
// lists.
func FullFilter(t *check.T) check.M {
	const most = 3
	all := check.M{"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true}
	var uris []any
	for _, resource := range t.Server.Resources[:min(most, len(t.Server.Resources))] {
		uris = append(uris, resource["uri"])
	}
	if len(uris) > 0 {
		all["resourceSubscriptions"] = uris
	}
	return all
}

// filterWithout is a copy of a filter in which a member is false.
func filterWithout(filter check.M, member string) check.M {
	filter = maps.Clone(filter)
	filter[member] = false
	return filter
}
