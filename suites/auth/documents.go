package auth

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

const (
	resourceMetadataPath = "/.well-known/oauth-protected-resource"
	issuerMetadataPath   = "/.well-known/oauth-authorization-server"
	openIDPath           = "/.well-known/openid-configuration"
)

// document is the response to a client that requests metadata at a URL.
type document struct {
	URL      string
	Response driver.HTTPResponse
	// Object is the body; nil when it is not a JSON object with status 200.
	Object check.M
}

func (d *document) String() string { return fmt.Sprintf("%s: %s", d.URL, d.Response) }

// Frames are the frames of the request and the response.
func (d *document) Frames() []*driver.Frame {
	if d == nil {
		return nil
	}
	return d.Response.Frames()
}

// Reason is the reason for a check that needs the document but does not have it.
func (d *document) Reason() report.Reason { return check.ReasonOf(d.Response) }

// isUnauthorized reports whether the document may be served only to clients with a token.
func (d *document) isUnauthorized() bool {
	return d.Response.StatusCode == http.StatusUnauthorized || d.Response.StatusCode == http.StatusForbidden
}

// fetchAll requests documents concurrently and without a token.
func fetchAll(t *check.T, urls ...string) []*document {
	s := t.Session(check.Process)
	first := make([]*driver.RoundTrip, len(urls))
	for i, u := range urls {
		first[i] = fetch(t, s, u, nil)
	}
	docs := make([]*document, len(urls))
	for i, u := range urls {
		docs[i] = followRedirects(t, s, u, first[i])
	}
	return docs
}

func fetch(t *check.T, s *driver.Session, u string, authorization []string) *driver.RoundTrip {
	return s.HTTP().Do(driver.HTTPRequest{Method: http.MethodGet, URL: u, Header: http.Header{
		"Authorization": authorization, "Accept": {"application/json"}, "Mcp-Protocol-Version": {t.Revision},
	}})
}

// maxRedirects is how many redirects of a metadata document are followed.
const maxRedirects = 5

func followRedirects(t *check.T, s *driver.Session, u string, x *driver.RoundTrip) *document {
	for range maxRedirects {
		a := roundtrip.AwaitResponse(x)
		next, err := parseURL(u).Parse(a.Header.Get("Location"))
		if a.StatusCode < 300 || a.StatusCode > 399 || err != nil || !mayContact(t, next) {
			return readDocument(u, a)
		}
		u = next.String()
		x = fetch(t, s, u, nil)
	}
	return readDocument(u, roundtrip.AwaitResponse(x))
}

func readDocument(u string, a driver.HTTPResponse) *document {
	d := &document{URL: u, Response: a}
	if a.StatusCode == http.StatusOK {
		d.Object, _ = driver.Decode(a.Body.Bytes()).(check.M)
	}
	return d
}

// parseURL parses a URL; it is empty when the text is invalid.
func parseURL(text string) *url.URL {
	u, err := url.Parse(text)
	if err != nil {
		return &url.URL{}
	}
	return u
}

// endpointURL is the URL of the endpoint without user information and query.
func endpointURL(t *check.T) *url.URL {
	u := *parseURL(t.Site().URL())
	u.User, u.RawQuery = nil, ""
	return &u
}

// withPath is the URL of a path on the host of u.
func withPath(u *url.URL, path string) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: path}).String()
}

// mayContact reports whether requests may be sent to a URL: to the server's own host, between loopback addresses, or
// with consent of the user.
func mayContact(t *check.T, u *url.URL) bool {
	own := endpointURL(t)
	switch {
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return false
	case strings.EqualFold(u.Hostname(), own.Hostname()), t.Site().IsLoopback() && driver.IsLoopback(u.Hostname()):
		return true
	}
	return t.Credentials.MayContactIssuer
}

// endWithoutConsent ends a check that needs a document of another host.
func endWithoutConsent(t *check.T, host string) {
	t.NoVerdict(check.NotGiven, "%s was not asked: it is another host, which is contacted with --contact-issuer "+
		"only", host)
}

// resourceMetadata is what a client finds as metadata of the protected resource (RFC 9728).
type resourceMetadata struct {
	// HintURL is the absolute URL in the challenge; empty when there is none.
	HintURL string
	// ForeignHost is the host of the hint if it may not be contacted.
	ForeignHost string
	Tried       []*document
	// Found is the metadata; nil when there is none.
	Found *document
	// Protected is a document that is served only to clients with a token.
	Protected *document
}

