package http

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/onsi/gomega/types"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

var answers = Suite{
	"http/response-content-type": Watch(func(t *T, w Wire) {
		full := func(r kit.RoundTrip) bool { return !kit.IsEmpty(r.Answer) }
		kit.JudgeTrips(t, "HTTP answer to a request", kit.Accepted(w), full, func(t *T, r kit.RoundTrip) {
			t.Expect(r.Answer.MediaType()).To(BeOneOf(kit.JSONType, kit.StreamType))
		})
	}),

	"http/request-not-202": Watch(func(t *T, w Wire) {
		kit.JudgeTrips(t, "HTTP answer to a request", kit.Requests(w), nil, func(t *T, r kit.RoundTrip) {
			want := "the answer to " + r.Sent.Method + " in a body or an event stream"
			t.Expect(r.Answer).To(That(want, func(a driver.Answer) bool { return !kit.IsEmpty(a) }))
		})
	}),

	"http/request-errors-are-jsonrpc": Probe(func(t *T) {
		s := t.Hostile()
		if r := AskHarmless(t, s); r.Bare() {
			t.Again("%s, too, is answered with %s", r.Method, Got(r))
		}
		kit.WantErrors(t)
		kit.EachAttempt(t, failing(t, s), func(t *T, x kit.Attempt) {
			r := x.Reply()
			switch {
			case r.Err != nil:
				t.Inconclusive("%v", Explain(r.Err))
			case r.Result() != nil:
				t.Skip("it was answered with a result")
			}
			kit.NotForeign(t, x.Answer())
			kit.SkipUnauthorized(t, x.Answer())
			t.Expect(r).To(That("a JSON-RPC error", func(r driver.Reply) bool { return !r.Bare() }))
		})
	}),

	"http/json-reply-single-object": Watch(func(t *T, w Wire) {
		inJSON := func(r kit.RoundTrip) bool { return !kit.IsEmpty(r.Answer) && r.Answer.MediaType() == kit.JSONType }
		kit.JudgeTrips(t, "answer in JSON", kit.Requests(w), inJSON, func(t *T, r kit.RoundTrip) {
			t.Expect(r.Answer.Body.String()).To(That("one JSON-RPC response and nothing else", isOneResponse))
		})
	}),

	"http/success-status": Watch(func(t *T, w Wire) {
		served := func(r kit.RoundTrip) bool { return r.Ordinary() && r.Sent.IsRequest() && r.Brought() }
		kit.JudgeTrips(t, "result over HTTP", kit.Trips(w), served, func(t *T, r kit.RoundTrip) {
			t.Expect(r.Answer).To(That("HTTP 200 with the result", func(a driver.Answer) bool {
				return a.Status == http.StatusOK
			}))
		})
	}),

	"http/error-body-shape": WatchAfter(func(t *T) { otherMethods(t); brokenJSON(t) }, func(t *T, w Wire) {
		// What was sent in ordinary sessions is judged in the area jsonrpc.
		looksLike := func(r kit.RoundTrip) bool {
			return r.Sent.Apart && kit.RefusesClient(r.Answer) && Has(kit.Object(r.Answer.Body.Bytes()), "jsonrpc")
		}
		const what = "JSON-RPC message in the body of an HTTP error"
		kit.JudgeTrips(t, what, kit.Trips(w), looksLike, func(t *T, r kit.RoundTrip) {
			wrong := mistake(r)
			t.Expect(wrong == "").To(Hold("a JSON-RPC error", "%s in %s", wrong, r.Answer))
		})
	}),

	"http/malformed-json-status": Probe(func(t *T) {
		a := brokenJSON(t)
		kit.NotForeign(t, a)
		t.Expect(a).To(That("HTTP 4xx", func(a driver.Answer) bool {
			return kit.RefusesClient(a) || a.OK() && isParseError(a)
		}))
		t.Inform(a).To(That("HTTP 4xx", kit.RefusesClient))
	}),

	"http/unknown-method-404": Probe(func(t *T) {
		s := t.Session()
		x := kit.ByHand(s, kit.Request{Method: kit.NoMethod})
		wantRefuser(t, s, x)
		r, a := x.Reply(), kit.Own(t, x.Answer())
		if r.Result() != nil {
			t.Yield("it is answered with a result")
		}
		t.Expect(a).To(That("HTTP 404", kit.IsNotFound))
		t.Expect(r).To(That("a JSON-RPC error with it", isServed))
	}),

	"http/concurrent-posts": Probe(func(t *T) {
		replies := atOnce(t)
		for _, r := range replies {
			if r.Answered() && kit.IsNotFound(r.Frame.HTTP.Answer()) {
				t.Because(Died).Inconclusive("the server has ended the session: %s", Got(r))
			}
			t.Expect(r).To(That("each of twenty requests at a time served", isServed))
		}
	}),

	"http/large-request-refused": Ending(func(t *T) {
		if !t.Site().Loopback() {
			t.Skip("so much is only sent to a server on this machine")
		}
		s := t.Own()
		usual := AskHarmless(t, s)
		x := large(s)
		a := x.End()
		x.Abort()
		t.Expect(TryHarmless(t, s)).To(beAsUsual(usual), "the request after the large one")
		t.Expect(a).To(That("the large request served, or refused with 4xx", isNoServerError))
	}),
}

// isParseError reports whether an answer is the JSON-RPC error for what is no JSON.
func isParseError(a driver.Answer) bool {
	return slices.ContainsFunc(kit.Bodies(a), func(body []byte) bool {
		e, _ := kit.Object(body)["error"].(M)
		return e["code"] == json.Number("-32700")
	})
}

