package suites

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

// auth are the checks of authorization, which see themselves whether they have the
// tokens that they need.
var auth = merged(authTokens, authChallenges, authMetadata, authIssuers).WhenProtected()

// authTokens are the checks of which requests are served.
var authTokens = Suite{
	"auth/unauthenticated-401": Probe(func(t *T) {
		t.Expect(gateOf(t).Answer).To(haveStatus(http.StatusUnauthorized))
	}),

	"auth/invalid-token-401": Probe(func(t *T) {
		r := invalidTokens(t)
		for _, a := range []driver.Answer{r.Invalid, r.Unsigned} {
			t.Expect(decided(t, a)).To(haveStatus(http.StatusUnauthorized, http.StatusBadRequest))
		}
		for _, a := range []driver.Answer{r.Invalid, r.Unsigned} {
			t.Warn(a).To(haveStatus(http.StatusUnauthorized))
		}
	}),

	"auth/expired-token-401": Probe(func(t *T) {
		g := gateOf(t)
		needKind(t, t.Credentials.Expired, "expired")
		t.Expect(g.with(t, t.Credentials.Expired)).To(haveStatus(http.StatusUnauthorized))
	}),

	"auth/malformed-authorization": Probe(func(t *T) {
		g := gateOf(t)
		forms := []string{"Bearer", "Basic eHg6eHg=", "Bearer a b"}
		asked := map[string]*driver.Exchange{}
		var subjects []Subject
		for _, form := range forms {
			asked[form] = g.knock(t, driver.HTTPRequest{Header: header("Authorization", form)})
			subjects = append(subjects, Subject{Name: form})
		}
		t.Each(subjects, func(t *T, s Subject) {
			t.Expect(decided(t, cameOf(asked[s.Name]))).To(haveStatus(http.StatusBadRequest, http.StatusUnauthorized))
		})
	}),

	"auth/wrong-audience-rejected": Probe(func(t *T) {
		g := gateOf(t)
		needKind(t, t.Credentials.OtherAudience, "other-audience")
		a := g.with(t, t.Credentials.OtherAudience)
		t.Expect(a).To(beTurnedAway())
		t.Warn(a).To(haveStatus(http.StatusUnauthorized))
	}),

	"auth/every-request-checked": Probe(func(t *T) {
		g := gateOf(t)
		needToken(t)
		methods := []string{g.Method}
		if g.Method == "initialize" {
			methods = append([]string{"ping"}, listsOf(t.Server.Capabilities)...)
		}
		s := t.Own()
		asked := map[string]*driver.Exchange{}
		var subjects []Subject
		for _, method := range methods {
			asked[method] = byHand(s, method, nil, header("Authorization"))
			subjects = append(subjects, Subject{Name: method})
		}
		t.Each(subjects, func(t *T, m Subject) {
			a := decided(t, cameOf(asked[m.Name]))
			if a.OK() && cameOf(byHand(t.Start(), m.Name, nil, later(t, nil))).OK() {
				t.Skip("the server serves it to everybody")
			}
			t.Expect(a).To(beTurnedAway())
		})
	}),

	"auth/get-and-delete-checked": Probe(func(t *T) {
		if gateOf(t).Method != "initialize" {
			t.Skip("everybody can have a session")
		}
		s := t.Start() // it has no stream of its own, beside which a server may refuse another one
		if t.Credentials.Bearer != "" && t.Server.Failure == "" {
			enter(t, s, bearing(t.Credentials.Bearer)["Authorization"])
		}
		stream := get(s, later(t, nil))
		a := decided(t, cameOf(stream))
		stream.Abort()
		t.Expect(!a.IsStream).To(Hold("HTTP 401 for a GET without a token", "%s", a))
		if s.SessionID() == "" {
			return
		}
		ended := cameOf(s.Do(driver.HTTPRequest{Method: http.MethodDelete, Header: later(t, nil)}))
		if !ended.OK() {
			return
		}
		after := decided(t, cameOf(byHand(s, "ping", nil, later(t, bearing(t.Credentials.Bearer)["Authorization"]))))
		t.Expect(after.OK()).To(Hold("HTTP 401 for a DELETE without a token", "%s, and the session is gone: %s", ended, after))
	}),

	"auth/token-in-query-ignored": Probe(func(t *T) {
		g := gateOf(t)
		needToken(t)
		if g.Answer.OK() {
			t.Skip("a request without a token is refused with a status of success (auth/unauthenticated-401)")
		}
		u := *parsed(t.Site().URL())
		u.RawQuery = strings.TrimPrefix(u.RawQuery+"&access_token="+url.QueryEscape(t.Credentials.Bearer), "&")
		a := decided(t, cameOf(g.knock(t, driver.HTTPRequest{URL: u.String(), Header: header("Authorization")})))
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
			t.Skip("the server has no sessions")
		}
		if a := g.with(t, t.Credentials.Second); !a.OK() {
			t.Inconclusive("the second token is no good token for this server: %s", a)
		}
		s := t.Own()
		a := decided(t, cameOf(byHand(s, t.Server.Fence, nil, bearing(t.Credentials.Second))))
		t.Expect(!a.OK()).To(Hold("HTTP 401, 403 or 404 for the session of another user", "%s", a))
	}),

	"auth/error-is-http-level": WatchAfter(func(t *T) { gateOf(t) }, func(t *T, w Wire) {
		said := w.Errors().Filter("error about authorization", func(m Message) bool {
			e, _ := m.JSON()["error"].(M)
			text, _ := e["message"].(string)
			return m.Request != nil && underTokens(m.Request.Method) && m.HTTP.Answer().OK() && aboutAuthorization.MatchString(text)
		})
		if len(said.List) > 0 {
			t.Judge(said, func(t *T, m Message) {
				t.Expect(m.HTTP.Answer()).To(haveStatus(http.StatusUnauthorized, http.StatusForbidden))
			})
		}
		if len(refusedWith(t, w, http.StatusUnauthorized, http.StatusForbidden)) == 0 {
			t.Skip("there was no authorization failure")
		}
	}),

	"auth/no-token-echo": WatchAfter(func(t *T) { invalidTokens(t) }, func(t *T, w Wire) {
		gateOf(t)
		tokens := secrets(t)
		for _, s := range w.Sessions {
			for _, x := range s.Exchanges() {
				if calls(x, "tools/call") {
					continue // what a tool says is its own business
				}
				text := saidIn(x.Answer())
				for token, what := range tokens {
					t.Expect(!strings.Contains(text, token)).To(Hold("a token that never comes back", "%s, in the answer to a %s", what, x.Method))
				}
			}
		}
	}),
}

