package http

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/onsi/gomega/types"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/requests"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// securityChecks are the checks of Origin, Host, binding and CORS.
var securityChecks = check.Suite{
	"http/origin-invalid-rejected": check.Probe(func(t *check.T) {
		all := requireProbes(t, func(v originProbes) []originProbe { return append(v.Lookalikes, v.Foreign) })
		if slices.ContainsFunc(all, originProbe.isServed) {
			requireLoopback(t, "a foreign Origin is served")
		}
		if t.IsModern() && !slices.ContainsFunc(all, originProbe.isServed) { // else a session is needed
			s, header := t.Session(), roundtrip.Header("Origin", foreignOrigin)
			all = append(append(all, foreignRequests(t, s, header)...), cancelUnknown(t, s, header),
				tryListen(t, s, header))
			if slices.ContainsFunc(all, originProbe.isServed) {
				requireLoopback(t, "a foreign Origin is served")
			}
		}
		eachProbe(t, all, func(t *check.T, k originProbe) { t.Expect(k).To(beRefused()) })
	}),

	"http/origin-invalid-403": check.Probe(func(t *check.T) {
		k := foreignProbe(t)
		if k.isServed() {
			t.Yield("a foreign Origin is not refused at all")
		}
		if k.Response.StatusCode != http.StatusForbidden {
			requireLoopback(t, fmt.Sprintf("a foreign Origin is refused with %s", roundtrip.FormatStatus(k.Response)))
		}
		k.expect(t,
			check.Satisfy("HTTP 403",
				func(k originProbe) bool { return k.Response.StatusCode == http.StatusForbidden }))
	}),

	"http/origin-checked-on-get-and-delete": check.Probe(func(t *check.T) {
		if foreignProbe(t).isServed() {
			t.Yield("initialize with a foreign Origin is served")
		}
		requests.Valid(t)
		s := t.Session(check.Process)
		in := newManualSession(t, s)
		in.Set("Origin", foreignOrigin)
		probes := append(foreignRequests(t, s, in), cancelUnknown(t, s, in))
		for _, method := range []string{http.MethodGet, http.MethodDelete} {
			x := s.HTTP().Do(driver.HTTPRequest{Method: method, Header: in})
			awaitHeaders(x)
			k := originProbe{Request: roundtrip.NewNamedRoundTrip(s, method, x),
				Response: roundtrip.RequireHTTPResponse(t, x.Response())}
			probes = append(probes, k)
		}
		if slices.ContainsFunc(probes, originProbe.isServed) {
			requireLoopback(t, "a foreign Origin is served")
		}
		eachProbe(t, probes, func(t *check.T, k originProbe) {
			yieldToGET(t, k.Request.Method, k.Response)
			t.Expect(k).To(check.Satisfy("a refusal of the foreign Origin, as for initialize", originProbe.isRefused))
		})
	}),

	"http/origin-absent-accepted": check.Probe(func(t *check.T) {
		k := sendOriginProbes(t)
		if k.NoOrigin.isServed() || t.Server.ConnectResult != nil && !hasOrigin(t.Server.ConnectReply) {
			return
		}
		byOrigin := k.NoOrigin.Response.StatusCode == http.StatusForbidden && (k.Own.isServed() ||
			t.Server.ConnectResult != nil)
		method, _ := roundtrip.ConnectRequest(t)
		t.Expect(!byOrigin).To(check.BeTrue(method+" served without Origin, as with it", "%s", k.NoOrigin))
		requireDecided(t, k.NoOrigin)
		t.NoVerdict(check.Undecided, "%s is not served, with an Origin or without: %s", method, k.NoOrigin)
	}).WhenConnectRefused(),

	"http/origin-own-accepted": check.Probe(func(t *check.T) {
		skipUnlessLoopback(t)
		k := requireProbe(t, func(v originProbes) originProbe { return v.Own })
		k.expect(t, check.Satisfy(t.Server.ConnectMethod()+" served, as without Origin", originProbe.isServed))
	}),

	"http/origin-null-rejected": check.Probe(func(t *check.T) {
		skipUnlessLoopback(t)
		if foreignProbe(t).isServed() {
			t.Yield("any Origin is served")
		}
		requireProbe(t, func(v originProbes) originProbe { return v.Null }).expect(t, beRefused())
	}),

	"http/host-rebinding-rejected": check.Probe(func(t *check.T) {
		skipUnlessLoopback(t)
		if t.Server.Transport == "sse" {
			for _, a := range sendSSEOriginProbes(t).Rebound {
				roundtrip.RequireHTTPResponse(t, a)
				t.Expect(a).To(roundtrip.BeHTTPError())
			}
			return
		}
		requireProbe(t, func(v originProbes) originProbe { return v.Rebound }).expect(t, beRefused())
	}),

	"http/bind-localhost": check.Probe(func(t *check.T) {
		if !t.Site().OwnsProcess() {
			t.Skip(check.NotGiven, "mcpcheck did not start the server")
		}
		skipUnlessLoopback(t)
		addresses, why := exposedAddrs(t.Site())
		if why != "" {
			t.Skip(check.NotApplicable, "%s", why)
		}
		t.Expect(addresses).To(check.BeEmptyList[string]("connections taken on loopback addresses only"))
	}),

	"http/no-wildcard-cors": check.Probe(func(t *check.T) {
		skipUnlessLoopback(t)
		answers := crossOriginResponses(t)
		for _, a := range answers {
			roundtrip.RequireHTTPResponse(t, a)
		}
		for _, a := range answers {
			allowed := a.Header.Get("Access-Control-Allow-Origin")
			if isPermissive(allowed) && t.Credentials.Bearer != "" {
				t.Skip(check.NotApplicable, "pages of any origin may read answers, but the server wants a token")
			}
			const want = "no Access-Control-Allow-Origin that lets pages of " + foreignOrigin + " read answers"
			t.DecidedBy(a).Expect(allowed).To(check.Satisfy(want, isRestrictive))
		}
	}),
}

