package suites

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/onsi/gomega/types"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

// httpMessages are the checks of messages, statuses and headers of Streamable HTTP.
var httpMessages = Suite{
	"http/endpoint-accepts-post": Probe(func(t *T) {
		x := helloByHand(t, t.Start(), nil)
		x.Reply()
		a := x.Answer()
		wantAnswer(t, a)
		skipUnauthorized(t, a)
		t.Expect(a).To(That("POST accepted", acceptsPOST))
	}).WhenRefused().WhenProtected(),

	"http/get-stream-or-405": Probe(func(t *T) {
		a := standing(t, t.Session())
		notLimited(t, a)
		skipUnauthorized(t, a)
		if a.Status == 0 && !a.Ended { // the headers may be held back until there is an event
			t.Warn(a).To(That("the headers of an event stream at once, or HTTP 405", neverYet))
		}
		t.Expect(a).To(That("an event stream or HTTP 405", streamOr405))
		t.Warn(a).To(That("an event stream with status 200, or HTTP 405", func(a driver.Answer) bool {
			return a.Status == http.StatusOK || a.Status == http.StatusMethodNotAllowed
		}))
	}),

	"http/second-get-stream": Probe(func(t *T) {
		s := t.Own()
		first := standing(t, s)
		if first.Status == 0 || !streamOr405(first) {
			t.Skip("the first GET was neither answered with a stream nor with 405: http/get-stream-or-405")
		}
		x := get(s, nil)
		second := x.Head()
		x.Abort()
		notLimited(t, second)
		t.Expect(second).To(That("a second stream as the first, or HTTP 405 for both", func(a driver.Answer) bool {
			return a.Status == first.Status && a.MediaType() == first.MediaType()
		}))
	}),

	"http/405-allow-header": WatchAfter(func(t *T) { otherMethods(t) }, func(t *T, w Wire) {
		refused := func(r roundTrip) bool {
			return r.Answer.Status == http.StatusMethodNotAllowed && r.Sent.HTTP.URL == r.Session.Endpoint()
		}
		judgeTrips(t, "answer with status 405", trips(w), refused, func(t *T, r roundTrip) {
			allow := strings.Join(r.Answer.Header.Values("Allow"), ", ")
			t.Expect(allow).To(That("an Allow header that names POST", func(allow string) bool { return strings.Contains(allow, "POST") }))
		})
	}),

	"http/response-content-type": Watch(func(t *T, w Wire) {
		judgeTrips(t, "HTTP answer to a request", requests(w), func(r roundTrip) bool { return !isEmpty(r.Answer) }, func(t *T, r roundTrip) {
			t.Expect(r.Answer.MediaType()).To(BeOneOf(jsonType, streamType))
		})
	}),

	"http/request-not-202": Watch(func(t *T, w Wire) {
		judgeTrips(t, "HTTP answer to a request", requests(w), nil, func(t *T, r roundTrip) {
			t.Expect(r.Answer).To(That("the answer to "+r.Sent.Method+" in a body or an event stream", func(a driver.Answer) bool { return !isEmpty(a) }))
		})
	}),

	"http/request-errors-are-jsonrpc": Probe(func(t *T) {
		s := t.Session()
		if r := t.Ask(s, s.Fence, nil); r.Bare() {
			t.Again("%s, too, is answered with %s", s.Fence, Got(r))
		}
		t.Each(failing(t, s), func(t *T, failed Subject) {
			x := failed.Frames[0].HTTP
			r := x.Reply()
			switch {
			case r.Err != nil:
				t.Inconclusive("%v", Explain(r.Err))
			case r.Result() != nil:
				t.Skip("it was answered with a result")
			}
			notLimited(t, x.Answer())
			skipUnauthorized(t, x.Answer())
			t.Expect(r).To(That("a JSON-RPC error", func(r driver.Reply) bool { return !r.Bare() }))
		})
	}),

	"http/json-reply-single-object": Watch(func(t *T, w Wire) {
		inJSON := func(r roundTrip) bool { return !isEmpty(r.Answer) && r.Answer.MediaType() == jsonType }
		judgeTrips(t, "answer in JSON", requests(w), inJSON, func(t *T, r roundTrip) {
			t.Expect(string(r.Answer.Body)).To(That("one JSON-RPC response and nothing else", isOneResponse))
		})
	}),

	"http/success-status": Watch(func(t *T, w Wire) {
		sent := slices.DeleteFunc(trips(w), func(r roundTrip) bool { return !r.Ordinary() || !r.Sent.IsRequest() })
		judgeTrips(t, "result over HTTP", sent, roundTrip.brought, func(t *T, r roundTrip) {
			t.Expect(r.Answer).To(That("HTTP 200 with the result", func(a driver.Answer) bool { return a.Status == http.StatusOK }))
		})
	}),

	"http/notification-202": Fresh(func(t *T) {
		t.Each(oneWay(t).Notifications, func(t *T, n Subject) {
			a := answerOf(n)
			notLimited(t, a)
			skipReply(t, a)
			if a.Status >= 400 && n.Name != "notifications/initialized" {
				t.Skip("it was not accepted")
			}
			t.Expect(a).To(That("HTTP 202", isAccepted))
		})
	}),

	"http/notification-empty-body": Fresh(func(t *T) {
		sent := oneWay(t)
		t.Each(slices.Concat(sent.Notifications, sent.Unsolicited, sent.Genuine), func(t *T, n Subject) {
			a := answerOf(n)
			if !isAccepted(a) {
				t.Skip("it was not answered with 202")
			}
			t.Expect(a).To(That("no body", func(a driver.Answer) bool { return a.Ended && isEmpty(a) && len(a.Events) == 0 }))
		})
	}),

	"http/response-post-202": Fresh(func(t *T) {
		sent := oneWay(t)
		t.Each(slices.Concat(sent.Unsolicited, sent.Genuine), func(t *T, response Subject) {
			t.Expect(answerOf(response)).To(That("HTTP 202 or an error status", acceptsOrRefuses))
		})
		for _, response := range sent.Genuine {
			t.Warn(answerOf(response)).To(That("HTTP 202 for the answer to a request of the server", isAccepted))
		}
	}),

	"http/rejected-message-status": Probe(func(t *T) {
		for _, n := range oneWay(t).Notifications {
			if a := answerOf(n); a.OK() && !isAccepted(a) {
				t.Skip("accepted notifications are not answered with 202: http/notification-202")
			}
		}
		s := t.Session()
		unknown := post(s, `{"jsonrpc":"2.0","method":"notifications/mcpcheck/unknown"}`)
		bad := post(t.Hostile(), `{"jsonrpc":"2.0","method":42}`)
		skipReply(t, unknown.End())
		if a := unknown.Answer(); a.Status == 0 && !s.Alive() {
			t.Again("%s: jsonrpc/unknown-notification-ignored", a)
		}
		t.Expect(unknown.End()).To(That("HTTP 202 or an error status for an unknown notification", acceptsOrRefuses))
		for _, x := range []*driver.Exchange{unknown, bad} {
			t.Warn(x.End()).To(That("HTTP 202 or 4xx", func(a driver.Answer) bool { return isAccepted(a) || refusesClient(a) }))
		}
	}),

	"http/error-body-shape": WatchAfter(func(t *T) { otherMethods(t); brokenJSON(t) }, func(t *T, w Wire) {
		// What was sent in ordinary sessions is judged in the area jsonrpc.
		looksLike := func(r roundTrip) bool {
			return r.Sent.Apart && refusesClient(r.Answer) && Has(object(r.Answer.Body), "jsonrpc")
		}
		judgeTrips(t, "JSON-RPC message in the body of an HTTP error", trips(w), looksLike, func(t *T, r roundTrip) {
			what := mistake(r)
			t.Expect(what == "").To(Hold("a JSON-RPC error", "%s in %s", what, r.Answer))
		})
	}),

	"http/malformed-json-status": Probe(func(t *T) {
		a := brokenJSON(t)
		notLimited(t, a)
		t.Expect(a).To(That("HTTP 4xx", func(a driver.Answer) bool { return refusesClient(a) || a.OK() && isParseError(a) }))
		t.Inform(a).To(That("HTTP 4xx", refusesClient))
	}),

	"http/accept-both-any-order": Probe(func(t *T) {
		compare(t, nil, []form{
			{"the types in the other order", header("Accept", "text/event-stream, application/json")},
			{"q-parameters", header("Accept", "application/json;q=1.0, text/event-stream;q=0.5")},
			{"more white space", header("Accept", "application/json ,  text/event-stream")},
			{"two header lines", header("Accept", "application/json", "text/event-stream")},
		})
	}),

	"http/missing-accept": Probe(func(t *T) {
		s := t.Session()
		onlyJSON := byHand(s, s.Fence, nil, header("Accept", jsonType))
		none := byHand(s, s.Fence, nil, header("Accept"))
		for _, x := range []*driver.Exchange{onlyJSON, none} {
			wantAnswer(t, x.Head())
			t.Expect(x.Answer()).To(That("it served, or refused with 4xx", func(a driver.Answer) bool { return a.Status < 500 }))
		}
		t.Inform(onlyJSON.Answer()).To(That("no event stream for a client that accepts only JSON", func(a driver.Answer) bool { return !a.IsStream }))
	}),

	"http/content-type-with-charset": Probe(func(t *T) {
		compare(t, nil, []form{
			{"a charset", header("Content-Type", "application/json; charset=utf-8")},
			{"another letter case", header("Content-Type", "Application/JSON")},
		})
	}),

	"http/non-json-content-type-rejected": Fresh(func(t *T) {
		x := helloByHand(t, t.Start(), header("Content-Type", "text/plain"))
		r := x.Reply()
		wantAnswer(t, x.Answer())
		t.Expect(r).To(That("initialize as text/plain refused", func(r driver.Reply) bool { return r.Result() == nil }))
	}),

	"http/version-header-invalid-400": Probe(func(t *T) {
		s := t.Session()
		usual := byHand(s, s.Fence, nil, nil)
		var wrong []*driver.Exchange
		for _, version := range []string{"1999-01-01", "not-a-version"} {
			wrong = append(wrong, byHand(s, s.Fence, nil, header(versionHeader, version)))
		}
		if r := usual.Reply(); r.Bare() || r.Err != nil {
			t.Again("the request is not served with the negotiated version either: %s", Got(r))
		}
		for _, x := range wrong {
			version := x.Header.Get(versionHeader)
			notLimited(t, x.Head())
			t.Expect(x.Answer()).To(That("HTTP 400 for version "+version, func(a driver.Answer) bool { return a.Status == http.StatusBadRequest }))
		}
	}),

	"http/version-header-valid-accepted": Probe(func(t *T) {
		compare(t, header(versionHeader), []form{
			{"the negotiated version", header("MCP-Protocol-Version", t.Revision)},
			{"lower case", header("mcp-protocol-version", t.Revision)},
			{"capitals", header("MCP-PROTOCOL-VERSION", t.Revision)},
		})
	}),

	"http/version-header-absent-served": Probe(func(t *T) {
		if t.Server.Sessionless && !supports(t, "2025-03-26") {
			t.Inconclusive("without sessions the server would have to assume 2025-03-26, which it does not support")
		}
		compare(t, nil, []form{{"no header", header(versionHeader)}})
	}),

	"http/version-header-on-initialize": Fresh(func(t *T) {
		x := helloByHand(t, t.Start(), header(versionHeader, t.Revision))
		r := x.Reply()
		wantAnswer(t, x.Answer())
		t.Expect(r).To(BeResult(), "initialize with the version in the header, too")
	}),

	"http/version-header-differs-from-session": Probe(func(t *T) {
		i := slices.IndexFunc(Handshake, func(version string) bool { return version != t.Revision && supports(t, version) })
		if i < 0 {
			t.Skip("the server supports no other version")
		}
		s := t.Session()
		a := byHand(s, s.Fence, nil, header(versionHeader, Handshake[i])).Head()
		wantAnswer(t, a)
		t.Expect(a).To(That("it served, or refused with 4xx", func(a driver.Answer) bool { return a.Status < 500 }))
	}),

	"http/unsupported-method": Probe(func(t *T) {
		t.Each(otherMethods(t), func(t *T, method Subject) {
			a := answerOf(method)
			wantAnswer(t, a)
			t.Expect(a).To(That("HTTP 405", func(a driver.Answer) bool {
				return !a.OK() && (a.Status < 500 || a.Status == http.StatusNotImplemented)
			}))
		})
	}),

	"http/concurrent-posts": Probe(func(t *T) {
		replies := atOnce(t)
		for _, r := range replies {
			t.Expect(r).To(That("each of twenty requests at a time answered", func(r driver.Reply) bool { return isServed(r) || r.Bare() && isLimit(r.Frame.HTTP.Answer().Status) }))
		}
		for _, r := range replies {
			t.Warn(r).To(That("each of twenty requests at a time served", isServed))
		}
	}),

	"http/large-request-refused": Ending(func(t *T) {
		if !t.Site().Loopback() {
			t.Skip("so much is only sent to a server on this machine")
		}
		s := t.Own()
		usual := t.Ask(s, s.Fence, nil)
		x := large(s)
		a := x.End()
		x.Abort()
		t.Expect(t.Try(s, s.Fence, nil)).To(beAsUsual(usual), "the request after the large one")
		t.Expect(a).To(That("the large request served, or refused with 4xx", func(a driver.Answer) bool { return a.Status < 500 }))
	}),
}

