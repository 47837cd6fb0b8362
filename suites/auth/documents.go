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

// document is what a client gets that asks for metadata at a URL.
type document struct {
	URL      string
	Response driver.HTTPResponse
	Object   check.M // nil: no JSON object with status 200
}

func (d *document) String() string { return fmt.Sprintf("%s: %s", d.URL, d.Response) }

// Frames are those of the request and the answer.
func (d *document) Frames() []*driver.Frame {
	if d == nil {
		return nil
	}
	return d.Response.Frames()
}

// Reason is what it is for a check that wants the document.
func (d *document) Reason() report.Reason { return check.ReasonOf(d.Response) }

// isUnauthorized reports whether the document may be there for those with a token only.
func (d *document) isUnauthorized() bool {
	return d.Response.StatusCode == http.StatusUnauthorized || d.Response.StatusCode == http.StatusForbidden
}

// fetchAll gets documents at the same time, without a token.
func fetchAll(t *check.T, urls ...string) []*document {
	s := t.NewProcess()
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

// maxRedirects is how often a redirect of metadata is followed, as clients do.
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

// parseURL is a URL; an empty one when it cannot be read.
func parseURL(text string) *url.URL {
	u, err := url.Parse(text)
	if err != nil {
		return &url.URL{}
	}
	return u
}

// endpointURL is the URL of the server, without a password in it.
func endpointURL(t *check.T) *url.URL {
	u := *parseURL(t.Site().URL())
	u.User, u.RawQuery = nil, ""
	return &u
}

// withPath is another path on the host of a URL.
func withPath(u *url.URL, path string) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: path}).String()
}

// mayContact reports whether requests may go to a URL: to the server's own host, on a server of this machine to this
// machine, else with consent.
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

// endWithoutConsent ends a check that would have to ask another host.
func endWithoutConsent(t *check.T, host string) {
	t.WithReason(check.NotGiven).
		Inconclusive("%s was not asked: it is another host, which is contacted with --contact-issuer "+
			"only", host)
}

// resourceMetadata is what a client finds out of the protected resource (RFC 9728).
type resourceMetadata struct {
	HintURL     string // the URL in the challenge; empty: none that is absolute
	ForeignHost string // the host of the hint, if that may not be asked
	Tried       []*document
	Found       *document // nil: none
	Protected   *document // served to those with a token only
}

// resourceMetadataOf looks for the metadata as clients do: where the challenge points to, then at the well-known path
// of the endpoint, then at that of the host.
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

// Hinted is what is at the URL in the challenge; nil when there is no such URL, or it may not be asked.
func (m resourceMetadata) Hinted() *document {
	if m.HintURL == "" || m.ForeignHost != "" {
		return nil
	}
	return m.Tried[0]
}

// uniqueURLs leaves out what has come before.
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

// isResourceMetadata reports whether an object is meant as metadata of a resource: some servers answer any path with
// some object.
func isResourceMetadata(doc check.M) bool {
	return check.HasMember(doc, "resource") || check.HasMember(doc, "authorization_servers")
}

// isTokenProtected reports whether a token opens the document. A token goes to the server's own origin only.
func isTokenProtected(t *check.T, d *document) bool {
	if t.Credentials.Bearer == "" || parseURL(d.URL).Host != endpointURL(t).Host {
		return false
	}
	s := t.NewProcess()
	x := fetch(t, s, d.URL, bearerHeader(t.Credentials.Bearer)["Authorization"])
	return isResourceMetadata(readDocument(d.URL, roundtrip.AwaitResponse(x)).Object)
}

// firstUndecided is the first document of which it is not known whether it is there; nil when all are decided.
func firstUndecided(docs []*document) *document {
	i := slices.IndexFunc(docs, func(d *document) bool { return !roundtrip.IsFromServer(d.Response) })
	if i < 0 {
		return nil
	}
	return docs[i]
}

// requireMetadata is the metadata of the resource; it ends a check of what is in them when there is none.
func requireMetadata(t *check.T) *document {
	m := resourceMetadataOf(t)
	switch {
	case m.Found != nil:
		return m.Found
	case m.ForeignHost != "":
		endWithoutConsent(t, m.ForeignHost)
	case firstUndecided(m.Tried) != nil:
		t.Inconclusive("could not fetch the metadata of the resource: %s", firstUndecided(m.Tried))
	}
	t.Yield("there is no metadata of the resource")
	return nil
}

// requireMetadataObject is the metadata as an object, which another check wants it to be.
func requireMetadataObject(t *check.T) check.M {
	d := requireMetadata(t)
	if d.Object == nil {
		t.Yield("the metadata of the resource is not a JSON object")
	}
	return d.Object
}

// lacksOAuth reports whether nothing that a client can see is of OAuth: the tokens are keys that the operator of the
// server hands out. The pages on authorization do not bind such a server.
func lacksOAuth(t *check.T) bool {
	m, l := resourceMetadataOf(t), originMetadataOf(t)
	return m.HintURL == "" && m.Found == nil && m.Protected == nil && !isIssuerMetadata(l.Root.Object) && l.Below == nil
}

// requireKnownRevision ends a check whose rule is not in all revisions when the server, which lets nobody in, may be of
// an older one.
func requireKnownRevision(t *check.T) {
	if t.Server.Failure != "" {
		t.WithReason(check.NotGiven).Inconclusive(
			"the server has metadata of the kind of 2025-03-26; which revision it speaks is not known without a " +
				"token that it takes (--bearer-env)",
		)
	}
}