// foreignOrigin is the origin of the pages that browsers must not let in.
const foreignOrigin = roundtrip.ForeignOrigin

// skipUnlessLoopback ends a check that matters only for a local server, whose protection is that others cannot reach
// it.
func skipUnlessLoopback(t *check.T) {
	if !t.Site().IsLoopback() {
		t.Skip(check.NotApplicable, "the server is not reached over a loopback address")
	}
}

// requireLoopback ends a check with a finding that is a fault of a local server only. For a remote one it may be
// intended, or a proxy may have answered.
func requireLoopback(t *check.T, found string) {
	if !t.Site().IsLoopback() {
		t.NoVerdict(check.Undecided, "%s, which may be meant: the server is not reached over a loopback address", found)
	}
}

// originProbe is the first request of a client with a certain Origin or Host.
type originProbe struct {
	Request  roundtrip.NamedRoundTrip
	Response driver.HTTPResponse
	Reply    driver.Reply
	// opened reports whether the request has opened a subscription stream.
	opened bool
}

// Frames are the frames of the request and the response.
func (k originProbe) Frames() []*driver.Frame { return k.Response.Frames() }

// awaitProbe is a probe once it is answered, or timed out.
func awaitProbe(s *driver.Session, name string, x *driver.RoundTrip) originProbe {
	r := x.AwaitReply()
	return originProbe{Request: roundtrip.NewNamedRoundTrip(s, name, x), Response: x.Response(), Reply: r}
}

// foreignRequests are requests of each method with these headers, one of which is the Origin of a foreign page.
func foreignRequests(t *check.T, s *driver.Session, header http.Header) (all []originProbe) {
	for _, request := range requests.Affordable(t, validRequests(t), 1) {
		request.Header = header
		name := strings.TrimSpace("POST " + request.Method)
		all = append(all, requireDecided(t, awaitProbe(s, name, roundtrip.PostRequest(s, request))))
	}
	return all
}

// cancelUnknown is a notification that cancels no request, with these headers.
func cancelUnknown(t *check.T, s *driver.Session, header http.Header) originProbe {
	note := check.M{"jsonrpc": "2.0", "method": "notifications/cancelled",
		"params": check.M{"requestId": s.NextID(), "reason": "mcpcheck"}}
	x := s.HTTP().Do(driver.HTTPRequest{Header: header, Body: text.CompactJSON(note)})
	x.AwaitEnd()
	return requireDecided(t, originProbe{Request: roundtrip.NewNamedRoundTrip(s, "POST of a notification", x),
		Response: roundtrip.RequireHTTPResponse(t, x.Response())})
}

// listenRequest is a subscription to nothing.
var listenRequest = roundtrip.ManualRequest{Method: listenMethod, Params: check.M{"notifications": check.M{}}}

// tryListen sends listenRequest with these headers, and ends the stream that it may open.
func tryListen(t *check.T, s *driver.Session, header http.Header) originProbe {
	request := listenRequest
	request.Header = header
	x := roundtrip.PostRequest(s, request)
	defer x.Abort()
	if roundtrip.AwaitResponse(x).IsStream {
		_, opened := x.AwaitEvent(func(e driver.StreamEvent) bool {
			return driver.ParseBody(e.Data.Bytes()).Method == "notifications/subscriptions/acknowledged"
		})
		if opened {
			return originProbe{Request: roundtrip.NewNamedRoundTrip(s, "POST "+listenMethod, x),
				Response: x.Response(), opened: true}
		}
	}
	return requireDecided(t, awaitProbe(s, "POST "+listenMethod, x))
}

