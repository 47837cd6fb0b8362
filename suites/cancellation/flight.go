package cancellation

import (
	"errors"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// inFlight are the checks of cancellations of requests that are under way.
var inFlight = Suite{
	"cancellation/race-safe": Probe(func(t *T) {
		s := t.Session()
		mark := s.Mark()
		ids := race(t, s)
		r := TryHarmless(t, s)
		wantBusy(t, r)
		t.Expect(r).To(BeAnswered(), "the request after those that were cancelled")
		came, _ := s.Settle(mark)
		if answersTo(t, r.Request.ID, came) > 1 {
			t.Yield("a request that was not cancelled has several answers, too")
		}
		for _, id := range ids {
			n := answersTo(t, id, came)
			t.Expect(n <= 1).To(Hold("one answer at most to each of them", "%d", n))
		}
	}),

	"cancellation/no-response-after-cancel": Probe(func(t *T) {
		x := takenBack(t)
		t.Expect(x.after).To(BeAnswered(), "the request after the one that was cancelled")
		x.wantEffect(t)
		if x.reply.Answered() {
			t.Fail("no response to a request that was cancelled", "%s", x.reply)
		}
	}),

	"cancellation/no-notifications-after-cancel": Probe(func(t *T) {
		x := takenBack(t)
		if !x.usual {
			t.Because(NotObserved).Skip("nothing was said of %s while it ran for long", x.call.Tool.Name)
		}
		x.wantEffect(t)
		t.Expect(x.later).To(BeEmptyList[*driver.Frame]("nothing more of a request that was cancelled"))
	}),
}

// answersTo counts the answers to a request, apart from copies of them on a GET stream.
func answersTo(t *T, id []byte, came []*driver.Frame) (n int) {
	for _, f := range came {
		if f.IsResponse() && driver.SameID(f.Answers(), id) && !kit.Listening(t, f) {
			n++
		}
	}
	return n
}

// racers is how many requests are cancelled at once.
const racers = 20

// race cancels so many harmless requests at once, and returns their ids.
func race(t *T, s *driver.Session) (ids [][]byte) {
	method, params := s.Harmless()
	for range racers {
		if t.Modern() && t.Site() != nil {
			kit.ByHand(s, kit.Request{Method: method, Params: params}).Abort()
			continue
		}
		note := kit.Cancellation(s)
		s.SendJSON(note)
		ids = append(ids, Compact(note["params"].(M)["requestId"]))
	}
	return ids
}

// wantBusy ends a check when a server did not answer a request after cancelled ones, nor does after as many others: it
// is busy with them.
func wantBusy(t *T, silent driver.Reply) {
	if !errors.As(silent.Err, new(*driver.Silence)) {
		return
	}
	s := t.Own()
	for range racers {
		s.Request(s.Harmless())
	}
	if !TryHarmless(t, s).Answered() {
		t.Because(Silent).Inconclusive("%v, nor after as many requests that were not cancelled", silent.Err)
	}
}

// cancellation is a call that was cancelled while it ran.
type cancellation struct {
	call  kit.ToolCall    // as it went without
	usual bool            // something was said of it then, in the second half of its time
	reply driver.Reply    // to the cancelled one, if any came within twice its usual time
	again driver.Reply    // of another one that was not cancelled, where the cancelled one was refused
	later []*driver.Frame // what was said of it after a later request had been answered
	after driver.Reply    // to a later request
}

// ignored reports whether the call was answered as if it had not been cancelled.
func (x cancellation) ignored() bool {
	return x.reply.Answered() && kit.SameKind(x.reply, x.call.Reply)
}

// wantEffect ends a check of a cancellation that had no effect, or may have had none.
func (x cancellation) wantEffect(t *T) {
	if !x.reply.Answered() {
		return
	}
	if x.ignored() {
		t.Inconclusive("%s was answered despite the cancellation, which a server may do if it is too late",
			x.call.Tool.Name)
	}
	if !kit.SameKind(x.again, x.call.Reply) {
		t.Inconclusive("%s is not answered in the same way each time", x.call.Tool.Name)
	}
}

// takenBack is a call of a tool that takes a while, the quickest of them, which is cancelled. Over HTTP the
// notification may overtake it: a call that is answered all the same is made once more.
func takenBack(t *T) cancellation {
	wantNotice(t)
	return Step(t, "a call that is cancelled", func(t *T) cancellation {
		call, usual := slow(t)
		x := takeBack(t, call, token)
		if t.Site() != nil && x.ignored() {
			x = takeBack(t, call, token+"-again")
		}
		x.usual = usual
		return x
	})
}

// takeBack cancels a call once a later request was answered, so that it is under way.
func takeBack(t *T, call kit.ToolCall, token string) cancellation {
	x := cancellation{call: call}
	s := t.Session()
	begin, mark := time.Now(), s.Mark()
	p := x.call.Again(s, M{"progressToken": token})
	AskHarmless(t, s)
	if Accept(t, s.AwaitFor(p, 0)).Answered() {
		t.Inconclusive("%s was done before it could be cancelled", x.call.Tool.Name)
	}
	s.Cancel(p, "mcpcheck does not want it any more")
	Settle(t, s, mark)
	mark = s.Mark()
	x.reply = Accept(t, s.AwaitFor(p, time.Until(begin.Add(2*x.call.Took))))
	x.later = said(s.Since(mark), token)
	x.after = TryHarmless(t, s)
	if x.reply.Answered() && !kit.SameKind(x.reply, x.call.Reply) {
		x.again = Accept(t, s.AwaitCall(x.call.Again(s, nil)))
	}
	return x
}

// token is the one of the call that is cancelled.
const token = "mcpcheck-cancelled"

// slow is a call of a tool that takes a while, since a ping was answered meanwhile, and whether something was said of
// it in the second half of its time, if possible so.
func slow(t *T) (call kit.ToolCall, talks bool) {
	calls := kit.ValidCalls(t)
	isSlow := func(c kit.ToolCall) bool { return c.PingFirst }
	talking := func(c kit.ToolCall) bool { return isSlow(c) && saysLate(c) }
	if slices.ContainsFunc(calls.List, func(c kit.ToolCall) bool { return c.IsPlain() && talking(c) }) {
		return kit.Quickest(t, calls, "tool takes a while", talking), true
	}
	return kit.Quickest(t, calls, "tool takes a while", isSlow), false
}

// saysLate reports whether the server has reported the progress of a call in the second half of its time.
func saysLate(c kit.ToolCall) bool {
	half := c.Reply.Request.At + c.Took/2 - c.Took/10
	return slices.ContainsFunc(kit.ReportsIn(c.Session, c.Session.Record(0)), func(r *kit.ProgressReport) bool {
		return r.Of != nil && driver.SameID(r.Of.Request.ID, c.Reply.Request.ID) && r.At >= half
	})
}

// said are the reports of progress for the token among frames.
func said(frames []*driver.Frame, token string) (all []*driver.Frame) {
	for _, f := range frames {
		params, _ := f.JSON()["params"].(M)
		if kit.IsProgress(f) && params["progressToken"] == token {
			all = append(all, f)
		}
	}
	return all
}
