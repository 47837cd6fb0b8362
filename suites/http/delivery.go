package http

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/text"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

var deliveryChecks = check.Suite{
	"http/get-stream-no-responses": check.WatchWithSetup(
		func(t *check.T) { postConcurrently(t); requestInTwoSessions(t) },
		func(t *check.T, w check.Wire) {
			eachStream(t, skipIfNoGETStreams(t, w), func(t *check.T, e *sseStream) {
				response := unbatchedResponse(e)
				t.Expect(response == nil).To(check.BeTrue("requests and notifications only", "%s", response))
			})
		}),

	// The second copy may come late.
	"http/no-broadcast": check.WatchWithSetup(observeCopies, func(t *check.T, w check.Wire) {
		if copies := copiedNotifications(t); len(copies) > 0 {
			check.Each(t, copies, deliveredMessage.subject, func(t *check.T, d deliveredMessage) {
				t.Fail("each message on one stream, as many in all as where there is one",
					"the same on two: %s", d.Frame)
			})
		}
		var all []deliveredMessage
		for _, s := range transcript.EstablishedSessions(t, w) {
			all = append(all, deliveredMessages(sessionStreams(t, s))...)
		}
		const what = "message while two streams were open that could both have taken it"
		check.Judge(t, what, all, deliveredMessage.subject, func(t *check.T, d deliveredMessage) {
			t.Expect(d.Duplicate == nil).To(check.BeTrue("each message on one stream", "the same on two: %s", d.Frame))
		})
	}),

	"http/post-stream-messages-related": check.WatchWithSetup(toolcall.CallTools, func(t *check.T, w check.Wire) {
		if changes := subscriptionMessages(postStreams(t, w)); t.IsModern() && len(changes) > 0 {
			check.Each(t, changes, check.Message.Subject, func(t *check.T, m check.Message) {
				t.Fail("a message that is about the request of the stream", "%s", m.Frame)
			})
		}
		posted := func(p progressNotification) bool {
			return p.Stream.Method == http.MethodPost && !p.Stream.IsSubscription()
		}
		eachProgress(t, w, posted, func(t *check.T, p progressNotification) {
			asked, of := p.Stream.RequestID(), p.Call.Request.ID
			t.Expect(driver.SameID(of, asked)).To(check.BeTrue("progress of the request "+string(asked),
				"that of the request %s: %s", of, p.Frame))
		})
	}),

	"http/get-stream-messages-unrelated": check.WatchWithSetup(toolcall.CallTools, func(t *check.T, w check.Wire) {
		skipIfNoGETStreams(t, w)
		eachProgress(t, w, progressNotification.isRunning, func(t *check.T, p progressNotification) {
			listening := p.Stream.Method == http.MethodGet && p.Stream.RequestID() == nil
			if listening && p.isRepeated(t) {
				t.Yield("it came on two streams")
			}
			t.Expect(!listening).To(check.BeTrue("progress on the stream of its request",
				"%s on a GET stream", p.Frame))
		})
	}),
}

// observeCopies calls tools and, if notifications came on two GET streams at once, some of them again.
func observeCopies(t *check.T) {
	toolcall.CallToolsAndObserveLate(t)
	callWithOneStream(t)
}

// streamSessions are two sessions in which the same calls were made: with one GET stream and with two.
type streamSessions struct{ one, two *driver.Session }

// callWithOneStream repeats the calls of callsOnTwoStreams in a session with one GET stream, and then in one with two.
// It returns no sessions where there are no such calls.
func callWithOneStream(t *check.T) (c streamSessions) {
	if t.IsModern() || t.Server.Sessionless || t.Server.OneClient || t.IsQuick() || len(t.Server.Tools) == 0 {
		return c
	}
	valid := toolcall.ValidCalls(t)
	calls := callsOnTwoStreams(valid)
	if len(calls) == 0 {
		return c
	}
	return check.Step(t, "calls with one GET stream and with two", func(t *check.T) (c streamSessions) {
		c.one, c.two = twoSessions(t)
		roundtrip.Get(c.two, nil)
		c.two.Sleep(timing.StreamReplaceWindow)
		for _, s := range []*driver.Session{c.one, c.two} {
			toolcall.EnableLogging(t, s)
			for _, resource := range valid.SubscribedResources {
				s.Call("resources/subscribe", check.M{"uri": resource.URI})
			}
		}
		for _, call := range calls {
			for _, s := range []*driver.Session{c.one, c.two} {
				s.Call("tools/call", call.Params(s))
			}
		}
		for _, s := range []*driver.Session{c.one, c.two} {
			check.KeepIdle(t, s)
		}
		return c
	})
}

