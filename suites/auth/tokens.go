package auth

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// tokens are the checks of which requests are served.
var tokens = Suite{
	"auth/unauthenticated-401": Probe(func(t *T) {
		a := gateOf(t).Answer
		skipKeys(t, a)
		t.Expect(a).To(haveStatus(http.StatusUnauthorized))
	}),

	"auth/invalid-token-401": Probe(func(t *T) {
		tries := invalidTokens(t).Tries
		Each(t, tries, attempt.subject, func(t *T, try attempt) {
			a := kit.Own(t, kit.CameOf(try.exchange))
			skipKeys(t, a)
			t.Expect(a).To(haveStatus(http.StatusUnauthorized, http.StatusBadRequest))
		})
		Each(t, tries, attempt.subject, func(t *T, try attempt) {
			t.Warn(kit.CameOf(try.exchange)).To(haveStatus(http.StatusUnauthorized))
		})
	}),

	"auth/expired-token-401": Probe(func(t *T) {
		g := gateOf(t)
		needKind(t, t.Credentials.Expired, "expired")
		a := g.with(t, t.Credentials.Expired)
		skipKeys(t, a)
		skipAsInvalid(t, a)
		t.Expect(a).To(haveStatus(http.StatusUnauthorized))
	}),

	"auth/malformed-authorization": Probe(func(t *T) {
		g := gateOf(t)
		var tries []attempt
		for _, form := range []string{"Bearer", "Basic eHg6eHg=", "Bearer a b"} {
			tries = append(tries, attempt{form, g.knock(t, kit.Request{Header: kit.Header("Authorization", form)})})
		}
		Each(t, tries, attempt.subject, func(t *T, try attempt) {
			a := kit.Own(t, kit.CameOf(try.exchange))
			skipKeys(t, a)
			t.Expect(a).To(haveStatus(http.StatusBadRequest, http.StatusUnauthorized))
		})
	}),

	"auth/wrong-audience-rejected": Probe(func(t *T) {
		g := gateOf(t)
		needKind(t, t.Credentials.OtherAudience, "other-audience")
		a := g.with(t, t.Credentials.OtherAudience)
		skipKeys(t, a)
		t.Expect(a).To(beTurnedAway())
		skipAsInvalid(t, a)
		t.Warn(a).To(haveStatus(http.StatusUnauthorized))
	}),

	"auth/every-request-checked": Probe(func(t *T) {
		Each(t, unarmed(t), attempt.subject, func(t *T, try attempt) {
			came := kit.Own(t, kit.CameOf(try.exchange))
			if came.OK() && !t.Modern() && try.exchange.Reply().Result() == nil {
				t.Yield("it is not served, though its status is %s", kit.Status(came))
			}
			listens := calls(try.exchange, "subscriptions/listen") && gateOf(t).greets(t)
			guarded := listens || calls(try.exchange, "tools/call")
			if came.OK() && !guarded && isPublic(t, try.exchange) {
				t.Skip("the server serves it to everybody")
			}
			t.Expect(came).To(beTurnedAway())
		})
	}),

	"auth/get-and-delete-checked": Probe(func(t *T) {
		if !gateOf(t).greets(t) {
			t.Skip("everybody can have a session")
		}
		s := t.Start() // it has no stream of its own, beside which a server may refuse another one
		if t.Credentials.Bearer != "" && t.Server.Failure == "" {
			enter(t, s, bearing(t.Credentials.Bearer)["Authorization"])
		}
		stream := kit.Get(s, later(t, nil))
		a := kit.Own(t, kit.CameOf(stream))
		stream.Abort()
		t.Expect(!a.IsStream).To(Hold("HTTP 401 for a GET without a token", "%s", a))
		if s.HTTP().SessionID() == "" {
			return
		}
		ended := kit.CameOf(s.HTTP().Do(driver.HTTPRequest{Method: http.MethodDelete, Header: later(t, nil)}))
		if !ended.OK() {
			return
		}
		x := kit.ByHand(s, kit.Request{Header: later(t, bearing(t.Credentials.Bearer)["Authorization"])})
		after := kit.Own(t, kit.CameOf(x))
		t.Expect(after.OK()).To(Hold("HTTP 401 for a DELETE without a token",
			"%s, and the session is gone: %s", ended, after))
	}),

	"auth/token-in-query-ignored": Probe(func(t *T) {
		g := gateOf(t)
		needToken(t)
		if g.Answer.OK() {
			t.Yield("a request without a token is refused with a status of success")
		}
		u := *parsed(t.Site().URL())
		u.RawQuery = strings.TrimPrefix(u.RawQuery+"&access_token="+url.QueryEscape(t.Credentials.Bearer), "&")
		a := kit.Own(t, kit.CameOf(g.knock(t, kit.Request{URL: u.String(), Header: kit.Header("Authorization")})))
		t.Expect(a).To(beTurnedAway())
	}),

	"auth/insufficient-permission-403": Probe(func(t *T) {
		b := beyondScope(t)
		if b.Reply.Result() != nil { // the tool says so itself
			t.Inform(b.Answer).To(haveStatus(http.StatusForbidden))
		}
		t.Expect(b.Answer).To(haveStatus(http.StatusForbidden))
	}),

	"auth/session-bound-to-user": Probe(func(t *T) {
		g := gateOf(t)
		needKind(t, t.Credentials.Second, "second")
		needToken(t)
		if t.Server.Sessionless {
			t.Because(NotOffered).Skip("the server has no sessions")
		}
		if a := g.with(t, t.Credentials.Second); !a.OK() {
			t.Because(NotGiven).Inconclusive("the server does not accept the second token: %s", a)
		}
		s := t.Own()
		a := kit.Own(t, kit.CameOf(kit.ByHand(s, kit.Request{Header: bearing(t.Credentials.Second)})))
		t.Expect(!a.OK()).To(Hold("HTTP 401, 403 or 404 for the session of another user", "%s", a))
	}),

	"auth/error-is-http-level": Probe(func(t *T) {
		Each(t, unarmed(t), attempt.subject, func(t *T, try attempt) {
			came := kit.Own(t, kit.CameOf(try.exchange))
			r := try.exchange.Reply()
			switch {
			case came.OK() && !r.Answered() && (came.IsStream || !came.Ended):
				t.Again("%v", Explain(r.Err))
			case r.Result() != nil:
				t.Yield("it is served without a token")
			case came.OK() && again(t, try).Result() == nil:
				t.Skip("it has an error with the token as well, which may be about anything")
			}
			t.Expect(came).To(beTurnedAway())
		})
	}),

	"auth/no-token-echo": WatchAfter(func(t *T) { invalidTokens(t) }, func(t *T, w Wire) {
		gateOf(t)
		tokens := secrets(t)
		for _, s := range w.Sessions {
			for _, x := range s.HTTP().Exchanges() {
				if calls(x, "tools/call") {
					continue // what a tool says is its own business
				}
				text := saidIn(x.Answer())
				for token, what := range tokens {
					t.Expect(!strings.Contains(text, token)).To(Hold("a token that never comes back",
						"%s, in the answer to a %s", what, x.Method))
				}
			}
		}
	}),
}