// eachProbe runs a check on each probe. Failures are reported under its name.
func eachProbe(t *check.T, all []originProbe, run func(*check.T, originProbe)) {
	check.Each(t, all, func(k originProbe) check.Subject { return k.Request.Subject }, run)
}

// expect expects that the probe matches, and reports only this request otherwise.
func (k originProbe) expect(t *check.T, m types.GomegaMatcher) {
	eachProbe(t, []originProbe{k}, func(t *check.T, k originProbe) { t.Expect(k).To(m) })
}

// isServed reports whether there is a result, a subscription stream or, if nothing was requested by a message, a status
// of success.
func (k originProbe) isServed() bool {
	return k.opened || k.Reply.Result() != nil || decodeObject(k.Request.Body)["id"] == nil && k.Response.OK()
}

func (k originProbe) isRefused() bool { return !k.isServed() }

// isPending reports whether the outcome is open: nothing came, or only the headers of a success. A connection that was
// closed without a response counts as a refusal.
func (k originProbe) isPending() bool {
	switch {
	case k.Reply.Answered() || k.Response.StatusCode >= 300:
		return false
	case k.Response.OK():
		return k.Response.IsStream || !k.Response.Ended || k.Response.Err != nil
	}
	return !k.Response.Ended
}

func (k originProbe) String() string { return k.Response.String() }

func beRefused() types.GomegaMatcher { return check.Satisfy("a refusal", originProbe.isRefused) }

// requireDecided returns the probe. It ends a check when the server itself neither served nor refused it.
func requireDecided(t *check.T, k originProbe) originProbe {
	roundtrip.RequireNotFromIntermediary(t, k.Response)
	if k.isPending() {
		t.Retry(check.Undecided, "neither served nor refused, %s: %s", k.Request.Subject.Name, k)
	}
	return k
}

// originProbes are first requests of a client that differ only in Origin or Host, and a CORS preflight request.
type originProbes struct {
	// NoOrigin has no Origin.
	NoOrigin originProbe
	Foreign  originProbe
	// Lookalikes have roundtrip.LookalikeOrigins.
	Lookalikes []originProbe
	// Own has the origin of the server.
	Own originProbe
	// Null has the origin "null", as sandboxed frames and files do.
	Null originProbe
	// Rebound has no Origin, and a foreign Host.
	Rebound   originProbe
	Preflight driver.HTTPResponse
}

// sendOriginProbes sends the probes at once. Where the server has one session only, it sends one after the other.
// Probes that are refused as busy are sent again.
func sendOriginProbes(t *check.T) originProbes {
	return check.Step(t, "requests with origins", func(t *check.T) (v originProbes) {
		s := t.Session(check.Process)
		own := roundtrip.ServerURL(t)
		probe := func(name, host string, origin ...string) (answered func() originProbe) {
			ask := func() *driver.RoundTrip {
				method, params := roundtrip.ConnectRequest(t)
				header := http.Header{"Origin": origin, roundtrip.SessionIDHeader: nil}
				return roundtrip.PostRequest(s, roundtrip.ManualRequest{Method: method, Params: params, Header: header,
					Host: host})
			}
			x := ask()
			answered = func() originProbe {
				k := awaitProbe(s, name, x)
				if x.IsBusy() {
					k = awaitProbe(s, name, roundtrip.RetryWhileBusy(s, ask))
				}
				return k
			}
			if !t.Server.OneClient {
				return answered
			}
			k := answered()
			s.HTTP().DeleteSessions()
			return func() originProbe { return k }
		}
		plain := probe("no Origin", "")
		foreign := probe("a foreign Origin", "", foreignOrigin)
		same := probe("the server's own Origin", "", own.Scheme+"://"+own.Host)
		null := probe("the Origin null", "", "null")
		rebound := probe("a foreign Host", reboundHost(own))
		var lookalikes []func() originProbe
		for _, origin := range roundtrip.LookalikeOrigins {
			lookalikes = append(lookalikes, probe("the foreign Origin "+origin, "", origin))
		}
		preflight := sendPreflight(t, s)
		v = originProbes{NoOrigin: plain(), Foreign: foreign(), Own: same(), Null: null(), Rebound: rebound()}
		v.Preflight = preflight.AwaitEnd()
		for _, answered := range lookalikes {
			v.Lookalikes = append(v.Lookalikes, answered())
		}
		return v
	})
}

