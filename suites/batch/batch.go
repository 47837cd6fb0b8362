package batch

import (
	"net/http"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

var Checks = Suite{
	"batch/receive-requests": Probe(func(t *T) {
		for _, e := range batched(t) {
			t.Expect(e).To(kit.BeAnsweredUnder(e.ID))
		}
		for _, e := range slices.Concat(single(t), ofAllKinds(t)) {
			t.Expect(e).To(kit.BeAnsweredUnder(e.ID))
		}
	}),

	"batch/response-is-array": Probe(func(t *T) {
		answers := servedBatch(t)
		first, second := answers[0].Reply.Frame, answers[1].Reply.Frame
		together := first.Shape == driver.Array && first == second
		if !together && first.Event != nil {
			t.Skip("the answers came on an event stream, where each may stand alone")
		}
		t.Expect(together).To(Hold("both answers in one array", "%s", first))
		if only := single(t)[0].Reply.Frame; only != nil && only.HTTP == nil { // over HTTP one JSON object will do
			t.Expect(only.Shape == driver.Array).To(Hold("the only answer in an array", "%s", only))
		}
	}),

	"batch/notification-members-unanswered": Probe(func(t *T) {
		usual := servedBatch(t)[0].Reply.Frame.Shape
		s := t.Session()
		cancellation := kit.Cancellation(s)
		mark := s.Mark()
		p, request := kit.Harmless(s, 70083)
		s.SendJSON([]M{request, cancellation})
		e := kit.Await(s, mark, p, kit.Shortly)
		e.NotStuck(t)
		t.Expect(e).To(kit.BeAnsweredUnder(e.ID))
		Settle(t, s, mark)
		kit.ExpectIgnored(t, s, mark)
		// Otherwise batch/response-is-array reports it; over HTTP one JSON object will do.
		if f := e.Reply.Frame; usual == driver.Array && f.HTTP == nil {
			t.Warn(f.Shape == driver.Array).To(Hold("the answer in an array", "%s", f))
		}
	}),

	"batch/notifications-only": Probe(func(t *T) {
		servedBatch(t)
		s := t.Session()
		cancellations := []M{kit.Cancellation(s), kit.Cancellation(s)}
		mark := s.Mark()
		sent := s.SendJSON(cancellations)
		came, err := s.Settle(mark)
		kit.ExpectAlive(t, err)
		kit.ExpectIgnored(t, s, mark)
		for _, f := range came {
			t.Expect(f).To(That("no empty answer", func(f *driver.Frame) bool { return !isHollow(f) }))
		}
		if t.Server.Transport == "http" {
			expectTaken(t, sent.HTTP.End())
		}
	}),

	"batch/http-responses-batch-accepted": Probe(func(t *T) {
		x := t.Hostile().HTTP().Do(driver.HTTPRequest{Body: Compact([]M{
			{"jsonrpc": "2.0", "id": "mcpcheck-unasked-1", "result": M{}},
			{"jsonrpc": "2.0", "id": "mcpcheck-unasked-2", "result": M{}},
		})})
		a := x.End()
		if a.Status == 0 || !a.Ended {
			t.Again("%s", a)
		}
		expectTaken(t, a)
	}),

	"batch/sse-one-response-each": Probe(func(t *T) {
		servedBatch(t)
		s := t.Session()
		method, params := kit.Ordinary(t, s)
		mark, list := s.Mark(), s.Expecting(70085, method)
		other, request := kit.Harmless(s, 70086)
		sent := s.SendJSON([]M{s.Message(70085, method, params), request})
		for _, p := range []driver.Pending{list, other} {
			kit.Await(s, mark, p, s.Patience())
		}
		a := sent.HTTP.Answer()
		if !a.IsStream {
			t.Skip("a batch is not answered with an event stream: %s", a)
		}
		for _, p := range []driver.Pending{list, other} {
			r := kit.ResponseAmong(a.Events, p.ID)
			t.Expect(r).To(That("the response to each request of the batch on its stream", driver.Reply.Answered))
		}
	}),

	"batch/empty-array": Probe(func(t *T) {
		servedBatch(t)
		p := kit.Provoke(t, kit.Malformed[kit.EmptyArray])
		if p.Fatal != nil {
			t.Yield("the session did not survive it")
		}
		for _, f := range p.Came {
			t.Expect(f.Shape != driver.Array).To(Hold("an error alone", "%s", f))
		}
		r := kit.Reaction(p, nil)
		if r.Answered() && r.Frame.HTTP != nil && r.Frame.HTTP.Refuses() {
			return // the status says enough
		}
		t.Expect(r).To(BeError(-32600))
		t.Expect(r.Frame).To(kit.HaveNoID())
	}),

	"batch/invalid-members": Probe(func(t *T) {
		servedBatch(t)
		for _, r := range kit.Rejections(t, kit.MixedArray, kit.NumbersArray, kit.NoMethodArray) {
			t.Expect(r.Reply).To(kit.BeAnswerFor(r.Name))
		}
	}),

	"batch/initialize-not-batched": Fresh(func(t *T) {
		s := t.Start()
		s.Hostile()
		p := s.Expecting(70084, "initialize")
		_, harmless := kit.Harmless(s, 70085)
		s.SendJSON([]M{s.Message(70084, "initialize", driver.Hello(t.Revision)), harmless})
		usual := s.Greet(driver.Hello(t.Revision)) // whatever comes of it, the array was read before
		r := s.AwaitFor(p, 250*time.Millisecond)
		if !r.Answered() && usual.Err != nil {
			t.Because(Died).Inconclusive("the session did not survive it: %v", usual.Err)
		}
		if r.Result() != nil {
			kit.WantRefuser(t, r)
		}
		t.Expect(r).NotTo(BeResult())
	}),

	"batch/no-outgoing-array": Watch(func(t *T, w Wire) {
		conforming := func(m Message) bool {
			return !m.Hostile && m.IsMeant() && m.Session.Agreed() != "2025-03-26"
		}
		t.Judge(w.Lines().Filter("message", conforming), func(t *T, m Message) {
			t.Expect(m.Shape != driver.Array).To(Hold("one message", "an array"))
		})
	}),

	"batch/unsupported-survives": Probe(func(t *T) {
		p := kit.Provoke(t, `[{"jsonrpc":"2.0","id":70088,$harmless},{"jsonrpc":"2.0","id":70089,$harmless}]`)
		kit.ExpectAlive(t, p.Fatal)
		if kit.Reaction(p, []byte("70088")).Result() != nil {
			t.Skip("the server answers batches although the revision has none, which is leniency")
		}
	}).InModern(Probe(func(t *T) {
		p := kit.Provoke(t, `[{"jsonrpc":"2.0","id":70088,$harmless}]`)
		kit.ExpectAlive(t, p.Fatal)
		for _, f := range p.Came {
			t.Expect(f.Shape != driver.Array).To(Hold("no array as answer", "%s", f))
		}
		if kit.Reaction(p, []byte("70088")).Result() != nil {
			t.Skip("the server serves the request in an array, which is leniency")
		}
	})),
}

// batched is what came of two requests in an array, up to the first without an answer.
func batched(t *T) []kit.Echoed {
	return Step(t, "batch", func(t *T) []kit.Echoed {
		s := t.Session()
		mark := s.Mark()
		first, one := kit.Harmless(s, 70081)
		second, two := kit.Harmless(s, 70082)
		s.SendJSON([]M{one, two})
		all := []kit.Echoed{kit.Await(s, mark, first, kit.Shortly)}
		if all[0].Reply.Answered() {
			all = append(all, kit.Await(s, mark, second, kit.Shortly))
		}
		return all
	})
}

// single is what came of one request in an array.
func single(t *T) []kit.Echoed {
	return Step(t, "batch of one", func(t *T) []kit.Echoed {
		s := t.Session()
		return inArray(s, 70087, kit.Queries(t, s)[:1])
	})
}

// ofAllKinds is what came of requests of different kinds in an array.
func ofAllKinds(t *T) []kit.Echoed {
	s := t.Session()
	return inArray(s, 70090, kit.Queries(t, s))
}

// inArray sends requests in an array, with ids from first on, and waits for the answers.
func inArray(s *driver.Session, first int, queries []kit.Query) (all []kit.Echoed) {
	mark := s.Mark()
	var pending []driver.Pending
	var members []M
	for i, q := range queries {
		pending = append(pending, s.Expecting(first+i, q.Method))
		members = append(members, s.Message(first+i, q.Method, q.Params))
	}
	s.SendJSON(members)
	for _, p := range pending {
		all = append(all, kit.Await(s, mark, p, s.Patience()))
	}
	return all
}

// servedBatch is like batched; it ends the check where batches are not served.
func servedBatch(t *T) []kit.Echoed {
	all := batched(t)
	for _, e := range all {
		if !e.Reply.Answered() {
			t.Yield("a batch is not answered in full")
		}
	}
	return all
}

// expectTaken wants what needs no answer to be answered with 202 and no body, or refused.
func expectTaken(t *T, a driver.Answer) {
	if a.Status >= 400 {
		return
	}
	t.Expect(a).To(That("HTTP 202 with no body, or an error status", func(a driver.Answer) bool {
		return a.Status == http.StatusAccepted && !a.IsStream && a.Body.Len() == 0
	}))
}

// isHollow reports whether a line answers with nothing: null, an empty array.
func isHollow(f *driver.Frame) bool {
	return f.Shape == driver.Scalar || f.Shape == driver.Array && len(f.Members()) == 0
}