const (
	jsonType   = "application/json"
	streamType = "text/event-stream"

	versionHeader = "Mcp-Protocol-Version"
)

// What answers are.

func isAccepted(a driver.Answer) bool       { return a.Status == http.StatusAccepted }
func refusesClient(a driver.Answer) bool    { return a.Status >= 400 && a.Status < 500 }
func acceptsOrRefuses(a driver.Answer) bool { return isAccepted(a) || a.Status >= 400 }
func neverYet(driver.Answer) bool           { return false }

// isEmpty reports whether an answer has no body, and is no event stream.
func isEmpty(a driver.Answer) bool { return !a.IsStream && len(bytes.TrimSpace(a.Body)) == 0 }

// streamOr405 reports whether an answer to GET is one of the two that there are.
func streamOr405(a driver.Answer) bool {
	return a.IsStream || a.Status == http.StatusMethodNotAllowed
}

// acceptsPOST reports whether an endpoint takes messages: also one that answers with
// a JSON-RPC error, which is judged elsewhere.
func acceptsPOST(a driver.Answer) bool {
	switch a.Status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return false
	}
	return a.OK() || a.Status >= 400 && Has(object(a.Body), "jsonrpc")
}

// isParseError reports whether an answer is the JSON-RPC error for what is no JSON.
func isParseError(a driver.Answer) bool {
	return slices.ContainsFunc(bodies(a), func(body []byte) bool {
		e, _ := object(body)["error"].(M)
		return e["code"] == json.Number("-32700")
	})
}