// requireProbes are some of the probes. It ends a check when the server does not serve the one without Origin, since
// then the others prove nothing.
func requireProbes(t *check.T, pick func(originProbes) []originProbe) (picked []originProbe) {
	v := sendOriginProbes(t)
	if !requireDecided(t, v.NoOrigin).isServed() {
		method, _ := roundtrip.ConnectRequest(t)
		t.NoVerdict(check.Undecided, "%s without Origin is not served either: %s", method, v.NoOrigin)
	}
	for _, k := range pick(v) {
		picked = append(picked, requireDecided(t, k))
	}
	return picked
}

func requireProbe(t *check.T, pick func(originProbes) originProbe) originProbe {
	return requireProbes(t, func(v originProbes) []originProbe { return []originProbe{pick(v)} })[0]
}

func foreignProbe(t *check.T) originProbe {
	return requireProbe(t, func(v originProbes) originProbe { return v.Foreign })
}

// reboundHost is the Host of a request after DNS rebinding.
func reboundHost(own *url.URL) string {
	if own.Port() == "" {
		return roundtrip.ForeignHost
	}
	return net.JoinHostPort(roundtrip.ForeignHost, own.Port())
}

// sendPreflight sends the CORS preflight request of a browser for a page that posts messages.
func sendPreflight(t *check.T, s *driver.Session) *driver.RoundTrip {
	headers := "content-type,mcp-protocol-version,mcp-session-id"
	if t.IsModern() {
		headers = "content-type,mcp-method,mcp-name,mcp-protocol-version"
	}
	return s.HTTP().Do(driver.HTTPRequest{Method: http.MethodOptions, Header: http.Header{
		"Origin":                         {foreignOrigin},
		"Access-Control-Request-Method":  {http.MethodPost},
		"Access-Control-Request-Headers": {headers},
		"Authorization":                  nil, roundtrip.SessionIDHeader: nil, roundtrip.VersionHeader: nil,
	}})
}

// sseOriginProbes are responses to requests to both URLs of HTTP+SSE.
type sseOriginProbes struct {
	// Rebound are for requests with a foreign Host.
	Rebound []driver.HTTPResponse
	// Foreign are for requests with a foreign Origin, and a preflight request.
	Foreign []driver.HTTPResponse
}

// sendSSEOriginProbes sends the requests at once. It posts notifications, since responses would come on the stream of
// the session.
func sendSSEOriginProbes(t *check.T) sseOriginProbes {
	return check.Step(t, "HTTP+SSE requests with origins", func(t *check.T) (v sseOriginProbes) {
		s := t.Session()
		done := check.RequestNoOp(t, s)
		late := check.M{"requestId": done.Request.ID, "reason": "mcpcheck"}
		note := text.CompactJSON(check.M{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": late})
		url := t.Site().URL()
		host, page := reboundHost(roundtrip.ServerURL(t)), roundtrip.Header("Origin", foreignOrigin)
		sent := []*driver.RoundTrip{
			s.HTTP().Do(driver.HTTPRequest{Method: http.MethodGet, URL: url, Host: host}),
			s.HTTP().Do(driver.HTTPRequest{Host: host, Body: note}),
			s.HTTP().Do(driver.HTTPRequest{Method: http.MethodGet, URL: url, Header: page}),
			s.HTTP().Do(driver.HTTPRequest{Header: page, Body: note}),
			sendPreflight(t, s),
		}
		var answers []driver.HTTPResponse
		for _, x := range sent {
			answers = append(answers, awaitHeaders(x))
		}
		return sseOriginProbes{Rebound: answers[:2], Foreign: answers[2:]}
	})
}

// crossOriginResponses are the responses to requests of a foreign page.
func crossOriginResponses(t *check.T) []driver.HTTPResponse {
	if t.Server.Transport == "sse" {
		return sendSSEOriginProbes(t).Foreign
	}
	v := sendOriginProbes(t)
	return []driver.HTTPResponse{v.Foreign.Response, v.Preflight}
}

// hasOrigin reports whether a request had an Origin, which the user gave.
func hasOrigin(r driver.Reply) bool {
	return r.Request != nil && r.Request.RoundTrip != nil && r.Request.RoundTrip.Header.Get("Origin") != ""
}

// isPermissive reports whether this Access-Control-Allow-Origin lets foreign pages read responses.
func isPermissive(allowed string) bool { return allowed == "*" || allowed == foreignOrigin }

func isRestrictive(allowed string) bool { return !isPermissive(allowed) }
