package http

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

var headers = Suite{
	"http/accept-both-any-order": Probe(func(t *T) {
		compare(t, nil, []form{
			{"the types in the other order", kit.Header("Accept", "text/event-stream, application/json")},
			{"q-parameters", kit.Header("Accept", "application/json;q=1.0, text/event-stream;q=0.5")},
			{"more white space", kit.Header("Accept", "application/json ,  text/event-stream")},
			{"two header lines", kit.Header("Accept", "application/json", "text/event-stream")},
		})
	}),

	"http/missing-accept": Probe(func(t *T) {
		s := t.Session()
		onlyJSON := kit.ByHand(s, kit.Request{Header: kit.Header("Accept", kit.JSONType)})
		none := kit.ByHand(s, kit.Request{Header: kit.Header("Accept")})
		for _, x := range []*driver.Exchange{onlyJSON, none} {
			kit.Own(t, x.Head())
			t.Expect(x.Answer()).To(That("it served, or refused with 4xx", isNoServerError))
		}
		const want = "no event stream for a client that accepts only JSON"
		t.Inform(onlyJSON.Answer()).To(That(want, func(a driver.Answer) bool { return !a.IsStream }))
	}),

	"http/content-type-with-charset": Probe(func(t *T) {
		compare(t, nil, []form{
			{"a charset", kit.Header("Content-Type", "application/json; charset=utf-8")},
			{"another letter case", kit.Header("Content-Type", "Application/JSON")},
		})
	}),

	"http/non-json-content-type-rejected": Fresh(func(t *T) {
		x := kit.HelloByHand(t, t.Start(), kit.Header("Content-Type", "text/plain"))
		r := x.Reply()
		kit.Own(t, x.Answer())
		t.Expect(r).To(That("initialize as text/plain refused", func(r driver.Reply) bool { return r.Result() == nil }))
	}),

	"http/version-header-invalid-400": Probe(func(t *T) {
		kit.EachAttempt(t, withWrongVersions(t), func(t *T, x kit.Attempt) {
			a := x.Answer()
			kit.NotForeign(t, a)
			if x.Method != http.MethodPost && refusesMethod(t, x.Method, a) {
				t.Because(NotOffered).Skip("the server takes no %s", x.Method)
			}
			t.Expect(a).To(That("HTTP 400", func(a driver.Answer) bool { return a.Status == http.StatusBadRequest }))
		})
	}),

	"http/version-header-valid-accepted": Probe(func(t *T) {
		compare(t, kit.Header(kit.VersionHeader), []form{
			{"the negotiated version", kit.Header("MCP-Protocol-Version", t.Revision)},
			{"lower case", kit.Header("mcp-protocol-version", t.Revision)},
			{"capitals", kit.Header("MCP-PROTOCOL-VERSION", t.Revision)},
		})
	}),

	"http/version-header-absent-served": Probe(func(t *T) {
		if t.Server.Sessionless && !supports(t, "2025-03-26") {
			t.Inconclusive("without sessions the server would have to assume 2025-03-26, which it does not support")
		}
		compare(t, nil, []form{{"no header", kit.Header(kit.VersionHeader)}})
	}),

	"http/version-header-on-initialize": Fresh(func(t *T) {
		x := kit.HelloByHand(t, t.Start(), kit.Header(kit.VersionHeader, t.Revision))
		r := x.Reply()
		kit.Own(t, x.Answer())
		t.Expect(r).To(BeResult(), "initialize with the version in the header, too")
	}),

	"http/version-header-differs-from-session": Probe(func(t *T) {
		i := slices.IndexFunc(Handshake, func(version string) bool {
			return version != t.Revision && supports(t, version)
		})
		if i < 0 {
			t.Because(NotOffered).Skip("the server supports no other version")
		}
		s := t.Session()
		a := kit.ByHand(s, kit.Request{Header: kit.Header(kit.VersionHeader, Handshake[i])}).Head()
		kit.Own(t, a)
		t.Expect(a).To(That("it served, or refused with 4xx", isNoServerError))
	}),
}