// bodies are where messages may be in an answer: its body, its events.
func bodies(a driver.Answer) [][]byte {
	all := [][]byte{a.Body}
	for _, e := range a.Events {
		all = append(all, []byte(e.Data))
	}
	return all
}

// object is a body that is a JSON object; nil when it is none.
func object(body []byte) M {
	m, _ := driver.Decode(body).(M)
	return m
}

// isOneResponse reports whether a body is a JSON-RPC response, and all of it.
func isOneResponse(body string) bool {
	m := object([]byte(body))
	return json.Valid([]byte(body)) && !Has(m, "method") && (Has(m, "result") || Has(m, "error") || Has(m, "id"))
}

// mistake is what is wrong with the JSON-RPC error in the body of an HTTP error;
// empty when nothing is.
func mistake(r roundTrip) string {
	m := object(r.Answer.Body)
	e, _ := m["error"].(M)
	code, _ := e["code"].(json.Number)
	_, err := code.Int64()
	_, text := e["message"].(string)
	right := driver.SameID(Compact(m["id"]), r.Sent.HTTP.Asked()) || r.Sent.Shape == driver.NotJSON // jsonrpc/parse-error-id
	switch {
	case m["jsonrpc"] != "2.0":
		return "jsonrpc " + Show(m["jsonrpc"])
	case e == nil:
		return "no error object"
	case err != nil:
		return "no error code"
	case !text:
		return "no error message"
	case m["id"] != nil && !right:
		return "id " + Show(m["id"])
	}
	return ""
}