// callsOnTwoStreams are calls during which the same notification came on two GET streams, a few: those that may change
// something at first, and then the quickest.
func callsOnTwoStreams(calls toolcall.ToolCalls) (all []toolcall.ToolCall) {
	const few = 6
	for _, c := range calls.List {
		if c.IsDirectSuccess() && c.Duration <= time.Second && hasCopies(c) {
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, func(a, b toolcall.ToolCall) int {
		reads := func(c toolcall.ToolCall) int { return map[bool]int{true: 1}[report.IsReadOnly(c.Tool.Value)] }
		return cmp.Or(reads(a)-reads(b), toolcall.CompareBySpeed(a, b))
	})
	return all[:min(len(all), few)]
}

// hasCopies reports whether the same notification came on two GET streams during a call.
func hasCopies(c toolcall.ToolCall) bool {
	first := map[string]*driver.RoundTrip{} // by message
	for _, f := range c.Session.ReceivedSince(0) {
		isDuring := f.At >= c.Reply.Request.At && f.At <= c.Reply.Frame.At
		if !isDuring || !isOnGET(f) || !isRepeatable(f) {
			continue
		}
		message := string(text.CompactJSON(f.JSON()))
		if other := first[message]; other != nil && other != f.RoundTrip {
			return true
		}
		first[message] = f.RoundTrip
	}
	return false
}

// isRepeatable reports whether a frame is a notification that may be sent several times.
func isRepeatable(f *driver.Frame) bool { return f.Method != "" && !isUnique(f) }

func isOnGET(f *driver.Frame) bool { return f.RoundTrip != nil && f.RoundTrip.Method == http.MethodGet }

// copiedNotifications are notifications that came on each of two GET streams as often as on all streams of the session
// that has one, in which the same calls were made. A server that distributes its messages sends as many in both.
func copiedNotifications(t *check.T) (all []deliveredMessage) {
	c := callWithOneStream(t)
	if c.one == nil {
		return nil
	}
	once, twice := notificationsByText(c.one), notificationsByText(c.two)
	for _, message := range slices.Sorted(maps.Keys(twice)) {
		byStream := map[*driver.RoundTrip][]*driver.Frame{}
		for _, f := range twice[message] {
			byStream[f.RoundTrip] = append(byStream[f.RoundTrip], f)
		}
		first, isEach := twice[message][0], len(byStream) == 2
		var duplicate *driver.Frame
		for x, on := range byStream {
			isEach = isEach && isOnGET(on[0]) && len(on) == len(once[message])
			if x != first.RoundTrip {
				duplicate = on[0]
			}
		}
		if isEach {
			all = append(all, deliveredMessage{first, duplicate})
		}
	}
	return all
}

// notificationsByText are the notifications in a session that may come several times, by their JSON.
func notificationsByText(s *driver.Session) map[string][]*driver.Frame {
	all := map[string][]*driver.Frame{}
	for _, f := range s.ReceivedSince(0) {
		if isRepeatable(f) {
			message := string(text.CompactJSON(f.JSON()))
			all[message] = append(all[message], f)
		}
	}
	return all
}

// subscriptionMessages are messages that belong on the stream of a subscription but came on another one.
func subscriptionMessages(streams []*sseStream) (all []check.Message) {
	for _, e := range streams {
		for _, m := range e.Messages {
			_, kind, _ := strings.Cut(m.Method, "/")
			if slices.Contains(subscriptionNotifications, kind) && !e.IsSubscription() {
				all = append(all, check.Message{Frame: m, Session: e.Session, Request: e.Request})
			}
		}
	}
	return all
}

// subscriptionNotifications are the notifications that only a subscription brings, without "notifications/".
var subscriptionNotifications = []string{
	"tools/list_changed", "prompts/list_changed", "resources/list_changed", "resources/updated",
	"subscriptions/acknowledged",
}

// unbatchedResponse is the first response on a stream, without those of a batch, which batch/sse-one-response-each
// judges, and those for another session, which http/session-isolation does; nil when there is none.
func unbatchedResponse(e *sseStream) *driver.Frame {
	batched := map[string]bool{}
	for _, x := range transcript.SessionTranscript(e.Session).Calls {
		batched[driver.IDKey(x.Request.ID)] = x.Batched
	}
	for _, m := range e.Messages {
		if m.IsResponse() && !batched[driver.IDKey(m.ID)] && !e.Session.OtherSessionUsedID(m.ID) {
			return m
		}
	}
	return nil
}

// deliveredMessage is a message that the server could have sent on another stream as well.
type deliveredMessage struct {
	*driver.Frame
	// Duplicate is the same message on that stream; nil when there is none.
	Duplicate *driver.Frame
}

func (d deliveredMessage) subject() check.Subject {
	return check.Subject{Frames: []*driver.Frame{d.Frame}}
}

// deliveredMessages are the messages on the streams of a session that are unique and had several possible streams. A
// message that is replayed on a resumed stream was sent before that was opened, and so does not count.
func deliveredMessages(streams []*sseStream) (all []deliveredMessage) {
	for _, e := range streams {
		for _, m := range e.Messages {
			others := slices.DeleteFunc(slices.Clone(streams), func(o *sseStream) bool {
				return o == e || !o.CouldCarry(m, e)
			})
			if len(others) > 0 && isUnique(m) {
				all = append(all, deliveredMessage{m, findDuplicate(m, others)})
			}
		}
	}
	return all
}

// findDuplicate is the same message on one of the streams at any time; nil when there is none.
func findDuplicate(m *driver.Frame, streams []*sseStream) *driver.Frame {
	same := text.CompactJSON(m.JSON())
	for _, e := range streams {
		for _, o := range e.Messages {
			if slices.Equal(text.CompactJSON(o.JSON()), same) {
				return o
			}
		}
	}
	return nil
}

// progressNotification is a progress notification on a stream, with the call that it is about.
type progressNotification struct {
	*driver.Frame
	Stream *sseStream
	// Call is the call whose request has the progress token.
	Call *transcript.Call
}

func (p progressNotification) subject() check.Subject {
	return check.Subject{Frames: []*driver.Frame{p.Call.Request, p.Frame}}
}

// isRunning reports whether the call had no response yet.
func (p progressNotification) isRunning() bool {
	return p.Call.Response == nil || p.At <= p.Call.Response.At
}

// isRepeated reports whether the same notification also came on another stream of the session.
func (p progressNotification) isRepeated(t *check.T) bool {
	others := slices.DeleteFunc(slices.Clone(sessionStreams(t, p.Call.Session)),
		func(e *sseStream) bool {
			return e == p.Stream || e.IsResumption()
		})
	return findDuplicate(p.Frame, others) != nil
}

// eachProgress runs a check on the progress notifications for which keep returns true.
func eachProgress(
	t *check.T, w check.Wire, keep func(progressNotification) bool, run func(*check.T, progressNotification),
) {
	var kept []progressNotification
	for _, s := range transcript.EstablishedSessions(t, w) {
		for _, p := range progressIn(t, s) {
			if keep(p) {
				kept = append(kept, p)
			}
		}
	}
	check.Judge(t, "progress of a running request", kept, progressNotification.subject, run)
}

// callOf is the call that progress on a stream is about: of several calls with its token the one that the stream
// answers and, if it answers none of them, the last one.
func callOf(stream *sseStream, calls []*transcript.Call) *transcript.Call {
	for _, x := range calls {
		if driver.SameID(x.Request.ID, stream.RequestID()) {
			return x
		}
	}
	return calls[len(calls)-1]
}

// progressIn are the progress notifications in a session. Requests of other methods than tools/call have tokens, too.
func progressIn(t *check.T, s *driver.Session) (all []progressNotification) {
	wanted := map[string][]*transcript.Call{}
	for _, x := range transcript.SessionTranscript(s).Calls {
		params, _ := x.Request.JSON()["params"].(check.M)
		if params["task"] != nil {
			continue // the progress is that of the task, and may come on any stream
		}
		meta, _ := params["_meta"].(check.M)
		token := string(text.CompactJSON(check.Member(meta, "progressToken")))
		wanted[token] = append(wanted[token], x)
	}
	for _, e := range sessionStreams(t, s) {
		for _, m := range e.Messages {
			params, _ := m.JSON()["params"].(check.M)
			of := wanted[string(text.CompactJSON(params["progressToken"]))]
			if len(of) > 0 && transcript.IsProgress(m) {
				all = append(all, progressNotification{m, e, callOf(e, of)})
			}
		}
	}
	return all
}
