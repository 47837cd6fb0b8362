package http

import (
	"net/http"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

var delivery = Suite{
	"http/get-stream-no-responses": WatchAfter(func(t *T) { postSeveral(t); askTwo(t) }, func(t *T, w Wire) {
		kit.EachStream(t, wantGet(t, w), func(t *T, e *kit.EventStream) {
			response := lone(e)
			t.Expect(response == nil).To(Hold("requests and notifications only", "%s", response))
		})
	}),

	"http/no-broadcast": WatchAfter(kit.CallToolsAndLinger, func(t *T, w Wire) { // the second copy may come late
		var all []delivered
		for _, s := range kit.Established(t, w) {
			all = append(all, deliveries(kit.StreamsOf(t, s))...)
		}
		const what = "message while two streams were open that could both have taken it"
		Judge(t, what, all, delivered.subject, func(t *T, d delivered) {
			t.Expect(d.Twin == nil).To(Hold("each message on one stream", "the same on two: %s", d.Frame))
		})
	}),

	"http/post-stream-messages-related": WatchAfter(kit.CallTools, func(t *T, w Wire) {
		if changes := changesOn(kit.PostStreams(t, w)); t.Modern() && len(changes) > 0 {
			Each(t, changes, Message.Subject, func(t *T, m Message) {
				t.Fail("a message that is about the request of the stream", "%s", m.Frame)
			})
		}
		posted := func(p progress) bool { return p.Stream.Method == http.MethodPost && !p.Stream.Listens() }
		judgeProgress(t, w, posted, func(t *T, p progress) {
			asked, of := p.Stream.Asked(), p.Of.Request.ID
			t.Expect(driver.SameID(of, asked)).To(Hold("progress of the request "+string(asked),
				"that of the request %s: %s", of, p.Frame))
		})
	}),

	"http/get-stream-messages-unrelated": WatchAfter(kit.CallTools, func(t *T, w Wire) {
		wantGet(t, w)
		judgeProgress(t, w, progress.running, func(t *T, p progress) {
			listening := p.Stream.Method == http.MethodGet && p.Stream.Asked() == nil
			if listening && p.isRepeated(t) {
				t.Yield("it came on two streams")
			}
			t.Expect(!listening).To(Hold("progress on the stream of its request",
				"%s on a GET stream", p.Frame))
		})
	}),
}

// changesOn are the messages on streams that belong to a subscription, which has a stream of its own.
func changesOn(streams []*kit.EventStream) (all []Message) {
	for _, e := range streams {
		for _, m := range e.Messages {
			_, kind, _ := strings.Cut(m.Method, "/")
			if slices.Contains(ofSubscriptions, kind) && !e.Listens() {
				all = append(all, Message{Frame: m, Session: e.Session, Request: e.Request})
			}
		}
	}
	return all
}

// ofSubscriptions are the notifications that come with a subscription only.
var ofSubscriptions = []string{
	"tools/list_changed", "prompts/list_changed", "resources/list_changed", "resources/updated",
	"subscriptions/acknowledged",
}

// lone is the first response on a stream that is neither one of a batch, which batch/sse-one-response-each judges, nor
// for another session, which http/session-isolation does; nil when there is none.
func lone(e *kit.EventStream) *driver.Frame {
	batched := map[string]bool{}
	for _, x := range kit.DialogueIn(e.Session).Exchanges {
		batched[driver.IDKey(x.Request.ID)] = x.Batched
	}
	for _, m := range e.Messages {
		if m.IsResponse() && !batched[driver.IDKey(m.ID)] && !e.Session.AskedBeside(m.ID) {
			return m
		}
	}
	return nil
}

// delivered is a message that the server could have sent on another stream, too.
type delivered struct {
	*driver.Frame
	Twin *driver.Frame // on that stream; nil: it was not
}

func (d delivered) subject() Subject { return Subject{Frames: []*driver.Frame{d.Frame}} }

// deliveries are those among the streams of a session that can be told from all others. What is replayed on a stream
// that was resumed came before that was opened, and so does not count.
func deliveries(streams []*kit.EventStream) (all []delivered) {
	for _, e := range streams {
		for _, m := range e.Messages {
			others := slices.DeleteFunc(slices.Clone(streams), func(o *kit.EventStream) bool {
				return o == e || !o.CouldTake(m, e)
			})
			if len(others) > 0 && kit.Distinct(m) {
				all = append(all, delivered{m, twin(m, others)})
			}
		}
	}
	return all
}

// twin is the same message on one of the streams, whenever it came; nil when there is none.
func twin(m *driver.Frame, streams []*kit.EventStream) *driver.Frame {
	same := Compact(m.JSON())
	for _, e := range streams {
		for _, o := range e.Messages {
			if slices.Equal(Compact(o.JSON()), same) {
				return o
			}
		}
	}
	return nil
}

// progress is a notification of progress on a stream, and what it is about.
type progress struct {
	*driver.Frame
	Stream *kit.EventStream
	Of     *kit.Exchange // whose request has asked for it
}

func (p progress) subject() Subject { return Subject{Frames: []*driver.Frame{p.Of.Request, p.Frame}} }

// running reports whether the request had no answer yet.
func (p progress) running() bool { return p.Of.Answer == nil || p.At <= p.Of.Answer.At }

// isRepeated reports whether the same came on another stream of the session as well.
func (p progress) isRepeated(t *T) bool {
	others := slices.DeleteFunc(slices.Clone(kit.StreamsOf(t, p.Of.Session)), func(e *kit.EventStream) bool {
		return e == p.Stream || e.Resumes()
	})
	return twin(p.Frame, others) != nil
}

// judgeProgress tries a check on the notifications of progress of a kind.
func judgeProgress(t *T, w Wire, keep func(progress) bool, run func(*T, progress)) {
	var kept []progress
	for _, s := range kit.Established(t, w) {
		for _, p := range progressIn(t, s) {
			if keep(p) {
				kept = append(kept, p)
			}
		}
	}
	Judge(t, "progress of a running request", kept, progress.subject, run)
}

// progressIn is the progress of a session that is about a request of the client.
func progressIn(t *T, s *driver.Session) (all []progress) {
	wanted := map[string]*kit.Exchange{}
	for _, x := range kit.DialogueIn(s).Of("tools/call") {
		params, _ := x.Request.JSON()["params"].(M)
		if params["task"] != nil {
			continue // it is that of the task, and may come on any stream
		}
		meta, _ := params["_meta"].(M)
		wanted[string(Compact(Member(meta, "progressToken")))] = x
	}
	for _, e := range kit.StreamsOf(t, s) {
		for _, m := range e.Messages {
			params, _ := m.JSON()["params"].(M)
			if of := wanted[string(Compact(params["progressToken"]))]; of != nil && kit.IsProgress(m) {
				all = append(all, progress{m, e, of})
			}
		}
	}
	return all
}
