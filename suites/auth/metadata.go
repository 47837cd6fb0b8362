package auth

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// metadata are the checks of the metadata of the protected resource.
var metadata = Suite{
	"auth/metadata-discoverable": Probe(func(t *T) {
		m := resourceMetadataOf(t)
		if hinted := m.Pointed(); hinted != nil && kit.IsOwn(hinted.Answer) && !hinted.locked() {
			t.Expect(hinted.Answer).To(haveStatus(http.StatusOK))
		}
		switch {
		case m.Found != nil:
			return
		case m.Foreign != "":
			needConsent(t, m.Foreign)
		case m.Locked != nil:
			t.Yield("there is metadata, but not for everybody")
		case undecided(m.Tried) != nil:
			t.Inconclusive("it could not be tested: %s", undecided(m.Tried))
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
		t = t.By(d)
		t.Expect(d.Doc != nil).To(Hold("a JSON object", "%s", d))
		t.Expect(Member(d.Doc, "resource")).To(BeString())
		t.Expect(d.Answer.MediaType()).To(BeOneOf("application/json"))
	}),

	"auth/metadata-authorization-servers": Probe(func(t *T) {
		doc := foundObject(t)
		t = t.By(foundMetadata(t))
		servers := Member(doc, "authorization_servers")
		t.Expect(servers).To(That("authorization_servers, a list that is not empty", func(list []any) bool {
			return len(list) > 0
		}))
		for _, server := range servers.([]any) {
			t.Expect(server).To(That("an https URL", func(text string) bool { return isSecure(t, text) }))
		}
	}),

	"auth/metadata-resource-matches": Probe(func(t *T) {
		d := foundMetadata(t)
		text, _ := foundObject(t)["resource"].(string)
		if text == "" {
			t.Yield("the metadata has no resource")
		}
		resource, own := parsed(text), endpointURL(t)
		here := strings.EqualFold(originOfURL(resource), originOfURL(own))
		if !here && (t.Site().Loopback() || strings.EqualFold(resource.Hostname(), own.Hostname())) {
			t.Inconclusive("the resource is %s; the server may be behind a proxy when clients use it", text)
		}
		t = t.By(d)
		path, mine := strings.TrimSuffix(resource.Path, "/"), strings.TrimSuffix(own.Path, "/")
		t.Expect(here && (mine == path || strings.HasPrefix(mine, path+"/"))).To(Hold("the URL of the server",
			"resource %s", text))
		atRoot := path == "" && parsed(d.URL).Path == resourceMetadataPath && resourceMetadataOf(t).Hint == ""
		t.Warn(mine == path || atRoot).To(Hold("the URL of the server", "resource %s, which is above it", text))
	}),

	"auth/well-known-not-behind-auth-redirect": Probe(func(t *T) {
		s := t.Start()
		a := kit.Own(t, kit.CameOf(fetch(t, s, at(endpointURL(t), "/.well-known/mcpcheck-unknown"), nil)))
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

func join(docs []*document) string {
	var texts []string
	for _, d := range docs {
		texts = append(texts, d.String())
	}
	return strings.Join(texts, "; ")
}