// authChallenges are the checks of what is said to who is refused.
var authChallenges = Suite{
	"auth/www-authenticate-present": WatchAfter(func(t *T) { invalidTokens(t); resourceMetadataOf(t) }, func(t *T, w Wire) {
		eachRefusal(t, w, func(t *T, a driver.Answer) {
			if len(a.Header.Values("Www-Authenticate")) == 0 && t.Revision >= "2025-11-25" && resourceMetadataOf(t).Found != nil {
				t.Warn(a).To(That("a WWW-Authenticate header", hasChallenge))
			}
			t.Expect(a).To(That("a WWW-Authenticate header", hasChallenge))
			t.Warn(challengeOf(a).Scheme != "").To(Hold("a challenge for Bearer", "WWW-Authenticate: %s", strings.Join(a.Header.Values("Www-Authenticate"), ", ")))
		})
	}),

	"auth/www-authenticate-syntax": WatchAfter(func(t *T) { invalidTokens(t) }, func(t *T, w Wire) {
		eachRefusal(t, w, func(t *T, a driver.Answer) {
			if !hasChallenge(a) {
				t.Skip("the 401 has no WWW-Authenticate header (auth/www-authenticate-present)")
			}
			_, err := challengesOf(a.Header)
			t.Expect(err == nil).To(Hold("a challenge as the grammar of HTTP has it", "%v, in WWW-Authenticate: %s", err, strings.Join(a.Header.Values("Www-Authenticate"), ", ")))
		})
	}),

	"auth/resource-metadata-in-challenge": Probe(func(t *T) {
		c := firstChallenge(t)
		_, has := c.Params["resource_metadata"]
		switch {
		case !has && withoutOAuth(t):
			t.Warn(c.Params).To(That("a parameter resource_metadata", hasParam("resource_metadata")))
		case !has && resourceMetadataOf(t).Found == nil:
			needRevision(t)
		}
		t.Expect(c.Params).To(That("a parameter resource_metadata", hasParam("resource_metadata")))
		t.Expect(c.Params["resource_metadata"]).To(That("an absolute URL as resource_metadata", isAbsolute))
	}),

	"auth/challenge-scope": Probe(func(t *T) {
		c := firstChallenge(t)
		if scopes, _ := foundObject(t)["scopes_supported"].([]any); len(scopes) == 0 {
			t.Skip("the server uses no scopes, as far as its metadata tells")
		}
		t.Expect(c.Params).To(That("a parameter scope", hasParam("scope")))
	}),

	"auth/insufficient-scope-403": Probe(func(t *T) {
		b := beyondScope(t)
		if b.Answer.Status != http.StatusForbidden {
			t.Skip("too little scope is not answered with 403 (auth/insufficient-permission-403)")
		}
		c := challengeOf(b.Answer)
		t.Expect(c.Params["error"]).To(BeOneOf("insufficient_scope"))
		t.Expect(c.Params).To(That("a parameter scope", hasParam("scope")))
		t.Expect(c.Params).To(That("a parameter resource_metadata", hasParam("resource_metadata")))
	}),

	"auth/invalid-token-error-code": Probe(func(t *T) {
		r := invalidTokens(t)
		c := firstChallenge(t)
		t.Expect(c.Params["error"]).To(That("no error in the challenge for a missing token", func(code string) bool { return code == "" }))
		if r.Invalid.Status != http.StatusUnauthorized || !hasChallenge(r.Invalid) {
			t.Skip("a bad token brings no 401 with a challenge (auth/invalid-token-401, auth/www-authenticate-present)")
		}
		t.Expect(challengeOf(r.Invalid).Params["error"]).To(BeOneOf("invalid_token"))
	}),
}

