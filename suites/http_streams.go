package suites

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

// httpStreams are the checks of event streams of Streamable HTTP.
var httpStreams = Suite{
	"http/sse-response-eventually": WatchAfter(postSeveral, func(t *T, w Wire) {
		eachStream(t, postStreams(t, w), func(t *T, e *eventStream) {
			switch {
			case e.Responded() || e.Astray:
			case e.Closed() && (t.Revision < "2025-11-25" || !e.Identified()):
				t.Skip("the stream was closed early: http/sse-not-closed-early, http/sse-early-close-needs-event-id")
			case e.Closed() && len(e.Rest) >= 5:
				t.Inconclusive("it was resumed %d times, and that is enough", len(e.Rest))
			case e.blocked:
				t.Skip("an earlier request had no answer in time either")
			case e.Unwatched():
				t.Skip("the client waited no longer")
			}
			t.Expect(e.Responded() || e.Astray).To(Hold("the response on the stream, or on one that resumes it", "%s", e.Fate()))
		})
	}),

	"http/sse-not-closed-early": WatchAfter(postSeveral, func(t *T, w Wire) {
		eachStream(t, postStreams(t, w), func(t *T, e *eventStream) {
			if e.Response() == nil && !e.Closed() {
				t.Skip("neither the response came nor the end")
			}
			t.Expect(e.Response() != nil).To(Hold("the response before the end of the stream", "%s", e.Fate()))
		})
	}),

	"http/sse-early-close-needs-event-id": WatchAfter(postSeveral, func(t *T, w Wire) {
		eachStream(t, closedEarly(t, w), func(t *T, e *eventStream) {
			t.Expect(e.Identified()).To(Hold("an event id, since the response is to come yet", "%s", e.Answer))
		})
	}),

	"http/sse-retry-before-early-close": WatchAfter(callTools, func(t *T, w Wire) {
		eachStream(t, closedEarly(t, w), func(t *T, e *eventStream) {
			if !e.Identified() {
				t.Skip("it cannot be resumed: http/sse-early-close-needs-event-id")
			}
			t.Expect(e.Has(retries)).To(Hold("a retry field before the connection is closed", "%s", e.Answer))
		})
	}),

	"http/sse-priming-event": WatchAfter(postSeveral, func(t *T, w Wire) {
		if t.Server.Sessionless {
			t.Skip("the server has no sessions: there is nothing to come back to")
		}
		if len(getStreams(t, w)) == 0 {
			t.Skip("the server opens no event stream for GET: there is no way to come back")
		}
		eachStream(t, postStreams(t, w), func(t *T, e *eventStream) {
			i := slices.IndexFunc(e.Answer.Events, func(e driver.StreamEvent) bool { return e.HasID || e.HasData })
			if i < 0 {
				t.Skip("no event came")
			}
			first := e.Answer.Events[i]
			t.Expect(identifies(first) && !first.Dispatched()).To(Hold("a first event with an id and empty data", "%s", contentOf(first)))
		})
	}),

	"http/sse-stream-ends-after-response": WatchAfter(postSeveral, func(t *T, w Wire) {
		eachStream(t, postStreams(t, w), func(t *T, e *eventStream) {
			response := e.Response()
			if response == nil {
				t.Skip("no response came on it")
			}
			open := e.Last - response.At
			if !e.Closed() && open < afterResponse {
				t.Skip("the client closed the stream")
			}
			t.Expect(open <= afterResponse).To(Hold("the end of the stream after the response", "a stream that is still open after %v", afterResponse))
		})
	}),

	"http/sse-events-are-messages": WatchAfter(postSeveral, func(t *T, w Wire) {
		events := w.Lines().Filter("event with data", func(m Message) bool { return m.Event != nil && !m.Hostile })
		t.Judge(events, func(t *T, m Message) {
			usual := BeOneOf("", "message")
			if ok, _ := usual.Match(m.Event.Type); ok { // an array outside of 2025-03-26 is batch/no-outgoing-array
				t.Expect(m.Shape == driver.Object || m.Shape == driver.Array).To(Hold("one JSON-RPC message", "%s", brief(m.Frame)))
			}
			t.Warn(m.Event.Type).To(usual)
		})
	}),

	"http/sse-event-ids-unique": WatchAfter(postSeveral, func(t *T, w Wire) {
		var all []idUse
		for _, s := range established(t, w) {
			all = append(all, usesOfIDs(t, s)...)
		}
		if len(all) == 0 {
			t.Skip("no session has event ids on several streams")
		}
		eachOf(t, all, func(u idUse) Subject { return Subject{Frames: u.frames()} }, func(t *T, u idUse) {
			t.Expect(u.Second == nil).To(Hold("each event id once in a session", "%s", u))
		})
	}),

	"http/get-stream-no-responses": WatchAfter(postSeveral, func(t *T, w Wire) {
		eachStream(t, wantGet(t, w), func(t *T, e *eventStream) {
			response := e.Response()
			t.Expect(response == nil).To(Hold("requests and notifications only", "%s", brief(response)))
		})
	}),

	"http/no-broadcast": WatchAfter(callTools, func(t *T, w Wire) {
		messages := Messages{What: "message while two streams were open that could both have taken it"}
		twins := map[*driver.Frame]*driver.Frame{}
		for _, s := range established(t, w) {
			streams := slices.DeleteFunc(slices.Clone(streamsOf(t, s)), func(e *eventStream) bool { return e.Resumes() })
			for _, e := range streams {
				for _, m := range e.Messages {
					others := slices.DeleteFunc(slices.Clone(streams), func(o *eventStream) bool { return o == e || !o.couldTake(m, e) })
					if len(others) > 0 && m.HasMethod {
						messages.List = append(messages.List, Message{Frame: m, Session: s})
						twins[m] = twin(m, others)
					}
				}
			}
		}
		t.Judge(messages, func(t *T, m Message) {
			t.Expect(twins[m.Frame] == nil).To(Hold("each message on one stream", "the same on two: %s", brief(m.Frame)))
		})
	}),

	"http/post-stream-messages-related": WatchAfter(callTools, func(t *T, w Wire) {
		judgeProgress(t, w, func(p progress) bool { return p.Stream.Method == http.MethodPost }, func(t *T, p progress) {
			own := driver.SameID(p.Of.ID, p.Stream.Asked())
			t.Expect(own).To(Hold("progress of the request "+string(p.Stream.Asked()), "that of the request %s: %s", p.Of.ID, brief(p.Frame)))
		})
	}),

	"http/get-stream-messages-unrelated": WatchAfter(callTools, func(t *T, w Wire) {
		wantGet(t, w)
		judgeProgress(t, w, func(p progress) bool { return p.Running }, func(t *T, p progress) {
			listening := p.Stream.Method == http.MethodGet && p.Stream.Asked() == nil
			t.Expect(!listening).To(Hold("progress on the stream of its request", "%s on a GET stream", brief(p.Frame)))
		})
	}),

	"http/resume-replays-own-stream-only": Probe(func(t *T) {
		r := resumed(t)
		stranger := r.stranger()
		t.Expect(stranger == "").To(Hold("nothing but the rest of the resumed stream", "%s", stranger))
	}),

	"http/resume-via-get": Probe(func(t *T) {
		r := resumed(t)
		switch {
		case r.idOfResponse:
			t.Skip("no event id comes before the response: http/sse-priming-event")
		case !r.answer.OK():
			t.Skip("streams cannot be resumed: %s", r.answer)
		}
		if !r.works() && r.early {
			t.Inconclusive("the response came before the connection could be dropped, and was not sent again")
		}
		t.Expect(r.works()).To(Hold("the response on the stream that resumes that of the request", "%s", r.answer))
	}),

	"http/resume-unknown-event-id": Probe(func(t *T) {
		s := t.Own()
		x := resumeAfter(s, "mcpcheck-unknown")
		s.Settle(s.Mark())
		a := within(x, time.Second, func(a driver.Answer) bool { return a.Status != 0 })
		if a.Status == 0 && !a.Ended {
			t.Inconclusive("GET was not answered in time")
		}
		t.Expect(a).To(That("an answer that is no server error", func(a driver.Answer) bool { return a.Status != 0 && a.Status < 500 }))
	}),

	"http/disconnect-is-not-cancel": Probe(func(t *T) {
		call := droppable(t)
		s := t.Own()
		x := byHand(s, "tools/call", call.params(), nil)
		first := identifiedEvent(x)
		if a := x.Answer(); a.Ended || responseAmong(a.Events, x.Asked()).Answered() || first.ID == "" {
			t.Inconclusive("%s cannot be interrupted: %s", call.Tool.Name, a)
		}
		x.Abort()
		again := resumeAfter(s, first.ID)
		a := within(again, 5*call.Took+time.Second, func(a driver.Answer) bool { return responseAmong(a.Events, x.Asked()).Answered() })
		r := responseAmong(a.Events, x.Asked())
		if !r.Answered() && !resumed(t).works() {
			t.Inconclusive("what became of %s cannot be seen: %s", call.Tool.Name, a)
		}
		finished := r.Answered() && kindOf(r) == kindOf(call.Reply)
		t.Expect(finished).To(Hold("the result of "+call.Tool.Name+", as without a dropped connection", "%s", outcomeOf(r, a)))
	}),

	"http/sse-cache-headers": WatchAfter(postSeveral, func(t *T, w Wire) {
		eachStream(t, append(postStreams(t, w), getStreams(t, w)...), func(t *T, e *eventStream) {
			control := strings.ToLower(strings.Join(e.Answer.Header.Values("Cache-Control"), ", "))
			t.Expect(control).To(That("Cache-Control no-cache or no-store", func(value string) bool {
				return strings.Contains(value, "no-cache") || strings.Contains(value, "no-store")
			}))
		})
	}),

	"http/get-retry-before-close": Watch(func(t *T, w Wire) {
		var closed []*eventStream
		for _, e := range wantGet(t, w) {
			if e.Closed() && !rivalled(e) {
				closed = append(closed, e)
			}
		}
		if len(closed) == 0 {
			t.Skip("the server closed no connection of a GET stream")
		}
		eachStream(t, closed, func(t *T, e *eventStream) {
			if !e.Identified() {
				t.Skip("it had no event ids: the server has ended the stream, which it may")
			}
			if len(e.Rest) > 0 && !e.Rest[0].Answer.OK() {
				t.Skip("it cannot be resumed: the server has ended the stream, which it may")
			}
			t.Expect(e.Has(retries)).To(Hold("a retry field before the connection is closed", "%s", e.Answer))
		})
	}),
}

