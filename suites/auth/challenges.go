package auth

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// challengeChecks are the checks of the challenges and errors in refusals.
var challengeChecks = check.Suite{
	"auth/www-authenticate-present": check.WatchWithSetup(
		func(t *check.T) { invalidTokens(t) },
		func(t *check.T, w check.Wire) {
			eachRefusal(t, w, func(t *check.T, a driver.HTTPResponse) {
				t.Expect(a).To(check.Satisfy("a WWW-Authenticate header", hasChallenge))
				t.ExpectShould(tokenChallengeOf(a).Scheme != "").To(check.BeTrue("a challenge for Bearer", "%s",
					challengeLine(a)))
			})
		},
	),

	"auth/www-authenticate-syntax": check.WatchWithSetup(func(t *check.T) { invalidTokens(t) },
		func(t *check.T, w check.Wire) {
			eachRefusal(t, w, func(t *check.T, a driver.HTTPResponse) {
				if !hasChallenge(a) {
					t.Yield("the 401 has no WWW-Authenticate header")
				}
				_, err := challengesOf(a.Header)
				t.Expect(err == nil).To(check.BeTrue("a challenge as the grammar of HTTP has it",
					"%v, in %s", err, challengeLine(a)))
			})
		}),

	"auth/resource-metadata-in-challenge": check.Probe(func(t *check.T) {
		c := requireChallenge(t)
		_, has := c.Params["resource_metadata"]
		switch {
		case !has && t.Revision >= "2025-11-25":
			t.Skip(check.NotApplicable, "the metadata may be found in another way")
		case !has && lacksOAuth(t):
			t.Yield("there is no sign of OAuth")
		case !has && resourceMetadataOf(t).Found == nil:
			requireKnownRevision(t)
		}
		t = t.DecidedBy(protectedRequestOf(t).Response)
		t.Expect(c.Params).To(check.Satisfy("a parameter resource_metadata", hasParam("resource_metadata")))
		t.Expect(c.Params["resource_metadata"]).To(check.Satisfy("an absolute URL as resource_metadata", isAbsolute))
	}),

	"auth/challenge-scope": check.Probe(func(t *check.T) {
		c := requireChallenge(t)
		if scopes, _ := requireMetadataObject(t)["scopes_supported"].([]any); len(scopes) == 0 {
			t.Skip(check.NotOffered, "the server uses no scopes, as far as its metadata tells")
		}
		t.DecidedBy(protectedRequestOf(t).Response).Expect(c.Params).To(check.Satisfy("a parameter scope",
			hasParam("scope")))
	}),

	"auth/no-offline-access": check.Probe(func(t *check.T) {
		challenged := strings.Fields(tokenChallengeOf(protectedRequestOf(t).Response).Params["scope"])
		var supported []any
		if found := resourceMetadataOf(t).Found; found != nil {
			supported, _ = found.Object["scopes_supported"].([]any)
		}
		if len(challenged) == 0 && len(supported) == 0 {
			t.Skip(check.NotOffered, "the server names no scopes")
		}
		const scope, want = "offline_access", "no scope offline_access, which is nothing that the server needs"
		t.DecidedBy(protectedRequestOf(t).Response).Expect(!slices.Contains(challenged, scope)).To(check.BeTrue(want,
			"%s in the challenge", scope))
		t.DecidedBy(resourceMetadataOf(t).Found).Expect(!slices.Contains(supported, any(scope))).To(
			check.BeTrue(want, "%s in scopes_supported", scope))
	}),

	"auth/insufficient-scope-403": check.Probe(func(t *check.T) {
		b := insufficientScopeOf(t)
		if b.Response.StatusCode != http.StatusForbidden {
			t.Yield("too little scope is not answered with 403")
		}
		c := tokenChallengeOf(b.Response)
		t = t.DecidedBy(b.Response)
		t.Expect(c.Params["error"]).To(check.BeOneOf("insufficient_scope"))
		t.Expect(c.Params).To(check.Satisfy("a parameter scope", hasParam("scope")))
		t.Expect(c.Params).To(check.Satisfy("a parameter resource_metadata", hasParam("resource_metadata")))
	}),

	"auth/scope-hierarchy": check.Probe(func(t *check.T) {
		skipUnlessTokenGiven(t, t.Credentials.BroadScope, "broad")
		b := insufficientScopeOf(t)
		if b.Response.StatusCode != http.StatusForbidden {
			t.Yield("too little scope is not answered with 403")
		}
		a := b.responseTo(t, t.Credentials.BroadScope)
		if a.StatusCode == http.StatusUnauthorized {
			t.NoVerdict(check.NotGiven, "the server does not accept the broad token: %s", a)
		}
		t.Expect(a).To(check.Satisfy("no HTTP 403 for the broad token", func(a driver.HTTPResponse) bool {
			return a.StatusCode != http.StatusForbidden
		}), "%s", b.Operation)
	}),

	"auth/scope-complete-challenge": check.Probe(func(t *check.T) {
		needed := check.DeclarationsOf(t).Scopes
		if len(needed) == 0 {
			t.Skip(check.NotGiven, "it is not declared which scopes a tool needs (scopes in mcpcheck.yaml)")
		}
		b := insufficientScopeOf(t)
		tool, isCall := strings.CutPrefix(b.Operation, callOf)
		switch {
		case b.Response.StatusCode != http.StatusForbidden:
			t.Yield("too little scope is not answered with 403")
		case !isCall || needed[tool] == nil:
			t.NoVerdict(check.NotGiven, "the narrow token is refused for %s, and its scopes are not declared",
				b.Operation)
		}
		given := strings.Fields(tokenChallengeOf(b.Response).Params["scope"])
		if len(given) == 0 {
			t.Yield("the challenge has no scope")
		}
		for _, scope := range needed[tool] {
			t.DecidedBy(b.Response).Expect(slices.Contains(given, scope)).To(check.BeTrue(
				"a challenge with all that the narrow token lacks for "+tool+": "+strings.Join(needed[tool], " "),
				"%s", strings.Join(given, " ")))
		}
	}),

	"auth/invalid-token-error-code": check.Probe(func(t *check.T) {
		r := invalidTokens(t)
		c := requireChallenge(t)
		const want = "no error in the challenge for a missing token"
		t.DecidedBy(protectedRequestOf(t).Response).Expect(c.Params["error"]).To(check.Satisfy(want,
			func(code string) bool { return code == "" }))
		if r.UnknownTokenResponse.StatusCode != http.StatusUnauthorized || !hasChallenge(r.UnknownTokenResponse) {
			t.Yield("a bad token brings no 401 with a challenge")
		}
		t.DecidedBy(r.UnknownTokenResponse).Expect(tokenChallengeOf(r.UnknownTokenResponse).Params["error"]).
			To(check.BeOneOf("invalid_token"))
	}),
}

