package jsonrpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/onsi/gomega/types"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/requests"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// idChecks are the checks of request ids in both directions.
var idChecks = check.Suite{
	"jsonrpc/response-id-echo-integer": check.WatchWithSetup(func(t *check.T) { integerIDProbes(t) },
		func(t *check.T, w check.Wire) {
			// Observed results come first, since a server that does not repeat ids serves no other session.
			expectResultIDs(t, w, func(id any) bool { _, ok := id.(json.Number); return ok })
			all := integerIDProbes(t)
			expectIDs(t, all...)
			for _, probes := range all {
				for _, e := range probes.List {
					if id, ok := e.Reply.Message()["id"].(json.Number); ok { // HTTP errors need no id
						t.DecidedBy(e).ExpectShould(string(id)).To(check.BeOneOf(string(e.ID)))
					}
				}
			}
		}),

	"jsonrpc/response-id-echo-string": check.Probe(func(t *check.T) {
		if isIDIgnored(invalid.StringIDs(t), invalid.IntegerIDs(t)) {
			t.Yield("integers are not repeated either")
		}
		valid := requests.Valid(t)
		expectIDs(t, invalid.StringIDs(t))
		if !repeatsIntegers(t) {
			t.Yield("other requests with integers do not get these back")
		}
		expectIDs(t, otherIDProbes(t, t.Session(), "string")...)
		expectIDs(t, idProbesOfEachMethod(t, t.Session(), valid, "string")...)
		expectIDs(t, manyIDs(t, "string"))
	}),

	"jsonrpc/response-id-falsy-values": check.Probe(func(t *check.T) {
		valid := requests.Valid(t)
		var ids []any
		if invalid.IntegerIDs(t).AllServed() {
			ids = append(ids, 0)
		}
		if invalid.StringIDs(t).AllServed() {
			ids = append(ids, "")
		}
		if len(ids) == 0 {
			t.Yield("ids are not repeated")
		}
		expectIDs(t, check.Step(t, "falsy ids", func(t *check.T) invalid.IDProbeResults {
			s := t.Session()
			return invalid.IDProbeResults{UsualReply: check.RequestNoOp(t, s), List: invalid.ProbeEachID(t, s, ids)}
		}))
		if len(ids) == 2 {
			// An id may be used only once in a session.
			expectIDs(t, otherIDProbes(t, t.Session(check.ForInvalidInput), "falsy")...)
		}
		expectReusedIDs(t, valid, ids)
	}),

	"jsonrpc/response-id-unicode": check.Probe(func(t *check.T) {
		if !invalid.StringIDs(t).AllServed() {
			t.Yield("no string is served as id")
		}
		valid := requests.Valid(t)
		s := t.Session()
		usual := check.RequestNoOp(t, s)
		expectID(t, usual, invalid.ProbeID(s, "raw é✓😀"))
		mark := s.Mark()
		p, _ := protocol.NewNoOp(s, "escaped é✓😀")
		s.Send([]byte(protocol.ExpandLine(s, `{"jsonrpc":"2.0","id":"escaped \u00e9\u2713\ud83d\ude00",$harmless}`)))
		expectID(t, usual, invalid.AwaitWithBarrier(s, mark, p, timing.ShortWait))
		expectIDs(t, otherIDProbes(t, s, "unicode")...)
		expectIDs(t, idProbesOfEachMethod(t, s, valid, "unicode")...)
	}),

	"jsonrpc/pipelined-requests": check.Probe(func(t *check.T) {
		if !invalid.IntegerIDs(t).AllServed() || !repeatsIntegers(t) {
			t.Yield("integers are not served as ids")
		}
		named, valid := invalid.StringIDs(t).AllServed(), toolcall.ValidCalls(t).List
		ofEachMethod, refused := requests.Affordable(t, requests.Valid(t), 1), requests.Refused(t)
		s := t.Session()
		kinds := requests.ReadOnly(t, s)
		mark := s.Mark()
		var queries []requests.Request
		var all []driver.Pending
		for i := range requests.Affordable(t, make([]struct{}, 12), 1) {
			q := variantOf(kinds[i%len(kinds)], i)
			queries = append(queries, q)
			if named && i%2 == 1 {
				id := fmt.Sprintf("%s%d-%d", invalid.PipelinedIDPrefix, mark, i)
				all = append(all, s.RequestWithID(id, q.Method, q.Params))
			} else {
				all = append(all, s.Request(q.Method, q.Params))
			}
		}
		for i, e := range awaitOutcomes(t, s, mark, all) {
			e.RequireNotBlocked(t)
			yieldIfStreamEnded(t, e)
			expectID(t, usualReplyDuring(t, s, queries[i], e), e)
			mistaken := mismatchReason(e.Reply, queries[i], queries)
			t.DecidedBy(e).Expect(mistaken == "").To(check.BeTrue("the answer to "+queries[i].Method, "%s", mistaken))
		}
		expectOwnResults(t, valid, named)
		expectOwnArguments(t)
		expectOwnOutcomes(t, ofEachMethod, refused, named)
	}),

	"jsonrpc/server-request-id-type": check.Watch(func(t *check.T, w check.Wire) {
		t.Judge(serverRequests(w), func(t *check.T, m check.Message) {
			t.Expect(check.FrameID(m.Frame)).To(check.Satisfy("a string or an integer", isRequestID))
		})
	}),

	"jsonrpc/no-server-requests": check.WatchWithSetup(requestWithCapabilities, func(t *check.T, w check.Wire) {
		t.Judge(w.Messages(), func(t *check.T, m check.Message) {
			t.Expect(!isServerRequest(m)).To(check.BeTrue("no request of the server", "%s", m.Method))
		})
	}),

	"jsonrpc/server-request-id-unique": check.Watch(func(t *check.T, w check.Wire) {
		check.Judge(t, "second request in a session", laterRequests(w), laterRequest.Subject,
			func(t *check.T, r laterRequest) {
				isWanted := check.BeTrue("an id of its own for each request",
					"%s for %s and for an earlier request", r.ID, r.Method)
				if r.IsCopy {
					isWanted = check.ReportedBy("http/no-broadcast", isWanted)
				}
				t.Expect(!r.IsDuplicate).To(isWanted)
			})
	}),
}

