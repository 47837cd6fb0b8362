package elicitation

import (
	"net"
	"net/url"
	"regexp"
	"strings"

	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// urls are the checks of the URLs that users are sent to.
var urls = Suite{
	urlSchema: WatchAfter(kit.LetInquire, func(t *T, w Wire) {
		judgeURLs(t, visits(t, w), func(t *T, q kit.Question) {
			if !isAnnounced(q) { // of those elicitation/required-error-shape judges the shape
				t.Expect(broken(t, q, urlSchema)).To(BeEmptyList[string]("all members that such a request has"))
			}
			t.Expect(addressOf(q) != nil).To(Hold("an absolute URL, with a host", "%s", Show(Member(q.Params, "url"))))
		})
	}),

	"elicitation/url-https": WatchAfter(kit.LetInquire, func(t *T, w Wire) {
		judgeURLs(t, visits(t, w), func(t *T, q kit.Question) {
			u := wantAddress(t, q)
			if u.Scheme == "http" && isLoopback(u.Hostname()) {
				t.FailAt(Advice, "https", "http to %s, which is for development", u.Host)
			}
			t.Expect(u.Scheme).To(BeOneOf("https"), "of the URL %s", Show(u.String()))
		})
	}),

	"elicitation/url-no-credentials": WatchAfter(kit.LetInquire, func(t *T, w Wire) {
		judgeURLs(t, visits(t, w), func(t *T, q kit.Question) {
			u := wantAddress(t, q)
			t.Expect(credentials(t, u)).To(BeEmptyList[string]("no credentials in the URL"))
			t.Warn(suspicious(u)).To(BeEmptyList[string](
				"nothing personal in the URL, and nothing that lets in who opens it"))
		})
	}),

	"elicitation/no-elicitation-id": WatchAfter(kit.LetInquire, func(t *T, w Wire) {
		done := completions(w, t.Revision)
		if len(done.List) > 0 {
			t.Judge(done, func(t *T, m Message) {
				t.Fail("no "+completion+", which is gone", "%s", Show(m.JSON()["params"]))
			})
		}
		judgeURLs(t, elicitations(t, w, urlMode), func(t *T, q kit.Question) {
			t.Expect(Member(q.Params, "elicitationId")).To(BeOneOf[any](Absent{}), "elicitationId, which is gone")
		})
	}),
}

// isAnnounced reports whether an error has announced the elicitation.
func isAnnounced(q kit.Question) bool { return q.Frame.HasError }

// addressOf is the URL of an elicitation; nil when it is not a valid one, or not absolute. Schemes of the web want a
// host.
func addressOf(q kit.Question) *url.URL {
	text, _ := q.Params["url"].(string)
	u, err := url.Parse(text)
	switch {
	case err != nil, !u.IsAbs(), strings.ContainsAny(text, " \t\r\n"):
		return nil
	case u.Host == "" && u.Opaque == "", u.Hostname() == "" && (u.Scheme == "http" || u.Scheme == "https"):
		return nil
	}
	return u
}

// wantAddress is the URL for a check that cannot do without it.
func wantAddress(t *T, q kit.Question) *url.URL {
	u := addressOf(q)
	if u == nil {
		t.Yield("the URL is not valid")
	}
	return u
}

// isLoopback reports whether a host is this machine.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback() || host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// credentials are what is in a URL that lets somebody in: those of its user, and those that the server was given.
func credentials(t *T, u *url.URL) (found []string) {
	if u.User != nil {
		found = append(found, "a user: "+u.User.Username())
	}
	text, err := url.PathUnescape(u.String())
	if err != nil {
		text = u.String()
	}
	for _, secret := range kit.Secrets(t) {
		if strings.Contains(text, secret) || strings.Contains(u.String(), secret) {
			found = append(found, "a token that the server was given")
		}
	}
	return found
}

// What looks like something about a person, or like a key, wherever it is in a URL.
var (
	mail  = regexp.MustCompile(`(?i)[a-z0-9._+-]+(@|%40)[a-z0-9-]+(\.[a-z0-9-]+)*\.[a-z]{2,}`)
	jwt   = regexp.MustCompile(`\beyJ[\w-]+\.eyJ[\w-]+\.[\w-]*`)
	keyed = regexp.MustCompile(`(?i)[?&#](access_token|id_token|api_?key|password|passwd|secret)=[^&#]`)
)

// suspicious is what may be personal in a URL, or may let in who opens it.
func suspicious(u *url.URL) (found []string) {
	for _, sign := range []struct {
		name string
		of   *regexp.Regexp
	}{{"a mail address", mail}, {"a JSON web token", jwt}, {"a credential by the name of its parameter", keyed}} {
		if sign.of.MatchString(u.RequestURI()) || sign.of.MatchString("#"+u.Fragment) {
			found = append(found, sign.name)
		}
	}
	return found
}
