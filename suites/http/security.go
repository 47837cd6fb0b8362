package http

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"

	"github.com/onsi/gomega/types"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// security are the checks of Origin, Host, binding and CORS.
var security = Suite{
	"http/origin-invalid-rejected": Probe(func(t *T) {
		all := knocksOf(t, func(v visitors) []knock { return append(v.Lookalikes, v.Foreign) })
		if slices.ContainsFunc(all, knock.served) {
			localOnly(t, "a foreign Origin is served")
		}
		eachKnock(t, all, func(t *T, k knock) { t.Expect(k).To(beRefused()) })
	}),

	"http/origin-invalid-403": Probe(func(t *T) {
		k := foreignKnock(t)
		if k.served() {
			t.Yield("a foreign Origin is not refused at all")
		}
		if k.Answer.Status != http.StatusForbidden {
			localOnly(t, fmt.Sprintf("a foreign Origin is refused with %s", kit.Status(k.Answer)))
		}
		k.expect(t, That("HTTP 403", func(k knock) bool { return k.Answer.Status == http.StatusForbidden }))
	}),

	"http/origin-checked-on-get-and-delete": Probe(func(t *T) {
		if foreignKnock(t).served() {
			t.Yield("initialize with a foreign Origin is served")
		}
		s := t.Start()
		in := kit.ByHandSession(t, s)
		in.Set("Origin", foreignOrigin)
		knocks := []knock{settled(t, await(s, http.MethodPost, kit.ByHand(s, kit.Request{Header: in})))}
		for _, method := range []string{http.MethodGet, http.MethodDelete} {
			x := s.HTTP().Do(driver.HTTPRequest{Method: method, Header: in})
			kit.HeadOf(x)
			k := knock{Request: kit.AttemptOf(s, method, x), Answer: kit.Own(t, x.Answer())}
			knocks = append(knocks, k)
		}
		if slices.ContainsFunc(knocks, knock.served) {
			localOnly(t, "a foreign Origin is served")
		}
		eachKnock(t, knocks, func(t *T, k knock) {
			t.Expect(k).To(That("a refusal of the foreign Origin, as for initialize", knock.refused))
		})
	}),

	"http/origin-absent-accepted": Probe(func(t *T) {
		k := knocks(t)
		if k.Plain.served() || t.Server.Welcome != nil && !hasOrigin(t.Server.First) {
			return
		}
		byOrigin := k.Plain.Answer.Status == http.StatusForbidden && (k.Own.served() || t.Server.Welcome != nil)
		greeting, _ := kit.Greeting(t)
		t.Expect(!byOrigin).To(Hold(greeting+" served without Origin, as with it", "%s", k.Plain))
		settled(t, k.Plain)
		t.Inconclusive("%s is not served, with an Origin or without: %s", greeting, k.Plain)
	}).WhenRefused(),

	"http/origin-own-accepted": Probe(func(t *T) {
		loopbackOnly(t)
		k := oneKnock(t, func(v visitors) knock { return v.Own })
		k.expect(t, That("initialize served, as without Origin", knock.served))
	}),

	"http/origin-null-rejected": Probe(func(t *T) {
		loopbackOnly(t)
		if foreignKnock(t).served() {
			t.Yield("any Origin is served")
		}
		oneKnock(t, func(v visitors) knock { return v.Null }).expect(t, beRefused())
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
		oneKnock(t, func(v visitors) knock { return v.Rebound }).expect(t, beRefused())
	}),

	"http/bind-localhost": Probe(func(t *T) {
		if !t.Site().Started() {
			t.Because(NotGiven).Skip("mcpcheck did not start the server")
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
			t.By(a).Expect(allowed).To(That(want, isRestrictive))
		}
	}),
}

// A foreign page, and where it pretends to be when its name was bound to this machine (DNS rebinding). Nothing is ever
// sent there.
const (
	foreignHost   = "mcpcheck-evil.example"
	foreignOrigin = "http://" + foreignHost
)

// lookalikes are foreign origins that pass for one of this machine when only their beginning, their end or a part of
// them is compared.
var lookalikes = []string{
	"http://localhost." + foreignHost,
	"http://127.0.0.1." + foreignHost,
	"http://mcpcheck-evil-localhost",
}

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

// knock is a greeting from somewhere.
type knock struct {
	Request kit.Attempt
	Answer  driver.Answer
	Reply   driver.Reply
}

// Frames are those of the request and the answer.
func (k knock) Frames() []*driver.Frame { return k.Answer.Frames() }

// await is a knock when it has been answered, or will not be.
func await(s *driver.Session, name string, x *driver.Exchange) knock {
	r := x.Reply()
	return knock{Request: kit.AttemptOf(s, name, x), Answer: x.Answer(), Reply: r}
}

// eachKnock tries a check on knocks. What fails is named by where they come from.
func eachKnock(t *T, all []knock, run func(*T, knock)) {
	Each(t, all, func(k knock) Subject { return k.Request.Subject }, run)
}

// expect shows only this request when the matcher does not match.
func (k knock) expect(t *T, m types.GomegaMatcher) {
	eachKnock(t, []knock{k}, func(t *T, k knock) { t.Expect(k).To(m) })
}

// served reports whether there is a result or, of what is no message, a status of success.
func (k knock) served() bool {
	return k.Reply.Result() != nil || len(k.Request.Body) == 0 && k.Answer.OK()
}

func (k knock) refused() bool { return !k.served() }

