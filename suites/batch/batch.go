// Package batch holds the checks of JSON-RPC batches: requests and notifications in one array, which only revision
// 2025-03-26 has.
//
// The checks read three shared steps: batchOfTwo, batchOfOne and batchOfAllKinds. Requests carry fixed ids from 70000
// on, by which their responses are recognised.
package batch

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/onsi/gomega/types"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/requests"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/text"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// Checks holds the checks of the area by the ids of their entries.
var Checks = check.Suite{
	"batch/receive-requests": check.Probe(func(t *check.T) {
		for _, e := range batchOfTwo(t) {
			t.Expect(e).To(beAnsweredUnder(e.ID))
		}
		for _, e := range slices.Concat(batchOfOne(t), batchOfAllKinds(t)) {
			t.Expect(e).To(beAnsweredUnder(e.ID))
		}
		expectOwnAnswers(t)
	}),

	"batch/response-is-array": check.Probe(func(t *check.T) {
		answers := requireBatch(t)
		first, second := answers[0].Reply.Frame, answers[1].Reply.Frame
		together := first.Kind == driver.Array && first == second
		if !together && first.Event != nil {
			t.Skip(check.NotApplicable, "the answers came on an event stream, where each may stand alone")
		}
		t.Expect(together).To(check.BeTrue("both answers in one array", "%s", first))
		for _, e := range batchOfAllKinds(t) {
			if f := e.Reply.Frame; f != nil && f.Event == nil {
				t.Expect(f.Kind == driver.Array).To(check.BeTrue("each answer in an array", "%s", f))
			}
		}
		only := batchOfOne(t)[0].Reply.Frame
		if only == nil || only.Event != nil {
			return // an event may stand alone
		}
		t.Expect(only.Kind == driver.Array).To(check.BeTrue("the only answer in an array", "%s", only))
	}),

	"batch/notification-members-unanswered": check.Probe(func(t *check.T) {
		usual := requireBatch(t)[0].Reply.Frame.Kind
		s := t.Session()
		cancellation := invalid.NewCancellation(s)
		mark := s.Mark()
		p, request := protocol.NewNoOp(s, 70083)
		s.SendJSON([]check.M{request, cancellation})
		e := invalid.AwaitWithBarrier(s, mark, p, timing.ShortWait)
		e.RequireNotBlocked(t)
		t.Expect(e).To(beAnsweredUnder(e.ID))
		check.Barrier(t, s, mark)
		invalid.ExpectIgnored(t, s, mark, "batch/notifications-only")
		// Over stdio, batch/response-is-array reports it if no array is used at all; over HTTP a single JSON object is
		// enough.
		if f := e.Reply.Frame; usual == driver.Array && f.RoundTrip == nil {
			t.ExpectShould(f.Kind == driver.Array).To(check.BeTrue("the answer in an array", "%s", f))
		}
	}),

	"batch/notifications-only": check.Probe(func(t *check.T) {
		requireBatch(t)
		s := t.Session()
		cancellations := []check.M{invalid.NewCancellation(s), invalid.NewCancellation(s)}
		mark := s.Mark()
		sent := s.SendJSON(cancellations)
		came, err := s.Barrier(mark)
		invalid.ExpectAlive(t, err)
		invalid.ExpectIgnored(t, s, mark, "jsonrpc/unknown-notification-ignored")
		for _, f := range came {
			t.Expect(f).To(check.Satisfy("no empty answer", func(f *driver.Frame) bool { return !isEmptyResponse(f) }))
		}
		if t.Server.Transport == "http" {
			expectAccepted(t, sent.RoundTrip.AwaitEnd())
		}
	}),

	"batch/http-responses-batch-accepted": check.Probe(func(t *check.T) {
		x := t.Session(check.ForInvalidInput).HTTP().Do(driver.HTTPRequest{Body: text.CompactJSON([]check.M{
			{"jsonrpc": "2.0", "id": "mcpcheck-unasked-1", "result": check.M{}},
			{"jsonrpc": "2.0", "id": "mcpcheck-unasked-2", "result": check.M{}},
		})})
		a := x.AwaitEnd()
		if a.StatusCode == 0 || !a.Ended {
			t.Retry(check.Undecided, "%s", a)
		}
		if a.StatusCode >= 400 {
			return
		}
		t.Expect(a).To(check.ReportedBy("batch/notifications-only", beAccepted()))
	}),

	"batch/sse-one-response-each": check.Probe(func(t *check.T) {
		requireBatch(t)
		s := t.Session()
		method, params := protocol.OrdinaryRequest(t, s)
		mark, list := s.Mark(), s.NewPending(70085, method)
		other, request := protocol.NewNoOp(s, 70086)
		sent := s.SendJSON([]check.M{s.NewRequest(70085, method, params), request})
		for _, p := range []driver.Pending{list, other} {
			invalid.AwaitWithBarrier(s, mark, p, s.ReplyTimeout())
		}
		a := sent.RoundTrip.Response()
		if !a.IsStream {
			t.Skip(check.NotApplicable, "a batch is not answered with an event stream: %s", a)
		}
		for _, p := range []driver.Pending{list, other} {
			r := roundtrip.ResponseInEvents(a.Events, p.ID)
			t.Expect(r).To(check.Satisfy("the response to each request of the batch on its stream",
				driver.Reply.Answered))
		}
	}),

	"batch/empty-array": check.Probe(func(t *check.T) {
		requireBatch(t)
		p := invalid.SendMalformed(t, invalid.MalformedLines[invalid.EmptyArray])
		if p.SessionErr != nil {
			t.Yield("the session did not survive it")
		}
		for _, f := range p.Received {
			t.Expect(f.Kind != driver.Array).To(check.BeTrue("an error alone", "%s", f))
		}
		r := invalid.ReplyToMalformed(p, nil)
		if r.Answered() && r.Frame.RoundTrip != nil && r.Frame.RoundTrip.IsRejected() {
			return // The status is enough.
		}
		t.Expect(r).To(check.BeError(errcode.InvalidRequest))
		t.Expect(r.Frame).To(invalid.HaveNoID())
	}),

	"batch/invalid-members": check.Probe(func(t *check.T) {
		requireBatch(t)
		for _, r := range invalid.MalformedReplies(t, invalid.MixedArray, invalid.NumbersArray,
			invalid.ArrayWithoutMethod) {
			t.Expect(r.Reply).To(invalid.BeAnswerFor(r.Name))
		}
		for i, other := range []string{`1`, `{"jsonrpc":"2.0","id":70077}`} {
			ids := [][]string{{"70073", "70074"}, {"70075", "70076"}}[i]
			line := `[{"jsonrpc":"2.0","id":` + ids[0] + `,$harmless},` + other + `,{"jsonrpc":"2.0","id":` + ids[1] +
				`,$harmless}]`
			p := invalid.SendMalformed(t, line)
			if p.SessionErr != nil {
				t.Yield("the session did not survive it")
			}
			for _, id := range ids {
				r := invalid.ReplyToMalformed(p, json.RawMessage(id))
				if !r.Answered() { // the later requests may have overtaken it
					r = p.Session.AwaitFor(driver.Pending{ID: json.RawMessage(id)}, timing.ShortWait)
				}
				t.Expect(r).To(check.ReportedBy("batch/receive-requests", check.BeResult()),
					"the request with id %s in a batch with %s", id, other)
			}
		}
	}),

	"batch/initialize-not-batched": check.ProcessProbe(func(t *check.T) {
		s := t.Session(check.Process)
		s.MarkInvalidInput()
		p := s.NewPending(70084, "initialize")
		_, harmless := protocol.NewNoOp(s, 70085)
		s.SendJSON([]check.M{s.NewRequest(70084, "initialize", driver.ConnectParams(t.Revision)), harmless})
		// The outcome does not matter: the array was read before.
		usual := s.Connect(driver.ConnectParams(t.Revision))
		r := s.AwaitFor(p, 250*time.Millisecond)
		if !r.Answered() && usual.Err != nil {
			t.NoVerdict(check.Died, "the session did not survive it: %v", usual.Err)
		}
		if r.Result() != nil {
			invalid.SkipUnlessServerRejects(t, r)
		}
		t.Expect(r).NotTo(check.BeResult())
	}),

	"batch/no-outgoing-array": check.Watch(func(t *check.T, w check.Wire) {
		conforming := func(m check.Message) bool {
			return !m.AfterInvalidInput && m.LooksLikeMessage() && m.Session.NegotiatedRevision() != "2025-03-26"
		}
		t.Judge(w.Lines().Filter("message", conforming), func(t *check.T, m check.Message) {
			t.Expect(m.Kind != driver.Array).To(check.BeTrue("one message", "an array"))
		})
	}),

	"batch/unsupported-survives": check.Probe(func(t *check.T) {
		p := invalid.SendMalformed(t, `[{"jsonrpc":"2.0","id":70088,$harmless},{"jsonrpc":"2.0","id":70089,$harmless}]`)
		invalid.ExpectAlive(t, p.SessionErr)
		if invalid.ReplyToMalformed(p, []byte("70088")).Result() != nil {
			t.Skip(check.NotApplicable, "the server answers batches although the revision has none, which is leniency")
		}
	}).InModern(check.Probe(func(t *check.T) {
		p := invalid.SendMalformed(t, `[{"jsonrpc":"2.0","id":70088,$harmless}]`)
		invalid.ExpectAlive(t, p.SessionErr)
		for _, f := range p.Received {
			t.Expect(f.Kind != driver.Array).To(check.BeTrue("no array as answer", "%s", f))
		}
		if invalid.ReplyToMalformed(p, []byte("70088")).Result() != nil {
			t.Skip(check.NotApplicable, "the server serves the request in an array, which is leniency")
		}
	})),
}

