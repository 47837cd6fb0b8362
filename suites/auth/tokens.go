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
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// tokenChecks are the checks of which requests are served.
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
			listens := hasMethod(try.roundTrip, "subscriptions/listen") && protectedRequestOf(t).isConnectRequest(t)
			guarded := listens || hasMethod(try.roundTrip, "tools/call")
			if came.OK() && !guarded && isPublic(t, try.roundTrip) {
				t.Skip("the server serves it to everybody")
			}
			t.Expect(came).To(beRejected())
		})
	}),

	"auth/get-and-delete-checked": check.Probe(func(t *check.T) {
		if !protectedRequestOf(t).isConnectRequest(t) {
			t.Skip("everybody can have a session")
		}
		s := t.NewProcess() // it has no stream of its own, beside which a server may refuse another one
		if t.Credentials.Bearer != "" && t.Server.Failure == "" {
			connect(t, s, bearerHeader(t.Credentials.Bearer)["Authorization"])
		}
		stream := roundtrip.Get(s, followUpHeader(t, nil))
		a := roundtrip.RequireHTTPResponse(t, roundtrip.AwaitResponse(stream))
		stream.Abort()
		t.Expect(!a.IsStream).To(check.BeTrue("HTTP 401 for a GET without a token", "%s", a))
		if s.HTTP().SessionID() == "" {
			return
		}
		ended := roundtrip.AwaitResponse(s.HTTP().Do(driver.HTTPRequest{Method: http.MethodDelete,
			Header: followUpHeader(t, nil)}))
		if !ended.OK() {
			return
		}
		x := roundtrip.PostRequest(s,
			roundtrip.ManualRequest{Header: followUpHeader(t, bearerHeader(t.Credentials.Bearer)["Authorization"])})
		after := roundtrip.RequireHTTPResponse(t, roundtrip.AwaitResponse(x))
		t.Expect(after.OK()).To(check.BeTrue("HTTP 401 for a DELETE without a token",
			"%s, and the session is gone: %s", ended, after))
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

	"auth/insufficient-permission-403": check.Probe(func(t *check.T) {
		b := insufficientScopeOf(t)
		if b.Reply.Result() != nil { // the tool says so itself
			t.ExpectAdvice(b.Response).To(haveStatus(http.StatusForbidden))
		}
		t.Expect(b.Response).To(haveStatus(http.StatusForbidden))
	}),

	"auth/session-bound-to-user": check.Probe(func(t *check.T) {
		g := protectedRequestOf(t)
		skipUnlessTokenGiven(t, t.Credentials.SecondPrincipal, "second")
		requireToken(t)
		if t.Server.Sessionless {
			t.WithReason(check.NotOffered).Skip("the server has no sessions")
		}
		if a := g.responseWith(t, t.Credentials.SecondPrincipal); !a.OK() {
			t.WithReason(check.NotGiven).Inconclusive("the server does not accept the second token: %s", a)
		}
		s := t.ExclusiveSession()
		a := roundtrip.RequireHTTPResponse(t,
			roundtrip.AwaitResponse(roundtrip.PostRequest(s,
				roundtrip.ManualRequest{Header: bearerHeader(t.Credentials.SecondPrincipal)})))
		t.Expect(!a.OK()).To(check.BeTrue("HTTP 401, 403 or 404 for the session of another user", "%s", a))
	}),

	"auth/error-is-http-level": check.Probe(func(t *check.T) {
		check.Each(t, requestsWithoutToken(t), sentRequest.subject, func(t *check.T, try sentRequest) {
			came := roundtrip.RequireHTTPResponse(t, roundtrip.AwaitResponse(try.roundTrip))
			r := try.roundTrip.AwaitReply()
			switch {
			case came.OK() && !r.Answered() && (came.IsStream || !came.Ended):
				t.Retry("%v", check.Explain(r.Err))
			case r.Result() != nil:
				t.Yield("it is served without a token")
			case came.OK() && resend(t, try).Result() == nil:
				t.Skip("it has an error with the token as well, which may be about anything")
			}
			t.Expect(came).To(beRejected())
		})
	}),

	"auth/no-token-echo": check.WatchWithSetup(func(t *check.T) { invalidTokens(t) }, func(t *check.T, w check.Wire) {
		protectedRequestOf(t)
		tokens := secrets(t)
		for _, s := range w.Sessions {
			for _, x := range s.HTTP().RoundTrips() {
				if hasMethod(x, "tools/call") {
					continue // what a tool says is its own business
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

// sentRequest is one of several requests that are sent before the first of them is judged.
type sentRequest struct {
	name      string // what tells it from the others
	roundTrip *driver.RoundTrip
}

func (a sentRequest) subject() check.Subject { return check.NamedSubject(a.name) }

// hasMethod reports whether an exchange carries a request of a method.
func hasMethod(x *driver.RoundTrip, method string) bool { return methodOf(x) == method }

// methodOf is the method of the request that an exchange carries.
func methodOf(x *driver.RoundTrip) string {
	body, _ := driver.Decode(x.Body).(check.M)
	method, _ := body["method"].(string)
	return method
}

// requestsWithoutToken are requests without a token in a session that was begun with one: what is not for everybody at
// the gate, lists and the call of a tool.
func requestsWithoutToken(t *check.T) []sentRequest {
	g := protectedRequestOf(t)
	requireToken(t)
	return check.Step(t, "without a token in a session", func(t *check.T) (tries []sentRequest) {
		s := t.ExclusiveSession()
		try := func(name, method string, params check.M) {
			request := roundtrip.ManualRequest{Method: method, Params: params,
				Header: roundtrip.Header("Authorization")}
			tries = append(tries, sentRequest{name, roundtrip.PostRequest(s, request)})
		}
		if g.isConnectRequest(t) {
			method, params := s.NoOp()
			try(method, method, params)
		}
		for _, method := range protocol.ListMethods(t.Server.Capabilities) {
			try(method, method, nil)
		}
		if t.IsModern() {
			try("subscriptions/listen", "subscriptions/listen",
				check.M{"notifications": check.M{"toolsListChanged": true}})
		}
		if call, ok := successfulCall(t); ok {
			try("tools/call of "+call.Tool.Name, "tools/call", callParams(t, call))
		}
		for _, a := range tries {
			roundtrip.AwaitResponse(a.roundTrip)
		}
		return tries
	})
}

// isPublic reports whether a request is served to a client that has no token at all.
func isPublic(t *check.T, x *driver.RoundTrip) bool {
	s := t.NewProcess()
	if !protectedRequestOf(t).isConnectRequest(t) {
		connect(t, s, nil)
	}
	request := requestIn(x)
	request.Header = followUpHeader(t, nil)
	return roundtrip.AwaitResponse(roundtrip.PostRequest(s, request)).OK()
}

// requestIn is the request that an exchange carries, to be made once more.
func requestIn(x *driver.RoundTrip) roundtrip.ManualRequest {
	body, _ := driver.Decode(x.Body).(check.M)
	params, _ := body["params"].(check.M)
	return roundtrip.ManualRequest{Method: methodOf(x), Params: params}
}

// resend makes the request of an attempt with the token of the session.
func resend(t *check.T, a sentRequest) driver.Reply {
	return roundtrip.PostRequest(t.Session(), requestIn(a.roundTrip)).AwaitReply()
}

// successfulCall is a call of a tool that has succeeded with the ordinary token.
func successfulCall(t *check.T) (call toolcall.ToolCall, ok bool) {
	all := toolcall.ValidCalls(t).List
	i := slices.IndexFunc(all, hasSucceeded)
	if i < 0 {
		return call, false
	}
	return all[i], true
}

// callParams are those of a call that is made again.
func callParams(t *check.T, c toolcall.ToolCall) check.M {
	params := check.M{"name": c.Tool.Name, "arguments": c.Arguments}
	if t.IsModern() {
		return protocol.WithCapabilities(params, protocol.AllModernCapabilities)
	}
	return params
}

// hasSucceeded reports whether a tool was called well, and soon enough to call it again.
func hasSucceeded(c toolcall.ToolCall) bool {
	return c.Reply.Result() != nil && c.Reply.Result()["isError"] != true && !c.IsLong
}

// invalidToken is one that nobody has issued.
const invalidToken = "mcpcheck-invalid-token"

// unsignedToken is a JWT without a signature, for this server: the ordinary token, if that is one.
func unsignedToken(t *check.T) string {
	if token := t.Credentials.UnsignedToken(); token != "" {
		return token
	}
	encode := func(v check.M) string { return base64.RawURLEncoding.EncodeToString(text.CompactJSON(v)) }
	header := check.M{"alg": "none", "typ": "JWT"}
	claims := check.M{"sub": "mcpcheck", "aud": t.Site().URL(), "exp": 4102444800}
	return encode(header) + "." + encode(claims) + "."
}

// markerToken is an invalid token that is known again wherever it turns up.
func markerToken(t *check.T) string { return fmt.Sprintf("mcpcheck-canary-%016x", uint64(t.Seed)) }

// invalidTokenResults are what the gate makes of tokens that nobody has issued.
type invalidTokenResults struct {
	UnknownTokenResponse driver.HTTPResponse // to a token that is no JWT
	Requests             []sentRequest
}

// invalidTokens are tried once, by all checks together.
func invalidTokens(t *check.T) invalidTokenResults {
	g := protectedRequestOf(t)
	return check.Step(t, "invalid tokens", func(t *check.T) (r invalidTokenResults) {
		knock := func(token string) *driver.RoundTrip {
			return g.send(t,
				roundtrip.ManualRequest{Header: bearerHeader(token)})
		}
		r.Requests = []sentRequest{
			{"an unknown token", knock(invalidToken)},
			{"a JWT without a signature", knock(unsignedToken(t))},
		}
		if token := t.Credentials.AlteredToken(); token != "" {
			r.Requests = append(r.Requests,
				sentRequest{"the token with another last character", knock(token)},
				sentRequest{"the token with more after it", knock(t.Credentials.Bearer + "mcpcheck")})
		}
		roundtrip.AwaitResponse(knock(markerToken(t)))
		for _, try := range r.Requests {
			roundtrip.AwaitResponse(try.roundTrip)
		}
		r.UnknownTokenResponse = r.Requests[0].roundTrip.Response()
		return r
	})
}

// requireDistinctRefusal ends a check of a token of some kind that is refused as a made-up one is, though not with 401.
func requireDistinctRefusal(t *check.T, a driver.HTTPResponse) {
	if a.StatusCode != http.StatusUnauthorized && a.StatusCode == invalidTokens(t).UnknownTokenResponse.StatusCode {
		t.Yield("any bad token is answered with %s", roundtrip.FormatStatus(a))
	}
}

// insufficientScope is the first operation that needs more scope than the narrow token has.
type insufficientScope struct {
	Operation string              // empty: everything that was tried is served
	Response  driver.HTTPResponse // to that operation
	Reply     driver.Reply        // of a tool that is served otherwise: an error with status 200
}

// insufficientScopeOf tries out what the narrow token is not good for: the greeting, lists and then tools, which the
// ordinary token is good for.
func insufficientScopeOf(t *check.T) insufficientScope {
	protectedRequestOf(t)
	skipUnlessTokenGiven(t, t.Credentials.InsufficientScope, "narrow")
	requireToken(t)
	b := check.Step(t, "beyond the scope", func(t *check.T) insufficientScope {
		s, token := t.NewProcess(), []string{"Bearer " + t.Credentials.InsufficientScope}
		first, welcome := connect(t, s, token)
		if welcome == nil {
			greeting, _ := roundtrip.ConnectRequest(t)
			return insufficientScope{Operation: greeting, Response: roundtrip.RequireHTTPResponse(t, first)}
		}
		for _, method := range protocol.ListMethods(t.Server.Capabilities) {
			x := roundtrip.PostRequest(s, roundtrip.ManualRequest{Method: method, Header: followUpHeader(t, token)})
			if a := roundtrip.RequireHTTPResponse(t, roundtrip.AwaitResponse(x)); !a.OK() {
				return insufficientScope{Operation: method, Response: a}
			}
		}
		return callInsufficientScope(t, s, token)
	})
	switch {
	case b.Operation == "":
		t.Inconclusive("nothing that was tried needs more scope than the narrow token has; " +
			"tools count that may be called (--calls)")
	case b.Response.StatusCode == http.StatusUnauthorized &&
		tokenChallengeOf(b.Response).Params["error"] == "invalid_token":
		t.WithReason(check.NotGiven).Inconclusive("the server does not accept the narrow token: %s", b.Response)
	}
	return b
}

// callInsufficientScope calls the tools that have succeeded with the ordinary token.
func callInsufficientScope(t *check.T, s *driver.Session, token []string) (b insufficientScope) {
	for _, c := range toolcall.ValidCalls(t).List {
		if !hasSucceeded(c) {
			continue
		}
		x := roundtrip.PostRequest(s, roundtrip.ManualRequest{Method: "tools/call", Params: callParams(t, c),
			Header: followUpHeader(t, token)})
		a := roundtrip.AwaitResponse(x)
		switch {
		case !roundtrip.IsFromServer(a):
		case !a.OK():
			return insufficientScope{Operation: "tools/call of " + c.Tool.Name, Response: a}
		case b.Operation == "":
			if r := x.AwaitReply(); r.Answered() && (r.Result() == nil || r.Result()["isError"] == true) {
				b = insufficientScope{Operation: "tools/call of " + c.Tool.Name, Response: a, Reply: r}
			}
		}
	}
	return b
}

// minSecretLength is how long a token must be to be known again in a text.
const minSecretLength = 16

// secrets are the tokens of the run that can be known again, with what they are.
func secrets(t *check.T) map[string]string {
	known := map[string]string{markerToken(t): "an invalid token"}
	for token, what := range map[string]string{
		t.Credentials.Bearer:            "the token",
		t.Credentials.SecondPrincipal:   "the second token",
		t.Credentials.Expired:           "the expired token",
		t.Credentials.InsufficientScope: "the narrow token",
		t.Credentials.OtherAudience:     "the token for another resource",
	} {
		if len(token) >= minSecretLength {
			known[token] = what
		}
	}
	return known
}

// responseText is all that the server said in an exchange.
func responseText(a driver.HTTPResponse) (text string) {
	for name, values := range a.Header {
		text += name + ": " + strings.Join(values, "\n") + "\n"
	}
	text += a.Body.String()
	for _, e := range a.Events {
		text += "\n" + e.Data.String()
	}
	return text
}
