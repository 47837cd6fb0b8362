package http

import (
	"fmt"
	"net"
	"net/http"
	"net/url"

	"github.com/onsi/gomega/types"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// security are the checks of Origin, Host, binding and CORS.
var security = Suite{
	"http/origin-invalid-rejected": Probe(func(t *T) {
		k := answeringKnocks(t)
		if k.Foreign.served() {
			localOnly(t, "a foreign Origin is served")
		}
		k.Foreign.expect(t, beRefused())
	}),

	"http/origin-invalid-403": Probe(func(t *T) {
		k := answeringKnocks(t)
		if k.Foreign.served() {
			t.Skip("a foreign Origin is not refused at all: http/origin-invalid-rejected")
		}
		if k.Foreign.Answer.Status != http.StatusForbidden {
			localOnly(t, fmt.Sprintf("a foreign Origin is refused with %s", kit.Status(k.Foreign.Answer)))
		}
		k.Foreign.expect(t, That("HTTP 403", func(k knock) bool { return k.Answer.Status == http.StatusForbidden }))
	}),

	"http/origin-checked-on-get-and-delete": Probe(func(t *T) {
		if answeringKnocks(t).Foreign.served() {
			t.Skip("POST with a foreign Origin is served: http/origin-invalid-rejected")
		}
		s := t.Start()
		in := kit.ByHandSession(t, s)
		in.Set("Origin", foreignOrigin)
		var requests []kit.Attempt
		for _, method := range []string{http.MethodGet, http.MethodDelete} {
			x := s.HTTP().Do(driver.HTTPRequest{Method: method, Header: in})
			kit.HeadOf(x)
			requests = append(requests, kit.AttemptOf(s, method, x))
		}
		kit.EachAttempt(t, requests, func(t *T, request kit.Attempt) {
			a := kit.Own(t, request.End())
			if a.OK() {
				localOnly(t, "a foreign Origin is served")
			}
			t.Expect(a).To(That("a refusal of the foreign Origin, as for POST", func(a driver.Answer) bool {
				return !a.OK()
			}))
		})
	}),

	"http/origin-absent-accepted": Probe(func(t *T) {
		k := knocks(t)
		if k.Plain.served() || t.Server.Welcome != nil && !hasOrigin(t.Server.First) {
			return
		}
		byOrigin := k.Plain.Answer.Status == http.StatusForbidden && (k.Own.served() || t.Server.Welcome != nil)
		t.Expect(!byOrigin).To(Hold("initialize served without Origin, as with it", "%s", k.Plain))
		t.Inconclusive("initialize is not served, with an Origin or without: %s", k.Plain)
	}).WhenRefused(),

	"http/origin-own-accepted": Probe(func(t *T) {
		loopbackOnly(t)
		k := answeringKnocks(t)
		k.Own.expect(t, That("initialize served, as without Origin", knock.served))
	}),

	"http/origin-null-rejected": Probe(func(t *T) {
		loopbackOnly(t)
		k := answeringKnocks(t)
		if k.Foreign.served() {
			t.Skip("any Origin is served: http/origin-invalid-rejected")
		}
		k.Null.expect(t, beRefused())
	}),

	"http/host-rebinding-rejected": Probe(func(t *T) {
		loopbackOnly(t)
		if t.Server.Transport == "sse" {
			for _, a := range oldKnocks(t).Rebound {
				kit.Own(t, a)
				t.Expect(a).To(kit.BeNoSuccess())
			}
			return
		}
		answeringKnocks(t).Rebound.expect(t, beRefused())
	}),

	"http/bind-localhost": Probe(func(t *T) {
		if !t.Site().Started() {
			t.Skip("mcpcheck did not start the server")
		}
		loopbackOnly(t)
		addresses, why := t.Site().Exposed()
		if why != "" {
			t.Skip("%s", why)
		}
		t.Expect(addresses).To(BeEmptyList[string]("connections taken on loopback addresses only"))
	}),

	"http/no-wildcard-cors": Probe(func(t *T) {
		loopbackOnly(t)
		answers := crossOrigin(t)
		for _, a := range answers {
			kit.Own(t, a)
		}
		for _, a := range answers {
			allowed := a.Header.Get("Access-Control-Allow-Origin")
			if isPermissive(allowed) && t.Credentials.Bearer != "" {
				t.Skip("pages of any origin may read answers, but the server wants a token")
			}
			const want = "no Access-Control-Allow-Origin that lets pages of " + foreignOrigin + " read answers"
			t.Expect(allowed).To(That(want, isRestrictive))
		}
	}),
}

// A foreign page, and where it pretends to be when its name was bound to this machine (DNS rebinding). Nothing is ever
// sent there.
const (
	foreignHost   = "mcpcheck-evil.example"
	foreignOrigin = "http://" + foreignHost
)

// loopbackOnly skips a check of what only matters for a server on this machine, whose protection is that nobody else
// reaches it.
func loopbackOnly(t *T) {
	if !t.Site().Loopback() {
		t.Skip("the server is not reached over a loopback address")
	}
}

// localOnly ends a check that has found what is a fault of a server on this machine. Elsewhere it may be meant, or a
// proxy may be the one that answers.
func localOnly(t *T, found string) {
	if !t.Site().Loopback() {
		t.Inconclusive("%s, which may be meant: the server is not reached over a loopback address", found)
	}
}

// knock is an initialize request from somewhere.
type knock struct {
	Request kit.Attempt
	Answer  driver.Answer
	Reply   driver.Reply
}

// await is a knock when it has been answered, or will not be.
func await(s *driver.Session, name string, x *driver.Exchange) knock {
	r := x.Reply()
	return knock{Request: kit.AttemptOf(s, name, x), Answer: x.Answer(), Reply: r}
}

// expect shows only this request when the matcher does not match.
func (k knock) expect(t *T, m types.GomegaMatcher) {
	kit.EachAttempt(t, []kit.Attempt{k.Request}, func(t *T, _ kit.Attempt) { t.Expect(k).To(m) })
}

func (k knock) served() bool { return k.Reply.Result() != nil }

func (k knock) String() string { return k.Answer.String() }

func beRefused() types.GomegaMatcher {
	return That("a refusal", func(k knock) bool { return !k.served() })
}

// visitors are initialize requests that are alike but for where they say that they come from, and a question of a
// browser.
type visitors struct {
	Plain     knock // without Origin
	Foreign   knock
	Own       knock // the origin of the server
	Null      knock // a sandboxed frame, or a file
	Rebound   knock // without Origin, to a Host that is not this machine
	Preflight driver.Answer
}

// knocks makes the requests at once.
func knocks(t *T) visitors {
	return Shared(t, "visitors", func(t *T) visitors {
		s := t.Start()
		own := kit.SiteURL(t)
		visit := func(n int, host string, origin ...string) *driver.Exchange {
			return kit.ByHand(s, kit.Request{
				ID: fmt.Sprint("mcpcheck-visitor-", n), Method: "initialize", Params: driver.Hello(t.Revision),
				Header: http.Header{"Origin": origin, kit.SessionIDHeader: nil}, Host: host,
			})
		}
		plain := visit(0, "")
		foreign := visit(1, "", foreignOrigin)
		same := visit(2, "", own.Scheme+"://"+own.Host)
		null := visit(3, "", "null")
		elsewhere := visit(4, rebound(own))
		preflight := askPreflight(s)
		return visitors{
			Plain:     await(s, "no Origin", plain),
			Foreign:   await(s, "a foreign Origin", foreign),
			Own:       await(s, "the server's own Origin", same),
			Null:      await(s, "the Origin null", null),
			Rebound:   await(s, "a foreign Host", elsewhere),
			Preflight: preflight.End(),
		}
	})
}

// answeringKnocks are knocks at a server that serves the plain one: then the others show what makes the difference.
func answeringKnocks(t *T) visitors {
	v := knocks(t)
	if !v.Plain.served() {
		t.Inconclusive("initialize without Origin is not served either: %s", v.Plain)
	}
	for _, k := range []knock{v.Foreign, v.Own, v.Null, v.Rebound} {
		if k.Answer.Status == 0 && !k.Answer.Ended {
			t.Again("%s", k)
		}
	}
	return v
}

// rebound is the Host of a request to a name that was bound to the server's address.
func rebound(own *url.URL) string {
	if own.Port() == "" {
		return foreignHost
	}
	return net.JoinHostPort(foreignHost, own.Port())
}

// askPreflight asks as a browser does before it lets a page send messages.
func askPreflight(s *driver.Session) *driver.Exchange {
	return s.HTTP().Do(driver.HTTPRequest{Method: http.MethodOptions, Header: http.Header{
		"Origin":                         {foreignOrigin},
		"Access-Control-Request-Method":  {http.MethodPost},
		"Access-Control-Request-Headers": {"content-type,mcp-protocol-version,mcp-session-id"},
		"Authorization":                  nil, kit.SessionIDHeader: nil, kit.VersionHeader: nil,
	}})
}

// oldVisitors are requests to both URLs of HTTP+SSE.
type oldVisitors struct {
	Rebound []driver.Answer // to a Host that is not this machine
	Foreign []driver.Answer // with a foreign Origin, and a question of a browser
}

// oldKnocks makes the requests at once. What is posted wants no answer: it would come with the stream of the session.
func oldKnocks(t *T) oldVisitors {
	return Shared(t, "old visitors", func(t *T) (v oldVisitors) {
		s := t.Session()
		done := t.Harmless(s)
		late := M{"requestId": done.Request.ID, "reason": "mcpcheck"}
		note := Compact(M{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": late})
		url := t.Site().URL()
		host, page := rebound(kit.SiteURL(t)), kit.Header("Origin", foreignOrigin)
		sent := []*driver.Exchange{
			s.HTTP().Do(driver.HTTPRequest{Method: http.MethodGet, URL: url, Host: host}),
			s.HTTP().Do(driver.HTTPRequest{Host: host, Body: note}),
			s.HTTP().Do(driver.HTTPRequest{Method: http.MethodGet, URL: url, Header: page}),
			s.HTTP().Do(driver.HTTPRequest{Header: page, Body: note}),
			askPreflight(s),
		}
		var answers []driver.Answer
		for _, x := range sent {
			answers = append(answers, kit.HeadOf(x))
		}
		return oldVisitors{Rebound: answers[:2], Foreign: answers[2:]}
	})
}

// crossOrigin are the answers to requests from a foreign page.
func crossOrigin(t *T) []driver.Answer {
	if t.Server.Transport == "sse" {
		return oldKnocks(t).Foreign
	}
	v := knocks(t)
	return []driver.Answer{v.Foreign.Answer, v.Preflight}
}

// hasOrigin reports whether a request had an Origin, which the operator has given.
func hasOrigin(r driver.Reply) bool {
	return r.Request != nil && r.Request.HTTP != nil && r.Request.HTTP.Header.Get("Origin") != ""
}

// isPermissive reports whether Access-Control-Allow-Origin lets any page read.
func isPermissive(allowed string) bool { return allowed == "*" || allowed == foreignOrigin }

func isRestrictive(allowed string) bool { return !isPermissive(allowed) }
