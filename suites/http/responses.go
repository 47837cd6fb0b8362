package http

import (
	"encoding/json"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/onsi/gomega/types"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/requests"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

var responseChecks = check.Suite{
	"http/response-content-type": check.Watch(func(t *check.T, w check.Wire) {
		full := func(r RoundTripRecord) bool { return !hasEmptyBody(r.Response) }
		JudgeRoundTrips(t, "HTTP answer to a request", AcceptedRequests(w), full,
			func(t *check.T, r RoundTripRecord) {
				t.Expect(r.Response.MediaType()).To(check.BeOneOf(roundtrip.JSONType, eventStreamType))
			})
	}),

	"http/request-not-202": check.Watch(func(t *check.T, w check.Wire) {
		JudgeRoundTrips(t, "HTTP answer to a request", AnsweredRequests(w), nil,
			func(t *check.T, r RoundTripRecord) {
				want := "the answer to " + r.Request.Method + " in a body or an event stream"
				t.Expect(r.Response).To(check.Satisfy(want,
					func(a driver.HTTPResponse) bool { return !hasEmptyBody(a) }))
			})
	}),

	"http/request-errors-are-jsonrpc": check.Probe(func(t *check.T) {
		s := t.Session(check.ForInvalidInput)
		if r := check.RequestNoOp(t, s); r.IsStatusOnly() {
			t.Retry(check.Undecided, "%s, too, is answered with %s", r.Method, check.Got(r))
		}
		invalid.SkipUnlessAnswersInvalid(t)
		eachNamedRoundTrip(t, failingRequests(t, s), func(t *check.T, x roundtrip.NamedRoundTrip) {
			r := x.AwaitReply()
			switch {
			case r.Err != nil:
				t.NoVerdict(check.Undecided, "%v", check.Explain(r.Err))
			case r.Result() != nil:
				t.Skip(check.NotApplicable, "it was answered with a result")
			}
			roundtrip.RequireNotFromIntermediary(t, x.Response())
			skipIfUnauthorized(t, x.Response())
			if r.IsStatusOnly() && check.RequestNoOp(t, s).IsStatusOnly() {
				t.Retry(check.Undecided, "the session has ended meanwhile")
			}
			t.Expect(r).To(check.Satisfy("a JSON-RPC error", func(r driver.Reply) bool { return !r.IsStatusOnly() }))
		})
	}),

	"http/json-reply-single-object": check.Watch(func(t *check.T, w check.Wire) {
		inJSON := func(r RoundTripRecord) bool {
			return !hasEmptyBody(r.Response) && r.Response.MediaType() == roundtrip.JSONType
		}
		JudgeRoundTrips(t, "answer in JSON", AnsweredRequests(w), inJSON, func(t *check.T, r RoundTripRecord) {
			t.Expect(r.Response.Body.String()).To(check.Satisfy("one JSON-RPC response and nothing else",
				isOneResponse))
		})
	}),

	"http/success-status": check.Watch(func(t *check.T, w check.Wire) {
		served := func(r RoundTripRecord) bool { return r.IsOrdinary() && r.Request.IsRequest() && r.HasResult() }
		JudgeRoundTrips(t, "result over HTTP", RoundTrips(w), served, func(t *check.T, r RoundTripRecord) {
			t.Expect(r.Response).To(check.Satisfy("HTTP 200 with the result", func(a driver.HTTPResponse) bool {
				return a.StatusCode == http.StatusOK
			}))
		})
	}),

	"http/error-body-shape": check.WatchWithSetup(func(t *check.T) { otherMethods(t); postMalformedJSON(t) },
		func(t *check.T, w check.Wire) {
			// The area jsonrpc judges what was sent in ordinary sessions.
			looksLike := func(r RoundTripRecord) bool {
				return r.Request.Manual && isClientError(r.Response) &&
					check.HasMember(decodeObject(r.Response.Body.Bytes()), "jsonrpc")
			}
			const what = "JSON-RPC message in the body of an HTTP error"
			JudgeRoundTrips(t, what, RoundTrips(w), looksLike, func(t *check.T, r RoundTripRecord) {
				wrong, entry := errorProblem(r)
				t.Expect(wrong == "").To(check.ReportedBy(entry,
					check.BeTrue("a JSON-RPC error", "%s in %s", wrong, r.Response)))
				own := check.BeTrue("a JSON-RPC error with the id of the request, or none", "another in %s", r.Response)
				t.Expect(!hasOtherID(r)).To(check.ReportedBy("jsonrpc/response-id-echo-integer", own))
			})
		}),

	"http/malformed-json-status": check.Probe(func(t *check.T) {
		a := postMalformedJSON(t)
		roundtrip.RequireNotFromIntermediary(t, a)
		t.Expect(a).To(check.Satisfy("HTTP 4xx", func(a driver.HTTPResponse) bool {
			return a.StatusCode >= 400 || a.OK() && isParseError(a)
		}))
		t.ExpectAdvice(a).To(check.Satisfy("HTTP 4xx", isClientError))
	}),

	"http/unknown-method-404": check.Probe(func(t *check.T) {
		all := requests.Affordable(t, unknownMethods(t), 1)
		check.Each(t, all, unknownMethod.subject, func(t *check.T, m unknownMethod) {
			s := t.Session()
			if m.mayExist {
				s = t.Session(check.ForInvalidInput)
			}
			x := roundtrip.PostRequest(s, roundtrip.ManualRequest{Method: m.name, Params: m.params})
			skipUnlessRejected(t, s, x)
			r, a := x.AwaitReply(), roundtrip.RequireHTTPResponse(t, x.Response())
			code, _ := r.Code()
			switch {
			case m.mayExist && code != errcode.MethodNotFound:
				t.Skip(check.NotApplicable, "the server has the method, or refuses it for another reason: %s",
					check.Got(r))
			case r.Result() != nil:
				t.Yield("it is answered with a result")
			}
			t.Expect(a).To(check.Satisfy("HTTP 404", roundtrip.IsNotFound))
			t.Expect(r).To(check.Satisfy("a JSON-RPC error with it", hasMessage))
		})
	}),

	"http/concurrent-posts": check.Probe(func(t *check.T) {
		for _, r := range concurrentReplies(t) {
			switch {
			case r.Answered() && roundtrip.IsNotFound(r.Frame.RoundTrip.Response()):
				t.NoVerdict(check.Died, "the server has ended the session: %s", check.Got(r))
			case isRefusedClient(t, r):
				t.Yield("without sessions, each request is one of another client")
			}
			t.Expect(check.RequireServerReply(t, r)).To(
				check.Satisfy("each of twenty requests at a time served", isServedAlike))
		}
	}),

	"http/large-request-refused": check.ShutdownProbe(func(t *check.T) {
		if !t.Site().IsLoopback() {
			t.Skip(check.NotApplicable, "so much is only sent to a server on this machine")
		}
		s := t.Session(check.Exclusive)
		usual := check.RequestNoOp(t, s)
		x := postLargeRequest(s)
		a := x.AwaitEnd()
		x.Abort()
		t.Expect(check.TryNoOp(t, s)).To(beServedLike(usual), "the request after the large one")
		t.Expect(a).To(check.Satisfy("the large request served, or refused with 4xx", isNotServerError))
	}),
}

// unknownMethod is a method that the server should not know.
type unknownMethod struct {
	name   string
	params check.M
	// mayExist reports whether a server may have it all the same.
	mayExist bool
}

func (m unknownMethod) subject() check.Subject { return check.NamedSubject(m.name) }

// unknownMethods are methods that no server has, in the namespaces of features as well, methods of earlier revisions,
// and methods of features that the server does not declare.
func unknownMethods(t *check.T) []unknownMethod {
	all := []unknownMethod{{name: invalid.UnknownMethodName}}
	for _, namespace := range []string{"server", "notifications"} {
		all = append(all, unknownMethod{name: invalid.UnknownMethodOf(namespace)})
	}
	for _, list := range protocol.ListMethods(t.Server.Capabilities) {
		all = append(all, unknownMethod{name: invalid.UnknownMethodOf(path.Dir(list))})
	}
	uri := check.M{"uri": invalid.UnknownURI}
	all = append(all,
		unknownMethod{"ping", nil, true},
		unknownMethod{"logging/setLevel", check.M{"level": "info"}, true},
		unknownMethod{"resources/subscribe", uri, true},
		unknownMethod{"resources/unsubscribe", uri, true},
	)
	for _, list := range protocol.PagedLists {
		if !t.Server.Declares(list.Capability) {
			all = append(all, unknownMethod{list.Method, nil, true})
		}
	}
	return all
}

// isParseError reports whether a response is the JSON-RPC error for invalid JSON.
func isParseError(a driver.HTTPResponse) bool {
	return slices.ContainsFunc(bodies(a), func(body []byte) bool {
		e, _ := decodeObject(body)["error"].(check.M)
		return e["code"] == json.Number("-32700")
	})
}

// isOneResponse reports whether a body is a JSON-RPC response and nothing else.
func isOneResponse(body string) bool {
	m := decodeObject([]byte(body))
	return driver.IsJSON([]byte(body)) && !check.HasMember(m, "method") && (check.HasMember(m, "result") ||
		check.HasMember(m, "error") ||
		check.HasMember(m, "id"))
}

// errorProblem is what is wrong with the JSON-RPC error in the body of an HTTP error, and the entry that reports it in
// other messages; empty when nothing is.
func errorProblem(r RoundTripRecord) (wrong, entry string) {
	m := decodeObject(r.Response.Body.Bytes())
	e, _ := m["error"].(check.M)
	code, _ := e["code"].(json.Number)
	_, hasMessage := e["message"].(string)
	switch {
	case m["jsonrpc"] != "2.0":
		return "jsonrpc " + check.Show(m["jsonrpc"]), "jsonrpc/version-field"
	case e == nil:
		return "no error object", "jsonrpc/error-object-shape"
	case !driver.IsInteger(code):
		return "no error code", "jsonrpc/error-code-integer"
	case !hasMessage:
		return "no error message", "jsonrpc/error-message-string"
	}
	return "", ""
}

// hasOtherID reports whether the body of an HTTP error has an id that is not the one of the request. That of a request
// that cannot be read is judged by jsonrpc/parse-error-id.
func hasOtherID(r RoundTripRecord) bool {
	id := decodeObject(r.Response.Body.Bytes())["id"]
	return id != nil && r.Request.Kind != driver.NotJSON &&
		!driver.SameID(text.CompactJSON(id), r.Request.RoundTrip.RequestID())
}

// postMalformedJSON is the response to a body that is not JSON. It ends the check when the session does not survive it.
func postMalformedJSON(t *check.T) driver.HTTPResponse {
	return check.Step(t, "a body that is not JSON", func(t *check.T) driver.HTTPResponse {
		s := t.Session(check.ForInvalidInput)
		a := post(s, `{"mcpcheck" !!`).AwaitEnd()
		if a.StatusCode == 0 && check.TryNoOp(t, s).Err != nil {
			t.Yield("the session did not survive it")
		}
		return a
	})
}

// failingRequests are requests that cannot be served. They are sent one after the other, since a server may refuse a
// second one at a time. In modern revisions http/unknown-method-404 judges an unknown method.
func failingRequests(t *check.T, s *driver.Session) (all []roundtrip.NamedRoundTrip) {
	ask := func(name, method string, params check.M) {
		request := roundtrip.ManualRequest{Method: method, Params: params}
		x := roundtrip.RetryWhileBusy(s, func() *driver.RoundTrip { return roundtrip.PostRequest(s, request) })
		x.AwaitEnd()
		all = append(all, roundtrip.NewNamedRoundTrip(s, name, x))
	}
	if t.IsModern() {
		ask("server/discover without clientCapabilities", "server/discover", omittedCapabilities)
		all = append(all, invalidRequests(t)...)
	} else {
		ask("an unknown method", invalid.UnknownMethodName, nil)
	}
	if t.Server.Declares("tools") {
		ask("tools/list with a cursor that is a number", "tools/list", check.M{"cursor": 5})
		if check.MayCallUnknown(t) {
			ask("tools/call without params", "tools/call", nil)
		}
	}
	return all
}

// invalidRequests are requests in unsupported versions and with mismatched headers. There are none for a remote server:
// a gateway in front of it, which acts on headers, need not know JSON-RPC.
func invalidRequests(t *check.T) (all []roundtrip.NamedRoundTrip) {
	if !t.Site().IsLoopback() {
		return nil
	}
	for _, version := range []string{handshake.NewerVersion, handshake.OlderVersion, handshake.NonDateVersion} {
		for _, c := range handshake.VersionProbes(t, version) {
			if f := c.Reply.Frame; f != nil {
				all = append(all, roundtrip.NamedRoundTrip{RoundTrip: f.RoundTrip, Subject: c.Subject()})
			}
		}
	}
	for _, x := range standardHeaderMismatches(t) {
		all = append(all, x.NamedRoundTrip)
	}
	return all
}

// hasMessage reports whether a reply is a JSON-RPC message.
func hasMessage(r driver.Reply) bool { return r.Answered() && !r.IsStatusOnly() }

// beServedLike matches a reply that is a result if the usual one is.
func beServedLike(usual driver.Reply) types.GomegaMatcher {
	return check.Satisfy("the request served as usual", func(r driver.Reply) bool {
		return hasMessage(r) && (r.Result() != nil || usual.Result() == nil)
	})
}

// isServedAlike reports whether one of concurrentReplies is as good as that to a single request, a result.
func isServedAlike(r driver.Reply) bool { return hasMessage(r) && r.Result() != nil }

// isRefusedClient reports whether one of concurrentReplies rejects a client because of another one. That is so where
// there are no sessions, each request is served by itself. A server may be busy, which http/concurrent-posts judges.
func isRefusedClient(t *check.T, r driver.Reply) bool {
	if !t.Server.Sessionless || !r.Answered() || r.Result() != nil {
		return false
	}
	a := r.HTTPResponse()
	return (a.IsForOneClient() || !a.IsFromIntermediary()) && !r.IsRateLimited() && a.StatusCode != http.StatusConflict
}

// concurrentReplies are the replies to twenty requests at a time, while the GET stream of the session is open. A server
// may serve one after the other. A single request has a result.
func concurrentReplies(t *check.T) (replies []driver.Reply) {
	return check.Step(t, "twenty requests at a time", func(t *check.T) (replies []driver.Reply) {
		const many = 20
		s := t.Session()
		begin := time.Now()
		if r := check.RequestNoOp(t, s); r.Result() == nil {
			t.Retry(check.Undecided, "a single request is not served either: %s", check.Got(r))
		}
		deadline := time.Now().Add(s.ReplyTimeout() + many*time.Since(begin))
		var sent []*driver.RoundTrip
		for range many {
			sent = append(sent, roundtrip.PostRequest(s, roundtrip.ManualRequest{}))
		}
		for _, x := range sent {
			replies = append(replies, s.AwaitFor(driver.Pending{ID: x.RequestID()}, time.Until(deadline)))
		}
		if slices.ContainsFunc(replies, func(r driver.Reply) bool { return r.Err != nil }) {
			requireSequentialAnswers(t, many)
		}
		return replies
	})
}

// requireSequentialAnswers ends a check when as many requests are not answered one by one either, or take longer than
// the timeout.
func requireSequentialAnswers(t *check.T, many int) {
	s := t.Session(check.Exclusive)
	begin := time.Now()
	for range many {
		if r := check.TryNoOp(t, s); r.Err != nil {
			t.Skip(check.NotApplicable, "requests are not answered one by one either: %v", r.Err)
		}
	}
	if took := time.Since(begin); took > s.ReplyTimeout() {
		t.NoVerdict(check.Undecided, "one by one, so many requests took %v", took.Round(time.Second))
	}
}

// postLargeRequest posts a request of 9 MiB, most of it padding.
func postLargeRequest(s *driver.Session) *driver.RoundTrip {
	const padding = 9 << 20
	method, _ := s.NoOp()
	request := s.NewRequest(s.NextID(), method, check.M{"_meta": check.M{"com.example/mcpcheck": "$padding"}})
	before, after, _ := strings.Cut(string(text.CompactJSON(request)), "$padding")
	return s.HTTP().Do(driver.HTTPRequest{
		Body: []byte(before + "… 9 MiB …" + after),
		BodyReader: io.MultiReader(strings.NewReader(before), io.LimitReader(endlessReader{}, padding),
			strings.NewReader(after)),
		BodySize: int64(len(before) + padding + len(after)),
	})
}

// endlessReader reads the letter x forever.
type endlessReader struct{}

func (endlessReader) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}