func hasChallenge(a driver.Answer) bool { return len(a.Header.Values("Www-Authenticate")) > 0 }

func hasParam(name string) func(params map[string]string) bool {
	return func(params map[string]string) bool { return params[name] != "" }
}

// calls reports whether an exchange carries a request of a method.
func calls(x *driver.Exchange, method string) bool {
	body, _ := driver.Decode(x.Body).(M)
	return body["method"] == method
}

// authMetadata are the checks of the metadata of the protected resource.
var authMetadata = Suite{
	"auth/metadata-discoverable": Probe(func(t *T) {
		m := resourceMetadataOf(t)
		if hinted := m.Pointed(); hinted != nil && isDecided(hinted.Answer) && !hinted.locked() {
			t.Expect(hinted.Answer).To(haveStatus(http.StatusOK))
		}
		switch {
		case m.Found != nil:
			return
		case m.Foreign != "":
			needConsent(t, m.Foreign)
		case m.Locked != nil:
			t.Skip("there is metadata, but not for everybody (auth/metadata-public)")
		case undecided(m.Tried) != nil:
			t.Inconclusive("it could not be tried: %s", undecided(m.Tried))
		case withoutOAuth(t):
			t.Warn(m.Tried).To(That("metadata of the resource", anyFound))
		}
		if m.Hint == "" {
			needRevision(t)
		}
		t.Expect(m.Tried).To(That("metadata of the resource", anyFound))
	}),

	"auth/metadata-public": Probe(func(t *T) {
		m := resourceMetadataOf(t)
		if m.Locked == nil || m.Found != nil {
			foundMetadata(t)
			return
		}
		t.Expect(m.Locked.Answer).To(haveStatus(http.StatusOK))
	}),

	"auth/metadata-json": Probe(func(t *T) {
		d := foundMetadata(t)
		t.Expect(d.Doc != nil).To(Hold("a JSON object", "%s", d))
		t.Expect(Member(d.Doc, "resource")).To(BeString())
		t.Expect(d.Answer.MediaType()).To(BeOneOf("application/json"))
	}),

	"auth/metadata-authorization-servers": Probe(func(t *T) {
		doc := foundObject(t)
		servers := Member(doc, "authorization_servers")
		t.Expect(servers).To(That("authorization_servers, a list that is not empty", func(list []any) bool { return len(list) > 0 }))
		for _, server := range servers.([]any) {
			t.Expect(server).To(That("an https URL", func(text string) bool { return isSecure(t, text) }))
		}
	}),

	"auth/metadata-resource-matches": Probe(func(t *T) {
		d := foundMetadata(t)
		text, _ := foundObject(t)["resource"].(string)
		if text == "" {
			t.Skip("the metadata has no resource (auth/metadata-json)")
		}
		resource, own := parsed(text), endpointURL(t)
		here := strings.EqualFold(originOfURL(resource), originOfURL(own))
		if !here && (t.Site().Loopback() || strings.EqualFold(resource.Hostname(), own.Hostname())) {
			t.Inconclusive("the resource is %s; the server may be behind a proxy when clients use it", text)
		}
		path, mine := strings.TrimSuffix(resource.Path, "/"), strings.TrimSuffix(own.Path, "/")
		t.Expect(here && (mine == path || strings.HasPrefix(mine, path+"/"))).To(Hold("the URL of the server", "resource %s", text))
		atRoot := path == "" && parsed(d.URL).Path == resourceMetadataPath && resourceMetadataOf(t).Hint == ""
		t.Warn(mine == path || atRoot).To(Hold("the URL of the server", "resource %s, which is above it", text))
	}),

	"auth/well-known-not-behind-auth-redirect": Probe(func(t *T) {
		s := t.Start()
		a := decided(t, cameOf(fetch(t, s, at(endpointURL(t), "/.well-known/mcpcheck-unknown"), nil)))
		t.Expect(a).To(haveStatus(http.StatusNotFound, http.StatusGone))
	}),
}

