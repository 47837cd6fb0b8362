package elicitation

import (
	"net"
	"net/url"
	"regexp"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/kit/client"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// urlChecks are the checks of the URLs to which users are sent.
var urlChecks = check.Suite{
	urlSchemaID: check.WatchWithSetup(client.CollectServerRequests, func(t *check.T, w check.Wire) {
		eachURL(t, urlElicitations(t, w), func(t *check.T, q client.ServerRequest) {
			if !isAnnounced(q) { // elicitation/required-error-shape judges the others
				t.Expect(violations(t, q, urlSchemaID)).
					To(check.BeEmptyList[string]("all members that such a request has"))
			}
			t.Expect(urlOf(q) != nil).To(check.BeTrue("an absolute URL, with a host", "%s",
				check.Show(check.Member(q.Params, "url"))))
		})
	}),

	"elicitation/url-https": check.WatchWithSetup(client.CollectServerRequests, func(t *check.T, w check.Wire) {
		eachURL(t, urlElicitations(t, w), func(t *check.T, q client.ServerRequest) {
			u := requireURL(t, q)
			if u.Scheme == "http" && isLoopback(u.Hostname()) {
				t.FailAt(catalogue.Advice, "https", "http to %s, which is for development", u.Host)
			}
			t.Expect(u.Scheme).To(check.BeOneOf("https"), "of the URL %s", check.Show(u.String()))
		})
	}),

	"elicitation/url-no-credentials": check.WatchWithSetup(client.CollectServerRequests,
		func(t *check.T, w check.Wire) {
			eachURL(t, urlElicitations(t, w), func(t *check.T, q client.ServerRequest) {
				u := requireURL(t, q)
				t.Expect(credentialsIn(t, u)).To(check.BeEmptyList[string]("no credentials in the URL"))
				t.ExpectShould(sensitiveParts(u)).To(check.BeEmptyList[string](
					"nothing personal in the URL, and nothing that lets in who opens it"))
			})
		}),

	"elicitation/no-elicitation-id": check.WatchWithSetup(client.CollectServerRequests, func(t *check.T, w check.Wire) {
		done := completionNotifications(w, t.Revision)
		if len(done.List) > 0 {
			t.Judge(done, func(t *check.T, m check.Message) {
				t.Fail("no "+completeNotification+", which is gone", "%s", check.Show(m.JSON()["params"]))
			})
		}
		eachURL(t, elicitations(t, w, urlMode), func(t *check.T, q client.ServerRequest) {
			t.Expect(check.Member(q.Params, "elicitationId")).To(check.BeOneOf[any](check.Absent{}),
				"elicitationId, which is gone")
		})
	}),
}

// isAnnounced reports whether an error has announced the elicitation.
func isAnnounced(q client.ServerRequest) bool { return q.Frame.HasError }

// urlOf returns the URL of an elicitation; nil if it is invalid or not absolute. URLs of the web need a host.
func urlOf(q client.ServerRequest) *url.URL {
	text, _ := q.Params["url"].(string)
	u, err := url.Parse(text)
	switch {
	case err != nil, !u.IsAbs(), notInURLs.MatchString(text):
		return nil
	case u.Host == "" && u.Opaque == "", u.Hostname() == "" && (u.Scheme == "http" || u.Scheme == "https"):
		return nil
	}
	return u
}

// notInURLs matches what neither RFC 3986 nor the URL standard allows in any part of a URL. Letters beyond ASCII are
// allowed by the latter.
var notInURLs = regexp.MustCompile("[\\x00-\\x20\\x7f\"<>\\\\^`{|}]|%([^0-9A-Fa-f]|$)|%[0-9A-Fa-f]([^0-9A-Fa-f]|$)")

// requireURL returns the URL of an elicitation; without one, it ends the check.
func requireURL(t *check.T, q client.ServerRequest) *url.URL {
	u := urlOf(q)
	if u == nil {
		t.Yield("the URL is not valid")
	}
	return u
}

// isLoopback reports whether a host is the local machine.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback() || host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// credentialsIn returns the credentials in a URL: those of its user part, and those that the server was started with.
func credentialsIn(t *check.T, u *url.URL) (found []string) {
	if u.User != nil {
		found = append(found, "a user: "+u.User.Username())
	}
	text, err := url.PathUnescape(u.String())
	if err != nil {
		text = u.String()
	}
	for _, secret := range toolcall.Secrets(t) {
		if strings.Contains(text, secret) || strings.Contains(u.String(), secret) {
			found = append(found, "a token that the server was given")
		}
	}
	return found
}

// These patterns match what looks like personal data or a key anywhere in a URL.
var (
	emailPattern           = regexp.MustCompile(`(?i)[a-z0-9._+-]+(@|%40)[a-z0-9-]+(\.[a-z0-9-]+)*\.[a-z]{2,}`)
	jwtPattern             = regexp.MustCompile(`\beyJ[\w-]+\.eyJ[\w-]+\.[\w-]*`)
	credentialParamPattern = regexp.MustCompile(
		`(?i)[?&#](access_token|id_token|api_?key|password|passwd|secret)=[^&#]`)
)

// sensitiveParts returns the parts of a URL that may be personal data or may grant access.
func sensitiveParts(u *url.URL) (found []string) {
	for _, sign := range []struct {
		name string
		of   *regexp.Regexp
	}{{"a mail address", emailPattern}, {"a JSON web token", jwtPattern},
		{"a credential by the name of its parameter", credentialParamPattern}} {
		if sign.of.MatchString(u.RequestURI()) || sign.of.MatchString("#"+u.Fragment) {
			found = append(found, sign.name)
		}
	}
	return found
}
