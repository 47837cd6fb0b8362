package http

import (
	"net/http"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/requests"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// legacyChecks are the checks that modern servers ignore or refuse what only legacy revisions have: sessions, GET,
// DELETE, resumption.
var legacyChecks = check.Suite{
	"http/get-405":    legacyMethodCheck(http.MethodGet),
	"http/delete-405": legacyMethodCheck(http.MethodDelete),

	"http/session-id-ignored": check.Probe(func(t *check.T) {
		requests.Valid(t) // before the other session begins
		forms := []headerVariant{{"a session id", roundtrip.Header(roundtrip.SessionIDHeader, "mcpcheck-bogus")}}
		if id := tryLegacyHandshake(t).sessionID; id != "" {
			forms = append(forms,
				headerVariant{"the id of a session of " + catalogue.NewestLegacy,
					roundtrip.Header(roundtrip.SessionIDHeader, id)})
		}
		expectIgnored(t, forms)
	}),

	"http/session-id-not-minted": check.WatchWithSetup(sendLegacyHeaders, func(t *check.T, w check.Wire) {
		JudgeRoundTrips(t, "HTTP answer", RoundTrips(w), isModernRequest, func(t *check.T, r RoundTripRecord) {
			t.Expect(r.Response.Header.Get(roundtrip.SessionIDHeader)).To(check.Satisfy("no Mcp-Session-Id",
				func(id string) bool {
					return id == ""
				}))
		})
	}),

	"http/last-event-id-ignored": check.Probe(func(t *check.T) {
		if supportsLegacy(t) {
			t.Skip(check.NotOffered, "the server speaks older revisions, too, which have Last-Event-ID")
		}
		expectIgnored(t, []headerVariant{{"a Last-Event-ID", roundtrip.Header("Last-Event-ID", "x_1")}})
	}),
}

// expectIgnored requires that headers make no difference for a request of each method that the server serves, and for
// subscriptions/listen.
func expectIgnored(t *check.T, forms []headerVariant) {
	eachVaried(t, append(validRequests(t), listenRequest), len(forms)+1,
		func(t *check.T, request roundtrip.ManualRequest) {
			if request.Method != listenMethod {
				compareRequest(t, request, forms)
				return
			}
			s := t.Session()
			if !tryListen(t, s, nil).opened {
				t.Skip(check.NotOffered, "the server opens no such stream")
			}
			for _, f := range forms {
				t.Expect(tryListen(t, s, f.Header)).To(check.Satisfy("a subscription stream, as without "+f.Name,
					func(k originProbe) bool { return k.opened }))
			}
		})
}

// legacyMethodCheck is the check that a server without legacy revisions answers an HTTP method of theirs with 405.
func legacyMethodCheck(method string) check.Check {
	return check.Probe(func(t *check.T) {
		if supportsLegacy(t) {
			t.Skip(check.NotOffered, "the server speaks older revisions, too, which have %s", method)
		}
		if none := tryLegacyHandshake(t).err; none != nil {
			t.Retry(check.Silent, "it may speak older revisions, which have %s: %v", method,
				check.Explain(none))
		}
		a := roundtrip.RequireHTTPResponse(t, legacyMethodResponses(t)[method])
		skipIfUnauthorized(t, a)
		if slices.ContainsFunc(a.Events, driver.StreamEvent.IsEndpoint) {
			t.Skip(check.NotOffered, "GET opens the stream of HTTP+SSE, for clients of 2024-11-05")
		}
		t.Expect(a).To(check.Satisfy("HTTP 405",
			func(a driver.HTTPResponse) bool { return a.StatusCode == http.StatusMethodNotAllowed }))
	})
}

// legacyMethodResponses are the responses to GET and DELETE as clients of legacy revisions send them.
func legacyMethodResponses(t *check.T) map[string]driver.HTTPResponse {
	return check.Step(t, "methods of older revisions", func(t *check.T) map[string]driver.HTTPResponse {
		s, answers := t.Session(check.ForInvalidInput), map[string]driver.HTTPResponse{}
		in := http.Header{roundtrip.SessionIDHeader: {"mcpcheck"}, roundtrip.VersionHeader: {catalogue.NewestLegacy}}
		for method, header := range map[string]http.Header{
			http.MethodGet: {"Accept": {eventStreamType},
				roundtrip.VersionHeader: {catalogue.NewestLegacy}},
			http.MethodDelete: in,
		} {
			x := s.HTTP().Do(driver.HTTPRequest{Method: method, Header: header})
			if a := roundtrip.AwaitResponse(x); a.IsStream {
				x.AwaitEventFor(timing.ShortWait, driver.StreamEvent.IsDispatched)
			}
			answers[method] = x.Response()
			x.Abort()
		}
		return answers
	})
}

// sendLegacyHeaders sends requests with headers of legacy revisions, which responses may repeat.
func sendLegacyHeaders(t *check.T) {
	all := append(requests.Affordable(t, requests.Valid(t), 1), requests.Request{Method: "server/discover"})
	check.Step(t, "headers of older revisions", func(t *check.T) bool {
		s, header := t.Session(), roundtrip.Header(roundtrip.SessionIDHeader, "mcpcheck-bogus")
		for _, request := range all {
			params := request.With(check.M{"progressToken": "mcpcheck-" + request.Method}) // may get a stream
			roundtrip.AwaitResponse(roundtrip.PostRequest(s, roundtrip.ManualRequest{Method: request.Method,
				Params: params, Header: header}))
		}
		tryListen(t, s, header)
		return true
	})
}

// isModernRequest reports whether an HTTP request holds a message that names a modern revision.
func isModernRequest(r RoundTripRecord) bool {
	params, _ := r.Request.JSON()["params"].(check.M)
	meta, _ := params["_meta"].(check.M)
	return r.Response.StatusCode != 0 && slices.Contains(catalogue.ModernRevisions,
		trimmedText(meta[driver.MetaRevision]))
}

func trimmedText(v any) string {
	s, _ := v.(string)
	return strings.TrimSpace(s)
}

// legacyHandshake says whether a server also supports legacy revisions, with the session that it then began.
type legacyHandshake struct {
	isSupported bool
	// sessionID is the id of that session; empty when there is none.
	sessionID string
	// err is why there was no response; nil when there was one.
	err error
}

// tryLegacyHandshake sends the initialize request of a legacy revision.
func tryLegacyHandshake(t *check.T) legacyHandshake {
	return check.Step(t, "a handshake", func(t *check.T) (h legacyHandshake) {
		s := t.Session(check.Process)
		s.MarkInvalidInputFromStart()
		params := driver.ConnectParams(catalogue.NewestLegacy)
		params["_meta"] = driver.Omitted
		x := roundtrip.RetryWhileBusy(s, func() *driver.RoundTrip {
			return roundtrip.PostRequest(s, roundtrip.ManualRequest{
				Method: "initialize", Params: params,
				Header: http.Header{roundtrip.VersionHeader: nil, methodHeader: nil},
			})
		})
		h.err = x.AwaitReply().Err
		granted := trimmedText(x.AwaitReply().Result()["protocolVersion"])
		if h.isSupported = slices.Contains(catalogue.LegacyRevisions, granted); h.isSupported {
			h.sessionID = x.Response().Header.Get(roundtrip.SessionIDHeader)
		}
		return h
	})
}

// supportsLegacy reports whether the server also supports legacy revisions.
func supportsLegacy(t *check.T) bool {
	older := func(revision string) bool { return slices.Contains(catalogue.LegacyRevisions, revision) }
	return slices.ContainsFunc(t.Server.Revisions, older) || tryLegacyHandshake(t).isSupported
}
