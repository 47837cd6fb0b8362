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
)

// ListenMethod is the method of the request for a subscription.
const ListenMethod = "subscriptions/listen"

// AcknowledgedMethod is the method of the notification that a subscription begins with.
const AcknowledgedMethod = "notifications/subscriptions/acknowledged"

// FilterMemberOf are the methods of the notifications that a subscription may bring, and the members of its filter that
// ask for them.
var FilterMemberOf = map[string]string{
	"notifications/tools/list_changed":     "toolsListChanged",
	"notifications/prompts/list_changed":   "promptsListChanged",
	"notifications/resources/list_changed": "resourcesListChanged",
	"notifications/resources/updated":      "resourceSubscriptions",
}

// Subscription is a request of a session for announcements, and what came of it: over HTTP all that is on its stream,
// over stdio what says that it belongs to it.
type Subscription struct {
	Session       *driver.Session
	Request       *driver.Frame
	Filter        check.M // what is asked for
	OpenOthers    int     // how many subscriptions of the session were open when it was asked for
	ClosingOthers int     // how many others had ended so shortly before that the server may not have let them go yet
	StreamEnded   bool    // over HTTP: its stream had ended when it was last read

	subscriptionMessages

	pending           driver.Pending
	mark              int               // where it was asked for
	requestsWhileOpen map[string]int    // ids of the requests that were sent while it was open, with their places
	answeredRequests  []answeredRequest // those of them that were answered before it was over
	CancelIndex       int               // the place where the client took it back over stdio; 0: it did not
	cancelledAt       time.Duration     // when it did
	barriers          map[string]bool   // ids of the requests that were sent after that
	barrierIndex      int               // the place where the first of them was answered; 0: none was
}

// answeredRequest is a request and its answer, as places in what was said in the session, and when the answer came.
type answeredRequest struct {
	requestIndex, responseIndex int
	at                          time.Duration
}

// Heard is a message that came, and its place in what was said in the session.
type IndexedFrame struct {
	*driver.Frame
	index int
}

// subscriptionMessages is what a subscription has brought. Servers may announce more than anybody could look through
// for each message.
type subscriptionMessages struct {
	Messages []IndexedFrame // messages or, of an HTTP answer without one, its status

	ack, reply, end *IndexedFrame
	acknowledged    check.M
}

// hear notes a message.
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

// SubscriptionRequest is a subscription to ask for.
type SubscriptionRequest struct {
	ID     any
	Params check.M
}

// Subscribe asks for a subscription under an id and waits until it has begun, or was refused. It ends the check when
// the server sends so much that what came of it is not kept.
func Subscribe(t *check.T, s *driver.Session, id any, params check.M) *Subscription {
	return SubscribeAll(t, s, SubscriptionRequest{id, params})[0]
}

// SubscribeAll is Subscribe for several at a time, over HTTP, where each has its own stream.
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
		if excess := s.UnsolicitedLimitErr(mark); excess != nil && (u == nil || u.Ack() == nil) {
			t.WithReason(check.Limit).Inconclusive("%v", excess)
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

// requireNotLate ends a check whose subscription begins, but only in twice the time: the server is slow, and not wrong.
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
		t.WithReason(check.Silent).Retry("the server acknowledged %s, but after the --timeout of %v",
			ListenMethod, u.Session.ReplyTimeout())
	}
}

// subscribe is Subscribe for who does not look at what came.
func subscribe(s *driver.Session, id any, params check.M) driver.Pending {
	mark := s.Mark()
	p := s.OpenStreamWithID(id, ListenMethod, params)
	awaitAcknowledged(s, mark, p)
	return p
}

// awaitAcknowledged waits until a subscription has begun, or was refused. Over stdio any acknowledgment may be its own.
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

// Refresh adds what has come since.
func (u *Subscription) Refresh() {
	u.StreamEnded = u.Request.RoundTrip != nil && u.Request.RoundTrip.Response().Ended
	all := readSubscriptions(u.Session.FramesSince(0), u.Session)
	if now := all.findByID(u.Request.ID); now != nil {
		u.subscriptionMessages = now.subscriptionMessages
	}
}

// Cancel takes the subscription back.
func (u *Subscription) Cancel() { u.Session.Cancel(u.pending, cancelReason) }

// cancelReason is why subscriptions are taken back.
const cancelReason = "mcpcheck has heard enough"

// Subscriptions are those of a session, and the announcements in it that belong to none.
type Subscriptions struct {
	List       []*Subscription
	Unassigned []IndexedFrame

	index int
}

// SessionSubscriptions are those of a session, as long as the client kept the protocol.
func SessionSubscriptions(s *driver.Session) Subscriptions {
	frames := s.FramesSince(0)
	if i := slices.IndexFunc(frames, func(f *driver.Frame) bool { return f.AfterInvalidInput }); i >= 0 {
		frames = frames[:i]
	}
	return readSubscriptions(frames, s)
}

