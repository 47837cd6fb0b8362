package http

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/requests"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
)

var headerChecks = check.Suite{
	"http/accept-both-any-order": check.Probe(func(t *check.T) {
		forms := []headerVariant{
			{"the types in the other order", roundtrip.Header("Accept", "text/event-stream, application/json")},
			{"q-parameters", roundtrip.Header("Accept", "application/json;q=1.0, text/event-stream;q=0.5")},
			{"more white space", roundtrip.Header("Accept", "application/json ,  text/event-stream")},
			{"two header lines", roundtrip.Header("Accept", "application/json", "text/event-stream")},
		}
		compareHeaders(t, nil, forms)
	}),

	"http/missing-accept": check.Probe(func(t *check.T) {
		s := t.Session()
		onlyJSON := roundtrip.PostRequest(s,
			roundtrip.ManualRequest{Header: roundtrip.Header("Accept", roundtrip.JSONType)})
		none := roundtrip.PostRequest(s, roundtrip.ManualRequest{Header: roundtrip.Header("Accept")})
		for _, x := range []*driver.RoundTrip{onlyJSON, none} {
			roundtrip.RequireHTTPResponse(t, x.AwaitHeaders())
			t.Expect(x.Response()).To(check.Satisfy("it served, or refused with 4xx", isNotServerError))
		}
		const want = "no event stream for a client that accepts only JSON"
		t.ExpectAdvice(onlyJSON.Response()).To(check.Satisfy(want,
			func(a driver.HTTPResponse) bool { return !a.IsStream }))
	}),

	"http/content-type-with-charset": check.Probe(func(t *check.T) {
		compareHeaders(t, nil, []headerVariant{
			{"a charset", roundtrip.Header("Content-Type", "application/json; charset=utf-8")},
			{"another letter case", roundtrip.Header("Content-Type", "Application/JSON")},
		})
	}),

	"http/non-json-content-type-rejected": check.ProcessProbe(func(t *check.T) {
		x := roundtrip.PostConnect(t, t.Session(check.Process), roundtrip.Header("Content-Type", "text/plain"))
		r := x.AwaitReply()
		roundtrip.RequireHTTPResponse(t, x.Response())
		t.Expect(r).To(check.Satisfy(r.Method+" as text/plain refused",
			func(r driver.Reply) bool { return r.Result() == nil }))
	}),

	"http/version-header-invalid-400": check.Probe(func(t *check.T) {
		eachNamedRoundTrip(t, requestsWithWrongVersions(t), func(t *check.T, x roundtrip.NamedRoundTrip) {
			a := x.Response()
			roundtrip.RequireNotFromIntermediary(t, a)
			if x.Method != http.MethodPost && refusesMethod(t, x.Method, a) {
				t.Skip(check.NotOffered, "the server takes no %s", x.Method)
			}
			yieldToGET(t, x.Method, a)
			t.Expect(a).To(check.Satisfy("HTTP 400",
				func(a driver.HTTPResponse) bool { return a.StatusCode == http.StatusBadRequest }))
		})
	}),

	"http/version-header-valid-accepted": check.Probe(func(t *check.T) {
		compareHeaders(t, roundtrip.Header(roundtrip.VersionHeader), []headerVariant{
			{"the negotiated version", roundtrip.Header("MCP-Protocol-Version", t.Revision)},
			{"lower case", roundtrip.Header("mcp-protocol-version", t.Revision)},
			{"capitals", roundtrip.Header("MCP-PROTOCOL-VERSION", t.Revision)},
		})
	}),

	"http/version-header-absent-served": check.Probe(func(t *check.T) {
		if t.Server.Sessionless && !supportsVersion(t, "2025-03-26") {
			t.NoVerdict(check.Undecided,
				"without sessions the server would have to assume 2025-03-26, which it does not support")
		}
		compareHeaders(t, nil, []headerVariant{{"no header", roundtrip.Header(roundtrip.VersionHeader)}})
	}),

	"http/version-header-on-initialize": check.ProcessProbe(func(t *check.T) {
		x := roundtrip.PostConnect(t, t.Session(check.Process), roundtrip.Header(roundtrip.VersionHeader, t.Revision))
		r := x.AwaitReply()
		roundtrip.RequireHTTPResponse(t, x.Response())
		t.Expect(r).To(check.BeResult(), "initialize with the version in the header, too")
	}),

	"http/version-header-differs-from-session": check.Probe(func(t *check.T) {
		i := slices.IndexFunc(catalogue.LegacyRevisions, func(version string) bool {
			return version != t.Revision && supportsVersion(t, version)
		})
		if i < 0 {
			t.Skip(check.NotOffered, "the server supports no other version")
		}
		s := t.Session()
		a := roundtrip.PostRequest(s,
			roundtrip.ManualRequest{Header: roundtrip.Header(roundtrip.VersionHeader,
				catalogue.LegacyRevisions[i])}).AwaitHeaders()
		roundtrip.RequireHTTPResponse(t, a)
		t.Expect(a).To(check.Satisfy("it served, or refused with 4xx", isNotServerError))
	}),
}

