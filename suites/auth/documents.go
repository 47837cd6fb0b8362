package auth

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

const (
	resourceMetadataPath = "/.well-known/oauth-protected-resource"
	issuerMetadataPath   = "/.well-known/oauth-authorization-server"
	openIDPath           = "/.well-known/openid-configuration"
)

// document is what a client gets that asks for metadata at a URL.
type document struct {
	URL    string
	Answer driver.Answer
	Doc    M // nil: no JSON object with status 200
}

func (d *document) String() string { return fmt.Sprintf("%s: %s", d.URL, d.Answer) }

// Frames are those of the request and the answer.
func (d *document) Frames() []*driver.Frame {
	if d == nil {
		return nil
	}
	return d.Answer.Frames()
}

// Reason is what it is for a check that wants the document.
func (d *document) Reason() Reason { return ReasonOf(d.Answer) }

// locked reports whether the document may be there for those with a token only.
func (d *document) locked() bool {
	return d.Answer.Status == http.StatusUnauthorized || d.Answer.Status == http.StatusForbidden
}

// fetchAll gets documents at the same time, without a token.
func fetchAll(t *T, urls ...string) []*document {
	s := t.Start()
	first := make([]*driver.Exchange, len(urls))
	for i, u := range urls {
		first[i] = fetch(t, s, u, nil)
	}
	docs := make([]*document, len(urls))
	for i, u := range urls {
		docs[i] = follow(t, s, u, first[i])
	}
	return docs
}

func fetch(t *T, s *driver.Session, u string, authorization []string) *driver.Exchange {
	return s.HTTP().Do(driver.HTTPRequest{Method: http.MethodGet, URL: u, Header: http.Header{
		"Authorization": authorization, "Accept": {"application/json"}, "Mcp-Protocol-Version": {t.Revision},
	}})
}

// mostHops is how often a redirect of metadata is followed, as clients do.
const mostHops = 5

func follow(t *T, s *driver.Session, u string, x *driver.Exchange) *document {
	for range mostHops {
		a := kit.CameOf(x)
		next, err := parsed(u).Parse(a.Header.Get("Location"))
		if a.Status < 300 || a.Status > 399 || err != nil || !mayContact(t, next) {
			return readDocument(u, a)
		}
		u = next.String()
		x = fetch(t, s, u, nil)
	}
	return readDocument(u, kit.CameOf(x))
}

func readDocument(u string, a driver.Answer) *document {
	d := &document{URL: u, Answer: a}
	if a.Status == http.StatusOK {
		d.Doc, _ = driver.Decode(a.Body.Bytes()).(M)
	}
	return d
}

// parsed is a URL; an empty one when it cannot be read.
func parsed(text string) *url.URL {
	u, err := url.Parse(text)
	if err != nil {
		return &url.URL{}
	}
	return u
}

// endpointURL is the URL of the server, without a password in it.
func endpointURL(t *T) *url.URL {
	u := *parsed(t.Site().URL())
	u.User, u.RawQuery = nil, ""
	return &u
}

// at is another path on the host of a URL.
func at(u *url.URL, path string) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: path}).String()
}

// mayContact reports whether requests may go to a URL: to the server's own host, on a server of this machine to this
// machine, else with consent.
func mayContact(t *T, u *url.URL) bool {
	own := endpointURL(t)
	switch {
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return false
	case strings.EqualFold(u.Hostname(), own.Hostname()), t.Site().Loopback() && driver.IsLoopback(u.Hostname()):
		return true
	}
	return t.Credentials.ContactIssuer
}

// needConsent ends a check that would have to ask another host.
func needConsent(t *T, host string) {
	t.Because(NotGiven).Inconclusive("%s was not asked: it is another host, which is contacted with --contact-issuer "+
		"only", host)
}

// resourceMetadata is what a client finds out of the protected resource (RFC 9728).
type resourceMetadata struct {
	Hint    string // the URL in the challenge; empty: none that is absolute
	Foreign string // the host of the hint, if that may not be asked
	Tried   []*document
	Found   *document // nil: none
	Locked  *document // served to those with a token only
}

