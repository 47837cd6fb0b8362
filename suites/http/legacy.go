package http

import (
	"net/http"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// legacyChecks are the checks of what earlier revisions have that this one has not: sessions, GET, DELETE, resumption.
var legacyChecks = Suite{
	"http/get-405":    legacyMethodCheck(http.MethodGet),
	"http/delete-405": legacyMethodCheck(http.MethodDelete),

	"http/session-id-ignored": Probe(func(t *T) {
		method, params := kit.OrdinaryRequest(t, t.Session())
		forms := []headerVariant{{"a session id", kit.Header(kit.SessionIDHeader, "mcpcheck-bogus")}}
		if id := tryLegacyHandshake(t).sessionID; id != "" {
			forms = append(forms,
				headerVariant{"the id of a session of " + NewestLegacy, kit.Header(kit.SessionIDHeader, id)})
		}
		compareRequest(t, kit.ManualRequest{Method: method, Params: params}, forms)
	}),

	"http/session-id-not-minted": WatchWithSetup(sendLegacyHeaders, func(t *T, w Wire) {
		kit.JudgeRoundTrips(t, "HTTP answer", kit.RoundTrips(w), isModernRequest, func(t *T, r kit.RoundTripRecord) {
			t.Expect(r.Response.Header.Get(kit.SessionIDHeader)).To(Satisfy("no Mcp-Session-Id", func(id string) bool {
				return id == ""
			}))
		})
	}),

	"http/last-event-id-ignored": Probe(func(t *T) {
		if supportsLegacy(t) {
			t.WithReason(NotOffered).Skip("the server speaks older revisions, too, which have Last-Event-ID")
		}
		method, params := kit.OrdinaryRequest(t, t.Session())
		compareRequest(t, kit.ManualRequest{Method: method, Params: params}, []headerVariant{
			{"a Last-Event-ID", kit.Header("Last-Event-ID", "x_1")},
		})
	}),
}

// legacyMethodCheck is the check that a server without older revisions answers an HTTP method of theirs with 405.
func legacyMethodCheck(method string) Check {
	return Probe(func(t *T) {
		if supportsLegacy(t) {
			t.WithReason(NotOffered).Skip("the server speaks older revisions, too, which have %s", method)
		}
		if none := tryLegacyHandshake(t).err; none != nil {
			t.WithReason(Silent).Retry("it may speak older revisions, which have %s: %v", method, Explain(none))
		}
		a := kit.RequireHTTPResponse(t, legacyMethodResponses(t)[method])
		kit.SkipIfUnauthorized(t, a)
		t.Expect(a).To(Satisfy("HTTP 405",
			func(a driver.HTTPResponse) bool { return a.StatusCode == http.StatusMethodNotAllowed }))
	})
}

// legacyMethodResponses are the answers to GET and DELETE as clients of older revisions send them.
func legacyMethodResponses(t *T) map[string]driver.HTTPResponse {
	return Step(t, "methods of older revisions", func(t *T) map[string]driver.HTTPResponse {
		s, answers := t.SessionForInvalidInput(), map[string]driver.HTTPResponse{}
		in := http.Header{kit.SessionIDHeader: {"mcpcheck"}, kit.VersionHeader: {NewestLegacy}}
		for method, header := range map[string]http.Header{
			http.MethodGet: {"Accept": {kit.EventStreamType}, kit.VersionHeader: {NewestLegacy}}, http.MethodDelete: in,
		} {
			answers[method] = kit.AwaitHeaders(s.HTTP().Do(driver.HTTPRequest{Method: method, Header: header}))
		}
		return answers
	})
}

// sendLegacyHeaders makes requests with headers of older revisions, which the answers may repeat.
func sendLegacyHeaders(t *T) {
	Step(t, "headers of older revisions", func(t *T) bool {
		s := t.Session()
		method, params := kit.OrdinaryRequest(t, s)
		for _, request := range []string{method, "server/discover"} {
			x := kit.PostRequest(s, kit.ManualRequest{
				Method: request, Params: params, Header: kit.Header(kit.SessionIDHeader, "mcpcheck-bogus"),
			})
			kit.AwaitResponse(x)
		}
		return true
	})
}

// isModernRequest reports whether an HTTP request holds a message that says by itself which revision it is of.
func isModernRequest(r kit.RoundTripRecord) bool {
	params, _ := r.Request.JSON()["params"].(M)
	meta, _ := params["_meta"].(M)
	return r.Response.StatusCode != 0 && slices.Contains(ModernRevisions, trimmedText(meta[driver.MetaRevision]))
}

func trimmedText(v any) string {
	s, _ := v.(string)
	return strings.TrimSpace(s)
}

// legacyHandshake is whether a server speaks older revisions as well, and the session that it has begun then.
type legacyHandshake struct {
	isSupported bool
	sessionID   string // of the session; empty: there is none
	err         error  // why there was no answer; nil: there was one
}

// tryLegacyHandshake asks the server for the handshake that older revisions begin with.
func tryLegacyHandshake(t *T) legacyHandshake {
	return Step(t, "a handshake", func(t *T) (h legacyHandshake) {
		s := t.NewProcess()
		s.MarkInvalidInputFromStart()
		params := driver.ConnectParams(NewestLegacy)
		params["_meta"] = driver.Omitted
		x := kit.RetryWhileBusy(s, func() *driver.RoundTrip {
			return kit.PostRequest(s, kit.ManualRequest{
				Method: "initialize", Params: params, Header: http.Header{kit.VersionHeader: nil, methodHeader: nil},
			})
		})
		h.err = x.AwaitReply().Err
		granted := trimmedText(x.AwaitReply().Result()["protocolVersion"])
		if h.isSupported = slices.Contains(LegacyRevisions, granted); h.isSupported {
			h.sessionID = x.Response().Header.Get(kit.SessionIDHeader)
		}
		return h
	})
}

// supportsLegacy reports whether the server speaks older revisions as well.
func supportsLegacy(t *T) bool {
	older := func(revision string) bool { return slices.Contains(LegacyRevisions, revision) }
	return slices.ContainsFunc(t.Server.Revisions, older) || tryLegacyHandshake(t).isSupported
}
