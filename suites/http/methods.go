package http

import (
	"net/http"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

var methods = Suite{
	"http/endpoint-accepts-post": Probe(func(t *T) {
		x := kit.HelloByHand(t, t.Start(), nil)
		x.Reply()
		a := x.Answer()
		kit.Own(t, a)
		kit.SkipUnauthorized(t, a)
		t.Expect(a).To(That("POST accepted", func(a driver.Answer) bool {
			return acceptsPOST(a) || t.Modern() && kit.IsNotFound(a) && isRPC(a) // as of an unknown method
		}))
	}).WhenRefused().WhenProtected(),

	"http/get-stream-or-405": Probe(func(t *T) {
		a := listening(t).first
		kit.NotForeign(t, a)
		kit.SkipUnauthorized(t, a)
		if a.Status == 0 && !a.Ended { // the headers may be held back until there is an event
			t.FailAt(Should, "the headers of an event stream at once, or HTTP 405", "%s", a)
		}
		t.Expect(a).To(That("an event stream or HTTP 405", kit.StreamOr405))
		t.Warn(a).To(That("an event stream with status 200, or HTTP 405", func(a driver.Answer) bool {
			return a.Status == http.StatusOK || a.Status == http.StatusMethodNotAllowed
		}))
	}),

	"http/second-get-stream": Probe(func(t *T) {
		both := listening(t)
		if !both.asked {
			t.Yield("the first GET was neither answered with a stream nor with 405")
		}
		kit.NotForeign(t, both.second)
		t.Expect(both.second).To(That("a second stream as the first, or HTTP 405 for both", func(a driver.Answer) bool {
			return a.Status == both.first.Status && a.MediaType() == both.first.MediaType()
		}))
	}),

	"http/405-allow-header": WatchAfter(askOtherMethods, func(t *T, w Wire) {
		refused := func(r kit.RoundTrip) bool {
			return r.Answer.Status == http.StatusMethodNotAllowed && r.Sent.HTTP.URL == r.Session.HTTP().Endpoint()
		}
		kit.JudgeTrips(t, "answer with status 405", kit.Trips(w), refused, func(t *T, r kit.RoundTrip) {
			allow := strings.Join(r.Answer.Header.Values("Allow"), ", ")
			t.Expect(allow).To(That("an Allow header that names POST", func(allow string) bool {
				return strings.Contains(allow, http.MethodPost)
			}))
		})
	}),

	"http/unsupported-method": Probe(func(t *T) {
		kit.EachAttempt(t, otherMethods(t), func(t *T, method kit.Attempt) {
			a := kit.Own(t, method.End())
			t.Expect(a).To(That("HTTP 405", func(a driver.Answer) bool {
				return !a.OK() && (a.Status < 500 || a.Status == http.StatusNotImplemented)
			}))
		})
	}),
}

// listened is the answers to the GET of a session and to a second one, made where the first was answered as it should.
type listened struct {
	first, second driver.Answer
	asked         bool
}

// listening opens the streams in a session of their own.
func listening(t *T) listened {
	return Step(t, "streams of GET", func(t *T) (both listened) {
		s := t.Own()
		both.first = kit.StandingOf(t, s).HeadInTime()
		if both.asked = both.first.Status != 0 && kit.StreamOr405(both.first); both.asked {
			x := kit.Get(s, nil)
			both.second = x.Head()
			x.Abort()
		}
		return both
	})
}

// acceptsPOST reports whether an endpoint takes messages: also one that answers with a JSON-RPC error, which is judged
// elsewhere.
func acceptsPOST(a driver.Answer) bool {
	switch a.Status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return false
	}
	return a.OK() || a.Status >= 400 && isRPC(a)
}

// isRPC reports whether the body of an answer is a message.
func isRPC(a driver.Answer) bool { return Has(kit.Object(a.Body.Bytes()), "jsonrpc") }

// askOtherMethods makes requests with all methods that may be answered with 405.
func askOtherMethods(t *T) {
	otherMethods(t)
	if t.Modern() {
		oldMethods(t)
	}
}

// otherMethods are requests with methods that the endpoint has no use for.
func otherMethods(t *T) []kit.Attempt {
	return Step(t, "other methods", func(t *T) (all []kit.Attempt) {
		s := t.Session()
		var sent []*driver.Exchange
		for _, method := range []string{http.MethodPut, http.MethodPatch} {
			_, request := kit.Harmless(s, s.NextID())
			sent = append(sent, s.HTTP().Do(driver.HTTPRequest{
				Method: method, Header: kit.Header("Content-Type", kit.JSONType), Body: Compact(request),
			}))
		}
		for _, x := range sent {
			x.End()
			all = append(all, kit.AttemptOf(s, x.Method, x))
		}
		return all
	})
}
