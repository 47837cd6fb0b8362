package subscriptions

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
	"github.com/mcpcheck/mcpcheck/suites/text"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// filterMemberOf is the member of a subscription's filter that asks for a notification, by the method of that.
var filterMemberOf = map[string]string{
	"notifications/tools/list_changed":     "toolsListChanged",
	"notifications/prompts/list_changed":   "promptsListChanged",
	"notifications/resources/list_changed": "resourcesListChanged",
	"notifications/resources/updated":      "resourceSubscriptions",
}

// subscription is a request for notifications with what the server sent for it: over HTTP everything on its stream,
// over stdio the messages that name it.
type subscription struct {
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

// indexedFrame is a message with its position in the session.
type indexedFrame struct {
	*driver.Frame
	index int
}

// subscriptionMessages are the messages of a subscription. The important ones are noted as they come, since a server
// may send too many notifications to search all of them for each.
type subscriptionMessages struct {
	// Messages are the messages or, of an HTTP response without one, its status.
	Messages []indexedFrame

	// ack is the acknowledgment, and acknowledged the filter in it; nil when there is none.
	ack          *indexedFrame
	acknowledged check.M
	// reply is the response, or over HTTP a status in its place; nil when there is none.
	reply *indexedFrame
	// end is the message by which the server ended the subscription: the reply or, over stdio, a cancellation; nil when
	// there is none.
	end *indexedFrame
}

// add notes a message.
func (h *subscriptionMessages) add(m indexedFrame) {
	h.Messages = append(h.Messages, m)
	switch {
	case m.Method == transcript.AcknowledgedMethod && h.ack == nil:
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

// subscribe requests a subscription with this id and waits until it is acknowledged or refused. It ends the check when
// the server sends more than mcpcheck keeps.
func subscribe(t *check.T, s *driver.Session, id any, params check.M) *subscription {
	mark := s.Mark()
	p := toolcall.OpenSubscription(s, id, params)
	came := readSubscriptions(s.FramesSince(0), s)
	u := came.findByID(p.ID)
	if limitErr := s.UnsolicitedLimitErr(mark); limitErr != nil && (u == nil || u.ack == nil) {
		t.NoVerdict(check.Limit, "%v", limitErr)
	}
	u.pending, u.mark = p, mark
	if errors.As(u.Reply().Err, new(*driver.TimeoutError)) {
		check.TryNoOp(t, s) // shows whether anything is answered any more
		u.requireNotLate(t)
	}
	return u
}

// requireNotLate ends a check whose subscription is acknowledged within twice the timeout: the server is slow, but not
// wrong.
func (u *subscription) requireNotLate(t *check.T) {
	if u.Refresh(); u.ack == nil {
		left := u.Request.SentAt() + 2*u.Session.ReplyTimeout() - u.Session.ShutdownAt()
		u.Session.Wait(u.mark, left, func(f *driver.Frame) bool {
			own := u.IsNamedIn(f)
			if f.RoundTrip != nil {
				own = f.RoundTrip == u.Request.RoundTrip
			}
			return own && f.Method == transcript.AcknowledgedMethod
		})
	} else if u.ack.At <= u.Request.SentAt()+u.Session.ReplyTimeout() {
		return
	}
	if u.Refresh(); u.ack != nil {
		t.Retry(check.Silent, "the server acknowledged %s, but after the --timeout of %v",
			transcript.ListenMethod, u.Session.ReplyTimeout())
	}
}

// Refresh reads the messages again, with those that have come since.
func (u *subscription) Refresh() {
	u.StreamEnded = u.Request.RoundTrip != nil && u.Request.RoundTrip.Response().Ended
	all := readSubscriptions(u.Session.FramesSince(0), u.Session)
	if now := all.findByID(u.Request.ID); now != nil {
		u.subscriptionMessages = now.subscriptionMessages
	}
}

// Cancel cancels the subscription.
func (u *subscription) Cancel() { u.Session.Cancel(u.pending, "mcpcheck has heard enough") }

// sessionSubscriptions are the subscriptions of a session, and the change notifications in it that belong to none.
type sessionSubscriptions struct {
	List       []*subscription
	Unassigned []indexedFrame

	index int
}

// subscriptionsIn are the subscriptions of a session up to the first invalid input.
func subscriptionsIn(s *driver.Session) sessionSubscriptions {
	frames := s.FramesSince(0)
	if i := slices.IndexFunc(frames, func(f *driver.Frame) bool { return f.AfterInvalidInput }); i >= 0 {
		frames = frames[:i]
	}
	return readSubscriptions(frames, s)
}

// readSubscriptions are the subscriptions in a part of a session.
func readSubscriptions(frames []*driver.Frame, s *driver.Session) (all sessionSubscriptions) {
	for _, f := range frames {
		all.index++
		switch {
		case f.Manual || f.ForOtherSession:
		case f.Side == driver.FromClient:
			all.addSent(s, f)
		case f.Side == driver.StatusOnly:
			if u := all.findByStream(f); u != nil {
				u.add(indexedFrame{f, all.index})
			}
		case f.Side == driver.FromServer:
			for _, m := range f.Messages() {
				all.addReceived(f, indexedFrame{m, all.index})
			}
		}
	}
	return all
}

// addSent notes a frame of the client.
func (all *sessionSubscriptions) addSent(s *driver.Session, f *driver.Frame) {
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
	if f.Method == transcript.ListenMethod {
		params, _ := f.JSON()["params"].(check.M)
		filter, _ := params["notifications"].(check.M)
		all.List = append(all.List, &subscription{
			Session: s, Request: f, Filter: filter, OpenOthers: open, ClosingOthers: closing,
			requestsWhileOpen: map[string]int{},
		})
	}
}

// isOpen reports whether the subscription was acknowledged, and neither side had ended it when a frame was sent.
func (u *subscription) isOpen(f *driver.Frame) bool {
	return u.ack != nil && u.end == nil && u.CancelIndex == 0 && !u.isClosedAt(f)
}

// isClosing reports whether the subscription had ended so shortly before a frame was sent that the server may not know
// yet.
func (u *subscription) isClosing(f *driver.Frame) bool {
	switch {
	case u.CancelIndex > 0:
		return f.At < u.cancelledAt+timing.ShortWait
	case u.isClosedAt(f):
		return f.At < u.Request.RoundTrip.Response().EndedAt+timing.ShortWait
	}
	return false
}

// isClosedAt reports whether over HTTP either side had ended the stream when a frame was sent.
func (u *subscription) isClosedAt(f *driver.Frame) bool {
	if u.Request.RoundTrip == nil {
		return false
	}
	a := u.Request.RoundTrip.Response()
	return a.Ended && a.EndedAt <= f.At
}

// addReceived notes a message of the server, which came in the frame f.
func (all *sessionSubscriptions) addReceived(f *driver.Frame, m indexedFrame) {
	if m.IsResponse() {
		all.addResponse(f, m)
	}
	u := all.find(f, m.Frame)
	switch {
	case u != nil:
		u.add(m)
	case filterMemberOf[m.Method] != "":
		all.Unassigned = append(all.Unassigned, m)
	}
}

// addResponse notes a response, which came in the frame f, for each subscription.
func (all *sessionSubscriptions) addResponse(f *driver.Frame, m indexedFrame) {
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
func (all *sessionSubscriptions) find(f, m *driver.Frame) *subscription {
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
	u := all.findByID(text.CompactJSON(transcript.SubscriptionIDOf(m)))
	if u == nil && m.Method == transcript.AcknowledgedMethod && len(all.List) > 0 {
		if last := all.List[len(all.List)-1]; last.ack == nil {
			return last
		}
	}
	return u
}

// findByStream is the subscription on whose stream a frame came.
func (all *sessionSubscriptions) findByStream(f *driver.Frame) *subscription {
	return all.findFunc(func(u *subscription) bool { return u.Request.RoundTrip == f.RoundTrip })
}

// findByID is the subscription whose request has this id.
func (all *sessionSubscriptions) findByID(id []byte) *subscription {
	return all.findFunc(func(u *subscription) bool { return driver.SameID(u.Request.ID, id) })
}

func (all *sessionSubscriptions) findFunc(fits func(*subscription) bool) *subscription {
	if i := slices.IndexFunc(all.List, fits); i >= 0 {
		return all.List[i]
	}
	return nil
}

// IsNamedIn reports whether a message names the subscription as its own.
func (u *subscription) IsNamedIn(m *driver.Frame) bool {
	return driver.SameID(u.Request.ID, text.CompactJSON(transcript.SubscriptionIDOf(m)))
}

// Frames are the request, the acknowledgment, and the message that ended the subscription.
func (u *subscription) Frames() []*driver.Frame {
	frames := []*driver.Frame{u.Request}
	for _, m := range []*indexedFrame{u.ack, u.end} {
		if m != nil {
			frames = append(frames, m.Frame)
		}
	}
	return frames
}

// isFinal reports whether the message is a response or an HTTP status in its place.
func (m indexedFrame) isFinal() bool { return m.Side == driver.StatusOnly || m.IsResponse() }

// IsAnsweredByBody reports whether over HTTP the server answered with a result in the body instead of a stream.
func (u *subscription) IsAnsweredByBody() bool {
	return u.Request.RoundTrip != nil && !u.Request.RoundTrip.Response().IsStream && u.Reply().Result() != nil
}

// Reply is the response; it is not answered when there is none.
func (u *subscription) Reply() driver.Reply {
	r := driver.Reply{Method: transcript.ListenMethod, Request: u.Request}
	switch m := u.reply; {
	case m == nil:
		r.Err = &driver.TimeoutError{Method: transcript.ListenMethod, After: u.Session.ReplyTimeout()}
	case m.Side == driver.StatusOnly:
		r = driver.HTTPErrorReply(m.Frame)
	default:
		r.Frame = m.Frame
	}
	return r
}

// ChangeNotifications are the change notifications that came.
func (h *subscriptionMessages) ChangeNotifications() (changes []indexedFrame) {
	for _, m := range h.Messages {
		if filterMemberOf[m.Method] != "" {
			changes = append(changes, m)
		}
	}
	return changes
}

// MustReceive reports whether a notification that came to another subscription of the session had to come to this one
// as well. Both were open, and this one for so long that a later request was answered at least ShortWait afterwards,
// since a server may notify one subscription after the other. Over HTTP an earlier request was answered as well, since
// earlier notifications may still be on their way on another stream.
func (u *subscription) MustReceive(m indexedFrame, other *subscription) bool {
	ack, end := u.ack, u.end
	if ack == nil || m.index < ack.index || end != nil && end.index < m.index || !filterMatches(u.Filter, m) ||
		!filterMatches(u.acknowledged, m) || other.CancelIndex > 0 && other.CancelIndex < m.index {
		return false
	}
	isKnown := func(r answeredRequest) bool { return r.responseIndex < m.index }
	return (u.Request.RoundTrip == nil || slices.ContainsFunc(u.answeredRequests, isKnown)) &&
		slices.ContainsFunc(u.answeredRequests,
			func(r answeredRequest) bool { return r.requestIndex > m.index && r.at >= m.At+timing.ShortWait })
}

// IsAfterCancel reports whether the server sent a message after it knew that the subscription was cancelled.
func (u *subscription) IsAfterCancel(m indexedFrame) bool {
	return u.barrierIndex > 0 && m.index > u.barrierIndex
}

// filterMatches reports whether a filter asks for a notification. A resource may be updated by way of one below it.
func filterMatches(filter check.M, m indexedFrame) bool {
	switch wanted := filter[filterMemberOf[m.Method]].(type) {
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
func (u *subscription) Subject() check.Subject {
	const most = 2
	frames := []*driver.Frame{u.Request}
	for _, m := range u.Messages[:min(most, len(u.Messages))] {
		frames = append(frames, m.Frame)
	}
	return check.Subject{Name: string(text.CompactJSON(u.Filter)), Frames: frames}
}

// untruncatedSessions are the sessions of the run whose notifications were all kept. It ends a check when some were not
// and no session is left.
func untruncatedSessions(t *check.T, w check.Wire) (sessions []*driver.Session) {
	var limitErr *driver.LimitError
	for _, s := range transcript.EstablishedSessions(t, w) {
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

// WatchesUnlisted reports whether the subscription asks for updates of toolcall.UnlistedURI.
func (u *subscription) WatchesUnlisted() bool {
	uris, _ := u.Filter["resourceSubscriptions"].([]any)
	return slices.Contains(uris, any(toolcall.UnlistedURI))
}