func hasChallenge(a driver.HTTPResponse) bool { return len(a.Header.Values("Www-Authenticate")) > 0 }

// challengeLine shows the challenges of a response as they were sent.
func challengeLine(a driver.HTTPResponse) string {
	return "WWW-Authenticate: " + strings.Join(a.Header.Values("Www-Authenticate"), ", ")
}

func hasParam(name string) func(params map[string]string) bool {
	return func(params map[string]string) bool { return params[name] != "" }
}

// tokenChallengeOf is the challenge for tokens in a response; it has no parameters when there is none. Challenges for
// Bearer and DPoP are merged, whatever their order; parameters for Bearer take precedence.
func tokenChallengeOf(a driver.HTTPResponse) challenge {
	all, _ := challengesOf(a.Header)
	whole := challenge{Params: map[string]string{}}
	for _, scheme := range []string{"bearer", "dpop"} {
		for _, c := range all {
			if c.Scheme != scheme {
				continue
			}
			whole.Scheme = cmp.Or(whole.Scheme, scheme)
			for name, value := range c.Params {
				whole.Params[name] = cmp.Or(whole.Params[name], value)
			}
		}
	}
	return whole
}

// requireChallenge is the challenge in the 401 for a request without a token. It ends a check when there is none.
func requireChallenge(t *check.T) challenge {
	g := protectedRequestOf(t)
	skipIfNoOAuth(t, g.Response)
	if g.Response.StatusCode != http.StatusUnauthorized {
		t.Yield("a request without a token is not answered with 401")
	}
	if _, err := challengesOf(g.Response.Header); err != nil {
		t.Yield("the challenge cannot be read")
	}
	c := tokenChallengeOf(g.Response)
	if c.Scheme == "" {
		t.Yield("the 401 has no challenge for tokens")
	}
	return c
}

// refusedRequest is a request of the run that was refused.
type refusedRequest struct {
	name     string
	frames   []*driver.Frame
	response driver.HTTPResponse
}

func (r refusedRequest) subject() check.Subject { return check.Subject{Name: r.name, Frames: r.frames} }

// requestsRefusedWith are the requests to the endpoint in the whole run that were answered with one of the statuses.
func requestsRefusedWith(t *check.T, w check.Wire, statuses ...int) (all []refusedRequest) {
	endpoint, _ := url.Parse(t.Site().URL())
	for _, s := range w.Sessions {
		frames := s.FramesSince(0)
		for _, x := range s.HTTP().RoundTrips() {
			u, err := url.Parse(x.URL)
			here := err == nil && u.Host == endpoint.Host && u.Path == endpoint.Path && x.Method != http.MethodOptions
			if a := x.Response(); here && slices.Contains(statuses, a.StatusCode) {
				all = append(all, refusedRequest{requestLabel(x), framesOf(frames, x), a})
			}
		}
	}
	return all
}

// requestLabel names a request without revealing its token.
func requestLabel(x *driver.RoundTrip) string {
	if x.Header.Get("Authorization") == "" {
		return x.Method + " without a token"
	}
	return x.Method + " with a token"
}

func framesOf(frames []*driver.Frame, x *driver.RoundTrip) (of []*driver.Frame) {
	for _, f := range frames {
		if f.RoundTrip == x {
			of = append(of, f)
		}
	}
	return of
}

// eachRefusal runs a check on every 401 of the run. Equal ones are judged once.
func eachRefusal(t *check.T, w check.Wire, judge func(*check.T, driver.HTTPResponse)) {
	var unlike []refusedRequest
	seen, taken := map[string]bool{}, map[string]bool{}
	for _, r := range requestsRefusedWith(t, w, http.StatusUnauthorized) {
		key := fmt.Sprint(r.name, r.response.Header.Values("Www-Authenticate"))
		if seen[key] {
			continue
		}
		seen[key] = true
		if taken[r.name] {
			r.name = fmt.Sprintf("%s (%d)", r.name, len(unlike)+1)
		}
		taken[r.name] = true
		unlike = append(unlike, r)
	}
	if len(unlike) == 0 {
		t.Skip(check.NotObserved, "no request was answered with 401")
	}
	check.Each(t, unlike, refusedRequest.subject, func(t *check.T, r refusedRequest) { judge(t, r.response) })
}
