package auth

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/requests"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// tokenChecks are the checks of which requests are served with which token.
var tokenChecks = check.Suite{
	"auth/unauthenticated-401": check.Probe(func(t *check.T) {
		a := protectedRequestOf(t).Response
		skipIfNoOAuth(t, a)
		t.Expect(a).To(haveStatus(http.StatusUnauthorized))
	}),

	"auth/invalid-token-401": check.Probe(func(t *check.T) {
		tries := invalidTokens(t).Requests
		check.Each(t, tries, sentRequest.subject, func(t *check.T, try sentRequest) {
			a := roundtrip.RequireHTTPResponse(t, roundtrip.AwaitResponse(try.roundTrip))
			skipIfNoOAuth(t, a)
			t.Expect(a).To(haveStatus(http.StatusUnauthorized, http.StatusBadRequest))
		})
		check.Each(t, tries, sentRequest.subject, func(t *check.T, try sentRequest) {
			t.ExpectShould(roundtrip.AwaitResponse(try.roundTrip)).To(haveStatus(http.StatusUnauthorized))
		})
		if t.Credentials.Bearer == "" || t.Server.Failure != "" {
			return // there is no session whose other methods could be tried
		}
		check.Each(t, requestsWithInvalidToken(t), sentRequest.subject, func(t *check.T, try sentRequest) {
			a := roundtrip.RequireHTTPResponse(t, roundtrip.AwaitResponse(try.roundTrip))
			if a.OK() && !isGuarded(t, try.roundTrip) && isPublic(t, try.roundTrip) {
				t.Skip(check.NotApplicable, "the server serves it to everybody")
			}
			if a.OK() && isServedWithoutToken(t, try) {
				t.Yield("it is served without a token, too")
			}
			skipIfNoOAuth(t, a)
			isRefused := haveStatus(http.StatusUnauthorized, http.StatusBadRequest)
			if a.OK() { // as without any token in the session
				isRefused = check.ReportedBy("auth/every-request-checked", isRefused)
			}
			t.Expect(a).To(isRefused)
		})
	}),

	"auth/expired-token-401": check.Probe(func(t *check.T) {
		g := protectedRequestOf(t)
		skipUnlessTokenGiven(t, t.Credentials.Expired, "expired")
		a := g.responseWith(t, t.Credentials.Expired)
		skipIfNoOAuth(t, a)
		requireDistinctRefusal(t, a)
		t.Expect(a).To(haveStatus(http.StatusUnauthorized))
	}),

	"auth/malformed-authorization": check.Probe(func(t *check.T) {
		g := protectedRequestOf(t)
		var tries []sentRequest
		for _, form := range []string{"Bearer", "Basic eHg6eHg=", "Bearer a b"} {
			tries = append(tries,
				sentRequest{form, g.send(t, roundtrip.ManualRequest{Header: roundtrip.Header("Authorization", form)})})
		}
		check.Each(t, tries, sentRequest.subject, func(t *check.T, try sentRequest) {
			a := roundtrip.RequireHTTPResponse(t, roundtrip.AwaitResponse(try.roundTrip))
			skipIfNoOAuth(t, a)
			t.Expect(a).To(haveStatus(http.StatusBadRequest, http.StatusUnauthorized))
		})
		if t.Credentials.Bearer == "" || t.Server.Failure != "" || lacksOAuth(t) {
			return // a server that hands out keys may take them in any form
		}
		tries = nil
		for _, form := range [][2]string{{"the token without a scheme", ""}, {"the token as Basic", "Basic "}} {
			header := roundtrip.Header("Authorization", form[1]+t.Credentials.Bearer)
			tries = append(tries, sentRequest{form[0], g.send(t, roundtrip.ManualRequest{Header: header})})
		}
		check.Each(t, tries, sentRequest.subject, func(t *check.T, try sentRequest) {
			a := roundtrip.RequireHTTPResponse(t, roundtrip.AwaitResponse(try.roundTrip))
			t.ExpectShould(a).To(haveStatus(http.StatusBadRequest, http.StatusUnauthorized))
		})
	}),

	"auth/scheme-case-insensitive": check.Probe(func(t *check.T) {
		g := protectedRequestOf(t)
		requireToken(t)
		if lacksOAuth(t) {
			t.Skip(check.NotApplicable, "a server that hands out keys may take them in any form")
		}
		if a := g.responseWith(t, t.Credentials.Bearer); !a.OK() {
			t.NoVerdict(check.Undecided, "nor is it served with the scheme Bearer: %s", a)
		}
		for _, scheme := range []string{"bearer", "BEARER"} {
			header := roundtrip.Header("Authorization", scheme+" "+t.Credentials.Bearer)
			a := roundtrip.RequireHTTPResponse(t,
				roundtrip.AwaitResponse(g.send(t, roundtrip.ManualRequest{Header: header})))
			t.Expect(a).To(check.Satisfy("the request served with the scheme "+scheme+", as with Bearer",
				driver.HTTPResponse.OK))
		}
	}),

	"auth/wrong-audience-rejected": check.Probe(func(t *check.T) {
		g := protectedRequestOf(t)
		skipUnlessTokenGiven(t, t.Credentials.OtherAudience, "other-audience")
		a := g.responseWith(t, t.Credentials.OtherAudience)
		skipIfNoOAuth(t, a)
		t.Expect(a).To(beRejected())
		requireDistinctRefusal(t, a)
		t.ExpectShould(a).To(haveStatus(http.StatusUnauthorized))
	}),

	"auth/every-request-checked": check.Probe(func(t *check.T) {
		check.Each(t, requestsWithoutToken(t), sentRequest.subject, func(t *check.T, try sentRequest) {
			came := roundtrip.RequireHTTPResponse(t, roundtrip.AwaitResponse(try.roundTrip))
			if came.OK() && !t.IsModern() && try.roundTrip.AwaitReply().Result() == nil {
				t.Yield("it is not served, though its status is %s", roundtrip.FormatStatus(came))
			}
			if came.OK() && !isGuarded(t, try.roundTrip) && isPublic(t, try.roundTrip) {
				t.Skip(check.NotApplicable, "the server serves it to everybody")
			}
			t.Expect(came).To(beRejected())
		})
		if !protectedRequestOf(t).isConnectRequest(t) {
			return
		}
		s := t.Session()
		check.RequestNoOp(t, s)
		x := postCancellation(s, roundtrip.Header("Authorization"))
		t.ExpectShould(roundtrip.RequireHTTPResponse(t, roundtrip.AwaitResponse(x))).To(beRejected())
	}),

	"auth/get-and-delete-checked": check.Probe(func(t *check.T) {
		if !protectedRequestOf(t).isConnectRequest(t) {
			t.Skip(check.NotApplicable, "everybody can have a session")
		}
		s := t.Session(check.Process) // without a GET stream: a server may refuse a second one
		if t.Credentials.Bearer != "" && t.Server.Failure == "" {
			connect(t, s, bearerHeader(t.Credentials.Bearer)["Authorization"])
		}
		expectGetAndDeleteRefused(t, s, "without a token", nil)
		expectGetAndDeleteRefused(t, s, "with an unknown token", bearerHeader(invalidToken)["Authorization"])
	}),

	"auth/token-in-query-ignored": check.Probe(func(t *check.T) {
		g := protectedRequestOf(t)
		requireToken(t)
		if g.Response.OK() {
			t.Yield("a request without a token is refused with a status of success")
		}
		u := *parseURL(t.Site().URL())
		u.RawQuery = strings.TrimPrefix(u.RawQuery+"&access_token="+url.QueryEscape(t.Credentials.Bearer), "&")
		a := roundtrip.RequireHTTPResponse(t,
			roundtrip.AwaitResponse(g.send(t,
				roundtrip.ManualRequest{URL: u.String(), Header: roundtrip.Header("Authorization")})))
		t.Expect(a).To(beRejected())
	}),

	"auth/token-passthrough": check.Probe(func(t *check.T) {
		requireToken(t)
		const least = 8 // a shorter text occurs by chance
		if len(t.Credentials.Bearer) < least {
			t.Skip(check.NotGiven, "a token of fewer than %d characters is not looked for", least)
		}
		u := toolcall.CallUpstream(t)
		defer u.Close()
		u.Release()
		reply := check.RequireServerReply(t, u.Call.Session.AwaitLongRunning(u.Call.Pending))
		for _, request := range u.AllRequests() {
			place := placeIn(request.Text, t.Credentials.Bearer)
			t.DecidedBy(reply).Expect(place == "").To(check.BeTrue(
				"a request of "+u.Call.Tool.Name+" without the token of the client", "the token in %s", place))
		}
		t.Caveat("only requests to the URL in the arguments of %s were seen", u.Call.Tool.Name)
	}),

	"auth/insufficient-permission-403": check.Probe(func(t *check.T) {
		b := insufficientScopeOf(t)
		if b.Reply.Result() != nil { // the tool itself reports the error
			t.ExpectAdvice(b.Response).To(haveStatus(http.StatusForbidden))
		}
		if b.Response.StatusCode != http.StatusForbidden {
			toolcall.RequireNotRateLimited(t, t.Session(), b.Reply)
		}
		t.Expect(b.Response).To(haveStatus(http.StatusForbidden))
	}),

	"auth/session-bound-to-user": check.Probe(func(t *check.T) {
		g := protectedRequestOf(t)
		skipUnlessTokenGiven(t, t.Credentials.SecondPrincipal, "second")
		requireToken(t)
		if t.Server.Sessionless {
			t.Skip(check.NotOffered, "the server has no sessions")
		}
		if a := g.responseWith(t, t.Credentials.SecondPrincipal); !a.OK() {
			t.NoVerdict(check.NotGiven, "the server does not accept the second token: %s", a)
		}
		s := t.Session(check.Exclusive)
		a := roundtrip.RequireHTTPResponse(t,
			roundtrip.AwaitResponse(roundtrip.PostRequest(s,
				roundtrip.ManualRequest{Header: bearerHeader(t.Credentials.SecondPrincipal)})))
		t.Expect(!a.OK()).To(check.ReportedBy("auth/every-request-checked",
			check.BeTrue("HTTP 401, 403 or 404 for the session of another user", "%s", a)))
	}),

	"auth/error-is-http-level": check.Probe(func(t *check.T) {
		g := protectedRequestOf(t)
		check.Each(t, requestsWithoutToken(t), sentRequest.subject, func(t *check.T, try sentRequest) {
			came := roundtrip.RequireHTTPResponse(t, roundtrip.AwaitResponse(try.roundTrip))
			r := try.roundTrip.AwaitReply()
			switch {
			case came.OK() && !r.Answered() && (came.IsStream || !came.Ended):
				t.Retry(check.Undecided, "%v", check.Explain(r.Err))
			case r.Result() != nil:
				t.Skip(check.NotApplicable, "it is served without a token")
			case came.OK() && resend(t, try).Result() == nil:
				t.Skip(check.NotApplicable, "it has an error with the token as well, which may be about anything")
			}
			isRejected := beRejected()
			if g.Response.OK() { // as outside of a session
				isRejected = check.ReportedBy("auth/unauthenticated-401", isRejected)
			}
			t.Expect(came).To(isRejected)
		})
	}),

	"auth/no-token-echo": check.WatchWithSetup(func(t *check.T) { invalidTokens(t) }, func(t *check.T, w check.Wire) {
		protectedRequestOf(t)
		tokens := secrets(t)
		for _, s := range w.Sessions {
			for _, x := range s.HTTP().RoundTrips() {
				if hasMethod(x, "tools/call") {
					continue // tools may return what they like
				}
				text := responseText(x.Response())
				for token, what := range tokens {
					t.Expect(!strings.Contains(text, token)).To(check.BeTrue("a token that never comes back",
						"%s, in the answer to a %s", what, x.Method))
				}
			}
		}
	}),
}