// attempt is one of several requests that are sent before the first of them is judged.
type attempt struct {
	with     string // what tells it from the others
	exchange *driver.Exchange
}

func (a attempt) subject() Subject { return Named(a.with) }

// calls reports whether an exchange carries a request of a method.
func calls(x *driver.Exchange, method string) bool { return methodOf(x) == method }

// methodOf is the method of the request that an exchange carries.
func methodOf(x *driver.Exchange) string {
	body, _ := driver.Decode(x.Body).(M)
	method, _ := body["method"].(string)
	return method
}

// unarmed are requests without a token in a session that was begun with one: what is not for everybody at the gate,
// lists and the call of a tool.
func unarmed(t *T) []attempt {
	g := gateOf(t)
	needToken(t)
	return Step(t, "without a token in a session", func(t *T) (tries []attempt) {
		s := t.Own()
		try := func(name, method string, params M) {
			request := kit.Request{Method: method, Params: params, Header: kit.Header("Authorization")}
			tries = append(tries, attempt{name, kit.ByHand(s, request)})
		}
		if g.greets(t) {
			method, params := s.Harmless()
			try(method, method, params)
		}
		for _, method := range kit.ListsOf(t.Server.Capabilities) {
			try(method, method, nil)
		}
		if t.Modern() {
			try("subscriptions/listen", "subscriptions/listen", M{"notifications": M{"toolsListChanged": true}})
		}
		if call, ok := goodCall(t); ok {
			try("tools/call of "+call.Tool.Name, "tools/call", paramsOf(t, call))
		}
		for _, a := range tries {
			kit.CameOf(a.exchange)
		}
		return tries
	})
}

