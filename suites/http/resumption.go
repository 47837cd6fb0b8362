package http

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/requests"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

var resumptionChecks = check.Suite{
	"http/resume-replays-own-stream-only": check.Probe(func(t *check.T) {
		r, later := resumeStream(t), resumeLater(t)
		foreign := r.foreignEvent()
		t.DecidedBy(r.response).Expect(foreign == "").To(check.BeTrue("nothing but the rest of the resumed stream",
			"%s", foreign))
		early, is := later.earlierEvent()
		t.DecidedBy(later.response).ExpectShould(!is).To(check.BeTrue(
			"what came after the event that Last-Event-ID names", "what came before it: %s", describeEvent(early)))
		t.DecidedBy(r.response).ExpectAdvice(!r.isRepeated()).To(check.BeTrue(
			"what came after the event that Last-Event-ID names", "that event again: %s", describeEvent(r.last)))
	}),

	"http/resume-via-get": check.Probe(func(t *check.T) {
		r := resumeStream(t)
		switch {
		case r.isResponseID:
			t.Yield("no event id comes before the response")
		case r.isAmbiguous:
			t.Yield("another stream has an event of the same id")
		case !r.response.IsStream:
			t.Skip(check.NotApplicable, "streams cannot be resumed: %s", r.response)
		}
		if !r.isSuccessful() && r.hasEarlyResponse {
			t.NoVerdict(check.Undecided,
				"the response came before the connection could be dropped, and was not sent again")
		}
		t.Expect(r.isSuccessful()).To(check.BeTrue("the response on the stream that resumes that of the request", "%s",
			r.response))
	}),

	"http/resume-unknown-event-id": check.Probe(func(t *check.T) {
		s := t.Session(check.Exclusive)
		x := resumeAfter(s, "mcpcheck-unknown")
		s.Barrier(s.Mark())
		a := awaitCondition(x, time.Second, func(a driver.HTTPResponse) bool { return a.StatusCode != 0 })
		if a.StatusCode == 0 && !a.Ended {
			t.NoVerdict(check.Silent, "GET was not answered in time")
		}
		t.Expect(a).To(check.Satisfy("an answer that is not a server error", func(a driver.HTTPResponse) bool {
			return a.StatusCode != 0 && isNotServerError(a)
		}))
	}),

	"http/disconnect-is-not-cancel": check.Probe(func(t *check.T) {
		s, call, x, first := interruptCall(t)
		id := x.RequestID()
		a := resumeUntilAnswered(s, first.ID, id, 5*call.Duration+time.Second)
		r := roundtrip.ResponseInEvents(a.Events, id)
		if !r.Answered() && slices.ContainsFunc(a.Events, isResponse) {
			t.Yield("the response has another id than the request")
		}
		if !r.Answered() && !resumeStream(t).isSuccessful() {
			t.NoVerdict(check.Undecided, "whether %s was completed cannot be observed: %s", call.Tool.Name, a)
		}
		finished := r.Answered() && protocol.ReplyKind(r) == protocol.ReplyKind(call.Reply)
		t.Expect(finished).To(check.BeTrue("the result of "+call.Tool.Name+", as without a dropped connection",
			"%s", outcomeOf(recordedReply(s, r), a)))
	}),
}

// resumeUntilAnswered resumes a stream after an event, and waits for the response to a request for at most d. Then it
// resumes the stream again: each connection may bring only what the server has kept by then.
func resumeUntilAnswered(s *driver.Session, event string, id []byte, d time.Duration) driver.HTTPResponse {
	begin := time.Now()
	isAnswered := func(a driver.HTTPResponse) bool { return roundtrip.ResponseInEvents(a.Events, id).Answered() }
	x := resumeAfter(s, event)
	if a := awaitCondition(x, d, isAnswered); isAnswered(a) || slices.ContainsFunc(a.Events, isResponse) {
		return a
	}
	x.Abort()
	s.Sleep(d - time.Since(begin))
	return awaitCondition(resumeAfter(s, event), time.Second, isAnswered)
}

