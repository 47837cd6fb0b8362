package http

import (
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
)

// sseStream is an event stream with which the server answered a request over HTTP.
type sseStream struct {
	*driver.RoundTrip
	Session *driver.Session
	// Request is the message that was posted, or the GET.
	Request      *driver.Frame
	HTTPResponse driver.HTTPResponse
	// Messages are the messages on the stream; members of batches count one by one.
	Messages []*driver.Frame
	// Resumptions are the streams by which the client resumed it; some may be refusals.
	Resumptions []*sseStream
	// LastTime is when the stream ended or, while it is open, the time of the last frame of the session.
	LastTime time.Duration
	// ResponseOnGET reports whether the response to the request came on a GET stream.
	ResponseOnGET bool

	// cancelledAt and sessionEndedAt are when the request was cancelled and the session ended, by either side.
	cancelledAt, sessionEndedAt time.Duration
	// Blocked reports whether an earlier request had no response in time either.
	Blocked bool
	// SessionTerminated reports whether the server ended the session, and answered later messages in it with 404.
	SessionTerminated bool
}

// never is the time of an event that did not happen.
const never = time.Duration(math.MaxInt64)

// sessionStreams are the event streams of a session up to the first invalid input. Of the streams that checks opened by
// hand, only GET streams are included.
func sessionStreams(t *check.T, s *driver.Session) []*sseStream {
	check.RequireLiveServer(t) // a recording does not hold the events that have no data
	return check.Memo(t, s, func() []*sseStream { return readStreams(s) })
}

func readStreams(s *driver.Session) (all []*sseStream) {
	by := map[*driver.RoundTrip]*sseStream{}
	for _, f := range s.FramesSince(0) {
		switch x := f.RoundTrip; {
		case x == nil || f.AfterInvalidInput && (f.Side == driver.FromClient || x.Method == http.MethodGet):
		case f.Side == driver.FromServer && by[x] != nil:
			by[x].Messages = append(by[x].Messages, f.Messages()...)
		case f.Side != driver.FromClient || x.IsManual() && x.Method != http.MethodGet:
		default:
			e := &sseStream{RoundTrip: x, Session: s, Request: f, HTTPResponse: x.Response()}
			by[x] = e
			if e.IsResumption() {
				e.addToOriginal(all)
			}
			if e.HTTPResponse.IsStream {
				all = append(all, e)
			}
		}
	}
	summarizeSession(s).applyTo(by)
	return all
}

// IsResumption reports whether the client requested the rest of an earlier stream.
func (e *sseStream) IsResumption() bool {
	for name := range e.Header {
		if strings.EqualFold(name, "Last-Event-ID") {
			return true
		}
	}
	return false
}

// lastEventID is the id of the event after which the client requested the rest of an earlier stream.
func (e *sseStream) lastEventID() string {
	for name, value := range e.Header {
		if strings.EqualFold(name, "Last-Event-ID") {
			return strings.Join(value, "")
		}
	}
	return ""
}

// continues reports whether one of two connections resumes the stream of the other one, or both that of a third. The
// server may bring again there what the client has not confirmed that it received.
func (e *sseStream) continues(o *sseStream) bool {
	id, other := e.lastEventID(), o.lastEventID()
	hasEvent := func(on *sseStream, id string) bool {
		return id != "" && on.HasEvent(func(x driver.StreamEvent) bool { return hasEventID(x) && x.ID == id })
	}
	return id != "" && id == other || hasEvent(o, id) || hasEvent(e, other)
}

// addToOriginal adds the stream to the Resumptions of the one that it continues.
func (e *sseStream) addToOriginal(earlier []*sseStream) {
	for _, of := range slices.Backward(earlier) {
		listening := of.RequestID() == nil && e.RequestID() == nil && of.Method == http.MethodGet
		same := driver.SameID(of.RequestID(), e.RequestID()) || listening
		if same && !of.IsResumption() && !e.IsManual() && !of.IsManual() {
			of.Resumptions = append(of.Resumptions, e)
			return
		}
	}
}