// isPublic reports whether a request is served to a client that has no token at all.
func isPublic(t *T, x *driver.Exchange) bool {
	s := t.Start()
	if !gateOf(t).greets(t) {
		enter(t, s, nil)
	}
	request := requestIn(x)
	request.Header = later(t, nil)
	return kit.CameOf(kit.ByHand(s, request)).OK()
}

// requestIn is the request that an exchange carries, to be made once more.
func requestIn(x *driver.Exchange) kit.Request {
	body, _ := driver.Decode(x.Body).(M)
	params, _ := body["params"].(M)
	return kit.Request{Method: methodOf(x), Params: params}
}

// again makes the request of an attempt with the token of the session.
func again(t *T, a attempt) driver.Reply {
	return kit.ByHand(t.Session(), requestIn(a.exchange)).Reply()
}

// goodCall is a call of a tool that has succeeded with the ordinary token.
func goodCall(t *T) (call kit.ToolCall, ok bool) {
	all := kit.ValidCalls(t).List
	i := slices.IndexFunc(all, succeeded)
	if i < 0 {
		return call, false
	}
	return all[i], true
}

// paramsOf are those of a call that is made again.
func paramsOf(t *T, c kit.ToolCall) M {
	params := M{"name": c.Tool.Name, "arguments": c.Arguments}
	if t.Modern() {
		return kit.Declaring(params, kit.Able)
	}
	return params
}

// succeeded reports whether a tool was called well, and soon enough to call it again.
func succeeded(c kit.ToolCall) bool {
	return c.Reply.Result() != nil && c.Reply.Result()["isError"] != true && !c.Long
}

// invalidToken is one that nobody has issued.
const invalidToken = "mcpcheck-invalid-token"

// unsignedToken is a JWT without a signature, for this server: the ordinary token, if that is one.
func unsignedToken(t *T) string {
	if token := t.Credentials.Unsigned(); token != "" {
		return token
	}
	encode := func(v M) string { return base64.RawURLEncoding.EncodeToString(Compact(v)) }
	header := M{"alg": "none", "typ": "JWT"}
	claims := M{"sub": "mcpcheck", "aud": t.Site().URL(), "exp": 4102444800}
	return encode(header) + "." + encode(claims) + "."
}

// canary is an invalid token that is known again wherever it turns up.
func canary(t *T) string { return fmt.Sprintf("mcpcheck-canary-%016x", uint64(t.Seed)) }

// refusedTokens are what the gate makes of tokens that nobody has issued.
type refusedTokens struct {
	Invalid driver.Answer // to a token that is no JWT
	Tries   []attempt
}

// invalidTokens are tried once, by all checks together.
func invalidTokens(t *T) refusedTokens {
	g := gateOf(t)
	return Step(t, "invalid tokens", func(t *T) (r refusedTokens) {
		knock := func(token string) *driver.Exchange { return g.knock(t, kit.Request{Header: bearing(token)}) }
		r.Tries = []attempt{
			{"an unknown token", knock(invalidToken)},
			{"a JWT without a signature", knock(unsignedToken(t))},
		}
		if token := t.Credentials.Altered(); token != "" {
			r.Tries = append(r.Tries,
				attempt{"the token with another last character", knock(token)},
				attempt{"the token with more after it", knock(t.Credentials.Bearer + "mcpcheck")})
		}
		kit.CameOf(knock(canary(t)))
		for _, try := range r.Tries {
			kit.CameOf(try.exchange)
		}
		r.Invalid = r.Tries[0].exchange.Answer()
		return r
	})
}

