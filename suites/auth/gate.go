package auth

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/onsi/gomega/types"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// gate is the first thing that a protected server does not serve without a token. What is wrong with a token is tried
// out there.
type gate struct {
	Method string        // the greeting or, when that is for everybody, a list; empty: there is no such thing
	Answer driver.Answer // to the request without a token
}

// gateOf finds the gate of a server. It ends a check that has no use without one.
func gateOf(t *T) gate {
	if !t.Server.Protected && t.Credentials.Bearer == "" {
		t.Skip(
			"the server is not protected, as far as can be told: it asked for no token, and none was given " +
				"(--bearer-env)",
		)
	}
	g := Step(t, "without a token", findGate)
	if g.Method == "" {
		greeting, _ := kit.Greeting(t)
		t.Skip("the server serves %s and lists without a token", greeting)
	}
	return g
}

func findGate(t *T) gate {
	s := t.Start()
	first, welcome := enter(t, s, nil)
	if welcome == nil {
		greeting, _ := kit.Greeting(t)
		return gate{greeting, kit.Own(t, first)}
	}
	capabilities, _ := welcome["capabilities"].(M)
	for _, method := range kit.ListsOf(capabilities) {
		a := kit.Own(t, kit.CameOf(kit.ByHand(s, kit.Request{Method: method, Header: later(t, nil)})))
		if a.Status == http.StatusUnauthorized || a.Status == http.StatusForbidden {
			return gate{method, a}
		}
	}
	return gate{}
}

// knock asks at the gate, with another request than an ordinary one. It has a session of its own.
func (g gate) knock(t *T, r kit.Request) *driver.Exchange {
	s := t.Start()
	if g.greets(t) {
		r.Method, r.Params = kit.Greeting(t)
	} else {
		enter(t, s, nil)
		r.Method, r.Header = g.Method, later(t, r.Header["Authorization"])
	}
	return kit.ByHand(s, r)
}

// greets reports whether the gate is the first request that a client makes.
func (g gate) greets(t *T) bool {
	greeting, _ := kit.Greeting(t)
	return g.Method == greeting
}

// with asks at the gate with a token.
func (g gate) with(t *T, token string) driver.Answer {
	return kit.Own(t, kit.CameOf(g.knock(t, kit.Request{Header: bearing(token)})))
}

// enter greets the server by hand, with values of the Authorization header or without it, and returns the result of
// the greeting; nil when it is refused.
func enter(t *T, s *driver.Session, authorization []string) (a driver.Answer, welcome M) {
	hello := kit.HelloByHand(t, s, http.Header{"Authorization": authorization})
	if a = kit.CameOf(hello); !a.OK() {
		return a, nil
	}
	if welcome = hello.Reply().Result(); welcome != nil && !t.Modern() {
		kit.CameOf(kit.InitializedByHand(s, later(t, authorization)))
	}
	return a, welcome
}

// later is the headers of a request by hand after the greeting.
func later(t *T, authorization []string) http.Header {
	return http.Header{"Authorization": authorization, "Mcp-Protocol-Version": {t.Revision}}
}

// bearing is the Authorization header with a token.
var bearing = kit.Bearing

// haveStatus matches an answer with one of the statuses.
func haveStatus(statuses ...int) types.GomegaMatcher {
	names := make([]string, len(statuses))
	for i, status := range statuses {
		names[i] = fmt.Sprint(status)
	}
	return That("HTTP "+strings.Join(names, " or "), func(a driver.Answer) bool {
		return slices.Contains(statuses, a.Status)
	})
}

// skipKeys ends a check of the status of refusals where a server that has nothing of OAuth refuses a key with 403: what
// the pages on authorization demand does not bind it.
func skipKeys(t *T, a driver.Answer) {
	if a.Status == http.StatusForbidden && !hasChallenge(a) && withoutOAuth(t) {
		t.Skip("HTTP 403 of a server with keys that its operator hands out: it has nothing of OAuth")
	}
}

// beTurnedAway matches an answer that serves nothing.
func beTurnedAway() types.GomegaMatcher {
	return That("HTTP 401", func(a driver.Answer) bool { return !a.OK() })
}

// needToken ends a check that wants an ordinary session where none can be had.
func needToken(t *T) {
	switch {
	case t.Credentials.Bearer == "":
		t.Because(NotGiven).Skip("no token was given (--bearer-env)")
	case t.Server.Failure != "":
		t.Because(HandshakeFailed).Inconclusive("%s", t.Server.Failure)
	}
}

// needKind ends a check that wants a further token which was not given.
func needKind(t *T, token, kind string) {
	if token == "" {
		t.Because(NotGiven).Skip("no such token was given (--token-env %s=VARIABLE)", kind)
	}
}
