package auth

import (
	"net/http"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
)

// issuerChecks are the checks of the authorization servers.
var issuerChecks = check.Suite{
	"auth/as-metadata-reachable": check.Probe(func(t *check.T) {
		eachIssuer(t, func(t *check.T, i issuer) {
			switch {
			case i.Found != nil || t.Revision != "2025-03-26":
			case lacksOAuth(t):
				t.Skip(check.NotApplicable,
					"there is no sign of OAuth: the tokens may be keys that the operator of the server hands out")
			case originMetadataOf(t).Below != nil:
				t.Yield("it is below the path of the endpoint only")
			}
			t.DecidedBy(i.Tried).Expect(i.Found != nil).To(check.BeTrue("metadata of the authorization server", "%s",
				joinDocuments(i.Tried)))
			t.ExpectShould(!i.OpenID || t.Revision != "2025-06-18").To(check.BeTrue("metadata as RFC 8414 has it",
				"OpenID Connect only, at %s", i.Found.URL))
			if t.IsModern() {
				return // auth/as-issuer-identical compares the issuers
			}
			name, _ := i.Found.Object["issuer"].(string)
			t.ExpectShould(strings.TrimSuffix(name, "/")).To(check.BeOneOf(strings.TrimSuffix(i.ID, "/")))
		})
	}),

	"auth/as-issuer-identical": check.Probe(func(t *check.T) {
		eachIssuer(t, func(t *check.T, i issuer) {
			if i.Found == nil {
				t.Yield("it has no metadata")
			}
			t.Expect(check.Member(i.Found.Object, "issuer")).To(check.BeOneOf(i.ID))
		})
	}),

	"auth/as-iss-parameter": check.Probe(func(t *check.T) {
		eachIssuerDoc(t, func(t *check.T, doc check.M) {
			const member = "authorization_response_iss_parameter_supported"
			t.Expect(doc[member] == true).To(check.BeTrue(member, "%s", check.Show(check.Member(doc, member))))
		})
	}),

	"auth/as-cimd": check.Probe(func(t *check.T) {
		eachIssuerDoc(t, func(t *check.T, doc check.M) {
			const member = "client_id_metadata_document_supported"
			t.ExpectAdvice(doc[member] == true).To(check.BeTrue(member, "%s", check.Show(check.Member(doc, member))))
		})
	}),

	"auth/metadata-base-url": check.Probe(func(t *check.T) {
		l := originMetadataOf(t)
		switch {
		case isIssuerMetadata(l.Root.Object):
			return
		case resourceMetadataOf(t).Found != nil:
			t.Skip(check.NotApplicable, "the server names its authorization servers as later revisions have it")
		case !isFromServer(l.Root.Response):
			t.NoVerdict(check.Undecided, "it could not be tested: %s", l.Root)
		case l.Below == nil:
			t.Skip(check.NotOffered, "there is no metadata of an authorization server")
		}
		t.DecidedBy(l.Below).Expect(l.Below.URL).To(check.BeOneOf(l.Root.URL))
	}),

	"auth/fallback-endpoints": check.Probe(func(t *check.T) {
		l := originMetadataOf(t)
		if resourceMetadataOf(t).Found != nil || isIssuerMetadata(l.Root.Object) || l.Below != nil {
			t.Skip(check.NotApplicable, "the server has metadata")
		}
		s, own := t.Session(check.Process), endpointURL(t)
		authorize := s.HTTP().Do(driver.HTTPRequest{
			Method: http.MethodGet, URL: withPath(own, "/authorize"), Header: roundtrip.Header("Authorization"),
		})
		form := http.Header{"Authorization": nil, "Content-Type": {"application/x-www-form-urlencoded"}}
		token := s.HTTP().Do(driver.HTTPRequest{URL: withPath(own, "/token"), Header: form})
		answers := []driver.HTTPResponse{roundtrip.RequireHTTPResponse(t, roundtrip.AwaitResponse(authorize)),
			roundtrip.RequireHTTPResponse(t, roundtrip.AwaitResponse(token))}
		if !slices.ContainsFunc(answers, endpointExists) && lacksOAuth(t) {
			t.ExpectShould(answers[0]).To(check.Satisfy("an endpoint /authorize, or metadata", endpointExists))
		}
		t.Expect(answers[0]).To(check.Satisfy("an endpoint /authorize, since there is no metadata", endpointExists))
		t.Expect(answers[1]).To(check.Satisfy("an endpoint /token, since there is no metadata", endpointExists))
	}),

	"auth/endpoints-https": check.Probe(func(t *check.T) {
		eachIssuerDoc(t, func(t *check.T, doc check.M) {
			var open []string
			for name, v := range doc {
				if text, ok := v.(string); ok && strings.HasSuffix(name, "_endpoint") && !isSecure(t, text) {
					open = append(open, name+" "+text)
				}
			}
			slices.Sort(open)
			t.Expect(open).To(check.BeEmptyList[string]("https URLs for all endpoints"))
		})
	}),

	"auth/pkce-advertised": check.Probe(func(t *check.T) {
		eachIssuerDoc(t, func(t *check.T, doc check.M) {
			if grants, ok := doc["grant_types_supported"].([]any); ok &&
				!slices.Contains(grants, any("authorization_code")) {
				t.Skip(check.NotOffered, "it has no authorization code grant")
			}
			methods := check.Member(doc, "code_challenge_methods_supported")
			t.Expect(methods).To(check.Satisfy("S256 among code_challenge_methods_supported", func(list []any) bool {
				return slices.Contains(list, any("S256"))
			}))
		})
	}),

	"auth/registration-possible": check.Probe(func(t *check.T) {
		eachIssuerDoc(t, func(t *check.T, doc check.M) {
			possible := check.HasMember(doc,
				"registration_endpoint") || doc["client_id_metadata_document_supported"] == true
			t.ExpectAdvice(possible).
				To(check.BeTrue("a registration_endpoint, or client_id_metadata_document_supported",
					"neither"))
		})
	}),
}

