package http

import (
	"net/http"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

var delivery = Suite{
	"http/get-stream-no-responses": WatchAfter(postSeveral, func(t *T, w Wire) {
		kit.EachStream(t, wantGet(t, w), func(t *T, e *kit.EventStream) {
			response := e.Response()
			t.Expect(response == nil).To(Hold("requests and notifications only", "%s", kit.Brief(response)))
		})
	}),

	"http/no-broadcast": WatchAfter(kit.CallTools, func(t *T, w Wire) {
		messages := Messages{What: "message while two streams were open that could both have taken it"}
		twins := map[*driver.Frame]*driver.Frame{}
		for _, s := range kit.Established(t, w) {
			streams := slices.DeleteFunc(slices.Clone(kit.StreamsOf(t, s)), func(e *kit.EventStream) bool { return e.Resumes() })
			for _, e := range streams {
				for _, m := range e.Messages {
					others := slices.DeleteFunc(slices.Clone(streams), func(o *kit.EventStream) bool { return o == e || !o.CouldTake(m, e) })
					if len(others) > 0 && m.HasMethod {
						messages.List = append(messages.List, Message{Frame: m, Session: s})
						twins[m] = twin(m, others)
					}
				}
			}
		}
		t.Judge(messages, func(t *T, m Message) {
			t.Expect(twins[m.Frame] == nil).To(Hold("each message on one stream", "the same on two: %s", kit.Brief(m.Frame)))
		})
	}),

	"http/post-stream-messages-related": WatchAfter(kit.CallTools, func(t *T, w Wire) {
		judgeProgress(t, w, func(p progress) bool { return p.Stream.Method == http.MethodPost }, func(t *T, p progress) {
			own := driver.SameID(p.Of.ID, p.Stream.Asked())
			t.Expect(own).To(Hold("progress of the request "+string(p.Stream.Asked()), "that of the request %s: %s", p.Of.ID, kit.Brief(p.Frame)))
		})
	}),

	"http/get-stream-messages-unrelated": WatchAfter(kit.CallTools, func(t *T, w Wire) {
		wantGet(t, w)
		judgeProgress(t, w, func(p progress) bool { return p.Running }, func(t *T, p progress) {
			listening := p.Stream.Method == http.MethodGet && p.Stream.Asked() == nil
			t.Expect(!listening).To(Hold("progress on the stream of its request", "%s on a GET stream", kit.Brief(p.Frame)))
		})
	}),
}

// twin is the same message on one of the streams, at the same time; nil when there
// is none.
func twin(m *driver.Frame, streams []*kit.EventStream) *driver.Frame {
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
	Stream  *kit.EventStream
	Of      *driver.Frame // the request that has asked for it
	Running bool          // that had no answer yet
}

// judgeProgress tries a check on the notifications of progress of a kind.
func judgeProgress(t *T, w Wire, keep func(progress) bool, run func(*T, progress)) {
	messages := Messages{What: "progress of a running request"}
	by := map[*driver.Frame]progress{}
	for _, s := range kit.Established(t, w) {
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
	for _, e := range kit.StreamsOf(t, s) {
		for _, m := range e.Messages {
			if !kit.IsProgress(m) {
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