// wantAnswer ends a check that has no HTTP answer to judge.
func wantAnswer(t *T, a driver.Answer) {
	if a.Status == 0 {
		t.Again("%s", a)
	}
	notLimited(t, a)
}

// notLimited ends a check whose request has met a limit: there were too many in the
// run for the server, or for what stands before it.
func notLimited(t *T, a driver.Answer) {
	if isLimit(a.Status) {
		t.Inconclusive("%s", a)
	}
}

func isLimit(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
}

// skipUnauthorized ends a check whose request lacked authorization.
func skipUnauthorized(t *T, a driver.Answer) {
	if a.Status == http.StatusUnauthorized || a.Status == http.StatusForbidden {
		t.Skip("it wants authorization: %s", a)
	}
}

// skipReply ends a check of the status with which a notification is answered when
// that has brought a message: then the message is what is wrong.
func skipReply(t *T, a driver.Answer) {
	isReply := func(m M) bool { return Has(m, "jsonrpc") && !Has(m, "method") }
	_, array := driver.Decode(a.Body).([]any)
	switch {
	case a.OK() && slices.ContainsFunc(bodies(a), func(body []byte) bool { return isReply(object(body)) }):
		t.Skip("it was replied to: jsonrpc/notification-no-response")
	case a.OK() && array && t.Revision != "2025-03-26":
		t.Skip("an array came: batch/no-outgoing-array")
	}
}