// sessionSummary holds the facts about a session that concern all its streams.
type sessionSummary struct {
	// cancelledAt is when requests were cancelled, by id.
	cancelledAt map[string]time.Duration
	// responseOnGET are the ids of requests whose responses came on a GET stream.
	responseOnGET map[string]bool
	// firstTimeout is when the first request was sent that had no response in time.
	firstTimeout time.Duration
	// endedAt is when the session was ended by either side.
	endedAt time.Duration
	// terminated reports whether the server ended it: a message was answered with 404.
	terminated bool
	// lastTime is the time of the last frame.
	lastTime time.Duration
}

func summarizeSession(s *driver.Session) sessionSummary {
	c := sessionSummary{cancelledAt: map[string]time.Duration{}, responseOnGET: map[string]bool{}, firstTimeout: never,
		endedAt: never}
	for _, x := range transcript.WholeTranscript(s).Calls {
		// Waiting for a turn counts: the client's own responses may have had to wait, too.
		due := x.Request.At + s.ReplyTimeout()
		if !x.Cancelled && (x.Response == nil || x.Response.At > due) {
			c.firstTimeout = min(c.firstTimeout, x.Request.At)
		}
	}
	var lastMessage time.Duration // of the server: a session that is gone has ended after it
	for _, f := range s.FramesSince(0) {
		c.lastTime = f.At
		switch {
		case f.Side == driver.FromClient && f.Method == "notifications/cancelled":
			c.cancelledAt[transcript.CancelledID(f)] = f.At
		case f.Side == driver.SessionEvent:
			c.endedAt = min(c.endedAt, f.At+1) // a stream that has ended without an error by then did so before
		case f.RoundTrip == nil:
		case f.Side == driver.FromClient:
			if f.RoundTrip.Method == http.MethodDelete {
				c.endedAt = min(c.endedAt, f.At)
			}
		case f.Event == nil:
			inSession := !f.Manual && s.HTTP().SessionID() != "" // otherwise 404 may mean an unknown method
			if inSession && f.RoundTrip.Response().StatusCode == http.StatusNotFound {
				c.endedAt = min(c.endedAt, lastMessage)
				c.terminated = c.terminated || f.RoundTrip.Method == http.MethodPost
			}
		case f.RoundTrip.Method == http.MethodGet && f.RoundTrip.RequestID() == nil:
			for _, m := range f.Messages() {
				if m.IsResponse() {
					c.responseOnGET[driver.IDKey(m.RequestID())] = true
				}
			}
		}
		isNotFound := f.RoundTrip != nil && f.RoundTrip.Response().StatusCode == http.StatusNotFound
		if f.Side == driver.FromServer && !isNotFound {
			lastMessage = f.At
		}
	}
	return c
}

// applyTo completes the streams of the session.
func (c sessionSummary) applyTo(streams map[*driver.RoundTrip]*sseStream) {
	for _, e := range streams {
		id := driver.IDKey(e.RequestID())
		e.cancelledAt, e.ResponseOnGET, e.sessionEndedAt, e.LastTime = never, c.responseOnGET[id], c.endedAt, c.lastTime
		if at, ok := c.cancelledAt[id]; ok {
			e.cancelledAt = at
		}
		e.Blocked, e.SessionTerminated = c.firstTimeout < e.Request.At, c.terminated
		if e.HTTPResponse.Ended {
			e.LastTime = e.HTTPResponse.EndedAt
		}
		if e.IsCancelled() {
			e.cancelledAt = min(e.cancelledAt, e.LastTime)
		}
	}
}

// ResponseFrame is the first response on the stream, whatever its id; nil when there is none.
func (e *sseStream) ResponseFrame() *driver.Frame {
	i := slices.IndexFunc(e.Messages, (*driver.Frame).IsResponse)
	if i < 0 {
		return nil
	}
	return e.Messages[i]
}

// HasResponse reports whether the response came on the stream or on a resumption of it.
func (e *sseStream) HasResponse() bool {
	answers := func(e *sseStream) bool { return e.ResponseFrame() != nil }
	return answers(e) || slices.ContainsFunc(e.Resumptions, answers)
}

// ClosedByServer reports whether the server closed the connection on its own while the client still expected messages.
func (e *sseStream) ClosedByServer() bool {
	return e.HTTPResponse.IsStream && e.HTTPResponse.Ended && e.HTTPResponse.Err == nil &&
		e.LastTime < min(e.cancelledAt, e.sessionEndedAt)
}