// expectGetAndDeleteRefused requires that GET and DELETE with these values of the Authorization header neither open a
// stream nor end the session, on a connection on which a valid request has come.
func expectGetAndDeleteRefused(t *check.T, s *driver.Session, what string, authorization []string) {
	valid := roundtrip.ManualRequest{Header: followUpHeader(t, nil)}
	if t.Credentials.Bearer != "" {
		valid.Header = followUpHeader(t, bearerHeader(t.Credentials.Bearer)["Authorization"])
		roundtrip.AwaitResponse(roundtrip.PostRequest(s, valid))
		refused := roundtrip.ManualRequest{Header: followUpHeader(t, authorization)}
		if roundtrip.AwaitResponse(roundtrip.PostRequest(s, refused)).OK() {
			t.Yield("POST is served %s as well", what)
		}
	}
	stream := roundtrip.Get(s, followUpHeader(t, authorization))
	a := roundtrip.RequireHTTPResponse(t, roundtrip.AwaitResponse(stream))
	stream.Abort()
	t.Expect(!a.IsStream).To(check.BeTrue("HTTP 401 for a GET "+what, "%s", a))
	if s.HTTP().SessionID() == "" {
		return
	}
	ended := roundtrip.AwaitResponse(s.HTTP().Do(driver.HTTPRequest{Method: http.MethodDelete,
		Header: followUpHeader(t, authorization)}))
	if !ended.OK() {
		return
	}
	after := roundtrip.RequireHTTPResponse(t, roundtrip.AwaitResponse(roundtrip.PostRequest(s, valid)))
	t.Expect(after.OK()).To(check.BeTrue("HTTP 401 for a DELETE "+what, "%s, and the session is gone: %s", ended,
		after))
}