// interruptCall makes calls one after the other up to the first whose connection can be dropped after an event with an
// id and before the response. It returns that call with the event.
func interruptCall(
	t *check.T,
) (s *driver.Session, call toolcall.ToolCall, x *driver.RoundTrip, first driver.StreamEvent) {
	var quick string
	for _, call = range resumableCalls(t) {
		s = t.Session(check.Exclusive)
		x = roundtrip.PostRequest(s, roundtrip.ManualRequest{Method: "tools/call", Params: call.Params(s)})
		first = firstEventWithID(x)
		a := x.Response()
		if !a.Ended && !roundtrip.ResponseInEvents(a.Events, x.RequestID()).Answered() && first.ID != "" {
			x.Abort()
			return s, call, x, first
		}
		quick = fmt.Sprintf("%s answered before it could be interrupted: %s", call.Tool.Name, a)
	}
	t.NoVerdict(check.Undecided, "%s", quick)
	return
}

// describeEvent describes an event for messages.
func describeEvent(e driver.StreamEvent) string {
	id := "no id"
	if hasEventID(e) {
		id = "id " + e.ID
	}
	return id + ", data " + e.Data.Brief()
}

// resumption is the outcome of resuming the stream of one request after another request was served.
type resumption struct {
	// last is the event whose id was the Last-Event-ID.
	last driver.StreamEvent
	// isResponseID reports whether the first event with an id was the response.
	isResponseID bool
	// hasEarlyResponse reports whether the response came before the connection was dropped, so that nothing was lost.
	hasEarlyResponse bool
	// isAmbiguous reports whether another stream has an event with the same id.
	isAmbiguous bool
	// otherIDs are the ids of other requests of the session.
	otherIDs [][]byte
	// otherEvents are the events that answered the other request.
	otherEvents []driver.StreamEvent
	// response is the response to the GET.
	response driver.HTTPResponse
}

// resumeStream drops the connection of a request as soon as it has an event id, and resumes its stream.
func resumeStream(t *check.T) resumption {
	if t.Server.Sessionless {
		t.Skip(check.NotOffered, "the server has no sessions: there is nothing to come back to")
	}
	candidates := resumableRequests(t)
	return check.Step(t, "resumption", func(t *check.T) (r resumption) {
		s := t.Session(check.Exclusive)
		toolcall.EnableLogging(t, s)
		var x *driver.RoundTrip
		var first driver.StreamEvent
		var request requests.Request
		for _, request = range candidates {
			x = roundtrip.PostRequest(s, roundtrip.ManualRequest{Method: request.Method, Params: request.Params})
			if first = firstEventWithID(x); first.ID != "" {
				break
			}
		}
		if first.ID == "" {
			t.Skip(check.NotOffered, "no response came on an event stream with ids: there is nothing to resume")
		}
		r.last = first
		x.Abort()
		id := x.RequestID()
		r.hasEarlyResponse = roundtrip.ResponseInEvents(x.AwaitEnd().Events, id).Answered()
		r.isAmbiguous = slices.ContainsFunc(s.HTTP().RoundTrips(), func(other *driver.RoundTrip) bool {
			return other != x && slices.ContainsFunc(other.Response().Events, func(e driver.StreamEvent) bool {
				return hasEventID(e) && e.ID == first.ID
			})
		})
		r.isResponseID = roundtrip.ResponseInEvents([]driver.StreamEvent{first}, id).Answered()
		other := t.Send(s, request.Method, request.Params)
		r.otherEvents = other.Request.RoundTrip.Response().Events
		for _, f := range s.FramesSince(0) {
			if f.Side == driver.FromClient && f.IsRequest() && f.RoundTrip != x {
				r.otherIDs = append(r.otherIDs, f.ID)
			}
		}
		again := resumeAfter(s, first.ID)
		check.Barrier(t, s, s.Mark())
		r.response = awaitCondition(again, time.Second, func(a driver.HTTPResponse) bool {
			return r.isResponseID || r.containsResponse(a)
		})
		return r
	})
}

// laterResumption is the outcome of resuming the stream of a call after the last event before its response.
type laterResumption struct {
	// earlier are the events with ids before that one.
	earlier  []driver.StreamEvent
	response driver.HTTPResponse
}

