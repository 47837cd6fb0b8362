package kit

import (
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

// EventStream is an event stream with which the server has answered a request over HTTP, and what came on it.
type EventStream struct {
	*driver.Exchange
	Session  *driver.Session
	Request  *driver.Frame // the message that was posted, or the GET
	Answer   driver.Answer
	Messages []*driver.Frame // members of arrays one by one
	Rest     []*EventStream  // by which the client has resumed it; some may be refusals
	Last     time.Duration   // its end or, while it is open, the last that is known of the session
	Astray   bool            // the response came on a GET stream

	cancelled, over time.Duration // when the request was, and when the session was, by whom ever
	Blocked         bool          // an earlier request had no answer in time either
	Expelled        bool          // the server has ended the session, as messages in it were told
}

// never is the time of what did not happen.
const never = time.Duration(math.MaxInt64)

// StreamsOf are the event streams of a session, as long as the client kept the protocol. Of those that checks have
// asked for by hand, only GET streams count.
func StreamsOf(t *T, s *driver.Session) []*EventStream {
	RequireServer(t) // a recording does not hold the events that have no data
	return Memo(t, s, func() []*EventStream { return readStreams(s) })
}

func readStreams(s *driver.Session) (all []*EventStream) {
	by := map[*driver.Exchange]*EventStream{}
	for _, f := range s.Record(0) {
		switch x := f.HTTP; {
		case x == nil || f.Hostile && (f.Side == driver.FromClient || x.Method == http.MethodGet):
		case f.Side == driver.FromServer && by[x] != nil:
			by[x].Messages = append(by[x].Messages, f.Members()...)
		case f.Side != driver.FromClient || x.ByHand() && x.Method != http.MethodGet:
		default:
			e := &EventStream{Exchange: x, Session: s, Request: f, Answer: x.Answer()}
			by[x] = e
			if e.Resumes() {
				e.continues(all)
			}
			if e.Answer.IsStream {
				all = append(all, e)
			}
		}
	}
	circumstances(s).tell(by)
	return all
}

// Resumes reports whether the client has asked for the rest of an earlier stream.
func (e *EventStream) Resumes() bool {
	for name := range e.Header {
		if strings.EqualFold(name, "Last-Event-ID") {
			return true
		}
	}
	return false
}

// continues adds the stream to the one of which it is the rest.
func (e *EventStream) continues(earlier []*EventStream) {
	for _, of := range slices.Backward(earlier) {
		listening := of.Asked() == nil && e.Asked() == nil && of.Method == http.MethodGet
		same := driver.SameID(of.Asked(), e.Asked()) || listening
		if same && !of.Resumes() && !e.ByHand() && !of.ByHand() {
			of.Rest = append(of.Rest, e)
			return
		}
	}
}

// circumstance is what a session says of its streams as a whole.
type circumstance struct {
	cancelled map[string]time.Duration // when requests were, by id
	astray    map[string]bool          // requests whose responses came on a GET stream
	silent    time.Duration            // when the first request was sent that had no answer in time
	over      time.Duration            // when the session was ended, by whom ever
	expelled  bool                     // by the server: a message was answered with 404
	last      time.Duration            // the last that is known of it
}

func circumstances(s *driver.Session) circumstance {
	c := circumstance{cancelled: map[string]time.Duration{}, astray: map[string]bool{}, silent: never, over: never}
	for _, x := range pair(s, s.Record(0)).Exchanges {
		due := x.Request.At + s.Patience() // waits for a turn count: the client's own answers may have had to, too
		if !x.Cancelled && (x.Answer == nil || x.Answer.At > due) {
			c.silent = min(c.silent, x.Request.At)
		}
	}
	for _, f := range s.Record(0) {
		c.last = f.At
		switch {
		case f.Side == driver.FromClient && f.Method == "notifications/cancelled":
			c.cancelled[Cancels(f)] = f.At
		case f.Side == driver.Event:
			c.over = min(c.over, f.At)
		case f.HTTP == nil:
		case f.Side == driver.FromClient:
			if f.HTTP.Method == http.MethodDelete {
				c.over = min(c.over, f.At)
			}
		case f.Event == nil:
			inSession := !f.Apart && s.HTTP().SessionID() != "" // else it is of an unknown method, say
			if inSession && f.HTTP.Answer().Status == http.StatusNotFound {
				c.over = min(c.over, f.At)
				c.expelled = c.expelled || f.HTTP.Method == http.MethodPost
			}
		case f.HTTP.Method == http.MethodGet && f.HTTP.Asked() == nil:
			for _, m := range f.Members() {
				if m.IsResponse() {
					c.astray[driver.IDKey(m.Answers())] = true
				}
			}
		}
	}
	return c
}

// tell completes the streams of the session.
func (c circumstance) tell(streams map[*driver.Exchange]*EventStream) {
	for _, e := range streams {
		id := driver.IDKey(e.Asked())
		e.cancelled, e.Astray, e.over, e.Last = never, c.astray[id], c.over, c.last
		if at, ok := c.cancelled[id]; ok {
			e.cancelled = at
		}
		e.Blocked, e.Expelled = c.silent < e.Request.At, c.expelled
		if e.Answer.Ended {
			e.Last = e.Answer.EndAt
		}
		if e.Recalled() {
			e.cancelled = min(e.cancelled, e.Last)
		}
	}
}

// Response is the first response on the stream, under whatever id; nil when there is none.
func (e *EventStream) Response() *driver.Frame {
	i := slices.IndexFunc(e.Messages, (*driver.Frame).IsResponse)
	if i < 0 {
		return nil
	}
	return e.Messages[i]
}

// Responded reports whether the response came on the stream or on the rest of it.
func (e *EventStream) Responded() bool {
	answers := func(e *EventStream) bool { return e.Response() != nil }
	return answers(e) || slices.ContainsFunc(e.Rest, answers)
}

// Rivalry is for how long after a GET stream was opened the server may close others in its favour.
const Rivalry = 100 * time.Millisecond

// Closed reports whether the server has closed the connection, of its own accord and while there was something to come.
func (e *EventStream) Closed() bool {
	return e.Answer.IsStream && e.Answer.Ended && e.Answer.Err == nil &&
		e.Last < min(e.cancelled, e.over)
}

// end is the stream itself or the last one that resumed it.
func (e *EventStream) end() *EventStream {
	if len(e.Rest) > 0 {
		return e.Rest[len(e.Rest)-1]
	}
	return e
}

// Unwatched reports whether the client has not waited for the response until it was due, or has cancelled the request.
func (e *EventStream) Unwatched() bool {
	last := e.end()
	if last.Closed() || last.Answer.Status >= 400 {
		return e.cancelled < last.Last
	}
	return e.cancelled < never || last.Last-e.Request.SentAt() < e.Session.Patience()
}

// Fate is what became of a stream without a response.
func (e *EventStream) Fate() string {
	if last := e.end(); last != e {
		return "none; resumed, the server answered " + last.Answer.String()
	}
	return "none: " + e.Answer.String()
}

// Has reports whether an event of the stream is of a kind.
func (e *EventStream) Has(kind func(driver.StreamEvent) bool) bool {
	return slices.ContainsFunc(e.Answer.Events, kind)
}

// Identified reports whether the stream can be resumed.
func (e *EventStream) Identified() bool { return e.Has(Identifies) }

// Identifies reports whether an event has an id that a stream can be resumed after.
func Identifies(e driver.StreamEvent) bool { return e.HasID && e.ID != "" }

// Listens reports whether the stream is that of a subscription, whose response comes when the server ends it, if ever.
func (e *EventStream) Listens() bool { return e.Request.Method == "subscriptions/listen" }

// Frames are the request and the last that came on the stream.
func (e *EventStream) Frames() []*driver.Frame {
	const most = 3
	return append([]*driver.Frame{e.Request}, e.Messages[max(0, len(e.Messages)-most):]...)
}

// Name is what a stream is called in reports: by its request.
func (e *EventStream) Name() string {
	if e.Method == http.MethodGet {
		return "GET"
	}
	return e.Request.Method
}

// Subject is the stream as one of several.
func (e *EventStream) Subject() Subject { return Subject{Name: e.Name(), Frames: e.Frames()} }

// PostStreams are the streams that answer a request.
func PostStreams(t *T, w Wire) (streams []*EventStream) {
	return streamsThat(t, w, func(e *EventStream) bool { return e.Method == http.MethodPost && e.Asked() != nil })
}

// GetStreams are the streams on which the server may speak first.
func GetStreams(t *T, w Wire) (streams []*EventStream) {
	return streamsThat(t, w, func(e *EventStream) bool {
		return e.Method == http.MethodGet && !e.Resumes() && !e.ByHand()
	})
}

func streamsThat(t *T, w Wire, keep func(*EventStream) bool) (streams []*EventStream) {
	for _, s := range Established(t, w) {
		for _, e := range StreamsOf(t, s) {
			if keep(e) {
				streams = append(streams, e)
			}
		}
	}
	return streams
}

// Established are the sessions in which the revision that is judged was granted to who asked for it, or for a version
// that was never published: a server may go by another one that was asked for, if it knows it.
func Established(t *T, w Wire) (sessions []*driver.Session) {
	for _, s := range w.Sessions {
		asked, _ := s.Hello["protocolVersion"].(string)
		if s.Agreed() == t.Revision && (asked == t.Revision || slices.Contains(MadeUp, asked)) {
			sessions = append(sessions, s)
		}
	}
	return sessions
}

// EachStream tries a check on streams. What fails is named by its request. Without any stream the check does not apply.
func EachStream(t *T, streams []*EventStream, run func(*T, *EventStream)) {
	if len(streams) == 0 {
		t.Because(NotObserved).Skip("the server answered no request with an event stream")
	}
	Each(t, streams, (*EventStream).Subject, run)
}

// IsProgress reports whether a message says how far a request is.
func IsProgress(f *driver.Frame) bool { return f.Method == "notifications/progress" }

// Within2s is how many of some things, in their order, came within two seconds of each other at most.
func Within2s[V any](all []V, at func(V) time.Duration) (most int) {
	first := 0
	for i, v := range all {
		for at(v)-at(all[first]) > 2*time.Second {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// Distinct reports whether there cannot be two messages like this in a session: requests have an id of their own, and
// progress rises. Two equal notifications of another kind may be about two events.
func Distinct(m *driver.Frame) bool { return m.IsRequest() || IsProgress(m) }

// CouldTake reports whether a message that came on another stream could have come on this one, which was open: on one
// of the two the server may say what is about no request of the client.
func (e *EventStream) CouldTake(m *driver.Frame, from *EventStream) bool {
	listens := e.Method == http.MethodGet || from.Method == http.MethodGet
	return listens && e.Request.At <= m.At && m.At <= e.Last
}