// endpointExists reports whether a response shows that an endpoint exists, even if it refuses the request.
func endpointExists(a driver.HTTPResponse) bool {
	missing := []int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented}
	return !slices.Contains(missing, a.StatusCode)
}

// isIssuerMetadata reports whether an object is meant as metadata of an authorization server.
func isIssuerMetadata(doc check.M) bool {
	return check.HasMember(doc, "issuer") || check.HasMember(doc, "authorization_endpoint") || check.HasMember(doc,
		"token_endpoint")
}

// originMetadata is the metadata of an authorization server at the server's own origin, where clients of 2025-03-26
// look for it.
type originMetadata struct {
	// Root is the document at the root of the host.
	Root *document
	// Below is the metadata for the path of the endpoint; nil when there is none.
	Below *document
}

func originMetadataOf(t *check.T) originMetadata {
	protectedRequestOf(t)
	return check.Step(t, "local issuer", func(t *check.T) (l originMetadata) {
		own := endpointURL(t)
		path := strings.TrimSuffix(own.Path, "/")
		urls := []string{withPath(own, issuerMetadataPath)}
		if path != "" {
			urls = append(urls, withPath(own, path+issuerMetadataPath), withPath(own, issuerMetadataPath+path))
		}
		docs := fetchAll(t, urls...)
		l.Root = docs[0]
		for _, d := range docs[1:] {
			if l.Below == nil && isIssuerMetadata(d.Object) {
				l.Below = d
			}
		}
		return l
	})
}

// issuer is an authorization server with its metadata.
type issuer struct {
	ID string
	// ForeignHost is its host if that may not be contacted.
	ForeignHost string
	Tried       []*document
	// Found is the metadata; nil when there is none.
	Found *document
	// OpenID reports whether Found is at a path of OpenID Connect.
	OpenID bool
}

func (i issuer) subject() check.Subject { return check.NamedSubject(i.ID) }

// maxIssuers is how many authorization servers are checked.
const maxIssuers = 3

// issuersOf are the authorization servers that the metadata names. In 2025-03-26 a server that names none is one
// itself.
func issuersOf(t *check.T) []issuer {
	m := resourceMetadataOf(t)
	if m.Found == nil && t.Revision == "2025-03-26" {
		own := endpointURL(t)
		i := issuer{ID: withPath(own, ""), Tried: []*document{originMetadataOf(t).Root}}
		if isIssuerMetadata(i.Tried[0].Object) {
			i.Found = i.Tried[0]
		}
		return []issuer{i}
	}
	ids := namedIssuers(requireMetadataObject(t))
	if len(ids) == 0 {
		t.Yield("the metadata of the resource names no authorization server")
	}
	return check.Step(t, "issuers", func(t *check.T) (all []issuer) {
		for _, id := range ids[:min(len(ids), maxIssuers)] {
			all = append(all, fetchIssuer(t, id))
		}
		return all
	})
}

// namedIssuers are the absolute URLs in authorization_servers.
func namedIssuers(doc check.M) (ids []string) {
	list, _ := doc["authorization_servers"].([]any)
	for _, v := range list {
		if id, ok := v.(string); ok && isAbsolute(id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// fetchIssuer requests the metadata of an authorization server at the well-known paths that clients try.
func fetchIssuer(t *check.T, id string) issuer {
	i, u := issuer{ID: id}, parseURL(id)
	if !mayContact(t, u) {
		i.ForeignHost = u.Host
		return i
	}
	path := strings.TrimSuffix(u.Path, "/")
	places := []string{withPath(u, issuerMetadataPath+path), withPath(u, openIDPath+path), withPath(u, path+openIDPath)}
	i.Tried = fetchAll(t, uniqueURLs(places)...)
	if at := slices.IndexFunc(i.Tried, func(d *document) bool { return isIssuerMetadata(d.Object) }); at >= 0 {
		i.Found, i.OpenID = i.Tried[at], at > 0
	}
	return i
}

// eachIssuer runs a check on each authorization server.
func eachIssuer(t *check.T, judge func(*check.T, issuer)) {
	check.Each(t, issuersOf(t), issuer.subject, func(t *check.T, i issuer) {
		switch {
		case i.ForeignHost != "":
			endWithoutConsent(t, i.ForeignHost)
		case i.Found == nil && firstUndecided(i.Tried) != nil:
			t.NoVerdict(check.Undecided, "could not fetch its metadata: %s", firstUndecided(i.Tried))
		}
		judge(t.DecidedBy(i.Found), i)
	})
}

// eachIssuerDoc runs a check on the metadata of each authorization server.
func eachIssuerDoc(t *check.T, judge func(*check.T, check.M)) {
	eachIssuer(t, func(t *check.T, i issuer) {
		switch {
		case i.Found == nil && t.Revision == "2025-03-26": // it may have the default endpoints
			t.Skip(check.NotOffered, "it has no metadata")
		case i.Found == nil:
			t.Yield("it has no metadata")
		}
		judge(t, i.Found.Object)
	})
}

// isSecure reports whether a URL is https. On a loopback server loopback URLs may be http, since a certificate is not
// needed there.
func isSecure(t *check.T, text string) bool {
	u := parseURL(text)
	return u.Scheme == "https" && u.Host != "" ||
		u.Scheme == "http" && t.Site().IsLoopback() && driver.IsLoopback(u.Hostname())
}