// originOfURL is the scheme, the host and the port of a URL.
func originOfURL(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
	}
	return u.Scheme + "://" + u.Hostname() + ":" + port
}

func anyFound(docs []*document) bool {
	return slices.ContainsFunc(docs, func(d *document) bool { return isResource(d.Doc) })
}

// authIssuers are the checks of the authorization servers.
var authIssuers = Suite{
	"auth/as-metadata-reachable": Probe(func(t *T) {
		eachIssuer(t, func(t *T, i issuer) {
			if i.Found == nil && t.Revision == "2025-03-26" && withoutOAuth(t) {
				t.Skip("there is no sign of OAuth: the tokens may be keys that the operator of the server hands out")
			}
			t.Expect(i.Found != nil).To(Hold("metadata of the authorization server", "%s", join(i.Tried)))
			t.Warn(!i.OpenID || t.Revision != "2025-06-18").To(Hold("metadata as RFC 8414 has it", "OpenID Connect only, at %s", i.Found.URL))
			name, _ := i.Found.Doc["issuer"].(string)
			t.Warn(strings.TrimSuffix(name, "/")).To(BeOneOf(strings.TrimSuffix(i.ID, "/")))
		})
	}),

	"auth/metadata-base-url": Probe(func(t *T) {
		l := localIssuer(t)
		switch {
		case isIssuer(l.Root.Doc):
			return
		case resourceMetadataOf(t).Found != nil:
			t.Skip("the server names its authorization servers as later revisions have it")
		case !isDecided(l.Root.Answer):
			t.Inconclusive("it could not be tried: %s", l.Root)
		case l.Below == nil:
			t.Skip("there is no metadata of an authorization server (auth/fallback-endpoints)")
		}
		t.Expect(l.Below.URL).To(BeOneOf(l.Root.URL))
	}),

	"auth/fallback-endpoints": Probe(func(t *T) {
		l := localIssuer(t)
		if resourceMetadataOf(t).Found != nil || isIssuer(l.Root.Doc) || l.Below != nil {
			t.Skip("the server has metadata")
		}
		s, own := t.Start(), endpointURL(t)
		authorize := s.Do(driver.HTTPRequest{Method: http.MethodGet, URL: at(own, "/authorize"), Header: header("Authorization")})
		token := s.Do(driver.HTTPRequest{URL: at(own, "/token"), Header: http.Header{"Authorization": nil, "Content-Type": {"application/x-www-form-urlencoded"}}})
		answers := []driver.Answer{decided(t, cameOf(authorize)), decided(t, cameOf(token))}
		if !slices.ContainsFunc(answers, isThere) && withoutOAuth(t) {
			t.Warn(answers[0]).To(That("an endpoint /authorize, or metadata", isThere))
		}
		t.Expect(answers[0]).To(That("an endpoint /authorize, since there is no metadata", isThere))
		t.Expect(answers[1]).To(That("an endpoint /token, since there is no metadata", isThere))
	}),

	"auth/endpoints-https": Probe(func(t *T) {
		eachIssuerDoc(t, func(t *T, doc M) {
			var open []string
			for name, v := range doc {
				if text, ok := v.(string); ok && strings.HasSuffix(name, "_endpoint") && !isSecure(t, text) {
					open = append(open, name+" "+text)
				}
			}
			slices.Sort(open)
			t.Expect(open).To(BeEmptyList[string]("https URLs for all endpoints"))
		})
	}),

	"auth/pkce-advertised": Probe(func(t *T) {
		eachIssuerDoc(t, func(t *T, doc M) {
			if grants, ok := doc["grant_types_supported"].([]any); ok && !slices.Contains(grants, any("authorization_code")) {
				t.Skip("it has no authorization code grant")
			}
			t.Expect(Member(doc, "code_challenge_methods_supported")).To(That("S256 among code_challenge_methods_supported", func(list []any) bool {
				return slices.Contains(list, any("S256"))
			}))
		})
	}),

	"auth/registration-possible": Probe(func(t *T) {
		eachIssuerDoc(t, func(t *T, doc M) {
			possible := Has(doc, "registration_endpoint") || doc["client_id_metadata_document_supported"] == true
			t.Inform(possible).To(Hold("a registration_endpoint, or client_id_metadata_document_supported", "neither"))
		})
	}),
}

// isThere reports whether an endpoint exists, whatever it says.
func isThere(a driver.Answer) bool {
	return !slices.Contains([]int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented}, a.Status)
}

func join(docs []*document) string {
	var texts []string
	for _, d := range docs {
		texts = append(texts, d.String())
	}
	return strings.Join(texts, "; ")
}
