package suites

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/onsi/gomega/types"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

// gate is the first thing that a protected server does not serve without a token.
// What is wrong with a token is tried out there.
type gate struct {
	Method string        // initialize or, when everybody can have a session, a list; empty: there is no such thing
	Answer driver.Answer // to the request without a token
}

// gateOf finds the gate of a server. It ends a check that has no use without one.
func gateOf(t *T) gate {
	if !t.Server.Protected && t.Credentials.Bearer == "" {
		t.Skip("the server is not protected, as far as can be told: it asked for no token, and none was given (--bearer-env)")
	}
	g := Shared(t, "without a token", findGate)
	if g.Method == "" {
		t.Skip("the server serves initialize and lists without a token")
	}
	return g
}

func findGate(t *T) gate {
	s := t.Start()
	first, welcome := enter(t, s, nil)
	if welcome == nil {
		return gate{"initialize", decided(t, first)}
	}
	capabilities, _ := welcome["capabilities"].(M)
	for _, method := range listsOf(capabilities) {
		a := decided(t, cameOf(byHand(s, method, nil, later(t, nil))))
		if a.Status == http.StatusUnauthorized || a.Status == http.StatusForbidden {
			return gate{method, a}
		}
	}
	return gate{}
}

// listsOf are the lists of the families that a server declares.
func listsOf(capabilities M) (methods []string) {
	for _, family := range []string{"tools", "prompts", "resources"} {
		if capabilities[family] != nil {
			methods = append(methods, family+"/list")
		}
	}
	return methods
}

// knock asks at the gate, with another request than an ordinary one. It has a session
// of its own.
func (g gate) knock(t *T, r driver.HTTPRequest) *driver.Exchange {
	s := t.Start()
	params := driver.Hello(t.Revision)
	if g.Method != "initialize" {
		enter(t, s, nil)
		r.Header, params = later(t, r.Header["Authorization"]), nil
	}
	r.Body = requestBody(s, g.Method, params)
	return s.Do(r)
}

// with asks at the gate with a token.
func (g gate) with(t *T, token string) driver.Answer {
	return decided(t, cameOf(g.knock(t, driver.HTTPRequest{Header: bearing(token)})))
}

// enter makes the handshake by hand, with values of the Authorization header or
// without it, and returns the result of initialize; nil when it is refused.
func enter(t *T, s *driver.Session, authorization []string) (a driver.Answer, welcome M) {
	hello := helloByHand(t, s, http.Header{"Authorization": authorization})
	if a = cameOf(hello); !a.OK() {
		return a, nil
	}
	if welcome = hello.Reply().Result(); welcome != nil {
		notification := M{"jsonrpc": "2.0", "method": "notifications/initialized"}
		cameOf(s.Do(driver.HTTPRequest{Header: later(t, authorization), Body: Compact(notification)}))
	}
	return a, welcome
}

// later is the headers of a request by hand after the handshake.
func later(t *T, authorization []string) http.Header {
	return http.Header{"Authorization": authorization, "Mcp-Protocol-Version": {t.Revision}}
}

// bearing is the Authorization header with a token.
func bearing(token string) http.Header { return header("Authorization", "Bearer "+token) }

// requestBody is a request with an id of its own.
func requestBody(s *driver.Session, method string, params M) []byte {
	request := M{"jsonrpc": "2.0", "id": fmt.Sprintf("mcpcheck-auth-%d", s.Mark()), "method": method}
	if params != nil {
		request["params"] = params
	}
	return Compact(request)
}

// cameOf waits for the answer to a request by hand: all of it or, of an event
// stream, its head.
func cameOf(x *driver.Exchange) driver.Answer {
	if a := x.Head(); a.Status == 0 || a.IsStream {
		return a
	}
	return x.End()
}

// decided ends a check as inconclusive when it was not the server that answered, or
// not the one question: there is no answer, a proxy is in trouble, or too much was
// asked.
func decided(t *T, a driver.Answer) driver.Answer {
	if !isDecided(a) {
		t.Inconclusive("there is no answer to judge: %s", a)
	}
	return a
}

func isDecided(a driver.Answer) bool {
	undecided := []int{0, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}
	return !slices.Contains(undecided, a.Status)
}

