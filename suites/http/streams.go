package http

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/client"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

var streamChecks = check.Suite{
	"http/sse-response-eventually": check.WatchWithSetup(postAndCallTools, func(t *check.T, w check.Wire) {
		streams := postStreams(t, w)
		ignoresInvalid := invalid.NeverAnswersWithErrors(transcript.Transcripts(w))
		responded := map[string]bool{} // by method
		for _, e := range streams {
			responded[e.Name()] = responded[e.Name()] || e.HasResponse()
		}
		eachStream(t, streams, func(t *check.T, e *sseStream) {
			switch {
			case e.HasResponse() || e.ResponseOnGET:
			case ignoresInvalid && responded[e.Name()]:
				t.Yield("it may be what is to be refused, and that has no answer")
			case e.IsSubscription():
				t.Skip(check.NotApplicable, "its response comes when the server ends the subscription")
			case e.ClosedByServer() && !t.IsModern() && (t.Revision < "2025-11-25" || !e.IsResumable()):
				t.Yield("the stream was closed early")
			case e.ClosedByServer() && len(e.Resumptions) >= 5:
				t.NoVerdict(check.Limit, "it was resumed %d times, and that is enough",
					len(e.Resumptions))
			case invalid.IsProbeID(e.RequestID()):
				t.Skip(check.NotApplicable, "another check judges the ids that it tries")
			case e.Blocked:
				t.Skip(check.NotApplicable, "an earlier request had no answer in time either")
			case e.NotAwaited():
				t.Skip(check.NotApplicable, "the client waited no longer")
			case e.SessionTerminated:
				t.Skip(check.NotApplicable, "the server has ended the session, and so what was to come in it")
			case e.Session.IsReceiving(e.Request):
				t.NoVerdict(check.Silent, "an event was still coming when the response was due (--timeout)")
			case slices.ContainsFunc(client.ServerRequestsIn(e.Session, e.Session.FramesSince(0)), isUnanswered):
				t.Skip(check.NotApplicable, "the client has left a request of the server unanswered")
			case hasLostAnswer(e.Session):
				t.NoVerdict(check.Undecided, "an answer of the client to a request of the server did not get through")
			}
			t.DecidedBy(e.RoundTrip).Expect(e.HasResponse() || e.ResponseOnGET).To(
				check.BeTrue("the response on the stream, or on one that resumes it", "%s", e.NoResponseReason()))
		})
	}),

	"http/sse-not-closed-early": check.WatchWithSetup(postConcurrently, func(t *check.T, w check.Wire) {
		unlessForeign := reportedIfForeign(w)
		eachStream(t, postStreams(t, w), func(t *check.T, e *sseStream) {
			if e.ResponseFrame() == nil && !e.ClosedByServer() {
				t.Skip(check.NotApplicable, "neither the response came nor the end")
			}
			isWanted := unlessForeign(check.BeTrue("the response before the end of the stream", "%s",
				e.NoResponseReason()))
			if slices.ContainsFunc(e.Messages, isNoJSON) { // which may be the response
				isWanted = check.ReportedBy("http/sse-events-are-messages", isWanted)
			}
			t.Expect(e.ResponseFrame() != nil).To(isWanted)
		})
	}),

	"http/sse-early-close-needs-event-id": check.WatchWithSetup(postAndCallTools, func(t *check.T, w check.Wire) {
		unlessForeign := reportedIfForeign(w)
		eachStream(t, skipIfNoneClosedEarly(t, w), func(t *check.T, e *sseStream) {
			t.Expect(e.IsResumable()).To(unlessForeign(
				check.BeTrue("an event id, since the response is to come yet", "%s", e.HTTPResponse)))
		})
	}),

	"http/sse-retry-before-early-close": check.WatchWithSetup(toolcall.CallTools, func(t *check.T, w check.Wire) {
		eachStream(t, skipIfNoneClosedEarly(t, w), func(t *check.T, e *sseStream) {
			if !e.IsResumable() {
				t.Yield("it cannot be resumed")
			}
			t.Expect(e.HasEvent(hasRetry)).To(check.BeTrue("a retry field before the connection is closed", "%s",
				e.HTTPResponse))
		})
	}),

	"http/sse-priming-event": check.WatchWithSetup(postConcurrently, func(t *check.T, w check.Wire) {
		if t.Server.Sessionless {
			t.Skip(check.NotOffered, "the server has no sessions: there is nothing to come back to")
		}
		if len(getStreams(t, w)) == 0 {
			t.Skip(check.NotOffered, "the server opens no event stream for GET: there is no way to come back")
		}
		eachStream(t, postStreams(t, w), func(t *check.T, e *sseStream) {
			i := slices.IndexFunc(e.HTTPResponse.Events,
				func(e driver.StreamEvent) bool { return e.HasID || e.HasData })
			if i < 0 {
				t.Skip(check.NotObserved, "no event came")
			}
			first := e.HTTPResponse.Events[i]
			t.Expect(isPriming(first)).To(check.BeTrue("a first event with an id and empty data",
				"%s", describeContent(first)))
		})
	}),

	"http/sse-stream-ends-after-response": check.WatchWithSetup(postConcurrently, func(t *check.T, w check.Wire) {
		eachStream(t, postStreams(t, w), func(t *check.T, e *sseStream) {
			response := e.ResponseFrame()
			if response == nil {
				t.Skip(check.NotObserved, "no response came on it")
			}
			open := e.LastTime - response.At
			if !e.ClosedByServer() && open < timing.OpenAfterResponse {
				t.Skip(check.NotApplicable, "the client closed the stream")
			}
			t.Expect(open <= timing.OpenAfterResponse).To(check.BeTrue("the end of the stream after the response",
				"a stream that is still open after %v", timing.OpenAfterResponse))
		})
	}),

	"http/sse-events-are-messages": check.WatchWithSetup(postConcurrently, func(t *check.T, w check.Wire) {
		events := w.Lines().Filter("event with data",
			func(m check.Message) bool { return m.Event != nil && !m.AfterInvalidInput })
		t.Judge(events, func(t *check.T, m check.Message) {
			usual := check.BeOneOf("", "message")
			if ok, _ := usual.Match(m.Event.Type); ok { // an array outside of 2025-03-26 is batch/no-outgoing-array
				t.Expect(m.LooksLikeMessage()).To(check.BeTrue("one JSON-RPC message", "%s", m.Frame))
			}
			t.Expect(!m.Event.Unended).To(check.BeTrue("an empty line after the event, without which no client sees it",
				"the end of the stream after data: %s", m.Frame))
			t.ExpectShould(m.Event.Type).To(usual)
		})
	}),

	"http/sse-event-ids-unique": check.WatchWithSetup(postConcurrently, func(t *check.T, w check.Wire) {
		var all []eventIDUse
		for _, s := range transcript.EstablishedSessions(t, w) {
			all = append(all, eventIDUses(t, s)...)
		}
		if len(all) == 0 {
			t.Skip(check.NotObserved, "no session has event ids on several streams")
		}
		check.Each(t, all, eventIDUse.subject, func(t *check.T, u eventIDUse) {
			t.Expect(u.Second == nil).To(check.BeTrue("each event id once in a session", "%s", u))
		})
	}),

	"http/sse-no-event-ids": check.WatchWithSetup(postConcurrently, func(t *check.T, w check.Wire) {
		eachStream(t, postStreams(t, w), func(t *check.T, e *sseStream) {
			i := slices.IndexFunc(e.HTTPResponse.Events, hasEventID)
			t.Expect(i < 0).To(check.BeTrue("events without ids, since no stream can be resumed", "%s", e.HTTPResponse))
		})
	}),

	"http/sse-cache-headers": check.WatchWithSetup(postConcurrently, func(t *check.T, w check.Wire) {
		eachStream(t, append(postStreams(t, w), getStreams(t, w)...),
			func(t *check.T, e *sseStream) {
				control := strings.ToLower(strings.Join(e.HTTPResponse.Header.Values("Cache-Control"), ", "))
				t.Expect(control).To(check.Satisfy("Cache-Control no-cache or no-store", func(value string) bool {
					return strings.Contains(value, "no-cache") || strings.Contains(value, "no-store")
				}))
			})
	}),

	"http/sse-x-accel-buffering": check.WatchWithSetup(postConcurrently, func(t *check.T, w check.Wire) {
		eachStream(t, postStreams(t, w), func(t *check.T, e *sseStream) {
			t.Expect(strings.ToLower(e.HTTPResponse.Header.Get("X-Accel-Buffering"))).To(check.BeOneOf("no"))
		})
	}),

	"http/listen-keepalive": check.WatchWithSetup(toolcall.CallTools, func(t *check.T, w check.Wire) {
		var idle []*sseStream
		for _, e := range postStreams(t, w) {
			if e.IsSubscription() && e.LastTime-e.Request.At >= timing.MaxIdleStream {
				idle = append(idle, e)
			}
		}
		if len(idle) == 0 {
			t.Skip(check.NotObserved, "no stream of subscriptions/listen was open for %v", timing.MaxIdleStream)
		}
		eachStream(t, idle, func(t *check.T, e *sseStream) {
			t.Expect(e.HTTPResponse.Comments > 0).To(check.BeTrue("a comment within "+timing.MaxIdleStream.String(),
				"none"))
		})
	}),

	"http/disconnect-survival": check.ShutdownProbe(func(t *check.T) {
		s := t.Session(check.Exclusive)
		usual := check.RequestNoOp(t, s)
		all := check.M{"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true}
		x := roundtrip.PostRequest(s, roundtrip.ManualRequest{
			ID: invalid.StringIDOrDefault(t,
				"mcpcheck-dropped"), Method: "subscriptions/listen", Params: check.M{"notifications": all},
		})
		if a := roundtrip.AwaitResponse(x); !a.IsStream {
			t.Skip(check.NotOffered, "subscriptions/listen is answered with %s", a)
		}
		x.Abort()
		s.Sleep(timing.DroppedStream)
		t.Expect(check.TryNoOp(t, s)).To(beServedLike(usual), "the request after the dropped stream")
	}),

	"http/get-retry-before-close": check.WatchWithSetup(toolcall.CallTools, func(t *check.T, w check.Wire) {
		var closed []*sseStream
		for _, e := range skipIfNoGETStreams(t, w) {
			if e.ClosedByServer() && !isReplaced(e) {
				closed = append(closed, e)
			}
		}
		if len(closed) == 0 {
			t.Skip(check.NotObserved, "the server closed no connection of a GET stream")
		}
		eachStream(t, closed, func(t *check.T, e *sseStream) {
			if !e.IsResumable() {
				t.Skip(check.NotApplicable, "it had no event ids: the server has ended the stream, which it may")
			}
			if !e.HasEvent(isPriming) {
				t.Skip(check.NotApplicable,
					"no event with an id alone primed the client to reconnect: the server may have ended the stream")
			}
			if len(e.Resumptions) == 0 || !e.Resumptions[0].HTTPResponse.OK() {
				t.Skip(check.NotApplicable, "it was not resumed, or could not be: the server may have ended the stream")
			}
			t.Expect(e.HasEvent(hasRetry)).To(check.BeTrue("a retry field before the connection is closed", "%s",
				e.HTTPResponse))
		})
	}),
}

// isUnanswered reports whether the client has left a request of the server unanswered.
func isUnanswered(q client.ServerRequest) bool { return q.Response == nil }

// hasLostAnswer reports whether a response of the client was not accepted: an intermediary refused it, the server was
// busy, or it said nothing to it, since it handles few requests at a time. A request of the client may still wait for
// it.
func hasLostAnswer(s *driver.Session) bool {
	return slices.ContainsFunc(s.FramesSince(0), func(f *driver.Frame) bool {
		if f.Side != driver.FromClient || !f.IsResponse() || f.RoundTrip == nil {
			return false
		}
		a := f.RoundTrip.Response()
		return a.StatusCode == 0 || a.IsFromIntermediary() || f.RoundTrip.IsBusy()
	})
}

// postConcurrently provides event streams for watches, if the server sends any: it sends requests at the same time and
// reads each response to its end.
func postConcurrently(t *check.T) {
	check.Step(t, "several posts", func(t *check.T) bool {
		check.ObserveLate(t, time.Now())
		s := t.Session()
		method, params := protocol.OrdinaryRequest(t, s)
		mark := s.Mark()
		var all []driver.Pending
		for range 4 {
			all = append(all, s.Request(method, params))
		}
		for _, p := range all {
			s.Await(p)
		}
		end := time.Now().Add(timing.OpenAfterResponse + 100*time.Millisecond)
		for _, f := range s.FramesSince(mark) {
			if f.Side == driver.FromClient && f.RoundTrip != nil && f.RoundTrip.Method == http.MethodPost {
				f.RoundTrip.AwaitEndFor(time.Until(end))
			}
		}
		check.RequestNoOp(t, s) // records for how long the streams stayed open
		return true
	})
}

// postAndCallTools runs postConcurrently, and calls the tools that may be called.
func postAndCallTools(t *check.T) {
	postConcurrently(t)
	toolcall.CallTools(t)
}

// isPriming reports whether an event has an id and no data, so that a client can reconnect after it.
func isPriming(e driver.StreamEvent) bool { return hasEventID(e) && !e.IsDispatched() }

func isNoJSON(m *driver.Frame) bool { return m.Kind == driver.NotJSON }

func hasRetry(e driver.StreamEvent) bool { return e.Retry != "" }

// describeContent says whether an event has an id and data, but not which.
func describeContent(e driver.StreamEvent) string {
	id, data := "no id", "no data"
	if hasEventID(e) {
		id = "an id"
	}
	if e.IsDispatched() {
		data = "data"
	}
	return fmt.Sprintf("an event with %s and %s", id, data)
}

// skipIfNoGETStreams are the GET streams. It ends a check when there are none.
func skipIfNoGETStreams(t *check.T, w check.Wire) []*sseStream {
	streams := getStreams(t, w)
	if len(streams) == 0 {
		t.Skip(check.NotOffered, "the server opens no event stream for GET")
	}
	return streams
}

// skipIfNoneClosedEarly are the streams that the server closed before the response. It ends a check when there are
// none.
func skipIfNoneClosedEarly(t *check.T, w check.Wire) (streams []*sseStream) {
	for _, e := range postStreams(t, w) {
		if e.ClosedByServer() && e.ResponseFrame() == nil && !e.SessionTerminated { // else no response is due
			streams = append(streams, e)
		}
	}
	if len(streams) == 0 {
		t.Skip(check.NotObserved, "the server closed no stream before its response")
	}
	return streams
}

// eventIDUse is the first event id of a session that was used twice, or says that none was.
type eventIDUse struct {
	ID string
	// First and Second are the streams with the id; nil when no id was used twice.
	First, Second *sseStream
}

func (u eventIDUse) String() string {
	if u.Second == nil {
		return "no id twice"
	}
	return fmt.Sprintf("id %q on the streams of %s and %s", u.ID, u.First.Name(), u.Second.Name())
}

func (u eventIDUse) subject() (s check.Subject) {
	for _, e := range []*sseStream{u.First, u.Second} {
		if e != nil {
			s.Frames = append(s.Frames, e.Frames()...)
		}
	}
	return s
}

// eventIDUses is whether the event ids of a session are unique, if several of its streams have some. Events that were
// replayed at the request of the client do not count.
func eventIDUses(t *check.T, s *driver.Session) (uses []eventIDUse) {
	first := map[string]*sseStream{}
	identified := 0
	for _, e := range sessionStreams(t, s) {
		if e.IsResumption() || !e.IsResumable() {
			continue
		}
		identified++
		last := ""
		for _, event := range e.HTTPResponse.Events {
			repeats := event.ID == last && !event.HasData // it repeats the position of the client
			if !hasEventID(event) || repeats {
				continue
			}
			if of := first[event.ID]; of != nil {
				return []eventIDUse{{event.ID, of, e}}
			}
			first[event.ID], last = e, event.ID
		}
	}
	if identified > 1 {
		uses = []eventIDUse{{}}
	}
	return uses
}

// isReplaced reports whether the server closed a GET stream because a check opened another one, which it may.
func isReplaced(e *sseStream) bool {
	return slices.ContainsFunc(e.Session.HTTP().RoundTrips(), func(x *driver.RoundTrip) bool {
		a := x.Response()
		replaces := x.IsManual() && x.Method == http.MethodGet && x.At <= e.LastTime
		return replaces && (a.StatusCode == 0 || e.LastTime < a.HeadersAt+timing.StreamReplaceWindow)
	})
}
