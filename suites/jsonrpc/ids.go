package jsonrpc

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/onsi/gomega/types"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

var ids = Suite{
	"jsonrpc/response-id-echo-integer": Probe(func(t *T) {
		s := t.Session()
		usual := t.Harmless(s)
		var all []kit.Echoed
		for _, id := range []int{70007, -1, 1<<53 - 1} {
			all = append(all, kit.Echo(s, id))
			expectEcho(t, usual, all[len(all)-1])
		}
		for _, e := range all {
			if id, ok := e.Reply.M["id"].(json.Number); ok { // an HTTP error needs none
				t.Warn(string(id)).To(BeOneOf(string(e.ID)))
			}
		}
	}),

	"jsonrpc/response-id-echo-string": Probe(func(t *T) {
		strings := stringIDs(t)
		for _, e := range strings.Echoes {
			expectEcho(t, strings.Usual, e)
		}
	}),

	"jsonrpc/response-id-falsy-values": Probe(func(t *T) {
		ids := []any{0}
		if stringIDs(t).Served() {
			ids = append(ids, "")
		}
		s := t.Session()
		usual := t.Harmless(s)
		for _, id := range ids {
			expectEcho(t, usual, kit.Echo(s, id))
		}
	}),

	"jsonrpc/response-id-unicode": Probe(func(t *T) {
		if !stringIDs(t).Served() {
			t.Skip("no string is served as id: jsonrpc/response-id-echo-string")
		}
		s := t.Session()
		usual := t.Harmless(s)
		expectEcho(t, usual, kit.Echo(s, "raw é✓😀"))
		mark := s.Mark()
		p, _ := kit.Harmless(s, "escaped é✓😀")
		s.Send([]byte(kit.Fill(s, `{"jsonrpc":"2.0","id":"escaped \u00e9\u2713\ud83d\ude00",$harmless}`)))
		expectEcho(t, usual, kit.Await(s, mark, p, kit.Shortly))
	}),

	"jsonrpc/pipelined-requests": Probe(func(t *T) {
		named := stringIDs(t).Served()
		s := t.Session()
		usual := t.Harmless(s)
		mark := s.Mark()
		var all []driver.Pending
		for i := range 10 {
			id := any(70100 + i)
			if named && i%2 == 1 {
				id = fmt.Sprintf("mcpcheck-pipelined-%d", i)
			}
			all = append(all, kit.HarmlessAs(s, id))
		}
		for _, p := range all {
			e := kit.Await(s, mark, p, kit.Shortly)
			if e.Stuck {
				t.Inconclusive("%v", e.Reply.Err)
			}
			expectEcho(t, usual, e)
		}
	}),

	"jsonrpc/server-request-id-type": Watch(func(t *T, w Wire) {
		t.Judge(serverRequests(w), func(t *T, m Message) {
			t.Expect(ID(m.Frame)).To(That("a string or an integer", isRequestID))
		})
	}),

	"jsonrpc/server-request-id-unique": Watch(func(t *T, w Wire) {
		Judge(t, "second request in a session", laterRequests(w), laterRequest.Subject, func(t *T, r laterRequest) {
			t.Expect(!r.Again).To(Hold("an id of its own for each request",
				"%s for %s and for an earlier request", r.ID, r.Method))
		})
	}),
}

// expectEcho wants an answer under the id, of the kind that is usual.
func expectEcho(t *T, usual driver.Reply, e kit.Echoed) {
	t.Expect(e).To(kit.BeAnsweredUnder(e.ID))
	t.Expect(e.Reply).To(beLike(usual))
}

func beLike(usual driver.Reply) types.GomegaMatcher {
	if usual.Result() != nil {
		return BeResult()
	}
	return BeAnswered()
}

// stringEchoes are what came of requests whose ids are strings.
type stringEchoes struct {
	Usual  driver.Reply // that of a request whose id is a number
	Echoes []kit.Echoed // up to the first without an answer
}

// Served reports whether strings are as good as numbers.
func (s stringEchoes) Served() bool {
	return !slices.ContainsFunc(s.Echoes, func(e kit.Echoed) bool {
		return !e.Reply.Answered() || s.Usual.Result() != nil && e.Reply.Result() == nil
	})
}

func stringIDs(t *T) stringEchoes {
	return Shared(t, "string ids", func(t *T) (all stringEchoes) {
		s := t.Session()
		all.Usual = t.Harmless(s)
		for _, id := range []string{"1", "007", "mcpcheck-a b", strings.Repeat("mcpcheck-x", 20)} {
			e := kit.Echo(s, id)
			all.Echoes = append(all.Echoes, e)
			if !e.Reply.Answered() {
				break
			}
		}
		return all
	})
}

// serverRequests are messages of the server with the method of a request.
func serverRequests(w Wire) Messages {
	return w.Messages().Filter("request", func(m Message) bool {
		notification := strings.HasPrefix(m.Method, "notifications/")
		return m.HasMethod && !notification && (m.ID != nil || IsServerMethod(m.Method))
	})
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