// resourceMetadataOf looks for the metadata as clients do: where the challenge points to, then at the well-known path
// of the endpoint, then at that of the host.
func resourceMetadataOf(t *T) resourceMetadata {
	g := gateOf(t)
	return Step(t, "resource metadata", func(t *T) (m resourceMetadata) {
		own := endpointURL(t)
		urls := []string{at(own, resourceMetadataPath+strings.TrimSuffix(own.Path, "/")), at(own, resourceMetadataPath)}
		if hint := challengeOf(g.Answer).Params["resource_metadata"]; isAbsolute(hint) {
			m.Hint = hint
			if u := parsed(hint); mayContact(t, u) {
				urls = append([]string{hint}, urls...)
			} else {
				m.Foreign = u.Host
			}
		}
		m.Tried = fetchAll(t, compacted(urls)...)
		for _, d := range m.Tried {
			pointed := d == m.Pointed()
			switch {
			case m.Found == nil && (pointed && d.Answer.Status == http.StatusOK || isResource(d.Doc)):
				m.Found = d
			case m.Locked == nil && d.locked() && (pointed || isLocked(t, d)):
				m.Locked = d
			}
		}
		return m
	})
}

// Pointed is what is at the URL in the challenge; nil when there is no such URL, or it may not be asked.
func (m resourceMetadata) Pointed() *document {
	if m.Hint == "" || m.Foreign != "" {
		return nil
	}
	return m.Tried[0]
}

// compacted leaves out what has come before.
func compacted(urls []string) (kept []string) {
	for _, u := range urls {
		if !slices.Contains(kept, u) {
			kept = append(kept, u)
		}
	}
	return kept
}

func isAbsolute(text string) bool {
	u := parsed(text)
	return (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// isResource reports whether an object is meant as metadata of a resource: some servers answer any path with some
// object.
func isResource(doc M) bool { return Has(doc, "resource") || Has(doc, "authorization_servers") }

// isLocked reports whether a token opens the document. A token goes to the server's own origin only.
func isLocked(t *T, d *document) bool {
	if t.Credentials.Bearer == "" || parsed(d.URL).Host != endpointURL(t).Host {
		return false
	}
	s := t.Start()
	x := fetch(t, s, d.URL, bearing(t.Credentials.Bearer)["Authorization"])
	return isResource(readDocument(d.URL, kit.CameOf(x)).Doc)
}

// undecided is the first document of which it is not known whether it is there; nil when all are decided.
func undecided(docs []*document) *document {
	i := slices.IndexFunc(docs, func(d *document) bool { return !kit.IsOwn(d.Answer) })
	if i < 0 {
		return nil
	}
	return docs[i]
}

// foundMetadata is the metadata of the resource; it ends a check of what is in them when there is none.
func foundMetadata(t *T) *document {
	m := resourceMetadataOf(t)
	switch {
	case m.Found != nil:
		return m.Found
	case m.Foreign != "":
		needConsent(t, m.Foreign)
	case undecided(m.Tried) != nil:
		t.Inconclusive("could not fetch the metadata of the resource: %s", undecided(m.Tried))
	}
	t.Yield("there is no metadata of the resource")
	return nil
}

// foundObject is the metadata as an object, which another check wants it to be.
func foundObject(t *T) M {
	d := foundMetadata(t)
	if d.Doc == nil {
		t.Yield("the metadata of the resource is not a JSON object")
	}
	return d.Doc
}

// withoutOAuth reports whether nothing that a client can see is of OAuth: the tokens are keys that the operator of the
// server hands out. The pages on authorization do not bind such a server.
func withoutOAuth(t *T) bool {
	m, l := resourceMetadataOf(t), localIssuer(t)
	return m.Hint == "" && m.Found == nil && m.Locked == nil && !isIssuer(l.Root.Doc) && l.Below == nil
}

// needRevision ends a check whose rule is not in all revisions when the server, which lets nobody in, may be of an
// older one.
func needRevision(t *T) {
	if t.Server.Failure != "" {
		t.Because(NotGiven).Inconclusive(
			"the server has metadata of the kind of 2025-03-26; which revision it speaks is not known without a " +
				"token that it takes (--bearer-env)",
		)
	}
}