// placeIn says where in the text of an HTTP request a secret is; empty if it is not in it.
func placeIn(request, secret string) string {
	before, _, found := strings.Cut(request, secret)
	lines := strings.Split(before, "\r\n")
	name, _, isHeader := strings.Cut(lines[len(lines)-1], ":")
	switch {
	case !found:
		return ""
	case len(lines) == 1:
		return "its URL"
	case slices.Contains(lines, "") || !isHeader:
		return "its body"
	}
	return "its header " + name
}

// sentRequest is one of several requests that are sent before the first of them is judged.
type sentRequest struct {
	name      string
	roundTrip *driver.RoundTrip
}

func (a sentRequest) subject() check.Subject { return check.NamedSubject(a.name) }

// hasMethod reports whether a round trip carries a request of a method.
func hasMethod(x *driver.RoundTrip, method string) bool { return methodOf(x) == method }

// methodOf is the method of the request in a round trip.
func methodOf(x *driver.RoundTrip) string {
	body, _ := driver.Decode(x.Body).(check.M)
	method, _ := body["method"].(string)
	return method
}

// requestsWithoutToken are requests without a token in a session that was begun with one: a no-op if the session itself
// is protected, the lists, a request of each method that names something, and a subscription. Each follows a request
// with the token, so that the connection has carried that when it is used again.
func requestsWithoutToken(t *check.T) []sentRequest {
	g := protectedRequestOf(t)
	requireToken(t)
	valid := requests.Affordable(t, requests.Valid(t), 2)
	return check.Step(t, "without a token in a session", func(t *check.T) (tries []sentRequest) {
		s := t.Session(check.Exclusive)
		try := func(name, method string, params check.M) {
			request := roundtrip.ManualRequest{Method: method, Params: params,
				Header: roundtrip.Header("Authorization")}
			s.Call(s.NoOp())
			x := roundtrip.PostRequest(s, request)
			roundtrip.AwaitResponse(x)
			tries = append(tries, sentRequest{name, x})
		}
		if g.isConnectRequest(t) {
			method, params := s.NoOp()
			try(method, method, params)
		}
		for _, list := range protocol.DeclaredLists(t) {
			try(list.Method, list.Method, nil)
		}
		if t.Server.Declares("logging") && !t.IsModern() {
			try("logging/setLevel", "logging/setLevel", check.M{"level": "info"})
		}
		for _, r := range valid {
			if r.Name != "" && r.Method != "tools/call" {
				try(r.Method+" of "+r.Name, r.Method, r.Params)
			}
		}
		if t.IsModern() {
			try("subscriptions/listen", "subscriptions/listen",
				check.M{"notifications": check.M{"toolsListChanged": true}})
		}
		if call, ok := successfulCall(t); ok {
			try("tools/call of "+call.Tool.Name, "tools/call", callParams(t, call))
		}
		return tries
	})
}