// haveStatus matches an answer with one of the statuses.
func haveStatus(statuses ...int) types.GomegaMatcher {
	names := make([]string, len(statuses))
	for i, status := range statuses {
		names[i] = fmt.Sprint(status)
	}
	return That("HTTP "+strings.Join(names, " or "), func(a driver.Answer) bool { return slices.Contains(statuses, a.Status) })
}

// beTurnedAway matches an answer that serves nothing.
func beTurnedAway() types.GomegaMatcher {
	return That("HTTP 401", func(a driver.Answer) bool { return !a.OK() })
}

// needToken ends a check that wants an ordinary session where none can be had.
func needToken(t *T) {
	switch {
	case t.Credentials.Bearer == "":
		t.Skip("no token was given (--bearer-env)")
	case t.Server.Failure != "":
		t.Inconclusive("%s", t.Server.Failure)
	}
}

// needKind ends a check that wants a further token which was not given.
func needKind(t *T, token, kind string) {
	if token == "" {
		t.Skip("no such token was given (--token-env %s=VARIABLE)", kind)
	}
}

// invalidToken is one that nobody has issued.
const invalidToken = "mcpcheck-invalid-token"

// unsignedToken is a JWT without a signature, for this server.
func unsignedToken(t *T) string {
	encode := func(v M) string { return base64.RawURLEncoding.EncodeToString(Compact(v)) }
	return encode(M{"alg": "none", "typ": "JWT"}) + "." + encode(M{"sub": "mcpcheck", "aud": t.Site().URL(), "exp": 4102444800}) + "."
}

// canary is an invalid token that is known again wherever it turns up.
func canary(t *T) string { return fmt.Sprintf("mcpcheck-canary-%016x", uint64(t.Seed)) }

// refusedTokens are what the gate makes of tokens that nobody has issued.
type refusedTokens struct{ Invalid, Unsigned, Canary driver.Answer }

// invalidTokens are tried once, by all checks together.
func invalidTokens(t *T) refusedTokens {
	g := gateOf(t)
	return Shared(t, "invalid tokens", func(t *T) (r refusedTokens) {
		invalid := g.knock(t, driver.HTTPRequest{Header: bearing(invalidToken)})
		unsigned := g.knock(t, driver.HTTPRequest{Header: bearing(unsignedToken(t))})
		echoed := g.knock(t, driver.HTTPRequest{Header: bearing(canary(t))})
		r.Invalid, r.Unsigned, r.Canary = cameOf(invalid), cameOf(unsigned), cameOf(echoed)
		return r
	})
}

// beyond is the first operation that needs more scope than the narrow token has.
type beyond struct {
	What   string        // empty: everything that was tried is served
	Answer driver.Answer // to that operation
	Reply  driver.Reply  // of a tool that is served otherwise: an error with status 200
}

// beyondScope tries out what the narrow token is not good for: a handshake, lists and
// then tools, which the ordinary token is good for.
func beyondScope(t *T) beyond {
	gateOf(t)
	needKind(t, t.Credentials.Narrow, "narrow")
	needToken(t)
	b := Shared(t, "beyond the scope", func(t *T) beyond {
		s, token := t.Start(), []string{"Bearer " + t.Credentials.Narrow}
		first, welcome := enter(t, s, token)
		if welcome == nil {
			return beyond{What: "initialize", Answer: decided(t, first)}
		}
		for _, method := range listsOf(t.Server.Capabilities) {
			if a := decided(t, cameOf(byHand(s, method, nil, later(t, token)))); !a.OK() {
				return beyond{What: method, Answer: a}
			}
		}
		return callBeyond(t, s, token)
	})
	switch {
	case b.What == "":
		t.Inconclusive("nothing that was tried needs more scope than the narrow token has; tools count that may be called (--calls)")
	case b.Answer.Status == http.StatusUnauthorized && challengeOf(b.Answer).Params["error"] == "invalid_token":
		t.Inconclusive("the narrow token is no good token for this server: %s", b.Answer)
	}
	return b
}