// lastStream is the last resumption of the stream or, without one, the stream itself.
func (e *sseStream) lastStream() *sseStream {
	if len(e.Resumptions) > 0 {
		return e.Resumptions[len(e.Resumptions)-1]
	}
	return e
}

// NotAwaited reports whether the client cancelled the request, or did not wait for the response for the whole timeout.
func (e *sseStream) NotAwaited() bool {
	last := e.lastStream()
	if last.ClosedByServer() || last.HTTPResponse.StatusCode >= 400 {
		return e.cancelledAt < last.LastTime
	}
	return e.cancelledAt < never || last.LastTime-e.Request.SentAt() < e.Session.ReplyTimeout()
}

// NoResponseReason is why the stream has no response, for messages.
func (e *sseStream) NoResponseReason() string {
	if last := e.lastStream(); last != e {
		return "none; resumed, the server answered " + last.HTTPResponse.String()
	}
	return "none: " + e.HTTPResponse.String()
}

// HasEvent reports whether kind is true for an event of the stream.
func (e *sseStream) HasEvent(kind func(driver.StreamEvent) bool) bool {
	return slices.ContainsFunc(e.HTTPResponse.Events, kind)
}

// IsResumable reports whether the stream can be resumed.
func (e *sseStream) IsResumable() bool { return e.HasEvent(hasEventID) }

// hasEventID reports whether an event has an id after which a stream can be resumed.
func hasEventID(e driver.StreamEvent) bool { return e.HasID && e.ID != "" }

// IsSubscription reports whether the stream is that of a subscription, whose response comes when the server ends it, if
// ever.
func (e *sseStream) IsSubscription() bool { return e.Request.Method == "subscriptions/listen" }

// Frames are the request and the last messages on the stream.
func (e *sseStream) Frames() []*driver.Frame {
	const most = 3
	return append([]*driver.Frame{e.Request}, e.Messages[max(0, len(e.Messages)-most):]...)
}

// Name is the name of the stream in reports, which is that of its request.
func (e *sseStream) Name() string {
	if e.Method == http.MethodGet {
		return "GET"
	}
	return e.Request.Method
}

// Subject shows the stream as one of several.
func (e *sseStream) Subject() check.Subject { return check.Subject{Name: e.Name(), Frames: e.Frames()} }

// postStreams are the streams that answer a posted request.
func postStreams(t *check.T, w check.Wire) (streams []*sseStream) {
	return filterStreams(t, w, func(e *sseStream) bool { return e.Method == http.MethodPost && e.RequestID() != nil })
}

// getStreams are the GET streams of sessions, on which the server may send messages of its own.
func getStreams(t *check.T, w check.Wire) (streams []*sseStream) {
	return filterStreams(t, w, func(e *sseStream) bool {
		return e.Method == http.MethodGet && !e.IsResumption() && !e.IsManual()
	})
}

func filterStreams(t *check.T, w check.Wire, keep func(*sseStream) bool) (streams []*sseStream) {
	for _, s := range transcript.EstablishedSessions(t, w) {
		for _, e := range sessionStreams(t, s) {
			if keep(e) {
				streams = append(streams, e)
			}
		}
	}
	return streams
}

// eachStream runs a check on each stream. Failures are reported under the name of its request. Without a stream the
// check is skipped.
func eachStream(t *check.T, streams []*sseStream, run func(*check.T, *sseStream)) {
	if len(streams) == 0 {
		t.Skip(check.NotObserved, "the server answered no request with an event stream")
	}
	check.Each(t, streams, (*sseStream).Subject, run)
}

// isUnique reports whether a session cannot have two messages like this one: requests have unique ids, and progress
// increases. Two equal notifications of another kind may be about two events.
func isUnique(m *driver.Frame) bool { return m.IsRequest() || transcript.IsProgress(m) }

// CouldCarry reports whether a message that came on another stream could have come on this one, which was open. If one
// of the two is a GET stream, the server may choose either for messages that are not about a request of the client.
// Where one continues the other, they are one stream.
func (e *sseStream) CouldCarry(m *driver.Frame, from *sseStream) bool {
	listens := e.Method == http.MethodGet || from.Method == http.MethodGet
	return listens && !e.continues(from) && e.Request.At <= m.At && m.At <= e.LastTime
}