// open reports whether it may yet be served: nothing has come, or only a promise of success. A connection that was
// closed without an answer is a refusal.
func (k knock) open() bool {
	switch {
	case k.Reply.Answered() || k.Answer.Status >= 300:
		return false
	case k.Answer.OK():
		return k.Answer.IsStream || !k.Answer.Ended || k.Answer.Err != nil
	}
	return !k.Answer.Ended
}

func (k knock) String() string { return k.Answer.String() }

func beRefused() types.GomegaMatcher { return That("a refusal", knock.refused) }

// settled is a knock that was served or refused by the server itself. It ends a check that has no such knock to judge.
func settled(t *T, k knock) knock {
	kit.NotForeign(t, k.Answer)
	if k.open() {
		t.Again("neither served nor refused, %s: %s", k.Request.Subject.Name, k)
	}
	return k
}

// visitors are greetings that are alike but for where they say that they come from, and a question of a browser.
type visitors struct {
	Plain      knock // without Origin
	Foreign    knock
	Lookalikes []knock // foreign origins that begin or end like one of this machine
	Own        knock   // the origin of the server
	Null       knock   // a sandboxed frame, or a file
	Rebound    knock   // without Origin, to a Host that is not this machine
	Preflight  driver.Answer
}

// knocks makes the requests at once or, where the server serves one session, one after the other; what is refused as
// busy is made once more, in its turn.
func knocks(t *T) visitors {
	return Step(t, "visitors", func(t *T) (v visitors) {
		s := t.Start()
		own := kit.SiteURL(t)
		visit := func(name, host string, origin ...string) (answered func() knock) {
			ask := func() *driver.Exchange {
				method, params := kit.Greeting(t)
				header := http.Header{"Origin": origin, kit.SessionIDHeader: nil}
				return kit.ByHand(s, kit.Request{Method: method, Params: params, Header: header, Host: host})
			}
			x := ask()
			answered = func() knock {
				k := await(s, name, x)
				if x.IsBusy() {
					k = await(s, name, kit.InTurn(s, ask))
				}
				return k
			}
			if !t.Server.OneClient {
				return answered
			}
			k := answered()
			s.HTTP().EndIssued()
			return func() knock { return k }
		}
		plain := visit("no Origin", "")
		foreign := visit("a foreign Origin", "", foreignOrigin)
		same := visit("the server's own Origin", "", own.Scheme+"://"+own.Host)
		null := visit("the Origin null", "", "null")
		elsewhere := visit("a foreign Host", rebound(own))
		var alike []func() knock
		for _, origin := range lookalikes {
			alike = append(alike, visit("the foreign Origin "+origin, "", origin))
		}
		preflight := askPreflight(t, s)
		v = visitors{Plain: plain(), Foreign: foreign(), Own: same(), Null: null(), Rebound: elsewhere()}
		v.Preflight = preflight.End()
		for _, answered := range alike {
			v.Lookalikes = append(v.Lookalikes, answered())
		}
		return v
	})
}

// knocksOf are some of the knocks at a server that serves the plain one: then they show what makes the difference.
func knocksOf(t *T, pick func(visitors) []knock) (picked []knock) {
	v := knocks(t)
	if !settled(t, v.Plain).served() {
		greeting, _ := kit.Greeting(t)
		t.Inconclusive("%s without Origin is not served either: %s", greeting, v.Plain)
	}
	for _, k := range pick(v) {
		picked = append(picked, settled(t, k))
	}
	return picked
}

func oneKnock(t *T, pick func(visitors) knock) knock {
	return knocksOf(t, func(v visitors) []knock { return []knock{pick(v)} })[0]
}

func foreignKnock(t *T) knock { return oneKnock(t, func(v visitors) knock { return v.Foreign }) }

// rebound is the Host of a request to a name that was bound to the server's address.
func rebound(own *url.URL) string {
	if own.Port() == "" {
		return foreignHost
	}
	return net.JoinHostPort(foreignHost, own.Port())
}

// askPreflight asks as a browser does before it lets a page send messages.
func askPreflight(t *T, s *driver.Session) *driver.Exchange {
	headers := "content-type,mcp-protocol-version,mcp-session-id"
	if t.Modern() {
		headers = "content-type,mcp-method,mcp-name,mcp-protocol-version"
	}
	return s.HTTP().Do(driver.HTTPRequest{Method: http.MethodOptions, Header: http.Header{
		"Origin":                         {foreignOrigin},
		"Access-Control-Request-Method":  {http.MethodPost},
		"Access-Control-Request-Headers": {headers},
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
	return Step(t, "old visitors", func(t *T) (v oldVisitors) {
		s := t.Session()
		done := AskHarmless(t, s)
		late := M{"requestId": done.Request.ID, "reason": "mcpcheck"}
		note := Compact(M{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": late})
		url := t.Site().URL()
		host, page := rebound(kit.SiteURL(t)), kit.Header("Origin", foreignOrigin)
		sent := []*driver.Exchange{
			s.HTTP().Do(driver.HTTPRequest{Method: http.MethodGet, URL: url, Host: host}),
			s.HTTP().Do(driver.HTTPRequest{Host: host, Body: note}),
			s.HTTP().Do(driver.HTTPRequest{Method: http.MethodGet, URL: url, Header: page}),
			s.HTTP().Do(driver.HTTPRequest{Header: page, Body: note}),
			askPreflight(t, s),
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