// requestsWithInvalidToken are requests of each method that the server serves, with a token that nobody has issued, in
// a session that was begun with a valid one.
func requestsWithInvalidToken(t *check.T) []sentRequest {
	protectedRequestOf(t)
	valid := requests.Affordable(t, requests.Valid(t), 2)
	return check.Step(t, "an invalid token in a session", func(t *check.T) (tries []sentRequest) {
		s := t.Session(check.Exclusive)
		for _, r := range valid {
			if r.Method == "server/discover" && !protectedRequestOf(t).isConnectRequest(t) {
				continue
			}
			s.Call(s.NoOp()) // so that the connection has carried a valid token
			x := roundtrip.PostRequest(s, roundtrip.ManualRequest{Method: r.Method, Params: r.Params,
				Header: bearerHeader(invalidToken)})
			roundtrip.AwaitResponse(x)
			tries = append(tries, sentRequest{"an unknown token with " + r.Method, x})
		}
		if !t.IsModern() && protectedRequestOf(t).isConnectRequest(t) {
			x := postCancellation(s, bearerHeader(invalidToken))
			roundtrip.AwaitResponse(x)
			tries = append(tries, sentRequest{"an unknown token with a notification", x})
		}
		return tries
	})
}

// isServedWithoutToken reports whether a request of the same method has a result without a token, or a notification is
// accepted.
func isServedWithoutToken(t *check.T, try sentRequest) bool {
	if methodOf(try.roundTrip) == "notifications/cancelled" {
		x := postCancellation(t.Session(), roundtrip.Header("Authorization"))
		return roundtrip.AwaitResponse(x).OK()
	}
	return slices.ContainsFunc(requestsWithoutToken(t), func(r sentRequest) bool {
		return methodOf(r.roundTrip) == methodOf(try.roundTrip) && r.roundTrip.AwaitReply().Result() != nil
	})
}

