package jsonrpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/onsi/gomega/types"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

var ids = Suite{
	"jsonrpc/response-id-echo-integer": WatchAfter(func(t *T) { integerEchoes(t) }, func(t *T, w Wire) {
		// First what was seen: a server whose ids name nothing serves no further session.
		judgeResultIDs(t, w, func(id any) bool { _, ok := id.(json.Number); return ok })
		all := integerEchoes(t)
		expectEchoes(t, all...)
		for _, echoes := range all {
			for _, e := range echoes.List {
				if id, ok := e.Reply.M()["id"].(json.Number); ok { // an HTTP error needs none
					t.By(e).Warn(string(id)).To(BeOneOf(string(e.ID)))
				}
			}
		}
	}),

	"jsonrpc/response-id-echo-string": Probe(func(t *T) {
		if unread(kit.StringIDs(t), kit.IntegerIDs(t)) {
			t.Yield("integers are not repeated either")
		}
		expectEchoes(t, kit.StringIDs(t))
		expectEchoes(t, kit.OtherEchoes(t, t.Session(), "string")...)
	}),

	"jsonrpc/response-id-falsy-values": Probe(func(t *T) {
		var ids []any
		if kit.IntegerIDs(t).Served() {
			ids = append(ids, 0)
		}
		if kit.StringIDs(t).Served() {
			ids = append(ids, "")
		}
		if len(ids) == 0 {
			t.Yield("ids are not repeated")
		}
		expectEchoes(t, Step(t, "falsy ids", func(t *T) kit.Echoes {
			s := t.Session()
			return kit.Echoes{Usual: AskHarmless(t, s), List: kit.EchoEach(t, s, ids)}
		}))
		if len(ids) == 2 {
			expectEchoes(t, kit.OtherEchoes(t, t.Hostile(), "falsy")...) // an id is used once in a session
		}
	}),

	"jsonrpc/response-id-unicode": Probe(func(t *T) {
		if !kit.StringIDs(t).Served() {
			t.Yield("no string is served as id")
		}
		s := t.Session()
		usual := AskHarmless(t, s)
		expectEcho(t, usual, kit.Echo(s, "raw é✓😀"))
		mark := s.Mark()
		p, _ := kit.Harmless(s, "escaped é✓😀")
		s.Send([]byte(kit.Fill(s, `{"jsonrpc":"2.0","id":"escaped \u00e9\u2713\ud83d\ude00",$harmless}`)))
		expectEcho(t, usual, kit.Await(s, mark, p, kit.Shortly))
		expectEchoes(t, kit.OtherEchoes(t, s, "unicode")...)
	}),

	"jsonrpc/pipelined-requests": Probe(func(t *T) {
		if !kit.IntegerIDs(t).Served() {
			t.Yield("integers are not served as ids")
		}
		named, valid := kit.StringIDs(t).Served(), kit.ValidCalls(t).List
		s := t.Session()
		kinds := kit.Queries(t, s)
		mark := s.Mark()
		var queries []kit.Query
		var all []driver.Pending
		for i := range 12 {
			q := kinds[i%len(kinds)].Variant(i)
			queries = append(queries, q)
			if named && i%2 == 1 {
				id := fmt.Sprintf("%s%d-%d", kit.Pipelined, mark, i)
				all = append(all, s.RequestID(id, q.Method, q.Params))
			} else {
				all = append(all, s.Request(q.Method, q.Params))
			}
		}
		for i, p := range all {
			e := kit.Await(s, mark, p, s.Patience())
			e.NotStuck(t)
			expectEcho(t, queries[i].UsualBeside(t, s, e), e)
			mistaken := queries[i].Mistaken(e.Reply, queries)
			t.By(e).Expect(mistaken == "").To(Hold("the answer to "+p.Method, "%s", mistaken))
		}
		expectOwnResults(t, valid, named)
	}),

	"jsonrpc/server-request-id-type": Watch(func(t *T, w Wire) {
		t.Judge(serverRequests(w), func(t *T, m Message) {
			t.Expect(ID(m.Frame)).To(That("a string or an integer", isRequestID))
		})
	}),

	"jsonrpc/no-server-requests": WatchAfter(invite, func(t *T, w Wire) {
		t.Judge(w.Messages(), func(t *T, m Message) {
			t.Expect(!isServerRequest(m)).To(Hold("no request of the server", "%s", m.Method))
		})
	}),

	"jsonrpc/server-request-id-unique": Watch(func(t *T, w Wire) {
		Judge(t, "second request in a session", laterRequests(w), laterRequest.Subject, func(t *T, r laterRequest) {
			t.Expect(!r.Again).To(Hold("an id of its own for each request",
				"%s for %s and for an earlier request", r.ID, r.Method))
		})
	}),
}