// resourceMetadataOf looks for the metadata as clients do: at the URL in the challenge, at the well-known path for the
// endpoint, and at the well-known path of the host (RFC 9728, section 3).
func resourceMetadataOf(t *check.T) resourceMetadata {
	g := protectedRequestOf(t)
	return check.Step(t, "resource metadata", func(t *check.T) (m resourceMetadata) {
		own := endpointURL(t)
		urls := []string{withPath(own, resourceMetadataPath+strings.TrimSuffix(own.Path, "/")),
			withPath(own, resourceMetadataPath)}
		if hint := tokenChallengeOf(g.Response).Params["resource_metadata"]; isAbsolute(hint) {
			m.HintURL = hint
			if u := parseURL(hint); mayContact(t, u) {
				urls = append([]string{hint}, urls...)
			} else {
				m.ForeignHost = u.Host
			}
		}
		m.Tried = fetchAll(t, uniqueURLs(urls)...)
		for _, d := range m.Tried {
			pointed := d == m.Hinted()
			switch {
			case m.Found == nil && (pointed && d.Response.StatusCode == http.StatusOK || isResourceMetadata(d.Object)):
				m.Found = d
			case m.Protected == nil && d.isUnauthorized() && (pointed || isTokenProtected(t, d)):
				m.Protected = d
			}
		}
		return m
	})
}

// Hinted is the document at the URL in the challenge; nil when there is no such URL, or it may not be contacted.
func (m resourceMetadata) Hinted() *document {
	if m.HintURL == "" || m.ForeignHost != "" {
		return nil
	}
	return m.Tried[0]
}

// uniqueURLs are the URLs without duplicates.
func uniqueURLs(urls []string) (kept []string) {
	for _, u := range urls {
		if !slices.Contains(kept, u) {
			kept = append(kept, u)
		}
	}
	return kept
}

func isAbsolute(text string) bool {
	u := parseURL(text)
	return (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// isResourceMetadata reports whether an object is meant as metadata of a resource. Some servers answer any path with
// some object.
func isResourceMetadata(doc check.M) bool {
	return check.HasMember(doc, "resource") || check.HasMember(doc, "authorization_servers")
}

// isTokenProtected reports whether the document is served with the token. The token is sent only to the server's own
// host.
func isTokenProtected(t *check.T, d *document) bool {
	if t.Credentials.Bearer == "" || parseURL(d.URL).Host != endpointURL(t).Host {
		return false
	}
	s := t.Session(check.Process)
	x := fetch(t, s, d.URL, bearerHeader(t.Credentials.Bearer)["Authorization"])
	return isResourceMetadata(readDocument(d.URL, roundtrip.AwaitResponse(x)).Object)
}

// firstUndecided is the first document of which it is not known whether it exists; nil when there is none.
func firstUndecided(docs []*document) *document {
	i := slices.IndexFunc(docs, func(d *document) bool { return !isFromServer(d.Response) })
	if i < 0 {
		return nil
	}
	return docs[i]
}

// requireMetadata is the metadata of the resource. It ends a check when there is none.
func requireMetadata(t *check.T) *document {
	m := resourceMetadataOf(t)
	if m.Found == nil {
		m.requireTried(t)
		t.Yield("there is no metadata of the resource")
	}
	return m.Found
}

// requireTried ends a check if it is not known whether there is metadata of the resource.
func (m resourceMetadata) requireTried(t *check.T) {
	switch {
	case m.ForeignHost != "":
		endWithoutConsent(t, m.ForeignHost)
	case firstUndecided(m.Tried) != nil:
		t.NoVerdict(check.Undecided, "could not fetch the metadata of the resource: %s", firstUndecided(m.Tried))
	}
}

// requireMetadataObject is the metadata as an object. It ends a check when it is not one, which auth/metadata-json
// reports.
func requireMetadataObject(t *check.T) check.M {
	d := requireMetadata(t)
	if d.Object == nil {
		t.Yield("the metadata of the resource is not a JSON object")
	}
	return d.Object
}

// lacksOAuth reports whether the server shows no sign of OAuth: its tokens are keys that the operator issues. The
// authorization pages of the specification do not bind such a server.
func lacksOAuth(t *check.T) bool {
	m, l := resourceMetadataOf(t), originMetadataOf(t)
	return m.HintURL == "" && m.Found == nil && m.Protected == nil && !isIssuerMetadata(l.Root.Object) && l.Below == nil
}

// requireKnownRevision ends a check of a rule that not all revisions have, when no session could be opened, so that the
// server may support an older revision only.
func requireKnownRevision(t *check.T) {
	if t.Server.Failure != "" {
		t.NoVerdict(check.NotGiven,
			"the server has metadata of the kind of 2025-03-26; which revision it speaks is not known without a "+
				"token that it takes (--bearer-env)",
		)
	}
}
