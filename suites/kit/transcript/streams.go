package transcript

import (
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

// SSEStream is an event stream with which the server has answered a request over HTTP, and what came on it.
type SSEStream struct {
	*driver.RoundTrip
	Session       *driver.Session
	Request       *driver.Frame // the message that was posted, or the GET
	HTTPResponse  driver.HTTPResponse
	Messages      []*driver.Frame // members of arrays one by one
	Resumptions   []*SSEStream    // by which the client has resumed it; some may be refusals
	LastTime      time.Duration   // its end or, while it is open, the last that is known of the session
	ResponseOnGET bool            // the response came on a GET stream

	cancelledAt, sessionEndedAt time.Duration // when the request was, and when the session was, by whom ever
	Blocked                     bool          // an earlier request had no answer in time either
	SessionTerminated           bool          // the server has ended the session, as messages in it were told
}

// never is the time of what did not happen.
const never = time.Duration(math.MaxInt64)

// SessionStreams are the event streams of a session, as long as the client kept the protocol. Of those that checks have
// asked for by hand, only GET streams count.
func SessionStreams(t *check.T, s *driver.Session) []*SSEStream {
	check.RequireLiveServer(t) // a recording does not hold the events that have no data
	return check.Memo(t, s, func() []*SSEStream { return readStreams(s) })
}

func readStreams(s *driver.Session) (all []*SSEStream) {
	by := map[*driver.RoundTrip]*SSEStream{}
	for _, f := range s.FramesSince(0) {
		switch x := f.RoundTrip; {
		case x == nil || f.AfterInvalidInput && (f.Side == driver.FromClient || x.Method == http.MethodGet):
		case f.Side == driver.FromServer && by[x] != nil:
			by[x].Messages = append(by[x].Messages, f.Messages()...)
		case f.Side != driver.FromClient || x.IsManual() && x.Method != http.MethodGet:
		default:
			e := &SSEStream{RoundTrip: x, Session: s, Request: f, HTTPResponse: x.Response()}
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

// IsResumption reports whether the client has asked for the rest of an earlier stream.
func (e *SSEStream) IsResumption() bool {
	for name := range e.Header {
		if strings.EqualFold(name, "Last-Event-ID") {
			return true
		}
	}
	return false
}

// addToOriginal adds the stream to the one of which it is the rest.
func (e *SSEStream) addToOriginal(earlier []*SSEStream) {
	for _, of := range slices.Backward(earlier) {
		listening := of.RequestID() == nil && e.RequestID() == nil && of.Method == http.MethodGet
		same := driver.SameID(of.RequestID(), e.RequestID()) || listening
		if same && !of.IsResumption() && !e.IsManual() && !of.IsManual() {
			of.Resumptions = append(of.Resumptions, e)
			return
		}
	}
}

// sessionSummary is what a session says of its streams as a whole.
type sessionSummary struct {
	cancelledAt   map[string]time.Duration // when requests were, by id
	responseOnGET map[string]bool          // requests whose responses came on a GET stream
	firstTimeout  time.Duration            // when the first request was sent that had no answer in time
	endedAt       time.Duration            // when the session was ended, by whom ever
	terminated    bool                     // by the server: a message was answered with 404
	lastTime      time.Duration            // the last that is known of it
}

func summarizeSession(s *driver.Session) sessionSummary {
	c := sessionSummary{cancelledAt: map[string]time.Duration{}, responseOnGET: map[string]bool{}, firstTimeout: never,
		endedAt: never}
	for _, x := range correlate(s, s.FramesSince(0)).Calls {
		due := x.Request.At + s.ReplyTimeout() // waits for a turn count: the client's own answers may have had to, too
		if !x.Cancelled && (x.Response == nil || x.Response.At > due) {
			c.firstTimeout = min(c.firstTimeout, x.Request.At)
		}
	}
	for _, f := range s.FramesSince(0) {
		c.lastTime = f.At
		switch {
		case f.Side == driver.FromClient && f.Method == "notifications/cancelled":
			c.cancelledAt[CancelledID(f)] = f.At
		case f.Side == driver.SessionEvent:
			c.endedAt = min(c.endedAt, f.At)
		case f.RoundTrip == nil:
		case f.Side == driver.FromClient:
			if f.RoundTrip.Method == http.MethodDelete {
				c.endedAt = min(c.endedAt, f.At)
			}
		case f.Event == nil:
			inSession := !f.Manual && s.HTTP().SessionID() != "" // else it is of an unknown method, say
			if inSession && f.RoundTrip.Response().StatusCode == http.StatusNotFound {
				c.endedAt = min(c.endedAt, f.At)
				c.terminated = c.terminated || f.RoundTrip.Method == http.MethodPost
			}
		case f.RoundTrip.Method == http.MethodGet && f.RoundTrip.RequestID() == nil:
			for _, m := range f.Messages() {
				if m.IsResponse() {
					c.responseOnGET[driver.IDKey(m.RequestID())] = true
				}
			}
		}
	}
	return c
}

// applyTo completes the streams of the session.
func (c sessionSummary) applyTo(streams map[*driver.RoundTrip]*SSEStream) {
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

// ResponseFrame is the first response on the stream, under whatever id; nil when there is none.
func (e *SSEStream) ResponseFrame() *driver.Frame {
	i := slices.IndexFunc(e.Messages, (*driver.Frame).IsResponse)
	if i < 0 {
		return nil
	}
	return e.Messages[i]
}

// HasResponse reports whether the response came on the stream or on the rest of it.
func (e *SSEStream) HasResponse() bool {
	answers := func(e *SSEStream) bool { return e.ResponseFrame() != nil }
	return answers(e) || slices.ContainsFunc(e.Resumptions, answers)
}

// StreamReplaceWindow is for how long after a GET stream was opened the server may close others in its favour.
const StreamReplaceWindow = 100 * time.Millisecond

// ClosedByServer reports whether the server has closed the connection, of its own accord and while there was something
// to come.
func (e *SSEStream) ClosedByServer() bool {
	return e.HTTPResponse.IsStream && e.HTTPResponse.Ended && e.HTTPResponse.Err == nil &&
		e.LastTime < min(e.cancelledAt, e.sessionEndedAt)
}

// end is the stream itself or the last one that resumed it.
func (e *SSEStream) lastStream() *SSEStream {
	if len(e.Resumptions) > 0 {
		return e.Resumptions[len(e.Resumptions)-1]
	}
	return e
}

// NotAwaited reports whether the client has not waited for the response until it was due, or has cancelled the request.
func (e *SSEStream) NotAwaited() bool {
	last := e.lastStream()
	if last.ClosedByServer() || last.HTTPResponse.StatusCode >= 400 {
		return e.cancelledAt < last.LastTime
	}
	return e.cancelledAt < never || last.LastTime-e.Request.SentAt() < e.Session.ReplyTimeout()
}

// Fate is what became of a stream without a response.
func (e *SSEStream) NoResponseReason() string {
	if last := e.lastStream(); last != e {
		return "none; resumed, the server answered " + last.HTTPResponse.String()
	}
	return "none: " + e.HTTPResponse.String()
}

// HasEvent reports whether an event of the stream is of a kind.
func (e *SSEStream) HasEvent(kind func(driver.StreamEvent) bool) bool {
	return slices.ContainsFunc(e.HTTPResponse.Events, kind)
}

// IsResumable reports whether the stream can be resumed.
func (e *SSEStream) IsResumable() bool { return e.HasEvent(HasEventID) }

// HasEventID reports whether an event has an id that a stream can be resumed after.
func HasEventID(e driver.StreamEvent) bool { return e.HasID && e.ID != "" }

// Listens reports whether the stream is that of a subscription, whose response comes when the server ends it, if ever.
func (e *SSEStream) IsSubscription() bool { return e.Request.Method == "subscriptions/listen" }

// Frames are the request and the last that came on the stream.
func (e *SSEStream) Frames() []*driver.Frame {
	const most = 3
	return append([]*driver.Frame{e.Request}, e.Messages[max(0, len(e.Messages)-most):]...)
}

// Name is what a stream is called in reports: by its request.
func (e *SSEStream) Name() string {
	if e.Method == http.MethodGet {
		return "GET"
	}
	return e.Request.Method
}

// Subject is the stream as one of several.
func (e *SSEStream) Subject() check.Subject { return check.Subject{Name: e.Name(), Frames: e.Frames()} }

// PostStreams are the streams that answer a request.
func PostStreams(t *check.T, w check.Wire) (streams []*SSEStream) {
	return filterStreams(t, w, func(e *SSEStream) bool { return e.Method == http.MethodPost && e.RequestID() != nil })
}

// GetStreams are the streams on which the server may speak first.
func GetStreams(t *check.T, w check.Wire) (streams []*SSEStream) {
	return filterStreams(t, w, func(e *SSEStream) bool {
		return e.Method == http.MethodGet && !e.IsResumption() && !e.IsManual()
	})
}

func filterStreams(t *check.T, w check.Wire, keep func(*SSEStream) bool) (streams []*SSEStream) {
	for _, s := range EstablishedSessions(t, w) {
		for _, e := range SessionStreams(t, s) {
			if keep(e) {
				streams = append(streams, e)
			}
		}
	}
	return streams
}

// EstablishedSessions are the sessions in which the revision that is judged was granted to who asked for it, or for a
// version that was never published: a server may go by another one that was asked for, if it knows it.
func EstablishedSessions(t *check.T, w check.Wire) (sessions []*driver.Session) {
	for _, s := range w.Sessions {
		asked, _ := s.ConnectParams["protocolVersion"].(string)
		if s.NegotiatedRevision() == t.Revision && (asked == t.Revision ||
			slices.Contains(protocol.UnpublishedVersions, asked)) {
			sessions = append(sessions, s)
		}
	}
	return sessions
}

// EachStream tries a check on streams. What fails is named by its request. Without any stream the check does not apply.
func EachStream(t *check.T, streams []*SSEStream, run func(*check.T, *SSEStream)) {
	if len(streams) == 0 {
		t.WithReason(check.NotObserved).Skip("the server answered no request with an event stream")
	}
	check.Each(t, streams, (*SSEStream).Subject, run)
}

// IsProgress reports whether a message says how far a request is.
func IsProgress(f *driver.Frame) bool { return f.Method == "notifications/progress" }

// PeakPerTwoSeconds is how many of some things, in their order, came within two seconds of each other at most.
func PeakPerTwoSeconds[V any](all []V, at func(V) time.Duration) (most int) {
	first := 0
	for i, v := range all {
		for at(v)-at(all[first]) > 2*time.Second {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// IsUnique reports whether there cannot be two messages like this in a session: requests have an id of their own, and
// progress rises. Two equal notifications of another kind may be about two events.
func IsUnique(m *driver.Frame) bool { return m.IsRequest() || IsProgress(m) }

// CouldCarry reports whether a message that came on another stream could have come on this one, which was open: on one
// of the two the server may say what is about no request of the client.
func (e *SSEStream) CouldCarry(m *driver.Frame, from *SSEStream) bool {
	listens := e.Method == http.MethodGet || from.Method == http.MethodGet
	return listens && e.Request.At <= m.At && m.At <= e.LastTime
}