// requestsWithWrongVersions are requests of each method with versions that do not exist, sent one after the other in a
// session without a GET stream. DELETE comes last, since it may end the session.
func requestsWithWrongVersions(t *check.T) (all []roundtrip.NamedRoundTrip) {
	const malformed = "not-a-version"
	others := requests.Affordable(t, validRequests(t), 2)[1:]
	s := t.Session(check.Process)
	in := newManualSession(t, s)
	ask := func() *driver.RoundTrip { return roundtrip.PostRequest(s, roundtrip.ManualRequest{Header: in}) }
	if usual := roundtrip.RetryWhileBusy(s, ask); !usual.Response().OK() {
		t.Retry(check.Undecided, "the request is not served with the negotiated version either: %s", usual.Response())
	}
	ended := false
	try := func(name, version string, make func(http.Header) *driver.RoundTrip) {
		if ended {
			return
		}
		wrong := in.Clone()
		wrong.Set(roundtrip.VersionHeader, version)
		x := roundtrip.RetryWhileBusy(s, func() *driver.RoundTrip { return make(wrong) })
		awaitHeaders(x)
		if roundtrip.IsNotFound(x.Response()) && !roundtrip.RetryWhileBusy(s, ask).Response().OK() {
			ended = true // the session does not last for so many requests
		} else {
			all = append(all, roundtrip.NewNamedRoundTrip(s, name+" with version "+version, x))
		}
	}
	for _, version := range []string{"1999-01-01", malformed, "2099-12-31", t.Revision + "-x"} {
		try("POST", version,
			func(h http.Header) *driver.RoundTrip {
				return roundtrip.PostRequest(s, roundtrip.ManualRequest{Header: h})
			})
	}
	for _, request := range others {
		for _, version := range []string{"1999-01-01", malformed} {
			try(nameOf(request), version, func(h http.Header) *driver.RoundTrip {
				request.Header = h
				return roundtrip.PostRequest(s, request)
			})
		}
	}
	try("a notification", malformed,
		func(h http.Header) *driver.RoundTrip { return roundtrip.PostInitialized(s, h) })
	if t.Server.Sessionless {
		return all
	}
	try("GET", malformed, func(h http.Header) *driver.RoundTrip { return roundtrip.Get(s, h) })
	try("DELETE", malformed, func(h http.Header) *driver.RoundTrip {
		return s.HTTP().Do(driver.HTTPRequest{Method: http.MethodDelete, Header: h})
	})
	return all
}

// refusesMethod reports whether a refusal is about the HTTP method: the server does not serve it in an ordinary session
// either.
func refusesMethod(t *check.T, method string, a driver.HTTPResponse) bool {
	switch {
	case a.OK() || a.StatusCode == http.StatusBadRequest:
		return false
	case a.StatusCode == http.StatusMethodNotAllowed:
		return true
	}
	s := t.Session(check.Process)
	in := newManualSession(t, s)
	usual := s.HTTP().Do(driver.HTTPRequest{Method: method, Header: in})
	awaitHeaders(usual)
	return !usual.Response().OK()
}

func isNotServerError(a driver.HTTPResponse) bool { return a.StatusCode < 500 }

// headerVariant is one of several ways to write the headers of a request.
type headerVariant struct {
	Name   string
	Header http.Header
}

// compareHeaders sends the no-op with the usual headers and with each variant, and expects that the variants are served
// alike. It does so with a request of each other method, and the first variant.
func compareHeaders(t *check.T, usual http.Header, forms []headerVariant) {
	others := requests.Affordable(t, validRequests(t), 2)[1:]
	compareRequest(t, roundtrip.ManualRequest{Header: usual}, forms)
	subject := func(r roundtrip.ManualRequest) check.Subject { return check.NamedSubject(nameOf(r)) }
	check.Each(t, others, subject, func(t *check.T, r roundtrip.ManualRequest) {
		r.Header = usual
		compareRequest(t, r, forms[:1])
	})
}

// compareRequest is compareHeaders with another request. The requests are sent one after the other, since a server may
// refuse a second one at a time.
func compareRequest(t *check.T, request roundtrip.ManualRequest, forms []headerVariant) {
	s, usual := t.Session(), request
	asUsual := roundtrip.PostRequest(s, usual).AwaitReply()
	if asUsual.Err != nil {
		t.Retry(check.Silent, "the request has no answer in its usual form either: %v", asUsual.Err)
	}
	var others []roundtrip.NamedRoundTrip
	for _, f := range forms {
		id := fmt.Sprintf("mcpcheck-%d-%s", s.Mark(), strings.ReplaceAll(f.Name, " ", "-"))
		request.ID, request.Header = invalid.StringIDOrDefault(t, id), f.Header
		x := roundtrip.PostRequest(s, request)
		r := x.AwaitReply()
		others = append(others, roundtrip.NewNamedRoundTrip(s, f.Name, x))
		if r.Err != nil {
			break // a single unanswered request is enough
		}
		if roundtrip.IsNotFound(x.Response()) && roundtrip.IsNotFound(roundtrip.PostRequest(s, usual).AwaitHeaders()) {
			t.Retry(check.Died, "the server has ended the session: %s", check.Got(r))
		}
	}
	eachNamedRoundTrip(t, others, func(t *check.T, other roundtrip.NamedRoundTrip) {
		r := other.AwaitReply()
		if !hasMessage(asUsual) && !hasMessage(r) {
			t.Retry(check.Undecided, "the request is not served in its usual form either: %s", check.Got(asUsual))
		}
		roundtrip.RequireNotFromIntermediary(t, other.Response())
		t.Expect(r).To(beServedLike(asUsual))
	})
}

// supportsVersion reports whether the server negotiates a version when it is requested.
func supportsVersion(t *check.T, version string) bool {
	return handshake.ConnectReplyFor(t, version).Result()["protocolVersion"] == version
}

// eventStreamType is the media type of a stream of events.
const eventStreamType = "text/event-stream"

// omittedCapabilities are params without the capabilities of the client, which every modern request must have.
var omittedCapabilities = check.M{"_meta": check.M{driver.MetaCapabilities: driver.Omitted}}