// batchOfTwo sends two requests in an array, and returns what was received for each, up to the first without a
// response.
func batchOfTwo(t *check.T) []invalid.IDProbeResult {
	return check.Step(t, "batch", func(t *check.T) []invalid.IDProbeResult {
		s := t.Session()
		mark := s.Mark()
		first, one := protocol.NewNoOp(s, 70081)
		second, two := protocol.NewNoOp(s, 70082)
		s.SendJSON([]check.M{one, two})
		all := []invalid.IDProbeResult{invalid.AwaitWithBarrier(s, mark, first, timing.ShortWait)}
		if all[0].Reply.Answered() {
			all = append(all, invalid.AwaitWithBarrier(s, mark, second, timing.ShortWait))
		}
		return all
	})
}

// batchOfOne sends a single request in an array.
func batchOfOne(t *check.T) []invalid.IDProbeResult {
	return check.Step(t, "batch of one", func(t *check.T) []invalid.IDProbeResult {
		s := t.Session()
		return sendBatch(s, 70087, requests.ReadOnly(t, s)[:1])
	})
}

// batchOfAllKinds sends requests of different kinds in an array.
func batchOfAllKinds(t *check.T) []invalid.IDProbeResult {
	return check.Step(t, "batch of all kinds", func(t *check.T) []invalid.IDProbeResult {
		s := t.Session()
		return sendBatch(s, 70090, requests.ReadOnly(t, s))
	})
}