// standing is the answer to the GET with which a session opens its standing stream.
func standing(t *T, s *driver.Session) driver.Answer {
	x := s.Standing()
	if x == nil {
		t.Again("the record of the session has lost its GET")
	}
	return x.Head()
}

// post posts a message by hand.
func post(s *driver.Session, body string) *driver.Exchange {
	return s.Do(driver.HTTPRequest{Body: []byte(body)})
}

// subject is an HTTP request, to be judged as one of several.
func subject(s *driver.Session, name string, x *driver.Exchange) Subject {
	of := Subject{Name: name}
	for _, f := range s.Record(0) {
		if f.HTTP == x {
			of.Frames = append(of.Frames, f)
		}
	}
	return of
}

// answerOf is what came back of it, all of it.
func answerOf(request Subject) driver.Answer { return request.Frames[0].HTTP.End() }

// otherMethods are requests with methods that the endpoint has no use for.
func otherMethods(t *T) []Subject {
	return Shared(t, "other methods", func(t *T) (all []Subject) {
		s := t.Session()
		var sent []*driver.Exchange
		for _, method := range []string{http.MethodPut, http.MethodPatch} {
			body := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":"mcpcheck-%s","method":%q}`, strings.ToLower(method), s.Fence)
			sent = append(sent, s.Do(driver.HTTPRequest{Method: method, Header: header("Content-Type", jsonType), Body: body}))
		}
		for _, x := range sent {
			x.End()
			all = append(all, subject(s, x.Method, x))
		}
		return all
	})
}

// brokenJSON is the answer to a body that is no JSON. It ends the check when the
// server does not survive it.
func brokenJSON(t *T) driver.Answer {
	return Shared(t, "a body that is no JSON", func(t *T) driver.Answer {
		s := t.Hostile()
		a := post(s, `{"mcpcheck" !!`).End()
		if a.Status == 0 && t.Try(s, s.Fence, nil).Err != nil {
			t.Skip("the session did not survive it: robust/survives-malformed-json")
		}
		return a
	})
}

