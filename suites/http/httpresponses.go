package http

import (
	"bytes"
	"net/http"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// isAccepted reports whether a response has status 202, as the response to a notification has.
func isAccepted(a driver.HTTPResponse) bool { return a.StatusCode == http.StatusAccepted }

// isClientError reports whether a response has a 4xx status.
func isClientError(a driver.HTTPResponse) bool { return a.StatusCode >= 400 && a.StatusCode < 500 }

// isAcceptedOrError reports whether a response is one that a notification or response may get: 202, or any error
// status.
func isAcceptedOrError(a driver.HTTPResponse) bool { return isAccepted(a) || a.StatusCode >= 400 }

// hasEmptyBody reports whether a response has no body and is not an event stream.
func hasEmptyBody(a driver.HTTPResponse) bool {
	return !a.IsStream && len(bytes.TrimSpace(a.Body.Bytes())) == 0
}

// isStreamOr405 reports whether a response to GET is one of the two that the specification allows.
func isStreamOr405(a driver.HTTPResponse) bool {
	return a.IsStream || a.StatusCode == http.StatusMethodNotAllowed
}

// bodies are the parts of a response that may hold messages: its body and the data of its events.
func bodies(a driver.HTTPResponse) [][]byte {
	all := [][]byte{a.Body.Bytes()}
	for _, e := range a.Events {
		all = append(all, e.Data.Bytes())
	}
	return all
}

// skipIfUnauthorized ends a check whose request was refused for lack of authorization.
func skipIfUnauthorized(t *check.T, a driver.HTTPResponse) {
	if a.StatusCode == http.StatusUnauthorized || a.StatusCode == http.StatusForbidden {
		t.Skip(check.NotGiven, "it wants authorization: %s", a)
	}
}

// awaitHeaders waits for the response and closes it: an event stream is closed after its headers.
func awaitHeaders(x *driver.RoundTrip) driver.HTTPResponse {
	defer x.Abort()
	return roundtrip.AwaitResponse(x)
}

// awaitCondition waits until enough reports true for the response, or the response has ended, for at most d.
func awaitCondition(x *driver.RoundTrip, d time.Duration, enough func(driver.HTTPResponse) bool) driver.HTTPResponse {
	for begin := time.Now(); ; {
		a := x.AwaitEndFor(timing.ConditionPoll)
		if a.Ended || enough(a) || time.Since(begin) >= d {
			return a
		}
	}
}

// post posts a body by hand, valid or not.
func post(s *driver.Session, body string) *driver.RoundTrip {
	return s.HTTP().Do(driver.HTTPRequest{Body: []byte(body)})
}

// eachNamedRoundTrip runs a check on each request. Failures are reported under its name.
func eachNamedRoundTrip(t *check.T, attempts []roundtrip.NamedRoundTrip, run func(*check.T, roundtrip.NamedRoundTrip)) {
	check.Each(t, attempts, func(a roundtrip.NamedRoundTrip) check.Subject { return a.Subject }, run)
}

// newManualSession begins a session by hand, without a GET stream. It returns the headers of requests in the session.
// They have no session id when the server issues none.
func newManualSession(t *check.T, s *driver.Session) http.Header {
	connect := roundtrip.PostConnect(t, s, roundtrip.Header(roundtrip.SessionIDHeader))
	if r := connect.AwaitReply(); r.Result() == nil {
		t.Retry(check.Undecided, "no session: initialize was answered with %s", connect.Response())
	}
	h := roundtrip.Header(roundtrip.VersionHeader, t.Revision)
	if id := connect.Response().Header.Get(roundtrip.SessionIDHeader); id != "" {
		h.Set(roundtrip.SessionIDHeader, id)
	}
	roundtrip.PostInitialized(s, h).AwaitEnd()
	return h
}

// decodeObject decodes a body; nil when it is not a JSON object.
func decodeObject(body []byte) check.M {
	m, _ := driver.Decode(body).(check.M)
	return m
}
