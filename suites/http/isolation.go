package http

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/requests"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
	"github.com/mcpcheck/mcpcheck/suites/text"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// leak is something of one session that came in another one, or was lost because of another one.
type leak struct {
	description string
	frames      []*driver.Frame
}

func (l leak) subject() check.Subject { return check.Subject{Frames: l.frames} }

// leaksBetweenSessions are the leaks that the steps of this file and of servermessages.go find.
func leaksBetweenSessions(t *check.T) []leak {
	steps := []func(*check.T) []leak{leaksByEqualIDs, leaksAtOnce, leaksDuringCall, leaksByToken,
		leaksByEventID, leaksBySubscriptionID, leakedQuestions, leakedAnswers}
	found := make([][]leak, len(steps))
	check.Parallel(t, len(steps), func(t *check.T, i int) { found[i] = steps[i](t) })
	return append(slices.Concat(found...), leakedLogs(t)...) // after the others, since they open streams
}

// twoSessions are sessions of two clients with their streams for server messages, where the server offers these.
func twoSessions(t *check.T) (a, b *driver.Session) {
	a, b = t.Session(check.Exclusive), t.Session(check.Exclusive)
	if t.IsModern() {
		return a, b
	}
	for _, s := range []*driver.Session{a, b} {
		roundtrip.ListeningResponse(t, s)
	}
	return a, b
}

// requestPair are two requests that have different results: a valid one, and another of the same method or kind.
type requestPair struct{ first, second roundtrip.ManualRequest }

// requestPairs are pairs of the requests that the server serves with such as it refuses, and of its lists.
func requestPairs(t *check.T) (all []requestPair) {
	manual := func(r requests.Request) roundtrip.ManualRequest {
		return roundtrip.ManualRequest{Method: r.Method, Params: r.Params}
	}
	var list *roundtrip.ManualRequest
	for _, valid := range requests.Valid(t) {
		request := manual(valid)
		for _, refused := range requests.Refused(t) {
			if refused.Method == valid.Method {
				all = append(all, requestPair{request, manual(refused)})
			}
		}
		if valid.Name == "" {
			if list != nil {
				all = append(all, requestPair{*list, request})
			}
			list = &request
		}
	}
	return requests.Affordable(t, all, 3)
}

// leaksByEqualIDs are results that came in a second session under an id that the first one has used for another
// request.
func leaksByEqualIDs(t *check.T) []leak {
	pairs := requestPairs(t)
	return check.Step(t, "equal ids in two sessions", func(t *check.T) (all []leak) {
		const id = 70151
		a, b := twoSessions(t)
		for i, pair := range pairs {
			first, second := pair.first, pair.second
			first.ID, second.ID = id+i, id+i
			want := roundtrip.PostRequest(a, first).AwaitReply()
			got := roundtrip.PostRequest(b, second).AwaitReply()
			if !want.Answered() && !got.Answered() {
				t.Retry(check.Silent, "%v", check.Explain(want.Err)) // the other pairs would take as long
			}
			if want.Result() == nil || !sameResult(want, got) {
				continue
			}
			second.ID = nil
			if usual := roundtrip.PostRequest(b, second).AwaitReply(); usual.Answered() && !sameResult(usual, got) {
				all = append(all, leak{fmt.Sprintf("the response to %s of another session under the same id, for %s",
					nameOf(first), nameOf(second)), []*driver.Frame{got.Request, got.Frame}})
			}
		}
		return all
	})
}

// leaksAtOnce are results that came in one session for the request of another one, or were lost, while both had a
// request under the same id. Each pair is sent several times, since a server may answer before the second one comes.
func leaksAtOnce(t *check.T) []leak {
	const times = 3
	pairs := requests.Affordable(t, requestPairs(t), 2*times)
	return check.Step(t, "equal ids at once", func(t *check.T) (all []leak) {
		a, b := twoSessions(t)
		id := 70301
		both := func(pair requestPair, distance int) (own, other driver.Reply) {
			pair.first.ID, pair.second.ID = id, id+distance
			id += 2
			x, y := roundtrip.PostRequest(a, pair.first), roundtrip.PostRequest(b, pair.second)
			return x.AwaitReply(), y.AwaitReply()
		}
		isMixedUp := func(own, other driver.Reply) bool { return isRefusal(own) || sameResult(own, other) }
		isServed := func(pair requestPair) bool {
			own, other := both(pair, 1)
			return own.Result() != nil && !isMixedUp(own, other)
		}
		for _, pair := range pairs {
			for range times {
				own, other := both(pair, 0)
				if isMixedUp(own, other) && isServed(pair) && isServed(pair) {
					description := fmt.Sprintf("%s for %s, while another session has %s under the same id",
						check.Got(own), nameOf(pair.first), nameOf(pair.second))
					all = append(all, leak{description, own.Frames()})
					break
				}
			}
		}
		return all
	})
}