// messages that want no answer, and what became of them.
type messages struct {
	Notifications []Subject
	Unsolicited   []Subject // a response to no request
	Genuine       []Subject // responses to requests of the server, if it had any
}

// oneWay sends messages that want no answer in a session of its own, as a client
// that invites the server to ask for its roots.
func oneWay(t *T) messages {
	return Shared(t, "one-way messages", func(t *T) (sent messages) {
		s := t.Start()
		hello := driver.Hello(t.Revision)
		hello["capabilities"] = M{"roots": M{}}
		if err := s.Establish(hello); err != nil {
			t.Again("no session: %v", Explain(err))
		}
		mark := s.Mark()
		late := lateCancel(t, s)
		cancel := post(s, string(Compact(late)))
		response := post(s, `{"jsonrpc":"2.0","id":"mcpcheck-unsolicited","result":{}}`)
		t.Settle(s, mark)
		cancel.End()
		response.End()
		for _, f := range s.Record(0) {
			switch {
			case f.Side != driver.FromClient || f.HTTP == nil || f.Apart:
			case f.IsNotification():
				sent.Notifications = append(sent.Notifications, subject(s, f.Method, f.HTTP))
			case f.IsResponse():
				f.HTTP.End()
				sent.Genuine = append(sent.Genuine, subject(s, "the answer to a request of the server", f.HTTP))
			}
		}
		sent.Notifications = append(sent.Notifications, subject(s, "notifications/cancelled", cancel))
		sent.Unsolicited = []Subject{subject(s, "an unsolicited response", response)}
		return sent
	})
}

// failing are requests that are sent in order and cannot be served.
func failing(t *T, s *driver.Session) (all []Subject) {
	ask := func(name, method string, params M) {
		all = append(all, subject(s, name, byHand(s, method, params, nil)))
	}
	ask("an unknown method", noMethod, nil)
	if t.Server.Declares("tools") {
		ask("tools/list with a cursor that is a number", "tools/list", M{"cursor": 5})
		if t.MayCallUnknown() {
			ask("tools/call without params", "tools/call", nil)
		}
	}
	return all
}

// form is one of several ways to write the headers of a request.
type form struct {
	Name   string
	Header http.Header
}

// compare makes the same request with the usual headers and in other forms, all at a
// time, and wants all of these served if any is.
func compare(t *T, usual http.Header, forms []form) {
	s := t.Session()
	first := byHand(s, s.Fence, nil, usual)
	var others []Subject
	for _, f := range forms {
		id := fmt.Sprintf("mcpcheck-%d-%s", s.Mark(), strings.ReplaceAll(f.Name, " ", "-"))
		body := Compact(M{"jsonrpc": "2.0", "id": id, "method": s.Fence})
		others = append(others, subject(s, f.Name, s.Do(driver.HTTPRequest{Header: f.Header, Body: body})))
	}
	asUsual := first.Reply()
	t.Each(others, func(t *T, other Subject) {
		r := other.Frames[0].HTTP.Reply()
		if !isServed(asUsual) && !isServed(r) {
			t.Again("the request is not served in its usual form either: %s", Got(asUsual))
		}
		notLimited(t, other.Frames[0].HTTP.Answer())
		t.Expect(r).To(beAsUsual(asUsual))
	})
}

// isServed reports whether a reply is a JSON-RPC message.
func isServed(r driver.Reply) bool { return r.Answered() && !r.Bare() }

// beAsUsual matches a reply that is as good as the usual one.
func beAsUsual(usual driver.Reply) types.GomegaMatcher {
	return That("the request served as usual", func(r driver.Reply) bool {
		return isServed(r) && (r.Result() != nil || usual.Result() == nil)
	})
}

// supports reports whether the server negotiates a version.
func supports(t *T, version string) bool {
	return asked(t, version).Result()["protocolVersion"] == version
}

