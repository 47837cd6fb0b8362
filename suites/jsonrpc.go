package suites

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/onsi/gomega/types"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

var jsonrpc = Suite{
	"jsonrpc/version-field": Watch(func(t *T, w Wire) {
		t.Judge(spoken(w.Messages()), func(t *T, m Message) {
			t.Expect(Member(m.JSON(), "jsonrpc")).To(BeOneOf("2.0"))
		})
	}),

	"jsonrpc/response-id-echo-integer": Probe(func(t *T) {
		s := t.Session()
		usual := t.Ask(s, s.Fence, nil)
		var all []echoed
		for _, id := range []int{70007, -1, 1<<53 - 1} {
			all = append(all, echo(s, id))
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
		usual := t.Ask(s, s.Fence, nil)
		for _, id := range ids {
			expectEcho(t, usual, echo(s, id))
		}
	}),

	"jsonrpc/response-id-unicode": Probe(func(t *T) {
		if !stringIDs(t).Served() {
			t.Skip("no string is served as id: jsonrpc/response-id-echo-string")
		}
		s := t.Session()
		usual := t.Ask(s, s.Fence, nil)
		expectEcho(t, usual, echo(s, "raw é✓😀"))
		mark, p := s.Mark(), s.Expecting("escaped é✓😀", s.Fence)
		s.Send(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":"escaped \u00e9\u2713\ud83d\ude00","method":%q}`, s.Fence))
		expectEcho(t, usual, await(s, mark, p, shortly))
	}),

	"jsonrpc/error-echoes-request-id": WatchAfter(func(t *T) {
		unknownMethod(t)
		if stringIDs(t).Served() {
			s := t.Session()
			await(s, s.Mark(), s.RequestID("mcpcheck-error", noMethod, nil), shortly)
		}
	}, func(t *T, w Wire) {
		judgeResponses(t, "error response", dialogues(w), func(r *response) bool { return r.HasError }, func(t *T, r *response) {
			if r.Of == nil && (r.Meant == nil || r.Meant.Cancelled || r.Meant.Request.Method == r.Session.Fence) {
				t.Skip("it answers no request, or one whose id another check judges")
			}
			t.Expect(r.Frame).To(haveID(r.Request.ID))
		})
	}),

	"jsonrpc/one-of-result-or-error": WatchAfter(provokeError, func(t *T, w Wire) {
		t.Judge(spoken(w.Responses()), func(t *T, m Message) {
			t.Expect(outcomes(m)).To(BeOneOf("result", "error"))
		})
	}),

	"jsonrpc/result-is-object": Watch(func(t *T, w Wire) {
		one := func(m Message) bool { return !m.HasError }
		t.Judge(spoken(w.Results()).Filter("success response", one), func(t *T, m Message) {
			t.Expect(m.JSON()["result"]).To(BeObject())
		})
	}),

	"jsonrpc/error-code-integer": WatchAfter(provokeError, func(t *T, w Wire) {
		t.Judge(errorsIn(w), func(t *T, m Message) {
			e := errorObject(t, m)
			if codeBeside(m, e) {
				t.Skip("the code is beside the error: jsonrpc/error-object-shape")
			}
			t.Expect(Member(e, "code")).To(BeInteger())
		})
	}),

	"jsonrpc/error-message-string": WatchAfter(provokeError, func(t *T, w Wire) {
		t.Judge(errorsIn(w), func(t *T, m Message) {
			message := Member(errorObject(t, m), "message")
			t.Expect(message).To(BeString())
			t.Warn(message).To(That("some text", func(s string) bool { return s != "" }))
		})
	}),

	"jsonrpc/error-object-shape": WatchAfter(provokeError, func(t *T, w Wire) {
		t.Judge(errorsIn(w), func(t *T, m Message) {
			t.Expect(m.JSON()["error"]).To(BeObject())
			beside := codeBeside(m, errorObject(t, m))
			t.Expect(!beside).To(Hold("the code inside error", "it beside error"))
		})
	}),

	"jsonrpc/error-message-concise": WatchAfter(provokeError, func(t *T, w Wire) {
		t.Judge(errorsIn(w), func(t *T, m Message) {
			message, ok := errorObject(t, m)["message"].(string)
			if !ok {
				t.Skip("the message is no string: jsonrpc/error-message-string")
			}
			if m.Request != nil && bytes.Contains(m.Request.Raw, []byte(`\n`)) {
				t.Skip("it may repeat the line breaks that it was sent")
			}
			t.Expect(strings.TrimSpace(message)).To(That("one line of at most about 200 characters", isConcise))
		})
	}),

	"jsonrpc/error-code-reserved-range": WatchAfter(provokeError, func(t *T, w Wire) {
		t.Judge(errorsIn(w), func(t *T, m Message) {
			code, ok := errorObject(t, m)["code"].(json.Number)
			if !ok {
				t.Skip("the code is no number: jsonrpc/error-code-integer")
			}
			t.Expect(code).To(That("a code that JSON-RPC defines or leaves free", isUsable))
		})
	}),

	"jsonrpc/single-response-per-request": Watch(func(t *T, w Wire) {
		answers := func(r *response) bool { return r.Of != nil || r.Again != nil }
		judgeResponses(t, "response to a request", dialogues(w), answers, func(t *T, r *response) {
			if r.Again != nil && r.Again.Cancelled {
				t.Skip("it may be a reply to a cancellation")
			}
			t.Expect(r.Again == nil).To(Hold("one answer to "+r.Request.Method, "another one under the same id"))
		})
	}),

	"jsonrpc/no-unsolicited-response": Watch(func(t *T, w Wire) {
		once := func(r *response) bool { return r.Again == nil }
		judgeResponses(t, "response", dialogues(w), once, func(t *T, r *response) {
			switch {
			case r.Meant != nil:
				t.Skip("it may be meant for a request that has no answer")
			case r.Of == nil && r.Noted:
				t.Skip("it may be a reply to a notification: jsonrpc/notification-no-response")
			case r.HasError && isBare(r.ID):
				t.Skip("an error without id may be about anything")
			}
			t.Expect(r.Of != nil).To(Hold("responses to requests only", "a response with id %s, which no request has", Show(ID(r.Frame))))
		})
	}),

	"jsonrpc/every-request-answered": Watch(func(t *T, w Wire) {
		requests, exchanges := Messages{What: "answer"}, map[*driver.Frame]*exchange{}
		for _, d := range dialogues(w) {
			for _, x := range d.Exchanges {
				requests.List = append(requests.List, Message{Frame: x.Request, Session: x.Session})
				exchanges[x.Request] = x
			}
		}
		t.Judge(requests, func(t *T, m Message) {
			x := exchanges[m.Frame]
			if why := excuse(t, w, x); why != "" {
				t.Skip("%s", why)
			}
			t.Expect(x.Answer != nil).To(Hold("an answer to "+m.Method, "%s", x.Fate()))
		})
	}),

	"jsonrpc/notification-no-response": Probe(func(t *T) {
		s := t.Session()
		late := lateCancel(t, s)
		mark := s.Mark()
		s.SendJSON(late)
		t.Settle(s, mark)
		expectNoReply(t, s, mark)
	}),

	"jsonrpc/unknown-notification-ignored": Probe(func(t *T) {
		s := t.Session()
		t.Ask(s, s.Fence, nil) // what the handshake brought is no reply
		mark := s.Mark()
		s.Notify("notifications/mcpcheck/unknown", nil)
		_, err := s.Settle(mark)
		expectAlive(t, err)
		expectNoReply(t, s, mark)
	}),

	"jsonrpc/request-method-without-id": Probe(func(t *T) {
		p := provoke(t, requestWithoutID)
		if p.Fatal != nil {
			t.Skip("the session did not survive it: robust/survives-unknown-messages")
		}
		r := reaction(p, nil)
		t.Expect(r).NotTo(BeResult())
		if refusedByHTTP(r) {
			return // a notification that a server cannot accept gets an HTTP error status
		}
		t.Warn(r).NotTo(BeError())
	}),

	"jsonrpc/notification-method-with-id": Probe(func(t *T) {
		r := reaction(provoke(t, notificationWithID), idIn(notificationWithID))
		t.Expect(r).To(BeAnswered())
		t.Expect(r.Frame).To(haveID(idIn(notificationWithID)))
		t.Inform(r).To(BeError())
	}),

	"jsonrpc/unknown-method-is-error": Probe(func(t *T) {
		e := unknownMethod(t)
		if e.Stray != nil {
			t.Skip("it was answered under another id: jsonrpc/error-echoes-request-id")
		}
		t.Expect(e.Reply).To(BeError())
	}),

	"jsonrpc/unknown-method-code": Probe(func(t *T) {
		r := unknownMethod(t).Reply
		if _, ok := r.Code(); !ok {
			t.Skip("no error with a code came: jsonrpc/unknown-method-is-error")
		}
		t.Expect(r).To(BeError(-32601))
	}),

	"jsonrpc/undeclared-method-not-found": Probe(func(t *T) {
		methods := undeclared(t)
		if len(methods) == 0 {
			t.Skip("the server declares every family")
		}
		if !unknownMethod(t).Reply.Answered() {
			t.Skip("the server leaves unknown methods unanswered: jsonrpc/unknown-method-is-error")
		}
		s := t.Hostile()
		var all []driver.Reply
		for _, method := range methods {
			r := await(s, s.Mark(), s.Request(method, paramsOf[method]), shortly).Reply
			t.Expect(r).To(beErrorFor(method))
			all = append(all, r)
		}
		for _, r := range all {
			t.Inform(r).To(BeError(-32601))
		}
	}),

	"jsonrpc/parse-error-reported": Probe(func(t *T) {
		r := rejections(t, "a line that is no JSON")[0].Reply
		if codeless(r) {
			t.Skip("over HTTP a status of an error is enough: http/malformed-json-status, sse/malformed-post")
		}
		t.Expect(r).To(BeError(-32700))
	}),

	"jsonrpc/parse-error-id": Probe(func(t *T) {
		r := rejections(t, "a line that is no JSON")[0].Reply
		if r.Error() == nil {
			t.Skip("no error was returned")
		}
		t.Expect(r.Frame).To(haveNoID())
	}),

	"jsonrpc/invalid-envelope-is-error": Probe(func(t *T) {
		all := rejections(t, envelopes...)
		for _, r := range all {
			t.Expect(r.Reply).To(beAnswerFor(r.Name))
			if r.Name == methodNumber { // the others may be read leniently
				t.Expect(r.Reply).To(beErrorFor(r.Name))
			}
		}
		for _, r := range coded(all) {
			t.Inform(r.Reply).To(BeError(-32600))
		}
	}),

	"jsonrpc/invalid-envelope-echoes-id": Probe(func(t *T) {
		refused := false
		for _, r := range rejections(t, envelopes...) {
			if r.Reply.Error() != nil && !needsNoID(r.Reply.Frame) {
				refused = true
				t.Expect(r.Reply.Frame).To(haveID(r.ID))
			}
		}
		if !refused {
			t.Skip("no error was returned that needs an id")
		}
	}),

	"jsonrpc/params-must-be-object": Probe(func(t *T) {
		all := rejections(t, "params that are a string", "params that are an array")
		for _, r := range all {
			t.Expect(r.Reply).To(beAnswerFor(r.Name))
			t.Expect(r.Reply.Frame).To(haveID(r.ID))
		}
		for _, r := range coded(all) {
			t.Inform(r.Reply).To(BeError(-32600, -32602))
		}
	}),

	"jsonrpc/null-id-not-answered-with-result": Probe(func(t *T) {
		t.Expect(rejections(t, "a request with id null")[0].Reply).NotTo(BeResult())
	}),

	"jsonrpc/invalid-id-type": Probe(func(t *T) {
		for _, id := range []string{"true", "{}", "1.5"} {
			p := provoke(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"ping"}`, id))
			expectAlive(t, p.Fatal)
			if r := reaction(p, json.RawMessage(id)); r.Answered() && !isBare(r.Frame.ID) {
				t.Expect(r.Frame).To(haveID(json.RawMessage(id)))
			}
		}
	}),

	"jsonrpc/server-request-id-type": Watch(func(t *T, w Wire) {
		t.Judge(serverRequests(w), func(t *T, m Message) {
			t.Expect(ID(m.Frame)).To(That("a string or an integer", isRequestID))
		})
	}),

	"jsonrpc/server-request-id-unique": Watch(func(t *T, w Wire) {
		used := map[*driver.Session]map[string]bool{}
		requests := serverRequests(w).Filter("second request in a session", func(m Message) bool {
			first := used[m.Session] == nil
			if first {
				used[m.Session] = map[string]bool{driver.IDKey(m.ID): true}
			}
			return !first && m.ID != nil
		})
		t.Judge(requests, func(t *T, m Message) {
			again := used[m.Session][driver.IDKey(m.ID)]
			used[m.Session][driver.IDKey(m.ID)] = true
			t.Expect(!again).To(Hold("an id of its own for each request", "%s for %s and for an earlier request", m.ID, m.Method))
		})
	}),

	"jsonrpc/server-notification-no-id": Watch(func(t *T, w Wire) {
		notifications := func(m Message) bool { return strings.HasPrefix(m.Method, "notifications/") }
		t.Judge(w.Messages().Filter("notification", notifications), func(t *T, m Message) {
			t.Expect(m.ID == nil).To(Hold("no id", "id %s", m.ID))
		})
	}),

	"jsonrpc/utf8-output": WatchAfter(func(t *T) {
		if t.Server.Declares("tools") && t.MayCallUnknown() {
			t.Try(t.Session(), "tools/call", M{"name": "mcpcheck-ünknown-工具", "arguments": M{}})
		}
	}, func(t *T, w Wire) {
		conforming := func(m Message) bool { return !m.Hostile && (m.Shape == driver.Object || m.Shape == driver.Array) }
		t.Judge(w.Lines().Filter("message", conforming), func(t *T, m Message) {
			t.Expect(utf8.Valid(m.Raw)).To(Hold("UTF-8", "%q", invalidPart(m.Raw)))
		})
	}),

	"jsonrpc/pipelined-requests": Probe(func(t *T) {
		named := stringIDs(t).Served()
		s := t.Session()
		usual := t.Ask(s, s.Fence, nil)
		mark := s.Mark()
		var all []driver.Pending
		for i := range 10 {
			id := any(70100 + i)
			if named && i%2 == 1 {
				id = fmt.Sprintf("mcpcheck-pipelined-%d", i)
			}
			all = append(all, s.RequestID(id, s.Fence, nil))
		}
		for _, p := range all {
			e := await(s, mark, p, shortly)
			if e.Stuck {
				t.Inconclusive("%v", e.Reply.Err)
			}
			expectEcho(t, usual, e)
		}
	}),

	"jsonrpc/extra-members-tolerated": Probe(func(t *T) {
		var served []string
		s := t.Session()
		for _, r := range []struct {
			method string
			extra  M
		}{{"ping", M{"mcpcheck": true}}, {"tools/list", M{"mcpcheck": M{"a": 1}}}} {
			if r.method == "tools/list" && !t.Server.Declares("tools") || t.Try(s, r.method, M{}).Result() == nil {
				continue
			}
			t.Expect(t.Try(s, r.method, r.extra)).To(BeResult())
			served = append(served, r.method)
		}
		if len(served) == 0 {
			t.Skip("no request is served even without extra members: ping/empty-result")
		}
		if served[0] == "ping" {
			line := `{"jsonrpc":"2.0","id":70051,"method":"ping","mcpcheck":true}`
			t.Inform(reaction(provoke(t, line), idIn(line))).To(That("a result although there is a member beside params", func(r driver.Reply) bool { return r.Result() != nil }))
		}
	}),

	"jsonrpc/member-names-case-sensitive": Probe(func(t *T) {
		t.Expect(rejections(t, "member names in capitals")[0].Reply).NotTo(BeResult())
	}),
}

// malformed are lines that are no valid message, by what is wrong with them. They
// go to hostile sessions; that those survive is robust/survives-malformed-json.
var malformed = map[string]string{
	"a line that is no JSON":    `{"mcpcheck" !!}`,
	"a request without jsonrpc": `{"id":70021,"method":"ping"}`,
	"a request of jsonrpc 1.0":  `{"jsonrpc":"1.0","id":70022,"method":"ping"}`,
	methodNumber:                `{"jsonrpc":"2.0","id":70023,"method":5}`,
	"params that are a string":  `{"jsonrpc":"2.0","id":70031,"method":"ping","params":"x"}`,
	"params that are an array":  `{"jsonrpc":"2.0","id":70032,"method":"ping","params":[1]}`,
	"a request with id null":    `{"jsonrpc":"2.0","id":null,"method":"ping"}`,
	"member names in capitals":  `{"jsonrpc":"2.0","ID":70041,"METHOD":"ping"}`,
	emptyArray:                  `[]`,
	mixedArray:                  `[1,{"jsonrpc":"2.0","id":70061,"method":"ping"}]`,
}

// Names in malformed that are used by more than one line of code.
const (
	methodNumber = "a method that is a number"
	emptyArray   = "empty array"
	mixedArray   = "an array with a number"
)

// envelopes are those of malformed whose envelope is wrong.
var envelopes = []string{"a request without jsonrpc", "a request of jsonrpc 1.0", methodNumber}

// Messages that are well formed, but that no client sends.
const (
	requestWithoutID   = `{"jsonrpc":"2.0","method":"ping"}`
	notificationWithID = `{"jsonrpc":"2.0","id":70011,"method":"notifications/initialized"}`
)

// rejection is what came of a malformed line.
type rejection struct {
	Name  string
	ID    json.RawMessage // in the line; nil when there is none
	Reply driver.Reply
}

// rejections sends malformed lines. It leaves out those that the session does not
// survive, and ends the check when none is left.
func rejections(t *T, names ...string) (all []rejection) {
	for _, name := range names {
		line := malformed[name]
		if p := provoke(t, line); p.Fatal == nil {
			all = append(all, rejection{Name: name, ID: idIn(line), Reply: reaction(p, idIn(line))})
		}
	}
	if len(all) == 0 {
		t.Skip("the session did not survive it: robust/survives-malformed-json")
	}
	return all
}

// codeless reports whether the answer is an HTTP error with no JSON-RPC error in it.
func codeless(r driver.Reply) bool {
	_, has := r.Code()
	return r.Bare() && !has
}

// coded leaves out what was refused by a bare HTTP error, which has no code: what is
// no request need not be answered in JSON-RPC.
func coded(all []rejection) (rest []rejection) {
	for _, r := range all {
		if !codeless(r.Reply) {
			rest = append(rest, r)
		}
	}
	return rest
}

var errIgnored = errors.New("silence, and a later request was answered")

// reaction is the answer to a provocation: the response with the id or, for want
// of one, the first.
func reaction(p provoked, id json.RawMessage) driver.Reply {
	var responses []*driver.Frame
	for _, f := range p.Came {
		for _, m := range f.Members() {
			if m.IsResponse() {
				responses = append(responses, m)
			}
		}
	}
	i := slices.IndexFunc(responses, func(f *driver.Frame) bool { return driver.SameID(f.ID, id) })
	switch {
	case len(responses) > 0:
		f := responses[max(i, 0)]
		return driver.Reply{Frame: f, M: f.JSON()}
	case p.Refused != nil:
		return driver.Refused(p.Refused)
	case p.Fatal != nil:
		return driver.Reply{Err: p.Fatal}
	}
	return driver.Reply{Err: errIgnored}
}

// idIn is the id in a line; nil when it has none.
func idIn(line string) json.RawMessage {
	m, _ := driver.Decode([]byte(line)).(M)
	if !Has(m, "id") {
		return nil
	}
	return Compact(m["id"])
}

// isBare reports whether an id says nothing: it is absent or null.
func isBare(id json.RawMessage) bool { return id == nil || string(id) == "null" }

// needsNoID reports whether an error may lack the id: the body of an HTTP error may.
func needsNoID(f *driver.Frame) bool {
	return f.HTTP != nil && f.HTTP.Answer().Status >= 400 && isBare(f.ID)
}

// refusedByHTTP reports whether the answer is an HTTP error that names no request.
func refusedByHTTP(r driver.Reply) bool { return r.Answered() && needsNoID(r.Frame) }

func haveID(id json.RawMessage) types.GomegaMatcher {
	return That("id "+driver.Brief(id), func(f *driver.Frame) bool { return driver.SameID(f.ID, id) || needsNoID(f) })
}

func haveNoID() types.GomegaMatcher {
	return That("no id, or null", func(f *driver.Frame) bool { return isBare(f.ID) })
}

// beAnswerFor and beErrorFor match replies, and name what they answer.
func beAnswerFor(what string) types.GomegaMatcher {
	return That("an answer to "+what, driver.Reply.Answered)
}

func beErrorFor(what string) types.GomegaMatcher {
	return That("an error for "+what, func(r driver.Reply) bool { return r.Answered() && r.M["error"] != nil })
}

// echoed is what came of a request whose id matters.
type echoed struct {
	ID    json.RawMessage
	Reply driver.Reply
	Stray *driver.Frame // a response that answers no request; nil: none
	Stuck bool          // neither it nor a later request was answered
}

func (e echoed) String() string {
	if !e.Reply.Answered() && e.Stray != nil {
		return driver.Brief(e.Stray.Raw)
	}
	return Got(e.Reply)
}

// shortly is how much longer than a later request a request is waited for that
// takes no time.
const shortly = 500 * time.Millisecond

// echo sends the session's harmless request under an id.
func echo(s *driver.Session, id any) echoed {
	mark := s.Mark()
	return await(s, mark, s.RequestID(id, s.Fence, nil), shortly)
}

// await waits for the answer to what was sent after the mark. When none comes at
// once, it makes sure that a later request is answered, and waits a while more.
func await(s *driver.Session, mark int, p driver.Pending, patience time.Duration) echoed {
	e := echoed{ID: p.ID, Reply: s.AwaitFor(p, 250*time.Millisecond)}
	if e.Reply.Answered() || !s.Alive() {
		return e
	}
	if _, err := s.React(mark); err != nil {
		if late := s.AwaitFor(p, 0); late.Answered() {
			e.Reply = late
			return e
		}
		e.Reply.Err, e.Stuck = err, s.Alive()
		return e
	}
	if e.Stray = unasked(s, mark); e.Stray != nil {
		patience = 0
	}
	e.Reply = s.AwaitFor(p, patience)
	return e
}

// expectEcho wants an answer under the id, of the kind that is usual.
func expectEcho(t *T, usual driver.Reply, e echoed) {
	t.Expect(e).To(beAnsweredUnder(e.ID))
	t.Expect(e.Reply).To(beLike(usual))
}

func beAnsweredUnder(id json.RawMessage) types.GomegaMatcher {
	return That("an answer with id "+driver.Brief(id), func(e echoed) bool { return e.Reply.Answered() })
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
	Echoes []echoed     // up to the first without an answer
}

// Served reports whether strings are as good as numbers.
func (s stringEchoes) Served() bool {
	return !slices.ContainsFunc(s.Echoes, func(e echoed) bool {
		return !e.Reply.Answered() || s.Usual.Result() != nil && e.Reply.Result() == nil
	})
}

func stringIDs(t *T) stringEchoes {
	return Shared(t, "string ids", func(t *T) (all stringEchoes) {
		s := t.Session()
		all.Usual = t.Ask(s, s.Fence, nil)
		for _, id := range []string{"1", "007", "mcpcheck-a b", strings.Repeat("mcpcheck-x", 20)} {
			e := echo(s, id)
			all.Echoes = append(all.Echoes, e)
			if !e.Reply.Answered() {
				break
			}
		}
		return all
	})
}

// noMethod is a method that no server has.
const noMethod = "mcpcheck/no-such-method"

func unknownMethod(t *T) echoed {
	return Shared(t, "unknown method", func(t *T) echoed {
		s := t.Session()
		mark := s.Mark()
		return await(s, mark, s.Request(noMethod, nil), s.Patience())
	})
}

// provokeError sees to it that there is an error to judge.
func provokeError(t *T) { unknownMethod(t) }

// lateCancel is a cancellation of a request that was answered already: a
// notification that crosses the answer looks like this.
func lateCancel(t *T, s *driver.Session) M {
	p := s.Request(s.Fence, nil)
	if r := s.Await(p); r.Err != nil {
		t.Inconclusive("%v", r.Err)
	}
	return M{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": M{"requestId": p.ID, "reason": "mcpcheck"}}
}

func expectAlive(t *T, err error) {
	t.Expect(err == nil).To(Hold("the session to go on", "%v", err))
}

func expectNoReply(t *T, s *driver.Session, mark int) {
	reply := unasked(s, mark)
	t.Expect(reply == nil).To(Hold("no reply to a notification", "%s", brief(reply)))
}

func brief(f *driver.Frame) string {
	if f == nil {
		return ""
	}
	return driver.Brief(f.Raw)
}

// families are the features of a server: the capability that declares one, and a
// method of it.
var families = []struct{ capability, method, since string }{
	{"tools", "tools/list", ""},
	{"resources", "resources/list", ""},
	{"prompts", "prompts/list", ""},
	{"logging", "logging/setLevel", ""},
	{"tasks", "tasks/list", "2025-11-25"},
}

var paramsOf = map[string]M{"logging/setLevel": {"level": "info"}}

// undeclared are methods of the families that the server does not declare.
func undeclared(t *T) (methods []string) {
	for _, f := range families {
		if t.Revision >= f.since && !t.Server.Declares(f.capability) {
			methods = append(methods, f.method)
		}
	}
	return methods
}

// spoken keeps the JSON that is meant as a message: some servers log JSON to
// stdout, which stdio/stdout-only-messages reports.
func spoken(m Messages) Messages {
	return m.Filter(m.What, func(m Message) bool {
		return m.Request != nil || isServerMethod(m.Method) || Has(m.JSON(), "jsonrpc")
	})
}

func isServerMethod(method string) bool {
	return slices.Contains([]string{"ping", "roots/list", "sampling/createMessage", "elicitation/create"}, method) ||
		strings.HasPrefix(method, "notifications/")
}

// outcomes names the members of a response that say what it is.
func outcomes(m Message) string {
	switch {
	case m.HasResult && m.HasError:
		return "result and error"
	case m.HasResult:
		return "result"
	case m.HasError:
		return "error"
	}
	return "neither result nor error"
}

// errorsIn are the responses that have an error and no result.
func errorsIn(w Wire) Messages {
	return spoken(w.Errors()).Filter("error response", func(m Message) bool { return !m.HasResult })
}

// errorObject is the error of a response; without an object the check ends.
func errorObject(t *T, m Message) M {
	e, ok := m.JSON()["error"].(M)
	if !ok {
		t.Skip("the error is no object: jsonrpc/error-object-shape")
	}
	return e
}

// codeBeside reports whether the code stands beside the error.
func codeBeside(m Message, e M) bool { return !Has(e, "code") && Has(m.JSON(), "code") }

// isConcise reports whether a text may count as one short sentence; 250 is what
// "about 200" leaves room for.
func isConcise(text string) bool {
	return !strings.ContainsAny(text, "\r\n") && utf8.RuneCountInString(text) <= 250
}

// isUsable reports whether a code is none of those that JSON-RPC keeps for later.
func isUsable(code json.Number) bool {
	n, err := code.Int64()
	return err != nil || n < -32768 || n >= -32099 || n == -32700 || -32603 <= n && n <= -32600
}

// serverRequests are messages of the server with the method of a request.
func serverRequests(w Wire) Messages {
	return spoken(w.Messages()).Filter("request", func(m Message) bool {
		return m.HasMethod && !strings.HasPrefix(m.Method, "notifications/") && (m.ID != nil || isServerMethod(m.Method))
	})
}

func isRequestID(id any) bool {
	switch id := id.(type) {
	case string:
		return true
	case json.Number:
		f, err := id.Float64()
		return err == nil && f == float64(int64(f))
	}
	return false
}

// invalidPart is where a text stops to be UTF-8.
func invalidPart(raw []byte) []byte {
	for i := 0; i < len(raw); {
		r, n := utf8.DecodeRune(raw[i:])
		if r == utf8.RuneError && n == 1 {
			return raw[max(0, i-10):min(len(raw), i+10)]
		}
		i += n
	}
	return nil
}

// Dead reports whether the server ended the session before the request had its
// answer.
func (x *exchange) Dead() bool {
	death := x.Session.Death()
	return x.End != nil && x.End.Side == driver.Event && death != nil && death.Error() == string(x.End.Raw)
}

// Crashed reports whether the process ended by itself before it answered. One that
// was killed may have been killed by somebody else.
func (x *exchange) Crashed() bool {
	if !x.Dead() || x.End.AfterEOF || !x.followsRequest() {
		return false
	}
	end := string(x.End.Raw)
	return strings.HasPrefix(end, "the server exited") || strings.Contains(end, "by a signal") &&
		!strings.Contains(end, "(killed)") && !strings.Contains(end, "(terminated)")
}

// shared reports whether another session of the same process was in use when the
// server ended: over HTTP all sessions have one process.
func (x *exchange) shared(w Wire) bool {
	const recently = 2 * time.Second
	return slices.ContainsFunc(w.Sessions, func(s *driver.Session) bool {
		return s != x.Session && s.Endpoint() != "" && s.Busy(x.Session.Moment(x.End), recently)
	})
}

// followsRequest reports whether the request came right after another one. After a
// notification or a batch, their checks judge what becomes of the session.
func (x *exchange) followsRequest() bool {
	follows := true
	for _, f := range x.Session.Record(0) {
		switch {
		case f == x.Request:
			return follows
		case f.Side == driver.FromClient:
			follows = f.IsRequest()
		}
	}
	return false
}

// Fate is why a request has no answer.
func (x *exchange) Fate() string {
	if x.Dead() {
		return string(x.End.Raw)
	}
	return fmt.Sprintf("none within %v", x.Session.Patience())
}

// excuse is why it is not for jsonrpc/every-request-answered to report that a
// request has no answer; empty when it is.
func excuse(t *T, w Wire, x *exchange) string {
	switch method := x.Request.Method; {
	case x.Answer != nil:
		return ""
	case !x.Ready:
		return "the handshake was not complete"
	case x.Batched:
		return "it was in a batch"
	case x.Cancelled:
		return "it was cancelled"
	case x.Empty:
		return "the HTTP answer holds no response: http/request-not-202, http/sse-response-eventually"
	case x.Mistaken:
		return "an error without its id came: jsonrpc/error-echoes-request-id"
	case x.Dead() && x.shared(w):
		return "other sessions of the same server were in use when it ended"
	case x.Crashed():
		return ""
	case method == x.Session.Fence || method == "initialize" || method == "ping" || method == "tools/list" || method == "tasks/result":
		return "another check judges the answers to " + method
	case !declared(x):
		return "the server does not declare the method"
	case !x.Dead() && (x.End == nil || x.End.At-x.Request.At < x.Session.Patience()):
		return "the session was over before an answer was due"
	case method == "tools/call":
		return excuseCall(t, x)
	}
	return ""
}

// declared reports whether the session's capabilities cover the method.
func declared(x *exchange) bool {
	family, verb, _ := strings.Cut(x.Request.Method, "/")
	if family == "completion" {
		family = "completions"
	}
	capability, _ := x.Session.Capabilities[family].(M)
	if verb == "subscribe" || verb == "unsubscribe" {
		return capability["subscribe"] == true
	}
	return capability != nil
}

// excuseCall is why a call may have no answer: only what breaks the schema of a
// listed tool has to be answered soon.
func excuseCall(t *T, x *exchange) string {
	params, _ := x.Request.JSON()["params"].(M)
	i := slices.IndexFunc(listedTools(t), func(tool Subject) bool { return tool.Name == params["name"] })
	switch {
	case i < 0:
		return "another check judges calls without a known tool"
	case !x.Dead() && !breaksSchema(t, listedTools(t)[i], Member(params, "arguments")):
		return "a tool may run for long"
	}
	return ""
}

// breaksSchema reports whether arguments are invalid even without those that the
// tool does not know.
func breaksSchema(t *T, tool Subject, arguments any) bool {
	args, ok := arguments.(M)
	if !ok {
		return arguments != Absent{}
	}
	schema, err := schemas.Compile(tool.Value["inputSchema"], t.Revision)
	if err != nil {
		return false
	}
	known := M{}
	input, _ := tool.Value["inputSchema"].(M)
	properties, _ := input["properties"].(M)
	for name, v := range args {
		if Has(properties, name) {
			known[name] = v
		}
	}
	return schema.Validate(known) != nil
}