// sameResult reports whether two replies have equal results.
func sameResult(a, b driver.Reply) bool {
	plain := func(r driver.Reply) []byte {
		result := maps.Clone(r.Result())
		delete(result, "_meta")
		return text.CompactJSON(result)
	}
	return a.Result() != nil && b.Result() != nil && bytes.Equal(plain(a), plain(b))
}

// lastingCall is a call that takes a while, was answered on the stream of its own request, and fits.
func lastingCall(t *check.T, fits func(toolcall.ToolCall) bool) (call toolcall.ToolCall, ok bool) {
	return toolcall.LastingCall(t, func(c toolcall.ToolCall) bool {
		return c.Reply.Frame.RoundTrip == c.Reply.Request.RoundTrip && fits(c)
	})
}

// leaksDuringCall are what happens to a call of one session while another one sends a request, and a cancellation,
// under the same id.
func leaksDuringCall(t *check.T) []leak {
	call, ok := lastingCall(t, func(toolcall.ToolCall) bool { return true })
	if !ok {
		return nil
	}
	return check.Step(t, "equal ids during a call", func(t *check.T) (all []leak) {
		const id, cancelled, later, unequal = 70171, 70172, 70173, 70174
		a, b := twoSessions(t)
		start := func(id int) *driver.RoundTrip {
			x := roundtrip.PostRequest(a, roundtrip.ManualRequest{ID: id, Method: "tools/call", Params: call.Params(a)})
			a.Sleep(timing.HeadStart)
			return x
		}
		usual := func() bool {
			request := roundtrip.ManualRequest{Method: "tools/call", Params: call.Params(a)}
			return hasContent(roundtrip.PostRequest(a, request).AwaitReply())
		}
		servedMeanwhile := func() bool {
			x := start(later)
			r := roundtrip.PostRequest(b, roundtrip.ManualRequest{ID: unequal}).AwaitReply()
			x.AwaitReply()
			return r.Result() != nil
		}
		x := start(id)
		other := roundtrip.PostRequest(b, roundtrip.ManualRequest{ID: id}).AwaitReply()
		own := x.AwaitReply()
		switch {
		case hasContent(other):
			all = append(all, leak{"the result of " + call.Tool.Name +
				", which another session has called under the same id", []*driver.Frame{other.Request, other.Frame}})
		case !hasContent(own) && usual():
			all = append(all, leak{call.Tool.Name +
				" without its result, since another session has used the same id: " + check.Got(own), own.Frames()})
		case isRefusal(other) && servedMeanwhile():
			all = append(all, leak{"a refusal, since another session has a request under the same id in flight: " +
				check.Got(other), other.Frames()})
		}
		x = start(cancelled)
		cancel(t, b, cancelled, call)
		if own := x.AwaitReply(); !hasContent(own) && len(all) == 0 && usual() {
			all = append(all, leak{call.Tool.Name + " cancelled, since another session has cancelled the same id: " +
				check.Got(own), own.Frames()})
		}
		return all
	})
}