// requestWithCapabilities requests lists as a client with all capabilities.
func requestWithCapabilities(t *check.T) {
	s := t.Session()
	meta := check.M{"_meta": check.M{driver.MetaCapabilities: handshake.CapableConnectParams(
		t.Revision)["capabilities"]}}
	harmless, _ := s.NoOp()
	t.Send(s, harmless, meta, check.AllowSilence)
	if list, served := protocol.ListMethod(t); served {
		t.Send(s, list, meta, check.AllowSilence)
	}
	check.ObserveLate(t, time.Now())
}

// integerIDProbes returns the probes with integer ids.
func integerIDProbes(t *check.T) []invalid.IDProbeResults {
	all := []invalid.IDProbeResults{invalid.IntegerIDs(t)}
	if !all[0].AllServed() {
		return all
	}
	valid := requests.Valid(t)
	all = append(all, check.Step(t, "integer ids of other requests", func(t *check.T) []invalid.IDProbeResults {
		s := t.Session()
		return append(otherIDProbes(t, s, "integer"), idProbesOfEachMethod(t, s, valid, "integer")...)
	})...)
	return append(all, manyIDs(t, "integer"))
}

// idProbesOfEachMethod sends a request of each method that the server serves, with ids of a kind.
func idProbesOfEachMethod(t *check.T, s *driver.Session, valid []requests.Request,
	kind string) (all []invalid.IDProbeResults) {
	for n, request := range requests.Affordable(t, valid, 1) {
		if check.SavesRequests(t) && (n%2 == 0) != (kind == "integer") {
			continue
		}
		all = append(all, probeIDsOfKind(t, s, request, kind, otherProbeCount+n))
	}
	return all
}

// expectReusedIDs requires a request of each method to be answered under each of some ids, although earlier requests
// had them: those that are served, and those that name what no server has. A server may refuse an id that was used
// before: then another one is refused the second time as well.
func expectReusedIDs(t *check.T, valid []requests.Request, ids []any) {
	s := t.Session(check.ForInvalidInput)
	for n, request := range requests.Affordable(t, slices.Concat(valid, requests.Refused(t)), 1) {
		some := ids
		if check.SavesRequests(t, request.Reply) {
			some = ids[n%len(ids):][:1]
		}
		probe := func(id any) invalid.IDProbeResult {
			mark := s.Mark()
			return invalid.AwaitWithBarrier(s, mark, s.RequestWithID(id, request.Method, request.Params),
				timing.ShortWait)
		}
		usual := invalid.IDProbeResults{UsualReply: request.Reply}
		for _, id := range some {
			e := probe(id)
			if usual.List = []invalid.IDProbeResult{e}; usual.AllServed() {
				continue
			}
			other := s.NextID()
			probe(other)
			if usual.List = []invalid.IDProbeResult{probe(other)}; usual.AllServed() {
				expectID(t, request.Reply, e)
			}
		}
	}
}

// expectIDs requires a response under every id.
func expectIDs(t *check.T, all ...invalid.IDProbeResults) {
	for _, probes := range all {
		for _, e := range probes.List {
			expectID(t, probes.UsualReply, e)
		}
	}
}

