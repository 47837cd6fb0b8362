package http

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

var streams = Suite{
	"http/sse-response-eventually": WatchAfter(postAndCall, func(t *T, w Wire) {
		streams, sullen := kit.PostStreams(t, w), kit.LeavesErrors(kit.Dialogues(w))
		responded := map[string]bool{} // by method
		for _, e := range streams {
			responded[e.Name()] = responded[e.Name()] || e.Responded()
		}
		kit.EachStream(t, streams, func(t *T, e *kit.EventStream) {
			switch {
			case e.Responded() || e.Astray:
			case sullen && responded[e.Name()]:
				t.Yield("it may be what is to be refused, and that has no answer")
			case e.Listens():
				t.Skip("its response comes when the server ends the subscription")
			case e.Closed() && !t.Modern() && (t.Revision < "2025-11-25" || !e.Identified()):
				t.Yield("the stream was closed early")
			case e.Closed() && len(e.Rest) >= 5:
				t.Because(Limit).Inconclusive("it was resumed %d times, and that is enough", len(e.Rest))
			case kit.IsTried(e.Asked()):
				t.Skip("another check judges the ids that it tries")
			case e.Blocked:
				t.Skip("an earlier request had no answer in time either")
			case e.Unwatched():
				t.Skip("the client waited no longer")
			case e.Expelled:
				t.Skip("the server has ended the session, and so what was to come in it")
			case e.Session.StillComing(e.Request):
				t.Because(Silent).Inconclusive("an event was still coming when the response was due (--timeout)")
			case answerLost(e.Session):
				t.Inconclusive("an answer of the client to a request of the server did not get through")
			}
			t.Expect(e.Responded() || e.Astray).To(Hold("the response on the stream, or on one that resumes it",
				"%s", e.Fate()))
		})
	}),

	"http/sse-not-closed-early": WatchAfter(postSeveral, func(t *T, w Wire) {
		kit.EachStream(t, kit.PostStreams(t, w), func(t *T, e *kit.EventStream) {
			if e.Response() == nil && !e.Closed() {
				t.Skip("neither the response came nor the end")
			}
			t.Expect(e.Response() != nil).To(Hold("the response before the end of the stream", "%s", e.Fate()))
		})
	}),

	"http/sse-early-close-needs-event-id": WatchAfter(postAndCall, func(t *T, w Wire) {
		kit.EachStream(t, closedEarly(t, w), func(t *T, e *kit.EventStream) {
			t.Expect(e.Identified()).To(Hold("an event id, since the response is to come yet", "%s", e.Answer))
		})
	}),

	"http/sse-retry-before-early-close": WatchAfter(kit.CallTools, func(t *T, w Wire) {
		kit.EachStream(t, closedEarly(t, w), func(t *T, e *kit.EventStream) {
			if !e.Identified() {
				t.Yield("it cannot be resumed")
			}
			t.Expect(e.Has(retries)).To(Hold("a retry field before the connection is closed", "%s", e.Answer))
		})
	}),

	"http/sse-priming-event": WatchAfter(postSeveral, func(t *T, w Wire) {
		if t.Server.Sessionless {
			t.Because(NotOffered).Skip("the server has no sessions: there is nothing to come back to")
		}
		if len(kit.GetStreams(t, w)) == 0 {
			t.Because(NotOffered).Skip("the server opens no event stream for GET: there is no way to come back")
		}
		kit.EachStream(t, kit.PostStreams(t, w), func(t *T, e *kit.EventStream) {
			i := slices.IndexFunc(e.Answer.Events, func(e driver.StreamEvent) bool { return e.HasID || e.HasData })
			if i < 0 {
				t.Because(NotObserved).Skip("no event came")
			}
			first := e.Answer.Events[i]
			t.Expect(kit.Identifies(first) && !first.Dispatched()).To(Hold("a first event with an id and empty data",
				"%s", contentOf(first)))
		})
	}),

	"http/sse-stream-ends-after-response": WatchAfter(postSeveral, func(t *T, w Wire) {
		kit.EachStream(t, kit.PostStreams(t, w), func(t *T, e *kit.EventStream) {
			response := e.Response()
			if response == nil {
				t.Because(NotObserved).Skip("no response came on it")
			}
			open := e.Last - response.At
			if !e.Closed() && open < afterResponse {
				t.Skip("the client closed the stream")
			}
			t.Expect(open <= afterResponse).To(Hold("the end of the stream after the response",
				"a stream that is still open after %v", afterResponse))
		})
	}),

	"http/sse-events-are-messages": WatchAfter(postSeveral, func(t *T, w Wire) {
		events := w.Lines().Filter("event with data", func(m Message) bool { return m.Event != nil && !m.Hostile })
		t.Judge(events, func(t *T, m Message) {
			usual := BeOneOf("", "message")
			if ok, _ := usual.Match(m.Event.Type); ok { // an array outside of 2025-03-26 is batch/no-outgoing-array
				t.Expect(m.IsMeant()).To(Hold("one JSON-RPC message", "%s", m.Frame))
			}
			t.Warn(m.Event.Type).To(usual)
		})
	}),

	"http/sse-event-ids-unique": WatchAfter(postSeveral, func(t *T, w Wire) {
		var all []idUse
		for _, s := range kit.Established(t, w) {
			all = append(all, usesOfIDs(t, s)...)
		}
		if len(all) == 0 {
			t.Because(NotObserved).Skip("no session has event ids on several streams")
		}
		Each(t, all, idUse.subject, func(t *T, u idUse) {
			t.Expect(u.Second == nil).To(Hold("each event id once in a session", "%s", u))
		})
	}),

	"http/sse-cache-headers": WatchAfter(postSeveral, func(t *T, w Wire) {
		kit.EachStream(t, append(kit.PostStreams(t, w), kit.GetStreams(t, w)...), func(t *T, e *kit.EventStream) {
			control := strings.ToLower(strings.Join(e.Answer.Header.Values("Cache-Control"), ", "))
			t.Expect(control).To(That("Cache-Control no-cache or no-store", func(value string) bool {
				return strings.Contains(value, "no-cache") || strings.Contains(value, "no-store")
			}))
		})
	}),

	"http/sse-x-accel-buffering": WatchAfter(postSeveral, func(t *T, w Wire) {
		kit.EachStream(t, kit.PostStreams(t, w), func(t *T, e *kit.EventStream) {
			t.Expect(strings.ToLower(e.Answer.Header.Get("X-Accel-Buffering"))).To(BeOneOf("no"))
		})
	}),

	"http/listen-keepalive": WatchAfter(kit.CallTools, func(t *T, w Wire) {
		var idle []*kit.EventStream
		for _, e := range kit.PostStreams(t, w) {
			if e.Listens() && e.Last-e.Request.At >= mostIdle {
				idle = append(idle, e)
			}
		}
		if len(idle) == 0 {
			t.Because(NotObserved).Skip("no stream of subscriptions/listen was open for %v", mostIdle)
		}
		kit.EachStream(t, idle, func(t *T, e *kit.EventStream) {
			t.Expect(e.Answer.Comments > 0).To(Hold("a comment within "+mostIdle.String(), "none"))
		})
	}),

	"http/disconnect-survival": Ending(func(t *T) {
		s := t.Own()
		usual := AskHarmless(t, s)
		all := M{"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true}
		x := kit.ByHand(s, kit.Request{
			ID: kit.TextID(t, "mcpcheck-dropped"), Method: "subscriptions/listen", Params: M{"notifications": all},
		})
		if a := kit.CameOf(x); !a.IsStream {
			t.Because(NotOffered).Skip("subscriptions/listen is answered with %s", a)
		}
		x.Abort()
		s.Idle(toNotice)
		t.Expect(TryHarmless(t, s)).To(beAsUsual(usual), "the request after the dropped stream")
	}),

	"http/get-retry-before-close": WatchAfter(kit.CallTools, func(t *T, w Wire) {
		var closed []*kit.EventStream
		for _, e := range wantGet(t, w) {
			if e.Closed() && !rivalled(e) {
				closed = append(closed, e)
			}
		}
		if len(closed) == 0 {
			t.Because(NotObserved).Skip("the server closed no connection of a GET stream")
		}
		kit.EachStream(t, closed, func(t *T, e *kit.EventStream) {
			if !e.Identified() {
				t.Skip("it had no event ids: the server has ended the stream, which it may")
			}
			if len(e.Rest) == 0 || !e.Rest[0].Answer.OK() {
				t.Skip("it was not resumed, or could not be: the server may have ended the stream")
			}
			t.Expect(e.Has(retries)).To(Hold("a retry field before the connection is closed", "%s", e.Answer))
		})
	}),
}

// toNotice is how long a server has to notice that a client has dropped a stream.
const toNotice = 100 * time.Millisecond

// mostIdle is how long the stream of a subscription may be open without a comment.
const mostIdle = 30 * time.Second

// afterResponse is how long the stream of a request may be open after the response.
const afterResponse = 2 * time.Second

// answerLost reports whether an answer of the client was turned away, by what is not the server or since that was busy:
// a request of the client may have waited for it.
func answerLost(s *driver.Session) bool {
	return slices.ContainsFunc(s.Record(0), func(f *driver.Frame) bool {
		return f.Side == driver.FromClient && f.IsResponse() && f.HTTP != nil &&
			(f.HTTP.Answer().Foreign() || f.HTTP.IsBusy())
	})
}

// postSeveral sees to it that there are event streams to judge, if the server sends any: requests at the same time,
// each read to the end of its answer.
func postSeveral(t *T) {
	Step(t, "several posts", func(t *T) bool {
		ObserveLate(t, time.Now())
		s := t.Session()
		method, params := kit.Ordinary(t, s)
		mark := s.Mark()
		var all []driver.Pending
		for range 4 {
			all = append(all, s.Request(method, params))
		}
		for _, p := range all {
			s.Await(p)
		}
		end := time.Now().Add(afterResponse + 100*time.Millisecond)
		for _, f := range s.Record(mark) {
			if f.Side == driver.FromClient && f.HTTP != nil && f.HTTP.Method == http.MethodPost {
				f.HTTP.EndFor(time.Until(end))
			}
		}
		AskHarmless(t, s) // so that it is on record how long the streams were open
		return true
	})
}

// postAndCall does so, and calls the tools that may be called.
func postAndCall(t *T) {
	postSeveral(t)
	kit.CallTools(t)
}

func retries(e driver.StreamEvent) bool { return e.Retry != "" }

// contentOf says of an event whether it has an id and data, and not which ones.
func contentOf(e driver.StreamEvent) string {
	id, data := "no id", "no data"
	if kit.Identifies(e) {
		id = "an id"
	}
	if e.Dispatched() {
		data = "data"
	}
	return fmt.Sprintf("an event with %s and %s", id, data)
}

// wantGet are the GET streams; it ends the check when there is none.
func wantGet(t *T, w Wire) []*kit.EventStream {
	streams := kit.GetStreams(t, w)
	if len(streams) == 0 {
		t.Because(NotOffered).Skip("the server opens no event stream for GET")
	}
	return streams
}

// closedEarly are the streams that the server has closed before the response; it ends the check when there is none.
func closedEarly(t *T, w Wire) (streams []*kit.EventStream) {
	for _, e := range kit.PostStreams(t, w) {
		if e.Closed() && e.Response() == nil && !e.Expelled { // else nothing is to come any more
			streams = append(streams, e)
		}
	}
	if len(streams) == 0 {
		t.Because(NotObserved).Skip("the server closed no stream before its response")
	}
	return streams
}

// idUse says of the event ids of a session that each was used once, or which was used twice first.
type idUse struct {
	ID            string
	First, Second *kit.EventStream // of the id; nil: each was used once
}

func (u idUse) String() string {
	if u.Second == nil {
		return "no id twice"
	}
	return fmt.Sprintf("id %q on the streams of %s and %s", u.ID, u.First.Name(), u.Second.Name())
}

func (u idUse) subject() (s Subject) {
	for _, e := range []*kit.EventStream{u.First, u.Second} {
		if e != nil {
			s.Frames = append(s.Frames, e.Frames()...)
		}
	}
	return s
}

// usesOfIDs is what became of the event ids of a session, if several streams have some. What was replayed because the
// client wanted it does not count.
func usesOfIDs(t *T, s *driver.Session) (uses []idUse) {
	first := map[string]*kit.EventStream{}
	identified := 0
	for _, e := range kit.StreamsOf(t, s) {
		if e.Resumes() || !e.Identified() {
			continue
		}
		identified++
		last := ""
		for _, event := range e.Answer.Events {
			repeats := event.ID == last && !event.HasData // it says where the client is, once more
			if !kit.Identifies(event) || repeats {
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

// rivalled reports whether the server has closed a GET stream when a check opened another one, in whose favour it may.
func rivalled(e *kit.EventStream) bool {
	return slices.ContainsFunc(e.Session.HTTP().Exchanges(), func(x *driver.Exchange) bool {
		a := x.Answer()
		rival := x.ByHand() && x.Method == http.MethodGet && x.At <= e.Last
		return rival && (a.Status == 0 || e.Last < a.HeadAt+kit.Rivalry)
	})
}