// afterResponse is how long the stream of a request may be open after the response.
const afterResponse = 2 * time.Second

// postSeveral sees to it that there are event streams to judge, if the server sends
// any: requests at the same time, each read to the end of its answer.
func postSeveral(t *T) {
	Shared(t, "several posts", func(t *T) bool {
		s := t.Session()
		method, _ := listMethod(t)
		mark := s.Mark()
		var all []driver.Pending
		for range 4 {
			all = append(all, s.Request(method, nil))
		}
		for _, p := range all {
			s.Await(p)
		}
		for _, f := range s.Record(mark) {
			if f.Side == driver.FromClient && f.HTTP != nil && f.HTTP.Method == http.MethodPost {
				f.HTTP.EndFor(afterResponse + 100*time.Millisecond)
			}
		}
		return true
	})
}

// callTools sees to it that the tools have been called that may be: what they say
// meanwhile is what some checks judge.
func callTools(t *T) {
	if len(t.Server.Tools) > 0 {
		validCalls(t)
	}
}

// eventStream is an event stream with which the server has answered a request over
// HTTP, and what came on it.
type eventStream struct {
	*driver.Exchange
	Session  *driver.Session
	Request  *driver.Frame // the message that was posted, or the GET
	Answer   driver.Answer
	Messages []*driver.Frame // members of arrays one by one
	Rest     []*eventStream  // by which the client has resumed it; some may be refusals
	Last     time.Duration   // its end or, while it is open, the last that is known of the session
	Astray   bool            // the response came on a GET stream

	cancelled, over time.Duration // when the request was, and when the session was, by whom ever
	blocked         bool          // an earlier request had no answer in time either
}

