package kit

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/onsi/gomega/types"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

// CameOf waits for the answer to a request by hand: all of it or, of an event stream, its head.
func CameOf(x *driver.Exchange) driver.Answer {
	if a := x.Head(); a.Status == 0 || a.IsStream {
		return a
	}
	return x.End()
}

// IsAccepted reports whether an answer is that to a message that wants none.
func IsAccepted(a driver.Answer) bool { return a.Status == http.StatusAccepted }

// RefusesClient reports whether an answer says that the client is at fault.
func RefusesClient(a driver.Answer) bool { return a.Status >= 400 && a.Status < 500 }

// AcceptsOrRefuses reports whether an answer is one of those that a message may get which wants none: it is accepted,
// or refused with any status of an error.
func AcceptsOrRefuses(a driver.Answer) bool { return IsAccepted(a) || a.Status >= 400 }

// IsEmpty reports whether an answer has no body, and is not an event stream.
func IsEmpty(a driver.Answer) bool { return !a.IsStream && len(bytes.TrimSpace(a.Body.Bytes())) == 0 }

// StreamOr405 reports whether an answer to GET is one of the two that there are.
func StreamOr405(a driver.Answer) bool {
	return a.IsStream || a.Status == http.StatusMethodNotAllowed
}

// Bodies are where messages may be in an answer: its body, its events.
func Bodies(a driver.Answer) [][]byte {
	all := [][]byte{a.Body.Bytes()}
	for _, e := range a.Events {
		all = append(all, e.Data.Bytes())
	}
	return all
}

// Object is a body that is a JSON object; nil when it is not.
func Object(body []byte) M {
	m, _ := driver.Decode(body).(M)
	return m
}

// Own is the answer to a request by hand. It ends a check that has none to judge: there is no HTTP answer, or it is not
// the server's own (driver.Answer.Foreign).
func Own(t *T, a driver.Answer) driver.Answer {
	if a.Status == 0 {
		t.Again("%s", a)
	}
	NotForeign(t, a)
	return a
}

// NotForeign ends a check whose request was answered, but not by the server itself.
func NotForeign(t *T, a driver.Answer) {
	if a.Foreign() {
		t.Inconclusive("%s", a)
	}
}

// IsOwn reports whether there is an answer, and it is the server's own.
func IsOwn(a driver.Answer) bool { return a.Status != 0 && !a.Foreign() }

// SkipUnauthorized ends a check whose request lacked authorization.
func SkipUnauthorized(t *T, a driver.Answer) {
	if a.Status == http.StatusUnauthorized || a.Status == http.StatusForbidden {
		t.Because(NotGiven).Skip("it wants authorization: %s", a)
	}
}

// Standing is the answer to the GET with which a session opens its standing stream.
func Standing(t *T, s *driver.Session) driver.Answer { return StandingOf(t, s).Head() }

// StandingOf is that GET.
func StandingOf(t *T, s *driver.Session) *driver.Exchange {
	x := s.HTTP().Standing()
	if x == nil {
		t.Again("the record of the session has lost its GET")
	}
	return x
}

// IsNotFound reports whether an answer says that there is no such session, or URL.
func IsNotFound(a driver.Answer) bool { return a.Status == http.StatusNotFound }

// Status is the status of an answer as messages show it.
func Status(a driver.Answer) string { return fmt.Sprintf("HTTP %d", a.Status) }

// HeadOf is the answer; of a stream only its beginning, and then it is dropped.
func HeadOf(x *driver.Exchange) driver.Answer {
	defer x.Abort()
	return CameOf(x)
}

// Within waits until an exchange has brought what is wanted, or has ended, at most for d.
func Within(x *driver.Exchange, d time.Duration, enough func(driver.Answer) bool) driver.Answer {
	const interval = 10 * time.Millisecond
	for begin := time.Now(); ; {
		a := x.EndFor(interval)
		if a.Ended || enough(a) || time.Since(begin) >= d {
			return a
		}
	}
}

// ResponseAmong is the response to a request among events, be its id of another type; it is not answered when there is
// none.
func ResponseAmong(events []driver.StreamEvent, id []byte) driver.Reply {
	for _, e := range events {
		members, isArray := driver.Decode(e.Data.Bytes()).([]any)
		if !isArray {
			members = []any{driver.Decode(e.Data.Bytes())}
		}
		for _, m := range Objects(members) {
			if !Has(m, "method") && driver.AlikeID(Compact(m["id"]), id) {
				return driver.Reply{Frame: &driver.Frame{Side: driver.FromServer, Raw: e.Data}, Made: m}
			}
		}
	}
	return driver.Reply{Err: errNoResponse}
}

var errNoResponse = errors.New("no response")

// Unlike is another key of the same form; of a short one, which may be a number that counts up, a longer one.
func Unlike(key string) string {
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

// BeNoSuccess matches answers that came, and do not say success.
func BeNoSuccess() types.GomegaMatcher {
	return That("a status of 4xx", func(a driver.Answer) bool { return a.Status != 0 && !a.OK() })
}

// SiteURL is the URL of the server.
func SiteURL(t *T) *url.URL {
	u, err := url.Parse(t.Site().URL())
	if err != nil {
		panic("sse: " + err.Error()) // NewSite has parsed it
	}
	return u
}