// callBeyond calls the tools that have succeeded with the ordinary token.
func callBeyond(t *T, s *driver.Session, token []string) (b beyond) {
	for _, c := range validCalls(t).List {
		if c.Reply.Result() == nil || c.Reply.Result()["isError"] == true || c.Took > longestCall {
			continue
		}
		x := byHand(s, "tools/call", M{"name": c.Tool.Name, "arguments": c.Arguments}, later(t, token))
		a := cameOf(x)
		switch {
		case !isDecided(a):
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

// challengeOf is the challenge for tokens in an answer; without parameters when there
// is none.
func challengeOf(a driver.Answer) challenge {
	all, _ := challengesOf(a.Header)
	i := slices.IndexFunc(all, func(c challenge) bool { return c.Scheme == "bearer" || c.Scheme == "dpop" })
	if i < 0 {
		return challenge{}
	}
	return all[i]
}

// firstChallenge is the challenge of the 401 that a client without a token gets.
func firstChallenge(t *T) challenge {
	g := gateOf(t)
	if g.Answer.Status != http.StatusUnauthorized {
		t.Skip("a request without a token is not answered with 401 (auth/unauthenticated-401)")
	}
	c := challengeOf(g.Answer)
	if c.Scheme == "" {
		t.Skip("the 401 has no challenge for tokens (auth/www-authenticate-present)")
	}
	return c
}

// refusedRequest is a request of the run that was refused, as a subject of a check.
type refusedRequest struct {
	Subject
	Answer driver.Answer
}

// refusedWith are the requests to the endpoint that were answered with one of the
// statuses in the whole run.
func refusedWith(t *T, w Wire, statuses ...int) (all []refusedRequest) {
	endpoint, _ := url.Parse(t.Site().URL())
	for _, s := range w.Sessions {
		frames := s.Record(0)
		for _, x := range s.Exchanges() {
			u, err := url.Parse(x.URL)
			here := err == nil && u.Host == endpoint.Host && u.Path == endpoint.Path && x.Method != http.MethodOptions
			if a := x.Answer(); here && slices.Contains(statuses, a.Status) {
				all = append(all, refusedRequest{Subject{Name: described(x), Frames: framesOf(frames, x)}, a})
			}
		}
	}
	return all
}

// described names a request without what is secret in it.
func described(x *driver.Exchange) string {
	if x.Header.Get("Authorization") == "" {
		return x.Method + " without a token"
	}
	return x.Method + " with a token"
}

func framesOf(frames []*driver.Frame, x *driver.Exchange) (of []*driver.Frame) {
	for _, f := range frames {
		if f.HTTP == x {
			of = append(of, f)
		}
	}
	return of
}

// eachRefusal tries a check on every 401 of the run; those that are alike count once.
func eachRefusal(t *T, w Wire, judge func(*T, driver.Answer)) {
	var subjects []Subject
	answers, seen := map[string]driver.Answer{}, map[string]bool{}
	for _, r := range refusedWith(t, w, http.StatusUnauthorized) {
		key := fmt.Sprint(r.Name, r.Answer.Header.Values("Www-Authenticate"))
		if seen[key] {
			continue
		}
		seen[key] = true
		if _, taken := answers[r.Name]; taken {
			r.Name = fmt.Sprintf("%s (%d)", r.Name, len(subjects)+1)
		}
		answers[r.Name] = r.Answer
		subjects = append(subjects, r.Subject)
	}
	if len(subjects) == 0 {
		t.Skip("no request was answered with 401")
	}
	t.Each(subjects, func(t *T, s Subject) { judge(t, answers[s.Name]) })
}

// aboutAuthorization matches the text of an error that is about the client's token.
// Words that mean other things as well are left out.
var aboutAuthorization = regexp.MustCompile(`(?i)\b(unauthori[sz]ed|unauthenticated|not authenticated|authentication (is )?required|(access|bearer|auth) token)\b`)

// underTokens are methods that no tool stands behind: their errors are the server's
// own.
func underTokens(method string) bool {
	return method == "initialize" || method == "ping" || strings.HasSuffix(method, "/list")
}

// shortest is how long a token must be to be known again in a text.
const shortest = 16

// secrets are the tokens of the run that can be known again, with what they are.
func secrets(t *T) map[string]string {
	known := map[string]string{canary(t): "an invalid token"}
	for token, what := range map[string]string{
		t.Credentials.Bearer: "the token", t.Credentials.Second: "the second token", t.Credentials.Expired: "the expired token",
		t.Credentials.Narrow: "the narrow token", t.Credentials.OtherAudience: "the token for another resource",
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
	text += string(a.Body)
	for _, e := range a.Events {
		text += "\n" + e.Data
	}
	return text
}