// skipAsInvalid ends a check of a token of some kind that is refused as a made-up one is, though not with 401.
func skipAsInvalid(t *T, a driver.Answer) {
	if a.Status != http.StatusUnauthorized && a.Status == invalidTokens(t).Invalid.Status {
		t.Yield("any bad token is answered with %s", kit.Status(a))
	}
}

// beyond is the first operation that needs more scope than the narrow token has.
type beyond struct {
	What   string        // empty: everything that was tried is served
	Answer driver.Answer // to that operation
	Reply  driver.Reply  // of a tool that is served otherwise: an error with status 200
}

// beyondScope tries out what the narrow token is not good for: the greeting, lists and then tools, which the ordinary
// token is good for.
func beyondScope(t *T) beyond {
	gateOf(t)
	needKind(t, t.Credentials.Narrow, "narrow")
	needToken(t)
	b := Step(t, "beyond the scope", func(t *T) beyond {
		s, token := t.Start(), []string{"Bearer " + t.Credentials.Narrow}
		first, welcome := enter(t, s, token)
		if welcome == nil {
			greeting, _ := kit.Greeting(t)
			return beyond{What: greeting, Answer: kit.Own(t, first)}
		}
		for _, method := range kit.ListsOf(t.Server.Capabilities) {
			x := kit.ByHand(s, kit.Request{Method: method, Header: later(t, token)})
			if a := kit.Own(t, kit.CameOf(x)); !a.OK() {
				return beyond{What: method, Answer: a}
			}
		}
		return callBeyond(t, s, token)
	})
	switch {
	case b.What == "":
		t.Inconclusive("nothing that was tried needs more scope than the narrow token has; " +
			"tools count that may be called (--calls)")
	case b.Answer.Status == http.StatusUnauthorized && challengeOf(b.Answer).Params["error"] == "invalid_token":
		t.Because(NotGiven).Inconclusive("the server does not accept the narrow token: %s", b.Answer)
	}
	return b
}

// callBeyond calls the tools that have succeeded with the ordinary token.
func callBeyond(t *T, s *driver.Session, token []string) (b beyond) {
	for _, c := range kit.ValidCalls(t).List {
		if !succeeded(c) {
			continue
		}
		x := kit.ByHand(s, kit.Request{Method: "tools/call", Params: paramsOf(t, c), Header: later(t, token)})
		a := kit.CameOf(x)
		switch {
		case !kit.IsOwn(a):
		case !a.OK():
			return beyond{What: "tools/call of " + c.Tool.Name, Answer: a}
		case b.What == "":
			if r := x.Reply(); r.Answered() && (r.Result() == nil || r.Result()["isError"] == true) {
				b = beyond{What: "tools/call of " + c.Tool.Name, Answer: a, Reply: r}
			}
		}
	}
	return b
}

// shortest is how long a token must be to be known again in a text.
const shortest = 16

// secrets are the tokens of the run that can be known again, with what they are.
func secrets(t *T) map[string]string {
	known := map[string]string{canary(t): "an invalid token"}
	for token, what := range map[string]string{
		t.Credentials.Bearer:        "the token",
		t.Credentials.Second:        "the second token",
		t.Credentials.Expired:       "the expired token",
		t.Credentials.Narrow:        "the narrow token",
		t.Credentials.OtherAudience: "the token for another resource",
	} {
		if len(token) >= shortest {
			known[token] = what
		}
	}
	return known
}

// saidIn is all that the server said in an exchange.
func saidIn(a driver.Answer) (text string) {
	for name, values := range a.Header {
		text += name + ": " + strings.Join(values, "\n") + "\n"
	}
	text += a.Body.String()
	for _, e := range a.Events {
		text += "\n" + e.Data.String()
	}
	return text
}
