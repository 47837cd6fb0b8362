package auth

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
)

// metadataChecks are the checks of the metadata of the protected resource.
var metadataChecks = check.Suite{
	"auth/metadata-discoverable": check.Probe(func(t *check.T) {
		m := resourceMetadataOf(t)
		if hinted := m.Hinted(); hinted != nil && isFromServer(hinted.Response) && !hinted.isUnauthorized() {
			t.Expect(hinted.Response).To(haveStatus(http.StatusOK))
		}
		t = t.DecidedBy(m.Tried)
		isFound := check.BeTrue("metadata of the resource", "%s", joinDocuments(m.Tried))
		switch {
		case m.Found != nil:
			return
		case m.ForeignHost != "":
			endWithoutConsent(t, m.ForeignHost)
		case m.Protected != nil:
			t.Yield("there is metadata, but not for everybody")
		case firstUndecided(m.Tried) != nil:
			t.NoVerdict(check.Undecided, "it could not be tested: %s", firstUndecided(m.Tried))
		case lacksOAuth(t):
			t.ExpectShould(anyResourceMetadata(m.Tried)).To(isFound)
		}
		if m.HintURL == "" {
			requireKnownRevision(t)
		}
		t.Expect(anyResourceMetadata(m.Tried)).To(isFound)
	}),

	"auth/metadata-public": check.Probe(func(t *check.T) {
		m := resourceMetadataOf(t)
		switch {
		case m.Found != nil:
			return
		case m.Protected == nil:
			m.requireTried(t)
			t.Skip(check.NotOffered, "there is no metadata of the resource")
		}
		t.Expect(m.Protected.Response).To(haveStatus(http.StatusOK))
	}),

	"auth/metadata-json": check.Probe(func(t *check.T) {
		d := requireMetadata(t)
		t = t.DecidedBy(d)
		t.Expect(d.Object != nil).To(check.BeTrue("a JSON object", "%s", d))
		t.Expect(check.Member(d.Object, "resource")).To(check.BeString())
		t.Expect(d.Response.MediaType()).To(check.BeOneOf("application/json"))
	}),

	"auth/metadata-authorization-servers": check.Probe(func(t *check.T) {
		doc := requireMetadataObject(t)
		t = t.DecidedBy(requireMetadata(t))
		servers := check.Member(doc, "authorization_servers")
		t.Expect(servers).To(check.Satisfy("authorization_servers, a list that is not empty", func(list []any) bool {
			return len(list) > 0
		}))
		for _, server := range servers.([]any) {
			t.Expect(server).To(check.Satisfy("an https URL", func(text string) bool { return isSecure(t, text) }))
		}
	}),

	"auth/metadata-resource-matches": check.Probe(func(t *check.T) {
		d := requireMetadata(t)
		text, _ := requireMetadataObject(t)["resource"].(string)
		if text == "" {
			t.Yield("the metadata has no resource")
		}
		resource, own := parseURL(text), endpointURL(t)
		here := strings.EqualFold(originOf(resource), originOf(own))
		if !here && (t.Site().IsLoopback() || strings.EqualFold(resource.Hostname(), own.Hostname())) {
			t.NoVerdict(check.Undecided, "the resource is %s; the server may be behind a proxy when clients use it",
				text)
		}
		t = t.DecidedBy(d)
		path, mine := strings.TrimSuffix(resource.Path, "/"), strings.TrimSuffix(own.Path, "/")
		// The document of a resource above is at the well-known path of that resource.
		isAbove := strings.HasPrefix(mine, path+"/") && parseURL(d.URL).Path == resourceMetadataPath+path
		t.Expect(here && (mine == path || isAbove)).To(check.BeTrue("the URL of the server", "resource %s", text))
		t.ExpectShould(mine == path || resourceMetadataOf(t).HintURL == "").To(check.BeTrue("the URL of the server",
			"resource %s, which is above it", text))
	}),

	"auth/resource-no-trailing-slash": check.Probe(func(t *check.T) {
		text, _ := requireMetadataObject(t)["resource"].(string)
		if text == "" {
			t.Yield("the metadata has no resource")
		}
		own := endpointURL(t).Path
		isRoot := strings.Trim(parseURL(text).Path, "/") == ""
		if !isRoot && strings.HasSuffix(own, "/") {
			t.Skip(check.NotApplicable, "the path of the endpoint ends with a slash: %s", own)
		}
		t.DecidedBy(requireMetadata(t)).Expect(!strings.HasSuffix(text, "/")).To(check.BeTrue(
			"a resource without a slash at its end", "%s", text))
	}),

	"auth/well-known-not-behind-auth-redirect": check.Probe(func(t *check.T) {
		s := t.Session(check.Process)
		a := roundtrip.RequireHTTPResponse(t,
			roundtrip.AwaitResponse(fetch(t, s, withPath(endpointURL(t), "/.well-known/mcpcheck-unknown"), nil)))
		t.Expect(a).To(haveStatus(http.StatusNotFound, http.StatusGone))
	}),
}

// originOf is the scheme, host and port of a URL.
func originOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
	}
	return u.Scheme + "://" + u.Hostname() + ":" + port
}

func anyResourceMetadata(docs []*document) bool {
	return slices.ContainsFunc(docs, func(d *document) bool { return isResourceMetadata(d.Object) })
}

func joinDocuments(docs []*document) string {
	var texts []string
	for _, d := range docs {
		texts = append(texts, d.String())
	}
	return strings.Join(texts, "; ")
}
