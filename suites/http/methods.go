package http

import (
	"net/http"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

var methodChecks = check.Suite{
	"http/endpoint-accepts-post": check.Probe(func(t *check.T) {
		x := roundtrip.PostConnect(t, t.Session(check.Process), nil)
		x.AwaitReply()
		a := x.Response()
		roundtrip.RequireHTTPResponse(t, a)
		skipIfUnauthorized(t, a)
		t.Expect(a).To(check.Satisfy("POST accepted", func(a driver.HTTPResponse) bool {
			// The status 404 with a message is that of an unknown method.
			return acceptsPOST(a) || t.IsModern() && roundtrip.IsNotFound(a) && isMessageBody(a)
		}))
	}).WhenConnectRefused().WhenProtected(),

	"http/get-stream-or-405": check.Probe(func(t *check.T) {
		a := openGETStreams(t).first
		roundtrip.RequireNotFromIntermediary(t, a)
		skipIfUnauthorized(t, a)
		if a.StatusCode == 0 && !a.Ended { // the headers may be held back until there is an event
			t.FailAt(catalogue.Should, "the headers of an event stream at once, or HTTP 405", "%s", a)
		}
		t.Expect(a).To(check.Satisfy("an event stream or HTTP 405", isStreamOr405))
		t.ExpectShould(a).To(check.Satisfy("an event stream with status 200, or HTTP 405",
			func(a driver.HTTPResponse) bool {
				return a.StatusCode == http.StatusOK || a.StatusCode == http.StatusMethodNotAllowed
			}))
	}),

	"http/second-get-stream": check.Probe(func(t *check.T) {
		both := openGETStreams(t)
		if !both.hasSecond {
			t.Yield("the first GET was neither answered with a stream nor with 405")
		}
		roundtrip.RequireNotFromIntermediary(t, both.second)
		if both.second.StatusCode == 0 {
			roundtrip.RequireNotCrowded(t)
		}
		t.Expect(both.second).To(check.Satisfy("a second stream as the first, or HTTP 405 for both",
			func(a driver.HTTPResponse) bool {
				return a.StatusCode == both.first.StatusCode && a.MediaType() == both.first.MediaType()
			}))
	}),

	"http/405-allow-header": check.WatchWithSetup(sendOtherMethods, func(t *check.T, w check.Wire) {
		refused := func(r RoundTripRecord) bool {
			return r.Response.StatusCode == http.StatusMethodNotAllowed &&
				r.Request.RoundTrip.URL == r.Session.HTTP().Endpoint()
		}
		JudgeRoundTrips(t, "answer with status 405", RoundTrips(w), refused, func(t *check.T, r RoundTripRecord) {
			allow := strings.Join(r.Response.Header.Values("Allow"), ", ")
			t.Expect(allow).To(check.Satisfy("an Allow header that names POST", func(allow string) bool {
				return strings.Contains(allow, http.MethodPost)
			}))
		})
	}),

	"http/unsupported-method": check.Probe(func(t *check.T) {
		eachNamedRoundTrip(t, otherMethods(t), func(t *check.T, method roundtrip.NamedRoundTrip) {
			a := roundtrip.RequireHTTPResponse(t, method.AwaitEnd())
			t.Expect(a).To(check.Satisfy("HTTP 405", func(a driver.HTTPResponse) bool {
				return !a.OK() && (a.StatusCode < 500 || a.StatusCode == http.StatusNotImplemented)
			}))
		})
	}),
}

// getResponses are the responses to the GET of a session and to a second one, which is sent if the first had a valid
// response.
type getResponses struct {
	first, second driver.HTTPResponse
	hasSecond     bool
}

// yieldToGET ends a check of what a GET has to be refused for where it is answered with success, and so is a GET that
// has to be answered, but not by a stream.
func yieldToGET(t *check.T, method string, a driver.HTTPResponse) {
	if method != http.MethodGet || !a.OK() || a.IsStream {
		return
	}
	if usual := openGETStreams(t).first; usual.OK() && !usual.IsStream {
		t.Yield("GET is answered with success and without a stream")
	}
}

// openGETStreams sends both requests in an exclusive session.
func openGETStreams(t *check.T) getResponses {
	return check.Step(t, "streams of GET", func(t *check.T) (both getResponses) {
		s := t.Session(check.Exclusive)
		both.first = roundtrip.ListeningStream(t, s).AwaitHeadersUntilDeadline()
		if both.hasSecond = both.first.StatusCode != 0 && isStreamOr405(both.first); both.hasSecond {
			x := roundtrip.Get(s, nil)
			both.second = x.AwaitHeaders()
			x.Abort()
		}
		return both
	})
}

// acceptsPOST reports whether an endpoint accepts messages. A JSON-RPC error counts, which other checks judge.
func acceptsPOST(a driver.HTTPResponse) bool {
	switch a.StatusCode {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return false
	}
	return a.OK() || a.StatusCode >= 400 && isMessageBody(a)
}

// isMessageBody reports whether the body of a response is a JSON-RPC message.
func isMessageBody(a driver.HTTPResponse) bool {
	return check.HasMember(decodeObject(a.Body.Bytes()), "jsonrpc")
}

// sendOtherMethods sends requests with all methods that may be answered with 405.
func sendOtherMethods(t *check.T) {
	otherMethods(t)
	if t.IsModern() {
		legacyMethodResponses(t)
	}
}

// otherMethods are requests with methods that an endpoint does not use.
func otherMethods(t *check.T) []roundtrip.NamedRoundTrip {
	return check.Step(t, "other methods", func(t *check.T) (all []roundtrip.NamedRoundTrip) {
		s := t.Session()
		var sent []*driver.RoundTrip
		for _, method := range []string{http.MethodPut, http.MethodPatch} {
			_, request := protocol.NewNoOp(s, s.NextID())
			sent = append(sent, s.HTTP().Do(driver.HTTPRequest{
				Method: method, Header: roundtrip.Header("Content-Type", roundtrip.JSONType),
				Body: text.CompactJSON(request),
			}))
		}
		for _, x := range sent {
			x.AwaitEnd()
			all = append(all, roundtrip.NewNamedRoundTrip(s, x.Method, x))
		}
		return all
	})
}