// postCancellation posts the cancellation of a no-op, with other headers.
func postCancellation(s *driver.Session, header http.Header) *driver.RoundTrip {
	return s.HTTP().Do(driver.HTTPRequest{Header: header, Body: text.CompactJSON(invalid.NewCancellation(s))})
}

// isGuarded reports whether a request must not be served without a token: the call of a tool and, where nobody can
// begin without one, whatever names something or opens a stream.
func isGuarded(t *check.T, x *driver.RoundTrip) bool {
	switch methodOf(x) {
	case "tools/call":
		return true
	case "subscriptions/listen", "resources/read", "prompts/get", "completion/complete", "notifications/cancelled":
		return protectedRequestOf(t).isConnectRequest(t)
	}
	return false
}

// isPublic reports whether a request is served to a client that has no token at all.
func isPublic(t *check.T, x *driver.RoundTrip) bool {
	s := t.Session(check.Process)
	if !protectedRequestOf(t).isConnectRequest(t) {
		connect(t, s, nil)
	}
	request := requestIn(x)
	request.Header, request.OnNewConnection = followUpHeader(t, nil), true
	return roundtrip.AwaitResponse(roundtrip.PostRequest(s, request)).OK()
}

// requestIn is the request in a round trip, to be sent again.
func requestIn(x *driver.RoundTrip) roundtrip.ManualRequest {
	body, _ := driver.Decode(x.Body).(check.M)
	params, _ := body["params"].(check.M)
	return roundtrip.ManualRequest{Method: methodOf(x), Params: params}
}

// resend sends a request again with the token of the session.
func resend(t *check.T, a sentRequest) driver.Reply {
	return roundtrip.PostRequest(t.Session(), requestIn(a.roundTrip)).AwaitReply()
}

// successfulCall is a call of a tool that succeeded with the ordinary token.
func successfulCall(t *check.T) (call toolcall.ToolCall, ok bool) {
	all := toolcall.ValidCalls(t).List
	i := slices.IndexFunc(all, hasSucceeded)
	if i < 0 {
		return call, false
	}
	return all[i], true
}

// callParams are the params to repeat a call.
func callParams(t *check.T, c toolcall.ToolCall) check.M {
	params := check.M{"name": c.Tool.Name, "arguments": c.Arguments}
	if t.IsModern() {
		return protocol.WithCapabilities(params, protocol.AllModernCapabilities)
	}
	return params
}