// never is the time of what did not happen.
const never = time.Duration(math.MaxInt64)

// streamsOf are the event streams of a session, as long as the client kept the
// protocol. Of those that checks have asked for by hand, only GET streams count.
func streamsOf(t *T, s *driver.Session) []*eventStream {
	return Shared(t, "event streams of "+s.Name(), func(*T) []*eventStream { return readStreams(s) })
}

func readStreams(s *driver.Session) (all []*eventStream) {
	by := map[*driver.Exchange]*eventStream{}
	for _, f := range s.Record(0) {
		switch x := f.HTTP; {
		case x == nil || f.Hostile && (f.Side == driver.FromClient || x.Method == http.MethodGet):
		case f.Side == driver.FromServer && by[x] != nil:
			by[x].Messages = append(by[x].Messages, f.Members()...)
		case f.Side != driver.FromClient || x.ByHand() && x.Method != http.MethodGet:
		default:
			e := &eventStream{Exchange: x, Session: s, Request: f, Answer: x.Answer()}
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
func (e *eventStream) Resumes() bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(e.Header)), func(name string) bool { return strings.EqualFold(name, "Last-Event-ID") })
}

// continues adds the stream to the one of which it is the rest.
func (e *eventStream) continues(earlier []*eventStream) {
	for _, of := range slices.Backward(earlier) {
		same := driver.SameID(of.Asked(), e.Asked()) || of.Asked() == nil && e.Asked() == nil && of.Method == http.MethodGet
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
	last      time.Duration            // the last that is known of it
}

func circumstances(s *driver.Session) circumstance {
	c := circumstance{cancelled: map[string]time.Duration{}, astray: map[string]bool{}, silent: never, over: never}
	for _, x := range pair(s, s.Record(0)).Exchanges {
		due := x.Request.At + s.Patience()
		if !x.Cancelled && (x.Answer == nil || x.Answer.At > due) {
			c.silent = min(c.silent, x.Request.At)
		}
	}
	for _, f := range s.Record(0) {
		c.last = f.At
		switch {
		case f.Side == driver.FromClient && f.Method == "notifications/cancelled":
			params, _ := f.JSON()["params"].(M)
			c.cancelled[driver.IDKey(Compact(params["requestId"]))] = f.At
		case f.Side == driver.Event:
			c.over = min(c.over, f.At)
		case f.HTTP == nil:
		case f.Side == driver.FromClient:
			if f.HTTP.Method == http.MethodDelete {
				c.over = min(c.over, f.At)
			}
		case f.Event == nil:
			if !f.Apart && f.HTTP.Answer().Status == http.StatusNotFound {
				c.over = min(c.over, f.At)
			}
		case f.HTTP.Method == http.MethodGet && f.HTTP.Asked() == nil:
			for _, m := range f.Members() {
				if m.IsResponse() {
					c.astray[driver.IDKey(m.ID)] = true
				}
			}
		}
	}
	return c
}

// tell completes the streams of the session.
func (c circumstance) tell(streams map[*driver.Exchange]*eventStream) {
	for _, e := range streams {
		id := driver.IDKey(e.Asked())
		e.cancelled, e.Astray, e.over, e.Last = never, c.astray[id], c.over, c.last
		if at, ok := c.cancelled[id]; ok {
			e.cancelled = at
		}
		e.blocked = c.silent < e.Request.At
		if e.Answer.Ended {
			e.Last = e.Answer.EndAt
		}
	}
}

// Response is the first response on the stream, under whatever id; nil when there is
// none.
func (e *eventStream) Response() *driver.Frame {
	i := slices.IndexFunc(e.Messages, (*driver.Frame).IsResponse)
	if i < 0 {
		return nil
	}
	return e.Messages[i]
}

// Responded reports whether the response came on the stream or on the rest of it.
func (e *eventStream) Responded() bool {
	return e.Response() != nil || slices.ContainsFunc(e.Rest, func(rest *eventStream) bool { return rest.Response() != nil })
}

// Closed reports whether the server has closed the connection, of its own accord and
// while there was something to come.
func (e *eventStream) Closed() bool {
	return e.Answer.IsStream && e.Answer.Ended && e.Answer.Err == nil &&
		e.Last < min(e.cancelled, e.over)
}

// end is the stream itself or the last one that resumed it.
func (e *eventStream) end() *eventStream {
	if len(e.Rest) > 0 {
		return e.Rest[len(e.Rest)-1]
	}
	return e
}

// Unwatched reports whether the client has not waited for the response until it was
// due, or has cancelled the request.
func (e *eventStream) Unwatched() bool {
	last := e.end()
	if last.Closed() || last.Answer.Status >= 400 {
		return e.cancelled < last.Last
	}
	return e.cancelled < never || last.Last-e.Request.At < e.Session.Patience()
}

// Fate is what became of a stream without a response.
func (e *eventStream) Fate() string {
	if last := e.end(); last != e {
		return "none; resumed, the server answered " + last.Answer.String()
	}
	return "none: " + e.Answer.String()
}

// Has reports whether an event of the stream is of a kind.
func (e *eventStream) Has(kind func(driver.StreamEvent) bool) bool {
	return slices.ContainsFunc(e.Answer.Events, kind)
}

// Identified reports whether the stream can be resumed.
func (e *eventStream) Identified() bool { return e.Has(identifies) }

func identifies(e driver.StreamEvent) bool { return e.HasID && e.ID != "" }

func retries(e driver.StreamEvent) bool { return e.Retry != "" }

// contentOf says of an event whether it has an id and data, and not which ones.
func contentOf(e driver.StreamEvent) string {
	id, data := "no id", "no data"
	if identifies(e) {
		id = "an id"
	}
	if e.Dispatched() {
		data = "data"
	}
	return fmt.Sprintf("an event with %s and %s", id, data)
}

// describe is an event in a few words.
func describe(e driver.StreamEvent) string {
	id := "no id"
	if identifies(e) {
		id = "id " + e.ID
	}
	return id + ", data " + driver.Brief([]byte(e.Data))
}

// frames are the request and the last that came on the stream.
func (e *eventStream) frames() []*driver.Frame {
	const most = 3
	return append([]*driver.Frame{e.Request}, e.Messages[max(0, len(e.Messages)-most):]...)
}

func (e *eventStream) name() string {
	if e.Method == http.MethodGet {
		return "GET"
	}
	return e.Request.Method
}

// postStreams are the streams that answer a request.
func postStreams(t *T, w Wire) (streams []*eventStream) {
	return streamsThat(t, w, func(e *eventStream) bool { return e.Method == http.MethodPost && e.Asked() != nil })
}

// getStreams are the streams on which the server may speak first.
func getStreams(t *T, w Wire) (streams []*eventStream) {
	return streamsThat(t, w, func(e *eventStream) bool { return e.Method == http.MethodGet && !e.Resumes() && !e.ByHand() })
}

// wantGet are the GET streams; it ends the check when there is none.
func wantGet(t *T, w Wire) []*eventStream {
	streams := getStreams(t, w)
	if len(streams) == 0 {
		t.Skip("the server opens no event stream for GET")
	}
	return streams
}

// closedEarly are the streams that the server has closed before the response; it
// ends the check when there is none.
func closedEarly(t *T, w Wire) (streams []*eventStream) {
	for _, e := range postStreams(t, w) {
		if e.Closed() && e.Response() == nil {
			streams = append(streams, e)
		}
	}
	if len(streams) == 0 {
		t.Skip("the server closed no stream before its response")
	}
	return streams
}

func streamsThat(t *T, w Wire, keep func(*eventStream) bool) (streams []*eventStream) {
	for _, s := range established(t, w) {
		for _, e := range streamsOf(t, s) {
			if keep(e) {
				streams = append(streams, e)
			}
		}
	}
	return streams
}

// established are the sessions in which the revision that is judged was asked for and
// granted: a server may go by either.
func established(t *T, w Wire) (sessions []*driver.Session) {
	for _, s := range w.Sessions {
		if s.Revision == t.Revision && s.Hello["protocolVersion"] == t.Revision {
			sessions = append(sessions, s)
		}
	}
	return sessions
}

// eachStream tries a check on streams. What fails is named by its request.
func eachStream(t *T, streams []*eventStream, run func(*T, *eventStream)) {
	if len(streams) == 0 {
		t.Skip("the server answered no request with an event stream")
	}
	eachOf(t, streams, func(e *eventStream) Subject { return Subject{Name: e.name(), Frames: e.frames()} }, run)
}

// eachOf tries a check on things that are subjects in some way.
func eachOf[V any](t *T, all []V, subject func(V) Subject, run func(*T, V)) {
	subjects := make([]Subject, len(all))
	for i, v := range all {
		subjects[i] = subject(v)
	}
	next := 0
	t.Each(subjects, func(t *T, _ Subject) {
		next++
		run(t, all[next-1])
	})
}

// idUse says of the event ids of a session that each was used once, or which was
// used twice first.
type idUse struct {
	ID            string
	First, Second *eventStream // of the id; nil: each was used once
}

func (u idUse) String() string {
	if u.Second == nil {
		return "no id twice"
	}
	return fmt.Sprintf("id %q on the streams of %s and %s", u.ID, u.First.name(), u.Second.name())
}

func (u idUse) frames() (frames []*driver.Frame) {
	for _, e := range []*eventStream{u.First, u.Second} {
		if e != nil {
			frames = append(frames, e.frames()...)
		}
	}
	return frames
}

// usesOfIDs is what became of the event ids of a session, if several streams have
// some. What was replayed because the client wanted it does not count.
func usesOfIDs(t *T, s *driver.Session) (uses []idUse) {
	first := map[string]*eventStream{}
	identified := 0
	for _, e := range streamsOf(t, s) {
		if e.Resumes() || !e.Identified() {
			continue
		}
		identified++
		last := ""
		for _, event := range e.Answer.Events {
			repeats := event.ID == last && !event.HasData // it says where the client is, once more
			if !identifies(event) || repeats {
				continue
			}
			if of := first[event.ID]; of != nil {
				return []idUse{{event.ID, of, e}}
			}
			first[event.ID], last = e, event.ID
		}
	}
	if identified > 1 {
		uses = []idUse{{}}
	}
	return uses
}

// rivalled reports whether the server has closed a GET stream when a check opened
// another one, in whose favour it may.
func rivalled(e *eventStream) bool {
	const moment = 100 * time.Millisecond
	return slices.ContainsFunc(e.Session.Exchanges(), func(x *driver.Exchange) bool {
		a := x.Answer()
		return x.ByHand() && x.Method == http.MethodGet && x.At <= e.Last && (a.Status == 0 || e.Last <= a.HeadAt+moment)
	})
}

// isProgress reports whether a message says how far a request is.
func isProgress(f *driver.Frame) bool { return f.Method == "notifications/progress" }

// couldTake reports whether a message that came on another stream could have come on
// this one: it was open, and the message is such that it cannot be two alike. That
// is so for progress, for requests, and for whatever is about no request.
func (e *eventStream) couldTake(m *driver.Frame, from *eventStream) bool {
	gets := 0
	for _, x := range []*eventStream{e, from} {
		if x.Method == http.MethodGet {
			gets++
		}
	}
	open := e.Request.At <= m.At && m.At <= e.Last
	return open && (gets == 2 || gets == 1 && (isProgress(m) || m.IsRequest()))
}

// twin is the same message on one of the streams, at the same time; nil when there
// is none.
func twin(m *driver.Frame, streams []*eventStream) *driver.Frame {
	const moment = 50 * time.Millisecond
	same := Compact(m.JSON())
	for _, e := range streams {
		for _, o := range e.Messages {
			if (o.At-m.At).Abs() <= moment && slices.Equal(Compact(o.JSON()), same) {
				return o
			}
		}
	}
	return nil
}

// progress is a notification of progress on a stream, and what it is about.
type progress struct {
	*driver.Frame
	Stream  *eventStream
	Of      *driver.Frame // the request that has asked for it
	Running bool          // that had no answer yet
}

// judgeProgress tries a check on the notifications of progress of a kind.
func judgeProgress(t *T, w Wire, keep func(progress) bool, run func(*T, progress)) {
	messages := Messages{What: "progress of a running request"}
	by := map[*driver.Frame]progress{}
	for _, s := range established(t, w) {
		for _, p := range progressIn(t, s) {
			if keep(p) {
				messages.List = append(messages.List, Message{Frame: p.Frame, Session: s, Request: p.Of})
				by[p.Frame] = p
			}
		}
	}
	t.Judge(messages, func(t *T, m Message) { run(t, by[m.Frame]) })
}

// progressIn is the progress of a session that is about a request of the client.
func progressIn(t *T, s *driver.Session) (all []progress) {
	wanted, answers := map[string]*driver.Frame{}, map[string]time.Duration{}
	for _, f := range s.Record(0) {
		switch {
		case f.Side == driver.FromClient && f.Method == "tools/call" && !f.Apart:
			params, _ := f.JSON()["params"].(M)
			meta, _ := params["_meta"].(M)
			wanted[string(Compact(Member(meta, "progressToken")))] = f
		case f.Side == driver.FromServer && f.IsResponse():
			answers[driver.IDKey(f.ID)] = f.At
		}
	}
	for _, e := range streamsOf(t, s) {
		for _, m := range e.Messages {
			if !isProgress(m) {
				continue
			}
			params, _ := m.JSON()["params"].(M)
			of := wanted[string(Compact(params["progressToken"]))]
			if of == nil {
				continue
			}
			answer, came := answers[driver.IDKey(of.ID)]
			all = append(all, progress{m, e, of, !came || m.At <= answer})
		}
	}
	return all
}

// resumption is what came of resuming the stream of one request after another
// request had been served.
type resumption struct {
	asked        []byte        // id of the request
	idOfResponse bool          // the first event with an id was the response
	early        bool          // the response came before the connection was dropped: nothing was lost
	other        driver.Reply  // to the other one
	others       []string      // ids of the events with which it was answered
	answer       driver.Answer // to the GET
}

// resumed drops the connection of a request as soon as it has an event id, and
// resumes its stream.
func resumed(t *T) resumption {
	if t.Server.Sessionless {
		t.Skip("the server has no sessions: there is nothing to come back to")
	}
	return Shared(t, "resumption", func(t *T) (r resumption) {
		s := t.Own()
		method, _ := listMethod(t)
		x := byHand(s, method, nil, nil)
		first := identifiedEvent(x)
		if first.ID == "" {
			t.Skip("event streams have no ids: they cannot be resumed")
		}
		x.Abort()
		r.early = responseAmong(x.End().Events, x.Asked()).Answered()
		r.asked, r.idOfResponse = x.Asked(), responseAmong([]driver.StreamEvent{first}, x.Asked()).Answered()
		r.other = t.Ask(s, method, nil)
		for _, e := range r.other.Request.HTTP.Answer().Events {
			r.others = append(r.others, e.ID)
		}
		again := resumeAfter(s, first.ID)
		t.Settle(s, s.Mark())
		r.answer = within(again, time.Second, func(a driver.Answer) bool {
			return r.idOfResponse || responseAmong(a.Events, r.asked).Answered()
		})
		return r
	})
}

// works reports whether resuming the stream brought the response.
func (r resumption) works() bool { return responseAmong(r.answer.Events, r.asked).Answered() }

// stranger is the first event that belongs to another stream; empty when there is
// none.
func (r resumption) stranger() string {
	for _, e := range r.answer.Events {
		theirs := identifies(e) && slices.Contains(r.others, e.ID)
		if theirs || responseAmong([]driver.StreamEvent{e}, r.other.Frame.ID).Answered() {
			return describe(e)
		}
	}
	return ""
}

// identifiedEvent is the first event of a stream, if it has an id.
func identifiedEvent(x *driver.Exchange) driver.StreamEvent {
	first, _ := x.AwaitEvent(func(e driver.StreamEvent) bool { return e.HasID || e.Dispatched() })
	if !identifies(first) {
		return driver.StreamEvent{}
	}
	return first
}

// resumeAfter asks for what came after an event. A server may take a moment to see
// that the connection before is gone.
func resumeAfter(s *driver.Session, id string) (x *driver.Exchange) {
	for range 5 {
		x = get(s, header("Last-Event-ID", id))
		a := within(x, time.Second, func(a driver.Answer) bool { return a.Status != 0 })
		if a.Status != http.StatusConflict {
			break
		}
		s.Exchange(s.Fence, nil)
	}
	return x
}

// within waits until an exchange has brought what is wanted, or has ended, at most
// for d.
func within(x *driver.Exchange, d time.Duration, enough func(driver.Answer) bool) driver.Answer {
	const interval = 10 * time.Millisecond
	for begin := time.Now(); ; {
		a := x.EndFor(interval)
		if a.Ended || enough(a) || time.Since(begin) >= d {
			return a
		}
	}
}

// responseAmong is the response to a request among events; it is not answered when
// there is none.
func responseAmong(events []driver.StreamEvent, id []byte) driver.Reply {
	for _, e := range events {
		members, isArray := driver.Decode([]byte(e.Data)).([]any)
		if !isArray {
			members = []any{driver.Decode([]byte(e.Data))}
		}
		for _, m := range Objects(members) {
			if !Has(m, "method") && driver.SameID(Compact(m["id"]), id) {
				return driver.Reply{Frame: &driver.Frame{Side: driver.FromServer, Raw: []byte(e.Data)}, M: m}
			}
		}
	}
	return driver.Reply{Err: errNoResponse}
}

var errNoResponse = errors.New("no response")

// droppable is a call that took a while, on a stream that can be resumed before the
// result has come.
func droppable(t *T) toolCall {
	const while = 100 * time.Millisecond
	if t.Server.Sessionless {
		t.Skip("the server has no sessions: there is nothing to come back to")
	}
	calls := validCalls(t)
	for _, c := range answered(calls.List) {
		if x := c.Reply.Frame.HTTP; c.Took < while || refused(c.Reply) || x != c.Reply.Request.HTTP {
			continue
		}
		first := identifiedEvent(c.Reply.Request.HTTP)
		if identifies(first) && !responseAmong([]driver.StreamEvent{first}, c.Reply.Frame.ID).Answered() {
			return c
		}
	}
	nothing(t, "tool that was called takes a while, and answers on a stream that can be resumed", calls.Refused, anyTool)
	return toolCall{}
}

// outcomeOf is what came of a call that was interrupted.
func outcomeOf(r driver.Reply, a driver.Answer) string {
	if !r.Answered() {
		return "none: " + a.String()
	}
	return Got(r)
}
