package http

import (
	"net/http"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
	"github.com/mcpcheck/mcpcheck/suites/text"
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
	"http/no-broadcast": check.WatchWithSetup(toolcall.CallToolsAndObserveLate, func(t *check.T, w check.Wire) {
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