// resumeLater makes a call during which several events with ids came, and resumes its stream once it is answered. It
// returns nothing where there is no such call.
func resumeLater(t *check.T) (r laterResumption) {
	call, ok := lastingCall(t, func(c toolcall.ToolCall) bool {
		return c.Duration <= time.Second && len(eventsBeforeResponse(c.Reply.Request.RoundTrip)) > 1
	})
	if !ok || t.Server.Sessionless {
		return r
	}
	return check.Step(t, "resumption after several events", func(t *check.T) (r laterResumption) {
		s := t.Session(check.Exclusive)
		toolcall.EnableLogging(t, s)
		x := roundtrip.PostRequest(s, roundtrip.ManualRequest{Method: "tools/call", Params: call.Params(s)})
		x.AwaitReply()
		events := eventsBeforeResponse(x)
		if len(events) < 2 {
			return r
		}
		last := len(events) - 1
		r.earlier = events[:last]
		again := resumeAfter(s, events[last].ID)
		check.Barrier(t, s, s.Mark())
		r.response = awaitCondition(again, timing.StreamReplaceWindow, func(a driver.HTTPResponse) bool {
			return roundtrip.ResponseInEvents(a.Events, x.RequestID()).Answered()
		})
		again.Abort()
		return r
	})
}

// eventsBeforeResponse are the events of a stream with ids and data that are no responses.
func eventsBeforeResponse(x *driver.RoundTrip) []driver.StreamEvent {
	return slices.DeleteFunc(slices.Clone(x.Response().Events), func(e driver.StreamEvent) bool {
		return !hasEventID(e) || !e.IsDispatched() || isResponse(e)
	})
}

// earlierEvent is the first event that came again though the client has named a later one.
func (r laterResumption) earlierEvent() (e driver.StreamEvent, is bool) {
	i := slices.IndexFunc(r.response.Events, func(e driver.StreamEvent) bool {
		return slices.ContainsFunc(r.earlier, func(early driver.StreamEvent) bool {
			return e.ID == early.ID && e.Data.Equal(early.Data)
		})
	})
	if i < 0 {
		return e, false
	}
	return r.response.Events[i], true
}

// resumableRequests are a few requests whose earlier responses came on event streams with ids, an ordinary one first,
// which is the only one if none did: a server may answer lists with JSON, and with a stream where it has more to say,
// such as log messages or progress.
func resumableRequests(t *check.T) (all []requests.Request) {
	const few = 3
	method, params := protocol.OrdinaryRequest(t, t.Session())
	valid := requests.Valid(t)
	if len(t.Server.Tools) > 0 {
		for _, c := range toolcall.RepeatableCalls(toolcall.ValidCalls(t)) {
			arguments := check.M{"name": c.Tool.Name, "arguments": c.Arguments,
				"_meta": check.M{"progressToken": "mcpcheck-resumed"}}
			valid = append(valid, requests.Request{Method: "tools/call", Params: arguments, Reply: c.Reply})
		}
	}
	for _, r := range valid {
		switch {
		case !hasEventID(firstEventWithID(r.Reply.Request.RoundTrip)):
		case r.Method == method:
			all = slices.Insert(all, 0, r)
		default:
			all = append(all, r)
		}
	}
	if len(all) == 0 {
		return []requests.Request{{Method: method, Params: params}}
	}
	return all[:min(len(all), few)]
}

// isRepeated reports whether the message that the client has named as its last one came again.
func (r resumption) isRepeated() bool {
	return r.last.IsDispatched() && !r.isAmbiguous && slices.ContainsFunc(r.response.Events,
		func(e driver.StreamEvent) bool { return e.ID == r.last.ID && e.Data.Equal(r.last.Data) })
}

// isSuccessful reports whether the resumed stream has the response.
func (r resumption) isSuccessful() bool { return r.containsResponse(r.response) }

// containsResponse reports whether a response to GET has the JSON-RPC response, whatever its id.
func (r resumption) containsResponse(a driver.HTTPResponse) bool {
	return slices.ContainsFunc(a.Events, func(e driver.StreamEvent) bool {
		return isResponse(e) && !r.isForeign(e)
	})
}