// readSubscriptions are those in a record.
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

// addSent notes what the client has sent.
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
	beside, leaving := 0, 0
	for _, u := range all.List {
		if u.isClosing(f) {
			leaving++
		}
		switch {
		case u.CancelIndex > 0:
			u.barriers[driver.IDKey(f.ID)] = true
		case u.isOpen(f):
			beside++
			u.requestsWhileOpen[driver.IDKey(f.ID)] = all.index
		}
	}
	if f.Method == ListenMethod {
		params, _ := f.JSON()["params"].(check.M)
		filter, _ := params["notifications"].(check.M)
		all.List = append(all.List, &Subscription{
			Session: s, Request: f, Filter: filter, OpenOthers: beside, ClosingOthers: leaving,
			requestsWhileOpen: map[string]int{},
		})
	}
}

// isOpen reports whether it has begun, and had not ended on either side when a frame was seen.
func (u *Subscription) isOpen(f *driver.Frame) bool {
	return u.Ack() != nil && u.EndMessage() == nil && u.CancelIndex == 0 && !u.isClosedAt(f)
}

// isClosing reports whether it had ended so shortly before a frame was sent that the server may not know yet.
func (u *Subscription) isClosing(f *driver.Frame) bool {
	switch {
	case u.CancelIndex > 0:
		return f.At < u.cancelledAt+protocol.ShortWait
	case u.isClosedAt(f):
		return f.At < u.Request.RoundTrip.Response().EndedAt+protocol.ShortWait
	}
	return false
}

// isClosedAt reports whether over HTTP the stream had ended, by whom ever, when a frame was sent.
func (u *Subscription) isClosedAt(f *driver.Frame) bool {
	if u.Request.RoundTrip == nil {
		return false
	}
	a := u.Request.RoundTrip.Response()
	return a.Ended && a.EndedAt <= f.At
}

// addReceived notes a message of the server, which came in a frame.
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

// answered notes for each subscription a response, which came in a frame.
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

// of is the subscription that a message belongs to; nil when there is none. Over stdio an acknowledgment of none is
// that of the latest one which has none.
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

// over is the subscription whose stream a frame came on.
func (all *Subscriptions) findByStream(f *driver.Frame) *Subscription {
	return all.findFunc(func(u *Subscription) bool { return u.Request.RoundTrip == f.RoundTrip })
}

// under is the subscription of an id.
func (all *Subscriptions) findByID(id []byte) *Subscription {
	return all.findFunc(func(u *Subscription) bool { return driver.SameID(u.Request.ID, id) })
}

func (all *Subscriptions) findFunc(fits func(*Subscription) bool) *Subscription {
	if i := slices.IndexFunc(all.List, fits); i >= 0 {
		return all.List[i]
	}
	return nil
}

// SubscriptionIDOf is what a message says of the subscription that it belongs to.
func SubscriptionIDOf(m *driver.Frame) any {
	object, _ := m.JSON()["params"].(check.M)
	if m.IsResponse() {
		object, _ = m.JSON()["result"].(check.M)
	}
	return check.Member(protocol.MetaOf(object), driver.MetaSubscription)
}

// IsNamedIn reports whether a message says that it belongs to the subscription.
func (u *Subscription) IsNamedIn(m *driver.Frame) bool {
	return driver.SameID(u.Request.ID, text.CompactJSON(SubscriptionIDOf(m)))
}

// Ack is the acknowledgment; nil when none came.
func (h *subscriptionMessages) Ack() *IndexedFrame { return h.ack }

// Frames are the request, the acknowledgment, and what ended the subscription.
func (u *Subscription) Frames() []*driver.Frame {
	frames := []*driver.Frame{u.Request}
	for _, m := range []*IndexedFrame{u.ack, u.end} {
		if m != nil {
			frames = append(frames, m.Frame)
		}
	}
	return frames
}

// Took is how long its acknowledgment took; 0 when none came.
func (u *Subscription) AckLatency() time.Duration {
	ack := u.Ack()
	if ack == nil {
		return 0
	}
	return ack.At - u.Request.At
}

// AcknowledgedFilter is the filter that was acknowledged; nil when none was.
func (h *subscriptionMessages) AcknowledgedFilter() check.M { return h.acknowledged }

// End is what ended the subscription of the server's own accord: a response, what stands for one over HTTP, or over
// stdio a cancellation; nil when nothing did.
func (h *subscriptionMessages) EndMessage() *IndexedFrame { return h.end }

// isFinal reports whether it is a response, or what stands for one.
func (m IndexedFrame) isFinal() bool { return m.Side == driver.StatusOnly || m.IsResponse() }

// IsAnsweredByBody reports whether over HTTP the answer is a body with a result instead of a stream.
func (u *Subscription) IsAnsweredByBody() bool {
	return u.Request.RoundTrip != nil && !u.Request.RoundTrip.Response().IsStream && u.Reply().Result() != nil
}

// Reply is the response; not answered when there is none.
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

