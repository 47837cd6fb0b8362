package roundtrip

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/onsi/gomega/types"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// AwaitResponse waits for the response to a manual request: for all of it or, of an event stream, for the headers.
func AwaitResponse(x *driver.RoundTrip) driver.HTTPResponse {
	if a := x.AwaitHeaders(); a.StatusCode == 0 || a.IsStream {
		return a
	}
	return x.AwaitEnd()
}

// RequireHTTPResponse returns the response to a manual request. It ends a check that has nothing to judge: there is no
// HTTP response, or an intermediary sent it (driver.HTTPResponse.IsFromIntermediary).
func RequireHTTPResponse(t *check.T, a driver.HTTPResponse) driver.HTTPResponse {
	if a.StatusCode == 0 {
		t.Retry(check.Undecided, "%s", a)
	}
	RequireNotFromIntermediary(t, a)
	return a
}

// RequireNotFromIntermediary ends a check whose request was answered by a proxy or the like instead of the server.
func RequireNotFromIntermediary(t *check.T, a driver.HTTPResponse) {
	if a.IsFromIntermediary() {
		t.NoVerdict(check.Undecided, "%s", a)
	}
}

// ListeningResponse is the response to the GET with which a session opens its stream for server messages.
func ListeningResponse(t *check.T, s *driver.Session) driver.HTTPResponse {
	return ListeningStream(t, s).AwaitHeaders()
}

// ListeningStream is the GET with which a session opens its stream for server messages.
func ListeningStream(t *check.T, s *driver.Session) *driver.RoundTrip {
	x := s.HTTP().ListeningStream()
	if x == nil && t.Site().IsCrowded() {
		x = s.HTTP().Listen()
	}
	if x == nil {
		t.Retry(check.Undecided, "the record of the session has lost its GET")
	}
	return x
}

// RequireNotCrowded ends a check without a verdict where open streams have kept the server from serving requests.
func RequireNotCrowded(t *check.T) {
	if t.Site().IsCrowded() {
		t.NoVerdict(check.Undecided, "the server handles few requests at a time, and open streams are among them")
	}
}

// IsNotFound reports whether a response has status 404.
func IsNotFound(a driver.HTTPResponse) bool { return a.StatusCode == http.StatusNotFound }

// FormatStatus formats the status of a response for messages.
func FormatStatus(a driver.HTTPResponse) string { return fmt.Sprintf("HTTP %d", a.StatusCode) }

// ResponseInEvents is the response to a request among events, even if its id has another type. The reply is not
// answered when there is none.
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

// MutatedID is another session id of the same form. A short one, which may be a counter, becomes longer.
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

// BeHTTPError matches responses with an error status.
func BeHTTPError() types.GomegaMatcher {
	return check.Satisfy("a status of 4xx", func(a driver.HTTPResponse) bool { return a.StatusCode != 0 && !a.OK() })
}

// ServerURL is the URL of the server's endpoint.
func ServerURL(t *check.T) *url.URL {
	u, err := url.Parse(t.Site().URL())
	if err != nil {
		panic("sse: " + err.Error()) // NewSite has parsed it
	}
	return u
}