// sendBatch sends requests in an array, with consecutive ids beginning at first, and waits for the responses.
func sendBatch(s *driver.Session, first int, queries []requests.Request) (all []invalid.IDProbeResult) {
	mark := s.Mark()
	var pending []driver.Pending
	var members []check.M
	for i, q := range queries {
		pending = append(pending, s.NewPending(first+i, q.Method))
		members = append(members, s.NewRequest(first+i, q.Method, q.Params))
	}
	s.SendJSON(members)
	for _, p := range pending {
		all = append(all, invalid.AwaitWithBarrier(s, mark, p, s.ReplyTimeout()))
	}
	return all
}

// maxMembers is the number of requests in the batch of expectOwnAnswers.
const maxMembers = 8

// expectOwnAnswers sends a request that is to be refused, calls of read-only tools whose results differ, and a request
// of each other method that the server serves, in one array. It requires an answer under each id, and no call to have
// the result of another tool.
func expectOwnAnswers(t *check.T) {
	var all []requests.Request
	if refused := requests.Refused(t); len(refused) > 0 {
		all = append(all, refused[0])
	}
	toolOf := map[string]string{}
	for _, c := range toolcall.RepeatableCalls(toolcall.ValidCalls(t)) {
		result := string(text.CompactJSON(c.Reply.Result()))
		if _, known := toolOf[result]; known || c.IsLong || len(toolOf) == maxMembers/2 {
			continue
		}
		toolOf[result] = c.Tool.Name
		all = append(all, requests.Request{Method: "tools/call", Name: c.Tool.Name, Reply: c.Reply,
			Params: check.M{"name": c.Tool.Name, "arguments": c.Arguments}})
	}
	for _, request := range requests.Valid(t) {
		if request.Method != "tools/call" && len(all) < maxMembers {
			all = append(all, request)
		}
	}
	if len(all) == 0 {
		return
	}
	s := t.Session()
	for i, e := range sendBatch(s, firstMemberID, all) {
		t.Expect(e).To(beAnsweredUnder(e.ID))
		result := string(text.CompactJSON(e.Reply.Result()))
		other, known := toolOf[result]
		if known && all[i].Method == "tools/call" && other != all[i].Name {
			alone := string(text.CompactJSON(t.Send(s, all[i].Method, all[i].Params, check.AllowSilence).Result()))
			t.DecidedBy(e).Expect(alone == result).To(check.BeTrue("the result of "+all[i].Name, "that of %s", other))
		}
	}
}

// firstMemberID is the id of the first request in the batch of expectOwnAnswers.
const firstMemberID = 70500

// requireBatch is batchOfTwo for checks that need served batches; it ends the others.
func requireBatch(t *check.T) []invalid.IDProbeResult {
	all := batchOfTwo(t)
	for _, e := range all {
		if !e.Reply.Answered() {
			t.Yield("a batch is not answered in full")
		}
	}
	return all
}

// expectAccepted requires an array without requests to be answered with 202 and no body, or to be refused.
func expectAccepted(t *check.T, a driver.HTTPResponse) {
	if a.StatusCode < 400 {
		t.Expect(a).To(beAccepted())
	}
}

func beAccepted() types.GomegaMatcher {
	return check.Satisfy("HTTP 202 with no body, or an error status", func(a driver.HTTPResponse) bool {
		return a.StatusCode == http.StatusAccepted && !a.IsStream && a.Body.Len() == 0
	})
}

// isEmptyResponse reports whether a line is an empty response: null or an empty array.
func isEmptyResponse(f *driver.Frame) bool {
	return f.Kind == driver.Scalar || f.Kind == driver.Array && len(f.Messages()) == 0
}

// beAnsweredUnder matches probes with a response; id is the id of the request, for the message.
func beAnsweredUnder(id json.RawMessage) types.GomegaMatcher {
	return check.Satisfy("an answer with id "+driver.Brief(id),
		func(e invalid.IDProbeResult) bool { return e.Reply.Answered() })
}