// atOnce are the replies to twenty requests at a time, while the standing stream of
// the session is open. A server may take one after the other.
func atOnce(t *T) (replies []driver.Reply) {
	const many = 20
	s := t.Session()
	begin := time.Now()
	if r := t.Ask(s, s.Fence, nil); r.Bare() {
		t.Again("a single request is not served either: %s", Got(r))
	}
	deadline := time.Now().Add(s.Patience() + many*time.Since(begin))
	var sent []*driver.Exchange
	for range many {
		sent = append(sent, byHand(s, s.Fence, nil, nil))
	}
	for _, x := range sent {
		replies = append(replies, s.AwaitFor(driver.Pending{ID: x.Asked(), Method: s.Fence}, time.Until(deadline)))
	}
	if slices.ContainsFunc(replies, func(r driver.Reply) bool { return r.Err != nil }) {
		wantOneByOne(t, many)
	}
	return replies
}

// wantOneByOne ends a check when so many requests are not answered one by one either.
func wantOneByOne(t *T, many int) {
	s := t.Own()
	for range many {
		if r := t.Try(s, s.Fence, nil); r.Err != nil {
			t.Skip("requests are not answered one by one either: %v", r.Err)
		}
	}
}

// large posts a request of 9 MiB, most of it padding.
func large(s *driver.Session) *driver.Exchange {
	const padding = 9 << 20
	before := fmt.Sprintf(`{"jsonrpc":"2.0","id":"mcpcheck-large","method":%q,"params":{"_meta":{"com.example/mcpcheck":"`, s.Fence)
	const after = `"}}}`
	return s.Do(driver.HTTPRequest{
		Body: []byte(before + "… 9 MiB …" + after),
		Sent: io.MultiReader(strings.NewReader(before), io.LimitReader(letters{}, padding), strings.NewReader(after)),
		Size: int64(len(before) + padding + len(after)),
	})
}

// letters is a text without an end.
type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// roundTrip is an HTTP request of a session, and what came back.
type roundTrip struct {
	Session *driver.Session
	Sent    *driver.Frame
	Came    []*driver.Frame // the messages, or the status if there was none
	Answer  driver.Answer
}

// Ordinary reports whether it is one that any client could make.
func (r roundTrip) Ordinary() bool { return !r.Sent.Apart && !r.Sent.Hostile }

// brought reports whether a result came, be it with the status of an error.
func (r roundTrip) brought() bool {
	return slices.ContainsFunc(r.Came, func(f *driver.Frame) bool { return f.HasResult }) || Has(object(r.Answer.Body), "result")
}

// trips are all HTTP requests of the run.
func trips(w Wire) (all []roundTrip) {
	for _, s := range w.Sessions {
		record := s.Record(0)
		came := map[*driver.Exchange][]*driver.Frame{}
		for _, f := range record {
			if f.HTTP != nil && f.Side != driver.FromClient {
				came[f.HTTP] = append(came[f.HTTP], f)
			}
		}
		for _, f := range record {
			if f.HTTP != nil && f.Side == driver.FromClient {
				all = append(all, roundTrip{Session: s, Sent: f, Came: came[f.HTTP], Answer: f.HTTP.Answer()})
			}
		}
	}
	return all
}

// requests are the single requests that were posted in ordinary sessions, accepted
// with 2xx, and answered to the end.
func requests(w Wire) []roundTrip {
	return slices.DeleteFunc(trips(w), func(r roundTrip) bool {
		return !r.Ordinary() || !r.Sent.IsRequest() || !r.Answer.OK() || !r.Answer.IsStream && !r.Answer.Ended || r.Answer.Err != nil
	})
}

// judgeTrips tries a check on HTTP requests; keep nil keeps all of them.
func judgeTrips(t *T, what string, all []roundTrip, keep func(roundTrip) bool, run func(*T, roundTrip)) {
	messages := Messages{What: what}
	bySent := map[*driver.Frame]roundTrip{}
	for _, r := range all {
		if keep != nil && !keep(r) {
			continue
		}
		came := r.Sent
		if len(r.Came) > 0 {
			came = r.Came[0]
		}
		messages.List = append(messages.List, Message{Frame: came, Session: r.Session, Request: r.Sent})
		bySent[r.Sent] = r
	}
	t.Judge(messages, func(t *T, m Message) { run(t, bySent[m.Request]) })
}
