package http

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

var resumptionChecks = Suite{
	"http/resume-replays-own-stream-only": Probe(func(t *T) {
		r := resumed(t)
		stranger := r.stranger()
		t.By(r.answer).Expect(stranger == "").To(Hold("nothing but the rest of the resumed stream", "%s", stranger))
	}),

	"http/resume-via-get": Probe(func(t *T) {
		r := resumed(t)
		switch {
		case r.idOfResponse:
			t.Yield("no event id comes before the response")
		case r.ambiguous:
			t.Yield("another stream has an event of the same id")
		case !r.answer.IsStream:
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
		a := kit.Within(x, time.Second, func(a driver.Answer) bool { return a.Status != 0 })
		if a.Status == 0 && !a.Ended {
			t.Because(Silent).Inconclusive("GET was not answered in time")
		}
		t.Expect(a).To(That("an answer that is not a server error", func(a driver.Answer) bool {
			return a.Status != 0 && isNoServerError(a)
		}))
	}),

	"http/disconnect-is-not-cancel": Probe(func(t *T) {
		s, call, x, first := interrupted(t)
		id := x.Asked()
		again := resumeAfter(s, first.ID)
		a := kit.Within(again, 5*call.Took+time.Second, func(a driver.Answer) bool {
			return kit.ResponseAmong(a.Events, id).Answered()
		})
		r := kit.ResponseAmong(a.Events, id)
		if !r.Answered() && slices.ContainsFunc(a.Events, isResponse) {
			t.Yield("the response has another id than the request")
		}
		if !r.Answered() && !resumed(t).works() {
			t.Inconclusive("what became of %s cannot be seen: %s", call.Tool.Name, a)
		}
		finished := r.Answered() && kit.KindOf(r) == kit.KindOf(call.Reply)
		t.Expect(finished).To(Hold("the result of "+call.Tool.Name+", as without a dropped connection",
			"%s", outcomeOf(inRecord(s, r), a)))
	}),
}

// interrupted makes calls, one after the other, up to the first whose connection can be dropped after its stream has
// an event to resume it after, and before its response has come. It returns that call and its event.
func interrupted(t *T) (s *driver.Session, call kit.ToolCall, x *driver.Exchange, first driver.StreamEvent) {
	var quick string
	for _, call = range droppable(t) {
		s = t.Own()
		x = kit.ByHand(s, kit.Request{Method: "tools/call", Params: call.Params(s)})
		first = identifiedEvent(x)
		a := x.Answer()
		if !a.Ended && !kit.ResponseAmong(a.Events, x.Asked()).Answered() && first.ID != "" {
			x.Abort()
			return s, call, x, first
		}
		quick = fmt.Sprintf("%s answered before it could be interrupted: %s", call.Tool.Name, a)
	}
	t.Inconclusive("%s", quick)
	return
}

// describe is an event in a few words.
func describe(e driver.StreamEvent) string {
	id := "no id"
	if kit.Identifies(e) {
		id = "id " + e.ID
	}
	return id + ", data " + e.Data.Brief()
}

// resumption is what came of resuming the stream of one request after another request had been served.
type resumption struct {
	idOfResponse bool                 // the first event with an id was the response
	early        bool                 // the response came before the connection was dropped: nothing was lost
	ambiguous    bool                 // another stream has an event of that id, too
	foreign      [][]byte             // ids under which other requests of the session are answered
	others       []driver.StreamEvent // with which the other request was answered
	answer       driver.Answer        // to the GET
}

// resumed drops the connection of a request as soon as it has an event id, and resumes its stream.
func resumed(t *T) resumption {
	if t.Server.Sessionless {
		t.Because(NotOffered).Skip("the server has no sessions: there is nothing to come back to")
	}
	return Step(t, "resumption", func(t *T) (r resumption) {
		s := t.Own()
		method, params := kit.Ordinary(t, s)
		x := kit.ByHand(s, kit.Request{Method: method, Params: params})
		first := identifiedEvent(x)
		if first.ID == "" {
			t.Because(NotOffered).Skip("event streams have no ids: they cannot be resumed")
		}
		x.Abort()
		id := x.Asked()
		r.early = kit.ResponseAmong(x.End().Events, id).Answered()
		r.ambiguous = slices.ContainsFunc(s.HTTP().Exchanges(), func(other *driver.Exchange) bool {
			return other != x && slices.ContainsFunc(other.Answer().Events, func(e driver.StreamEvent) bool {
				return kit.Identifies(e) && e.ID == first.ID
			})
		})
		r.idOfResponse = kit.ResponseAmong([]driver.StreamEvent{first}, id).Answered()
		other := t.Ask(s, method, params)
		r.others = other.Request.HTTP.Answer().Events
		for _, f := range s.Since(0) {
			if f.Side == driver.FromClient && f.IsRequest() && f.HTTP != x {
				r.foreign = append(r.foreign, f.ID)
			}
		}
		again := resumeAfter(s, first.ID)
		Settle(t, s, s.Mark())
		r.answer = kit.Within(again, time.Second, func(a driver.Answer) bool {
			return r.idOfResponse || r.brought(a)
		})
		return r
	})
}

// works reports whether resuming the stream brought the response.
func (r resumption) works() bool { return r.brought(r.answer) }

// brought reports whether an answer has the response, under whatever id.
func (r resumption) brought(a driver.Answer) bool {
	return slices.ContainsFunc(a.Events, func(e driver.StreamEvent) bool {
		return isResponse(e) && !r.isStrange(e)
	})
}

// stranger is the first event that belongs to another stream; empty when there is none.
func (r resumption) stranger() string {
	i := slices.IndexFunc(r.answer.Events, r.isStrange)
	if i < 0 {
		return ""
	}
	return describe(r.answer.Events[i])
}

// isStrange reports whether an event belongs to another stream. Its id alone does not say so: two streams may have the
// same.
func (r resumption) isStrange(e driver.StreamEvent) bool {
	answers := func(id []byte) bool { return kit.ResponseAmong([]driver.StreamEvent{e}, id).Answered() }
	return slices.ContainsFunc(r.foreign, answers) ||
		kit.Identifies(e) && e.Dispatched() && slices.ContainsFunc(r.others, func(other driver.StreamEvent) bool {
			return e.ID == other.ID && e.Data.Equal(other.Data)
		})
}

// isResponse reports whether an event holds a response.
func isResponse(e driver.StreamEvent) bool {
	m := kit.Object(e.Data.Bytes())
	return m != nil && !Has(m, "method") && (Has(m, "result") || Has(m, "error"))
}

// identifiedEvent is the first event of a stream, if it has an id.
func identifiedEvent(x *driver.Exchange) driver.StreamEvent {
	first, _ := x.AwaitEvent(func(e driver.StreamEvent) bool { return e.HasID || e.Dispatched() })
	if !kit.Identifies(first) {
		return driver.StreamEvent{}
	}
	return first
}

// resumeAfter asks for what came after an event. A server may take a moment to see that the connection before is gone.
func resumeAfter(s *driver.Session, id string) (x *driver.Exchange) {
	for range 5 {
		x = kit.Get(s, kit.Header("Last-Event-ID", id))
		a := kit.Within(x, time.Second, func(a driver.Answer) bool { return a.Status != 0 })
		if a.Status != http.StatusConflict {
			break
		}
		s.Exchange(s.Harmless())
	}
	return x
}

// droppable are the calls during which a ping was answered, on a stream that can be resumed before the result has come,
// the quickest first. How long a call took would not tell: on a busy machine any may take a while.
func droppable(t *T) (list []kit.ToolCall) {
	if t.Server.Sessionless {
		t.Because(NotOffered).Skip("the server has no sessions: there is nothing to come back to")
	}
	calls := kit.ValidCalls(t)
	for _, c := range slices.SortedStableFunc(slices.Values(kit.Answered(calls.List)), kit.QuickestFirst) {
		if x := c.Reply.Frame.HTTP; !c.PingFirst || c.Reply.Refuses() || x != c.Reply.Request.HTTP {
			continue
		}
		first := identifiedEvent(c.Reply.Request.HTTP)
		if kit.Identifies(first) && !kit.ResponseAmong([]driver.StreamEvent{first}, c.Reply.Frame.ID).Answered() {
			list = append(list, c)
		}
	}
	if len(list) == 0 {
		const what = "tool that was called takes a while, and answers on a stream that can be resumed"
		kit.NothingSeen(t, what, calls.Uncalled, kit.AnyTool)
	}
	return list
}

// inRecord is a reply as it stands in the record of the session, where its frame is evidence.
func inRecord(s *driver.Session, r driver.Reply) driver.Reply {
	for _, f := range s.Record(0) {
		if r.Answered() && f.Side == driver.FromServer && bytes.Equal(f.Raw.Bytes(), r.Frame.Raw.Bytes()) {
			r.Frame = f
		}
	}
	return r
}

// outcomeOf is what came of a call that was interrupted.
func outcomeOf(r driver.Reply, a driver.Answer) any {
	if !r.Answered() {
		return "none: " + a.String()
	}
	return r
}