// withWrongVersions are requests with versions that do not exist, one after the other in a session without a stream of
// its own; DELETE, which may end it, comes last.
func withWrongVersions(t *T) (all []kit.Attempt) {
	s := t.Start()
	in := kit.ByHandSession(t, s)
	ask := func() *driver.Exchange { return kit.ByHand(s, kit.Request{Header: in}) }
	if usual := kit.InTurn(s, ask); !usual.Answer().OK() {
		t.Again("the request is not served with the negotiated version either: %s", usual.Answer())
	}
	try := func(name, version string, make func(http.Header) *driver.Exchange) {
		wrong := in.Clone()
		wrong.Set(kit.VersionHeader, version)
		x := kit.InTurn(s, func() *driver.Exchange { return make(wrong) })
		kit.HeadOf(x)
		all = append(all, kit.AttemptOf(s, name+" with version "+version, x))
	}
	for _, version := range []string{"1999-01-01", "not-a-version", "2099-12-31", t.Revision + "-x"} {
		try("POST", version, func(h http.Header) *driver.Exchange { return kit.ByHand(s, kit.Request{Header: h}) })
	}
	try("a notification", "not-a-version", func(h http.Header) *driver.Exchange { return kit.InitializedByHand(s, h) })
	if t.Server.Sessionless {
		return all
	}
	try("GET", "not-a-version", func(h http.Header) *driver.Exchange { return kit.Get(s, h) })
	try("DELETE", "not-a-version", func(h http.Header) *driver.Exchange {
		return s.HTTP().Do(driver.HTTPRequest{Method: http.MethodDelete, Header: h})
	})
	return all
}

// refusesMethod reports whether a refusal is about the method: the server does not serve it in an ordinary session
// either.
func refusesMethod(t *T, method string, a driver.Answer) bool {
	switch {
	case a.OK() || a.Status == http.StatusBadRequest:
		return false
	case a.Status == http.StatusMethodNotAllowed:
		return true
	}
	s := t.Start()
	in := kit.ByHandSession(t, s)
	usual := s.HTTP().Do(driver.HTTPRequest{Method: method, Header: in})
	kit.HeadOf(usual)
	return !usual.Answer().OK()
}

func isNoServerError(a driver.Answer) bool { return a.Status < 500 }

// form is one of several ways to write the headers of a request.
type form struct {
	Name   string
	Header http.Header
}

// compare makes the session's harmless request with the usual headers and in other forms, and wants all of these served
// if any is.
func compare(t *T, usual http.Header, forms []form) { compareAs(t, kit.Request{Header: usual}, forms) }

// compareAs is compare with a request. They go one after the other: a server may refuse a second request at a time.
func compareAs(t *T, request kit.Request, forms []form) {
	s := t.Session()
	asUsual := kit.ByHand(s, request).Reply()
	if asUsual.Err != nil {
		t.Because(Silent).Again("the request has no answer in its usual form either: %v", asUsual.Err)
	}
	var others []kit.Attempt
	for _, f := range forms {
		id := fmt.Sprintf("mcpcheck-%d-%s", s.Mark(), strings.ReplaceAll(f.Name, " ", "-"))
		request.ID, request.Header = kit.TextID(t, id), f.Header
		x := kit.ByHand(s, request)
		r := x.Reply()
		others = append(others, kit.AttemptOf(s, f.Name, x))
		if r.Err != nil {
			break // one that has no answer is enough
		}
	}
	kit.EachAttempt(t, others, func(t *T, other kit.Attempt) {
		r := other.Reply()
		if !isServed(asUsual) && !isServed(r) {
			t.Again("the request is not served in its usual form either: %s", Got(asUsual))
		}
		kit.NotForeign(t, other.Answer())
		t.Expect(r).To(beAsUsual(asUsual))
	})
}

// supports reports whether the server negotiates a version.
func supports(t *T, version string) bool {
	return kit.WelcomeFor(t, version).Result()["protocolVersion"] == version
}