// hasSucceeded reports whether a call succeeded, and quickly enough to repeat it.
func hasSucceeded(c toolcall.ToolCall) bool {
	return c.Reply.Result() != nil && c.Reply.Result()["isError"] != true && !c.IsLong
}

// invalidToken is a token that nobody has issued.
const invalidToken = "mcpcheck-invalid-token"

// unsignedToken is a JWT without a signature: that of the ordinary token if it is a JWT, or else one that names the
// server as its audience.
func unsignedToken(t *check.T) string {
	if token := t.Credentials.UnsignedToken(); token != "" {
		return token
	}
	encode := func(v check.M) string { return base64.RawURLEncoding.EncodeToString(text.CompactJSON(v)) }
	header := check.M{"alg": "none", "typ": "JWT"}
	claims := check.M{"sub": "mcpcheck", "aud": t.Site().URL(), "exp": 4102444800}
	return encode(header) + "." + encode(claims) + "."
}

// markerToken is an invalid token that can be recognized in responses. It depends on the seed only.
func markerToken(t *check.T) string { return fmt.Sprintf("mcpcheck-canary-%016x", uint64(t.Seed)) }

// invalidTokenResults are the protected requests that were sent with tokens that nobody has issued.
type invalidTokenResults struct {
	// UnknownTokenResponse is the response to a token that is not a JWT.
	UnknownTokenResponse driver.HTTPResponse
	Requests             []sentRequest
}

// invalidTokens sends the protected request with invalid tokens.
func invalidTokens(t *check.T) invalidTokenResults {
	g := protectedRequestOf(t)
	return check.Step(t, "invalid tokens", func(t *check.T) (r invalidTokenResults) {
		send := func(token string) *driver.RoundTrip {
			return g.send(t,
				roundtrip.ManualRequest{Header: bearerHeader(token)})
		}
		r.Requests = []sentRequest{
			{"an unknown token", send(invalidToken)},
			{"a JWT without a signature", send(unsignedToken(t))},
		}
		if token := t.Credentials.AlteredToken(); token != "" {
			r.Requests = append(r.Requests,
				sentRequest{"the token with another last character", send(token)},
				sentRequest{"the token with more after it", send(t.Credentials.Bearer + "mcpcheck")})
		}
		roundtrip.AwaitResponse(send(markerToken(t)))
		for _, try := range r.Requests {
			roundtrip.AwaitResponse(try.roundTrip)
		}
		r.UnknownTokenResponse = r.Requests[0].roundTrip.Response()
		return r
	})
}

// requireDistinctRefusal ends a check of a kind of token when the server refuses it with the same status, other than
// 401, as a made-up token.
func requireDistinctRefusal(t *check.T, a driver.HTTPResponse) {
	if a.StatusCode != http.StatusUnauthorized && a.StatusCode == invalidTokens(t).UnknownTokenResponse.StatusCode {
		t.Yield("any bad token is answered with %s", roundtrip.FormatStatus(a))
	}
}

// minSecretLength is how long a token must be to be recognized in a text.
const minSecretLength = 16

// secrets are the tokens of the run that can be recognized, with their names for messages.
func secrets(t *check.T) map[string]string {
	known := map[string]string{markerToken(t): "an invalid token"}
	for token, what := range map[string]string{
		t.Credentials.Bearer:            "the token",
		t.Credentials.SecondPrincipal:   "the second token",
		t.Credentials.Expired:           "the expired token",
		t.Credentials.InsufficientScope: "the narrow token",
		t.Credentials.BroadScope:        "the broad token",
		t.Credentials.OtherAudience:     "the token for another resource",
	} {
		if len(token) >= minSecretLength {
			known[token] = what
		}
	}
	return known
}

// responseText is everything in a response: headers, body and events.
func responseText(a driver.HTTPResponse) (all string) {
	for name, values := range a.Header {
		all += name + ": " + strings.Join(values, "\n") + "\n"
	}
	all += a.Body.String()
	for _, e := range a.Events {
		all += "\n" + e.Data.String()
	}
	return all
}