// isIDIgnored reports whether the first responses to requests with two types of ids have the same id, or no id. In both
// cases, the server does not read the id of the request.
func isIDIgnored(some, others invalid.IDProbeResults) bool {
	a, b := some.List[0].Reply, others.List[0].Reply
	if !a.Answered() || !b.Answered() || a.IsStatusOnly() || b.IsStatusOnly() {
		return false
	}
	return protocol.IsMissingID(a.Frame.ID) && protocol.IsMissingID(b.Frame.ID) || bytes.Equal(a.Frame.ID, b.Frame.ID)
}

// requireRepeatedIDs ends a check of the response's id to an invalid request, if valid requests do not get theirs
// either.
func requireRepeatedIDs(t *check.T) {
	if !repeatsIntegers(t) {
		t.Yield("the ids of harmless requests are not repeated either")
	}
}

// repeatsIntegers reports whether the responses to valid requests whose ids are integers, results and errors, repeat
// these.
func repeatsIntegers(t *check.T) bool {
	hasOther := func(e invalid.IDProbeResult) bool {
		return (e.Reply.Answered() || e.UnknownIDResponse != nil) && !e.HasRequestID()
	}
	return !slices.ContainsFunc(integerIDProbes(t), func(all invalid.IDProbeResults) bool {
		return slices.ContainsFunc(all.List, hasOther)
	})
}

// expectID requires a response under the id, and a result if the usual reply is one.
func expectID(t *check.T, usual driver.Reply, e invalid.IDProbeResult) {
	if _, down := check.ServerDown(t); down && e.Reply.Err != nil { // no other request would have been answered
		t.NoVerdict(check.Undecided, "%v", check.Explain(e.Reply.Err))
	}
	check.RequireNotLate(t, e.Reply)
	if f := e.UnknownIDResponse; !e.HasRequestID() && f != nil && !utf8.Valid(f.Raw.Bytes()) && isUTF8Required(t) {
		t.Yield("the answer is not UTF-8")
	}
	t.Expect(e).To(invalid.HaveRequestID(e.ID))
	t.Expect(e.Reply).To(beAnsweredLike(usual))
}

// isUTF8Required reports whether jsonrpc/utf8-output holds in the revision.
func isUTF8Required(t *check.T) bool { return t.Revision >= "2025-03-26" }

// beAnsweredLike matches a result if the usual reply is one, or else any response.
func beAnsweredLike(usual driver.Reply) types.GomegaMatcher {
	if usual.Result() != nil {
		return check.BeResult()
	}
	return check.BeAnswered()
}

// expectResultIDs requires each result to have the id of its request. It judges the requests whose ids are of a kind.
func expectResultIDs(t *check.T, w check.Wire, kind func(id any) bool) {
	results := func(r *transcript.Response) bool {
		return r.HasResult && r.Call != nil && kind(check.FrameID(r.Request))
	}
	judgeResponses(t, "result", transcript.Transcripts(w), results,
		func(t *check.T, r *transcript.Response) {
			t.Expect(r.Frame).To(haveID(r.Request.ID), "the result of %s", r.Request.Method)
		})
}

// serverRequests returns the server requests.
func serverRequests(w check.Wire) check.Messages {
	return w.Messages().Filter("request", isServerRequest)
}

// isServerRequest reports whether a message has the method of a request. Those without an id count if the method is
// known.
func isServerRequest(m check.Message) bool {
	notification := strings.HasPrefix(m.Method, "notifications/")
	return m.HasMethod && !notification && (m.ID != nil || check.IsServerMethod(m.Method))
}

// laterRequest is a server request with an id that is not the first in its session.
type laterRequest struct {
	check.Message
	IsDuplicate bool // reports that an earlier one has the same id
	IsCopy      bool // reports that the earlier one is the same message on another stream
}

// laterRequests returns the server requests with an id, except the first of each session.
func laterRequests(w check.Wire) (all []laterRequest) {
	used := map[*driver.Session]map[string]*driver.Frame{}
	for _, m := range serverRequests(w).List {
		key, ids := driver.IDKey(m.ID), used[m.Session]
		switch {
		case ids == nil:
			used[m.Session] = map[string]*driver.Frame{key: m.Frame}
		case m.ID != nil:
			first := ids[key]
			isCopy := first != nil && first.RoundTrip != m.RoundTrip && bytes.Equal(first.Raw.Bytes(), m.Raw.Bytes())
			all = append(all, laterRequest{m, first != nil, isCopy})
			ids[key] = m.Frame
		}
	}
	return all
}

func isRequestID(id any) bool {
	switch id := id.(type) {
	case string:
		return true
	case json.Number:
		return driver.IsInteger(id)
	}
	return false
}