// foreignEvent describes the first event that belongs to another stream; empty when there is none.
func (r resumption) foreignEvent() string {
	i := slices.IndexFunc(r.response.Events, r.isForeign)
	if i < 0 {
		return ""
	}
	return describeEvent(r.response.Events[i])
}

// isForeign reports whether an event belongs to another stream. The id alone does not prove that, since two streams may
// have the same.
func (r resumption) isForeign(e driver.StreamEvent) bool {
	answers := func(id []byte) bool { return roundtrip.ResponseInEvents([]driver.StreamEvent{e}, id).Answered() }
	return slices.ContainsFunc(r.otherIDs, answers) ||
		hasEventID(e) && e.IsDispatched() && slices.ContainsFunc(r.otherEvents,
			func(other driver.StreamEvent) bool {
				return e.ID == other.ID && e.Data.Equal(other.Data)
			})
}

// isResponse reports whether an event holds a JSON-RPC response.
func isResponse(e driver.StreamEvent) bool {
	m := decodeObject(e.Data.Bytes())
	return m != nil && !check.HasMember(m, "method") && (check.HasMember(m, "result") || check.HasMember(m, "error"))
}

// firstEventWithID is the first event of a stream if it has an id; otherwise it is empty.
func firstEventWithID(x *driver.RoundTrip) driver.StreamEvent {
	first, _ := x.AwaitEvent(func(e driver.StreamEvent) bool { return e.HasID || e.IsDispatched() })
	if !hasEventID(first) {
		return driver.StreamEvent{}
	}
	return first
}

// resumeAfter requests the events after one. It retries a few times on 409, since the server may not have noticed yet
// that the earlier connection is closed.
func resumeAfter(s *driver.Session, id string) (x *driver.RoundTrip) {
	for range 5 {
		x = roundtrip.Get(s, roundtrip.Header("Last-Event-ID", id))
		a := awaitCondition(x, time.Second, func(a driver.HTTPResponse) bool { return a.StatusCode != 0 })
		if a.StatusCode != http.StatusConflict {
			break
		}
		s.Call(s.NoOp())
	}
	return x
}

// resumableCalls are calls during which a ping was answered, on a stream with an event id before the result, the
// quickest first. The duration of a call does not prove that it takes long, since any may on a busy machine.
func resumableCalls(t *check.T) (list []toolcall.ToolCall) {
	if t.Server.Sessionless {
		t.Skip(check.NotOffered, "the server has no sessions: there is nothing to come back to")
	}
	calls := toolcall.ValidCalls(t)
	for _, c := range slices.SortedStableFunc(slices.Values(toolcall.AnsweredCalls(calls.List)),
		toolcall.CompareBySpeed) {
		if x := c.Reply.Frame.RoundTrip; !c.PingAnsweredFirst || c.Reply.IsFailure() || x != c.Reply.Request.RoundTrip {
			continue
		}
		first := firstEventWithID(c.Reply.Request.RoundTrip)
		if hasEventID(first) && !roundtrip.ResponseInEvents([]driver.StreamEvent{first},
			c.Reply.Frame.ID).Answered() {
			list = append(list, c)
		}
	}
	if len(list) == 0 {
		const what = "tool that was called takes a while, and answers on a stream that can be resumed"
		toolcall.SkipNotObserved(t, what, calls.Uncalled, toolcall.AnyTool)
	}
	return list
}

// recordedReply is the reply with its frame in the transcript of the session, where it is evidence.
func recordedReply(s *driver.Session, r driver.Reply) driver.Reply {
	for _, f := range s.FramesSince(0) {
		if r.Answered() && f.Side == driver.FromServer && bytes.Equal(f.Raw.Bytes(), r.Frame.Raw.Bytes()) {
			r.Frame = f
		}
	}
	return r
}

// outcomeOf is the outcome of an interrupted call, for messages.
func outcomeOf(r driver.Reply, a driver.HTTPResponse) any {
	if !r.Answered() {
		return "none: " + a.String()
	}
	return r
}