// Changes are the announcements that came.
func (h *subscriptionMessages) ChangeNotifications() (changes []IndexedFrame) {
	for _, m := range h.Messages {
		if FilterMemberOf[m.Method] != "" {
			changes = append(changes, m)
		}
	}
	return changes
}

// MustReceive reports whether an announcement that another subscription of the session was told had to come to this one
// as well: both were open, and this one so long after that a request was answered then and not at once, since a server
// may tell one after the other. Over HTTP, where what was announced earlier may still be on its way on another stream,
// an earlier one was answered as well.
func (u *Subscription) MustReceive(m IndexedFrame, other *Subscription) bool {
	ack, end := u.Ack(), u.EndMessage()
	if ack == nil || m.index < ack.index || end != nil && end.index < m.index || !FilterMatches(u.Filter, m) ||
		!FilterMatches(u.AcknowledgedFilter(), m) || other.CancelIndex > 0 && other.CancelIndex < m.index {
		return false
	}
	isKnown := func(r answeredRequest) bool { return r.responseIndex < m.index }
	return (u.Request.RoundTrip == nil || slices.ContainsFunc(u.answeredRequests, isKnown)) &&
		slices.ContainsFunc(u.answeredRequests,
			func(r answeredRequest) bool { return r.requestIndex > m.index && r.at >= m.At+protocol.ShortWait })
}

// WouldHaveReceived reports whether an announcement was for the subscription, had that not been taken back.
func (u *Subscription) WouldHaveReceived(m IndexedFrame) bool {
	return u.barrierIndex > 0 && m.index > u.barrierIndex && FilterMatches(u.AcknowledgedFilter(), m)
}

// IsAfterCancel reports whether a message came that the server has sent though it knew that the subscription was taken
// back.
func (u *Subscription) IsAfterCancel(m IndexedFrame) bool {
	return u.barrierIndex > 0 && m.index > u.barrierIndex
}

// FilterMatches reports whether a filter asks for an announcement. A resource may be announced by one below it.
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

// Subject shows the request and the first that came.
func (u *Subscription) Subject() check.Subject {
	const most = 2
	frames := []*driver.Frame{u.Request}
	for _, m := range u.Messages[:min(most, len(u.Messages))] {
		frames = append(frames, m.Frame)
	}
	return check.Subject{Name: string(text.CompactJSON(u.Filter)), Frames: frames}
}

// UntruncatedSessions are the sessions of the run whose announcements were all kept. It ends a check when there is
// none.
func UntruncatedSessions(t *check.T, w check.Wire) (sessions []*driver.Session) {
	var excess *driver.LimitError
	for _, s := range EstablishedSessions(t, w) {
		if unheard := s.UnsolicitedLimitErr(0); unheard != nil {
			excess = unheard
		} else {
			sessions = append(sessions, s)
		}
	}
	if sessions == nil && excess != nil {
		t.WithReason(check.Limit).Inconclusive("%v", excess)
	}
	return sessions
}

// OpenExtraSubscriptions asks for further subscriptions than the one that the session has, so that watches see what
// each of them brings: a second one for changes of tools; one for all but that, with what only other requests may ask
// for; and over stdio one that is taken back at once.
func OpenExtraSubscriptions(t *check.T, s *driver.Session) {
	if !t.IsModern() || len(SessionSubscriptions(s).List) == 0 {
		return
	}
	id := func(name string) string { return fmt.Sprintf("mcpcheck-%s-%d", name, s.Number()) }
	tools := check.M{"notifications": check.M{"toolsListChanged": true}}
	if t.Server.Transport == "stdio" {
		s.Cancel(subscribe(s, id("taken-back"), tools), cancelReason)
		s.Barrier(s.Mark())
	}
	subscribe(s, id("tools"), tools)
	subscribe(s, id("others"), check.M{
		"notifications": filterWithout(FullFilter(t), "toolsListChanged"),
		"_meta":         check.M{driver.MetaLogLevel: "debug", "progressToken": SubscriptionProgressToken},
	})
}

// IsSubscribedToList reports whether a subscription of a session is open that is for changes of a list.
func IsSubscribedToList(s *driver.Session, member string) bool {
	return slices.ContainsFunc(SessionSubscriptions(s).List, func(u *Subscription) bool {
		ended := u.Request.RoundTrip != nil && u.Request.RoundTrip.Response().Ended
		return u.AcknowledgedFilter()[member] == true && u.EndMessage() == nil && u.CancelIndex == 0 && !ended
	})
}

// SubscriptionProgressToken is the token of a subscription that asks for progress, which it never gets.
const SubscriptionProgressToken = "mcpcheck-subscription"

// FullFilter is the filter for all that a server may announce: of resources, the first ones that it lists.
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

// filterWithout is a filter that says not to want a member of it.
func filterWithout(filter check.M, member string) check.M {
	filter = maps.Clone(filter)
	filter[member] = false
	return filter
}