// leaksByToken are progress notifications of a call of one session that came to a call of another one, which was made
// meanwhile with the same progress token. Their values show it: those of a call increase, and here they do not. They do
// where the same two calls have tokens of their own.
func leaksByToken(t *check.T) []leak {
	call, ok := lastingCall(t, hasProgress)
	if !ok {
		return nil
	}
	return check.Step(t, "equal progress tokens", func(t *check.T) (all []leak) {
		const token, other = 70191, 70192
		a, b := twoSessions(t)
		callBoth := func(second int) (leaks []leak) {
			sessions, tokens := []*driver.Session{a, b}, []int{token, second}
			calls := make([]*driver.RoundTrip, len(sessions))
			for i, s := range sessions {
				params := requests.Request{Params: call.Params(s)}.With(check.M{"progressToken": tokens[i]})
				calls[i] = roundtrip.PostRequest(s, roundtrip.ManualRequest{Method: "tools/call", Params: params})
				s.Sleep(timing.HeadStart)
			}
			for i, x := range calls {
				x.AwaitReply()
				if frames := repeatedProgress(sessions[i], x); frames != nil {
					leaks = append(leaks, leak{"the progress of a call of " + call.Tool.Name +
						" of another session with the same token", frames})
				}
			}
			return leaks
		}
		if all = callBoth(token); len(all) > 0 && len(callBoth(other)) > 0 {
			return nil
		}
		return all
	})
}

// hasProgress reports whether progress of a call came.
func hasProgress(c toolcall.ToolCall) bool {
	return slices.ContainsFunc(transcript.ProgressIn(c.Session, c.Session.FramesSince(0)),
		func(r *transcript.ProgressNotification) bool {
			return r.ForRequest != nil && driver.SameID(r.ForRequest.Request.ID, c.Reply.Request.ID)
		})
}

// repeatedProgress are two successive progress notifications on the stream of a call, of which the second one has no
// greater value; nil without such.
func repeatedProgress(s *driver.Session, x *driver.RoundTrip) []*driver.Frame {
	var last *driver.Frame
	for _, f := range s.ReceivedSince(0) {
		if f.RoundTrip != x || !transcript.IsProgress(f) {
			continue
		}
		if last != nil {
			earlier, is := transcript.ProgressValue(last)
			later, are := transcript.ProgressValue(f)
			if is && are && later.Cmp(earlier) <= 0 {
				return []*driver.Frame{last, f}
			}
		}
		last = f
	}
	return nil
}

// isRefusal reports whether a reply is an error of the server itself, and not because it is busy.
func isRefusal(r driver.Reply) bool {
	return r.Answered() && r.Result() == nil && !r.IsBusy() && !r.Frame.RoundTrip.Response().IsFromIntermediary()
}

// hasContent reports whether a reply is the result of a successful call.
func hasContent(r driver.Reply) bool {
	return check.HasMember(r.Result(), "content") && !r.IsFailure()
}

// cancel sends a request with an id, and cancels it: by a notification or, in modern revisions, by closing the
// connection of a call.
func cancel(t *check.T, s *driver.Session, id int, call toolcall.ToolCall) {
	if t.IsModern() {
		x := roundtrip.PostRequest(s, roundtrip.ManualRequest{ID: id, Method: "tools/call", Params: call.Params(s)})
		s.Sleep(timing.HeadStart)
		x.Abort()
		x.AwaitEnd()
		return
	}
	roundtrip.PostRequest(s, roundtrip.ManualRequest{ID: id}).AwaitReply()
	post(s, string(text.CompactJSON(check.M{"jsonrpc": "2.0", "method": "notifications/cancelled",
		"params": check.M{"requestId": id}}))).AwaitEnd()
}

// leaksByEventID are responses of one session that another one gets when it resumes a stream by an event id of the
// first.
func leaksByEventID(t *check.T) []leak {
	if t.Server.Sessionless || t.IsModern() {
		return nil
	}
	request := resumableRequests(t)[0]
	return check.Step(t, "event ids of another session", func(t *check.T) (all []leak) {
		a, b := twoSessions(t)
		toolcall.EnableLogging(t, a)
		x := roundtrip.PostRequest(a,
			roundtrip.ManualRequest{ID: 70181, Method: request.Method, Params: request.Params})
		first := firstEventWithID(x)
		x.AwaitReply()
		if first.ID == "" {
			return nil
		}
		again := resumeAfter(b, first.ID)
		check.Barrier(t, b, b.Mark())
		events := awaitCondition(again, time.Second, func(a driver.HTTPResponse) bool {
			return roundtrip.ResponseInEvents(a.Events, x.RequestID()).Answered()
		}).Events
		again.Abort()
		if r := roundtrip.ResponseInEvents(events, x.RequestID()); r.Answered() {
			all = append(all, leak{"the response to " + request.Method +
				" of another session, by the id of an event of that one", []*driver.Frame{recordedReply(b, r).Frame}})
		}
		return all
	})
}