// invite asks for lists as a client that can be asked for anything.
func invite(t *T) {
	s := t.Session()
	meta := M{"_meta": M{driver.MetaCapabilities: kit.Inviting(t.Revision)["capabilities"]}}
	harmless, _ := s.Harmless()
	t.Try(s, harmless, meta)
	if list, served := kit.ListMethod(t); served {
		t.Try(s, list, meta)
	}
	ObserveLate(t, time.Now())
}

// integerEchoes are the echoes of integers.
func integerEchoes(t *T) []kit.Echoes {
	all := []kit.Echoes{kit.IntegerIDs(t)}
	if !all[0].Served() {
		return all
	}
	return append(all, Step(t, "integer ids of other requests", func(t *T) []kit.Echoes {
		return kit.OtherEchoes(t, t.Session(), "integer")
	})...)
}

// expectEchoes wants answers under all ids.
func expectEchoes(t *T, all ...kit.Echoes) {
	for _, echoes := range all {
		for _, e := range echoes.List {
			expectEcho(t, echoes.Usual, e)
		}
	}
}

// unread reports whether the first answers to requests with ids of two kinds have one and the same id, or both none:
// whatever that of the request is, it is not read.
func unread(some, others kit.Echoes) bool {
	a, b := some.List[0].Reply, others.List[0].Reply
	if !a.Answered() || !b.Answered() || a.Bare() || b.Bare() {
		return false
	}
	return kit.IsBare(a.Frame.ID) && kit.IsBare(b.Frame.ID) || bytes.Equal(a.Frame.ID, b.Frame.ID)
}

// skipRenumbered ends a check of the id under which a strange request was answered, where those of harmless ones are
// not repeated either.
func skipRenumbered(t *T) {
	if !kit.IntegerIDs(t).Served() {
		t.Yield("the ids of harmless requests are not repeated either")
	}
}

// expectEcho wants an answer under the id, of the kind that is usual.
func expectEcho(t *T, usual driver.Reply, e kit.Echoed) {
	if _, down := ServerDown(t); down && e.Reply.Err != nil { // no other request would have had an answer
		t.Inconclusive("%v", Explain(e.Reply.Err))
	}
	RequireNotLate(t, e.Reply)
	t.Expect(e).To(kit.BeNamed(e.ID))
	t.Expect(e.Reply).To(beLike(usual))
}

func beLike(usual driver.Reply) types.GomegaMatcher {
	if usual.Result() != nil {
		return BeResult()
	}
	return BeAnswered()
}

// judgeResultIDs wants the id of the request in every result, of the requests whose ids are of a kind.
func judgeResultIDs(t *T, w Wire, kind func(id any) bool) {
	results := func(r *kit.Response) bool { return r.HasResult && r.Of != nil && kind(ID(r.Request)) }
	kit.JudgeResponses(t, "result", kit.Dialogues(w), results, func(t *T, r *kit.Response) {
		t.Expect(r.Frame).To(kit.HaveID(r.Request.ID), "the result of %s", r.Request.Method)
	})
}

// serverRequests are messages of the server with the method of a request.
func serverRequests(w Wire) Messages { return w.Messages().Filter("request", isServerRequest) }

func isServerRequest(m Message) bool {
	notification := strings.HasPrefix(m.Method, "notifications/")
	return m.HasMethod && !notification && (m.ID != nil || IsServerMethod(m.Method))
}

// laterRequest is a request of the server with an id, and not the first in its session.
type laterRequest struct {
	Message
	Again bool // an earlier one has the same id
}

func laterRequests(w Wire) (all []laterRequest) {
	used := map[*driver.Session]map[string]bool{}
	for _, m := range serverRequests(w).List {
		key, ids := driver.IDKey(m.ID), used[m.Session]
		switch {
		case ids == nil:
			used[m.Session] = map[string]bool{key: true}
		case m.ID != nil:
			all = append(all, laterRequest{m, ids[key]})
			ids[key] = true
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
