package kit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

// Query is a request that changes nothing, and how it is answered when nothing is special about it.
type Query struct {
	Method string
	Params M
	Usual  driver.Reply
}

// Queries are requests of different kinds: the session's harmless one, a list, a call of an unknown tool; each as far
// as the server declares what it is of, and answers it.
func Queries(t *T, s *driver.Session) (all []Query) {
	method, params := s.Harmless()
	var others []Query
	if list, _ := ListMethod(t); list != "" && list != method {
		others = append(others, Query{Method: list})
	}
	if t.Server.Declares("tools") && MayCallUnknown(t) {
		others = append(others, Query{Method: "tools/call", Params: M{"name": UnknownName(t), "arguments": M{}}})
	}
	others = slices.DeleteFunc(others, func(q Query) bool { return KnownUnanswered(t, q.Method) != nil })
	var sent []driver.Pending
	if SendsAtOnce(t) {
		for _, q := range others {
			sent = append(sent, s.Request(q.Method, q.Params))
		}
	}
	all = append(all, Query{method, params, AskHarmless(t, s)})
	for i, q := range others {
		if sent != nil {
			q.Usual = Accept(t, s.Await(sent[i]))
		} else {
			q.Usual = TryAmiss(t, s, q.Method, q.Params)
		}
		if q.Usual.Answered() {
			all = append(all, q)
		} else {
			AskHarmless(t, s) // what follows wants a session that goes on
		}
	}
	return all
}

// Variant is the same kind of request as another: of a call, that of another tool, which is unknown as well.
func (q Query) Variant(nth int) Query {
	if name, isCall := q.Params["name"]; isCall {
		q.Params = M{"name": fmt.Sprintf("%s_%02d", name, nth), "arguments": M{}}
	}
	return q
}

// mostAtOnce is how many calls jsonrpc/pipelined-requests and OtherEchoes have under way at a time.
const mostAtOnce = 4

// UsualBeside is what is usual by the time that an echo came. When it is an error in place of a result, the request is
// made once more under an ordinary id and, since a server MUST limit calls of tools, these as many at a time as echoes
// are asked for.
func (q Query) UsualBeside(t *T, s *driver.Session, e Echoed) driver.Reply {
	if q.Usual.Result() == nil || e.Reply.Error() == nil {
		return q.Usual
	}
	times := 1
	if q.Method == "tools/call" {
		times = mostAtOnce
	}
	for _, again := range Together(t, s, times, q.Method, q.Params) {
		if again.Error() != nil {
			return again
		}
	}
	return q.Usual
}

// Mistaken says what shows that an answer is that to another request, one of others; empty when nothing does.
func (q Query) Mistaken(r driver.Reply, others []Query) string {
	family, verb, _ := strings.Cut(q.Method, "/")
	isList := func(r driver.Reply) bool { _, is := r.Result()[family].([]any); return is }
	if verb == "list" && isList(q.Usual) && !isList(r) {
		return "no list: " + Got(r)
	}
	own, isCall := q.Params["name"].(string)
	text := Compact(r.M())
	if !isCall || bytes.Contains(text, []byte(own)) {
		return ""
	}
	for _, other := range others {
		if name, _ := other.Params["name"].(string); name != "" && bytes.Contains(text, []byte(name)) {
			return "an answer about " + name + ": " + Got(r)
		}
	}
	return ""
}

// otherIDs are ids of a kind for the nth of the requests that are not the harmless one.
var otherIDs = map[string]func(n int) []any{
	"integer": func(n int) []any { return []any{70008 + n, -2 - n, 1<<53 - 2 - n} },
	"string": func(n int) []any {
		return []any{
			fmt.Sprint(70073 + n), fmt.Sprintf("00700%d", 75+n), fmt.Sprintf("mcpcheck-c %d", n),
			strings.Repeat(fmt.Sprintf("mcpcheck-%d", n), 20),
		}
	},
	"unicode": func(n int) []any { return []any{fmt.Sprintf("%d é✓😀", n)} },
	"falsy":   func(n int) []any { return []any{0, ""}[n : n+1] },
}

// OtherEchoes are the echoes of a list and of a call of an unknown tool, under ids of a kind.
func OtherEchoes(t *T, s *driver.Session, kind string) (all []Echoes) {
	for n, q := range Queries(t, s)[1:] {
		ask := func(id any) driver.Pending { return s.RequestID(id, q.Method, q.Params) }
		came := echoes(t, s, otherIDs[kind](n), ask, s.Patience())
		for _, e := range came {
			q.Usual = q.UsualBeside(t, s, e)
		}
		all = append(all, Echoes{Usual: q.Usual, List: came})
	}
	return all
}

// Pipelined is what the ids begin with that jsonrpc/pipelined-requests tries.
const Pipelined = "mcpcheck-pipelined-"

// IsTried reports whether an id was used for what comes of it, which the checks of ids judge: by OtherEchoes, or for
// one of many requests at a time.
func IsTried(id json.RawMessage) bool {
	if text, _ := driver.Decode(id).(string); strings.HasPrefix(text, Pipelined) {
		return true
	}
	for _, ids := range otherIDs {
		for n := range 2 {
			for _, tried := range ids(n) {
				if driver.SameID(Compact(tried), id) {
					return true
				}
			}
		}
	}
	return false
}