// isOneResponse reports whether a body is a JSON-RPC response, and all of it.
func isOneResponse(body string) bool {
	m := kit.Object([]byte(body))
	return driver.IsJSON([]byte(body)) && !Has(m, "method") && (Has(m, "result") || Has(m, "error") || Has(m, "id"))
}

// mistake is what is wrong with the JSON-RPC error in the body of an HTTP error; empty when nothing is.
func mistake(r kit.RoundTrip) string {
	m := kit.Object(r.Answer.Body.Bytes())
	e, _ := m["error"].(M)
	code, _ := e["code"].(json.Number)
	_, text := e["message"].(string)
	unread := r.Sent.Shape == driver.NotJSON // its id is judged by jsonrpc/parse-error-id
	right := driver.SameID(Compact(m["id"]), r.Sent.HTTP.Asked()) || unread
	switch {
	case m["jsonrpc"] != "2.0":
		return "jsonrpc " + Show(m["jsonrpc"])
	case e == nil:
		return "no error object"
	case !driver.IsInteger(code):
		return "no error code"
	case !text:
		return "no error message"
	case m["id"] != nil && !right:
		return "id " + Show(m["id"])
	}
	return ""
}

// brokenJSON is the answer to a body that is no JSON. It ends the check when the server does not survive it.
func brokenJSON(t *T) driver.Answer {
	return Step(t, "a body that is not JSON", func(t *T) driver.Answer {
		s := t.Hostile()
		a := kit.Post(s, `{"mcpcheck" !!`).End()
		if a.Status == 0 && TryHarmless(t, s).Err != nil {
			t.Yield("the session did not survive it")
		}
		return a
	})
}

// failing are requests that cannot be served, sent one after the other: a server may refuse a second one at a time.
// What comes of an unknown method without a handshake, http/unknown-method-404 judges.
func failing(t *T, s *driver.Session) (all []kit.Attempt) {
	ask := func(name, method string, params M) {
		request := kit.Request{Method: method, Params: params}
		x := kit.InTurn(s, func() *driver.Exchange { return kit.ByHand(s, request) })
		x.End()
		all = append(all, kit.AttemptOf(s, name, x))
	}
	if t.Modern() {
		ask("server/discover without clientCapabilities", "server/discover", kit.WithoutCapabilities)
		all = append(all, strange(t)...)
	} else {
		ask("an unknown method", kit.NoMethod, nil)
	}
	if t.Server.Declares("tools") {
		ask("tools/list with a cursor that is a number", "tools/list", M{"cursor": 5})
		if MayCallUnknown(t) {
			ask("tools/call without params", "tools/call", nil)
		}
	}
	return all
}

// strange are requests in versions that no server has, and with headers that do not fit. Elsewhere than on this machine
// there are none: a gateway before the server, which goes by headers, need not know JSON-RPC.
func strange(t *T) (all []kit.Attempt) {
	if !t.Site().Loopback() {
		return nil
	}
	for _, version := range []string{kit.NewerVersion, kit.OlderVersion, kit.NoDate} {
		for _, c := range kit.Claims(t, version) {
			if f := c.Reply.Frame; f != nil {
				all = append(all, kit.Attempt{Exchange: f.HTTP, Subject: c.Subject()})
			}
		}
	}
	for _, x := range headerMisfits(t) {
		all = append(all, x.Attempt)
	}
	return all
}

// isServed reports whether a reply is a JSON-RPC message.
func isServed(r driver.Reply) bool { return r.Answered() && !r.Bare() }

// beAsUsual matches a reply that is as good as the usual one.
func beAsUsual(usual driver.Reply) types.GomegaMatcher {
	return That("the request served as usual", func(r driver.Reply) bool {
		return isServed(r) && (r.Result() != nil || usual.Result() == nil)
	})
}

// atOnce are the replies to twenty requests at a time, while the standing stream of the session is open. A server may
// take one after the other.
func atOnce(t *T) (replies []driver.Reply) {
	const many = 20
	s := t.Session()
	begin := time.Now()
	if r := AskHarmless(t, s); r.Bare() {
		t.Again("a single request is not served either: %s", Got(r))
	}
	deadline := time.Now().Add(s.Patience() + many*time.Since(begin))
	var sent []*driver.Exchange
	for range many {
		sent = append(sent, kit.ByHand(s, kit.Request{}))
	}
	for _, x := range sent {
		replies = append(replies, s.AwaitFor(driver.Pending{ID: x.Asked()}, time.Until(deadline)))
	}
	if slices.ContainsFunc(replies, func(r driver.Reply) bool { return r.Err != nil }) {
		wantOneByOne(t, many)
	}
	return replies
}

// wantOneByOne ends a check when so many requests are not answered one by one either, or take so long that all of them
// at a time could not be waited for.
func wantOneByOne(t *T, many int) {
	s := t.Own()
	begin := time.Now()
	for range many {
		if r := TryHarmless(t, s); r.Err != nil {
			t.Skip("requests are not answered one by one either: %v", r.Err)
		}
	}
	if took := time.Since(begin); took > s.Patience() {
		t.Inconclusive("one by one, so many requests took %v", took.Round(time.Second))
	}
}

// large posts a request of 9 MiB, most of it padding.
func large(s *driver.Session) *driver.Exchange {
	const padding = 9 << 20
	method, _ := s.Harmless()
	request := s.Message(s.NextID(), method, M{"_meta": M{"com.example/mcpcheck": "$padding"}})
	before, after, _ := strings.Cut(string(Compact(request)), "$padding")
	return s.HTTP().Do(driver.HTTPRequest{
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
