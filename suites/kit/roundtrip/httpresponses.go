package roundtrip

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/onsi/gomega/types"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// AwaitResponse waits for the answer to a request by hand: all of it or, of an event stream, its head.
func AwaitResponse(x *driver.RoundTrip) driver.HTTPResponse {
	if a := x.AwaitHeaders(); a.StatusCode == 0 || a.IsStream {
		return a
	}
	return x.AwaitEnd()
}

// IsAccepted reports whether an answer is that to a message that wants none.
func IsAccepted(a driver.HTTPResponse) bool { return a.StatusCode == http.StatusAccepted }

// IsClientError reports whether an answer says that the client is at fault.
func IsClientError(a driver.HTTPResponse) bool { return a.StatusCode >= 400 && a.StatusCode < 500 }

// IsAcceptedOrError reports whether an answer is one of those that a message may get which wants none: it is accepted,
// or refused with any status of an error.
func IsAcceptedOrError(a driver.HTTPResponse) bool { return IsAccepted(a) || a.StatusCode >= 400 }

// HasEmptyBody reports whether an answer has no body, and is not an event stream.
func HasEmptyBody(a driver.HTTPResponse) bool {
	return !a.IsStream && len(bytes.TrimSpace(a.Body.Bytes())) == 0
}

// IsStreamOr405 reports whether an answer to GET is one of the two that there are.
func IsStreamOr405(a driver.HTTPResponse) bool {
	return a.IsStream || a.StatusCode == http.StatusMethodNotAllowed
}

// Bodies are where messages may be in an answer: its body, its events.
func Bodies(a driver.HTTPResponse) [][]byte {
	all := [][]byte{a.Body.Bytes()}
	for _, e := range a.Events {
		all = append(all, e.Data.Bytes())
	}
	return all
}

// DecodeObject is a body that is a JSON object; nil when it is not.
func DecodeObject(body []byte) check.M {
	m, _ := driver.Decode(body).(check.M)
	return m
}

// RequireHTTPResponse is the answer to a request by hand. It ends a check that has none to judge: there is no HTTP
// answer, or it is not the server's own (driver.Answer.Foreign).
func RequireHTTPResponse(t *check.T, a driver.HTTPResponse) driver.HTTPResponse {
	if a.StatusCode == 0 {
		t.Retry("%s", a)
	}
	RequireNotFromIntermediary(t, a)
	return a
}

// RequireNotFromIntermediary ends a check whose request was answered, but not by the server itself.
func RequireNotFromIntermediary(t *check.T, a driver.HTTPResponse) {
	if a.IsFromIntermediary() {
		t.Inconclusive("%s", a)
	}
}

// IsFromServer reports whether there is an answer, and it is the server's own.
func IsFromServer(a driver.HTTPResponse) bool { return a.StatusCode != 0 && !a.IsFromIntermediary() }

// SkipIfUnauthorized ends a check whose request lacked authorization.
func SkipIfUnauthorized(t *check.T, a driver.HTTPResponse) {
	if a.StatusCode == http.StatusUnauthorized || a.StatusCode == http.StatusForbidden {
		t.WithReason(check.NotGiven).Skip("it wants authorization: %s", a)
	}
}

// Standing is the answer to the GET with which a session opens its standing stream.
func ListeningResponse(t *check.T, s *driver.Session) driver.HTTPResponse {
	return ListeningStream(t, s).AwaitHeaders()
}

// ListeningStream is that GET.
func ListeningStream(t *check.T, s *driver.Session) *driver.RoundTrip {
	x := s.HTTP().ListeningStream()
	if x == nil {
		t.Retry("the record of the session has lost its GET")
	}
	return x
}

// IsNotFound reports whether an answer says that there is no such session, or URL.
func IsNotFound(a driver.HTTPResponse) bool { return a.StatusCode == http.StatusNotFound }

// FormatStatus is the status of an answer as messages show it.
func FormatStatus(a driver.HTTPResponse) string { return fmt.Sprintf("HTTP %d", a.StatusCode) }

// AwaitHeaders is the answer; of a stream only its beginning, and then it is dropped.
func AwaitHeaders(x *driver.RoundTrip) driver.HTTPResponse {
	defer x.Abort()
	return AwaitResponse(x)
}

// AwaitCondition waits until an exchange has brought what is wanted, or has ended, at most for d.
func AwaitCondition(x *driver.RoundTrip, d time.Duration, enough func(driver.HTTPResponse) bool) driver.HTTPResponse {
	const interval = 10 * time.Millisecond
	for begin := time.Now(); ; {
		a := x.AwaitEndFor(interval)
		if a.Ended || enough(a) || time.Since(begin) >= d {
			return a
		}
	}
}

// ResponseInEvents is the response to a request among events, be its id of another type; it is not answered when there
// is none.
func ResponseInEvents(events []driver.StreamEvent, id []byte) driver.Reply {
	for _, e := range events {
		members, isArray := driver.Decode(e.Data.Bytes()).([]any)
		if !isArray {
			members = []any{driver.Decode(e.Data.Bytes())}
		}
		for _, m := range check.Objects(members) {
			if !check.HasMember(m, "method") && driver.SameIDText(text.CompactJSON(m["id"]), id) {
				return driver.Reply{Frame: &driver.Frame{Side: driver.FromServer, Raw: e.Data}, Synthetic: m}
			}
		}
	}
	return driver.Reply{Err: errNoResponse}
}

var errNoResponse = errors.New("no response")

// MutatedID is another key of the same form; of a short one, which may be a number that counts up, a longer one.
func MutatedID(key string) string {
	const short, changed = 8, 8
	if len(key) < short {
		return key + "9999"
	}
	const order, next = "0123456789abcdefABCDEF", "5678901234bcdefaBCDEFA"
	head, tail := key[:len(key)-changed], key[len(key)-changed:]
	return head + strings.Map(func(r rune) rune {
		switch i := strings.IndexRune(order, r); {
		case i >= 0:
			return rune(next[i])
		case r >= 'g' && r < 'z', r >= 'G' && r < 'Z':
			return r + 1
		}
		return r
	}, tail)
}

// BeHTTPError matches answers that came, and do not say success.
func BeHTTPError() types.GomegaMatcher {
	return check.Satisfy("a status of 4xx", func(a driver.HTTPResponse) bool { return a.StatusCode != 0 && !a.OK() })
}

// ServerURL is the URL of the server.
func ServerURL(t *check.T) *url.URL {
	u, err := url.Parse(t.Site().URL())
	if err != nil {
		panic("sse: " + err.Error()) // NewSite has parsed it
	}
	return u
}
