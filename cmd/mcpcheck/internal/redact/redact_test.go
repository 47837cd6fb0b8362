package redact

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// TestRedactor proves that a secret is redacted in every form in which it may be shown, and also what remains of it in
// a shortened text.
func TestRedactor(t *testing.T) {
	var s Secrets
	for _, secret := range []string{"open sesame&\"x\"", "open sesame&", "true", "80", "abc", "localhost", "{port}",
		"name", "tools/call", "other"} {
		s.Add(secret)
	}
	s.AddURL("http://me:p%40ss-word@example.com:{port}/mcp?key=query-key&n=1")
	r := s.Redactor()
	basic := base64.StdEncoding.EncodeToString([]byte("me:p@ss-word"))
	for content, want := range map[string]string{
		"no secret: true 80 abc localhost {port}": "no secret: true 80 abc localhost {port}",
		`"method":"tools/call","params":{"name"`:  `"method":"tools/call","params":{"name"`,
		`<open sesame&"x">`:                       "<[redacted]>",
		"<open sesame&>":                          "<[redacted]>",
		`{"a":"open sesame&\"x\""}`:               `{"a":"[redacted]"}`,
		`{"a":"open sesame\u0026\"x\""}`:          `{"a":"[redacted]"}`,
		"a=open+sesame%26%22x%22&b":               "a=[redacted]&b",
		"/open%20sesame&%22x%22/":                 "/[redacted]/",
		"it said open ses…":                       "it said [redacted]…",
		"… same& it said":                         "… [redacted] it said",
		"http://me:p%40ss-word@h/?key=query-key":  "http://me:[redacted]@h/?key=[redacted]",
		"p@ss-word":                               "[redacted]",
		"in another letter case":                  "in another letter case",
		`Bearer other, "a\nother%2Fother_1"`:      `Bearer [redacted], "a\n[redacted]%2F[redacted]_1"`,
		"Authorization: Basic " + basic:           "Authorization: Basic [redacted]",
	} {
		if got := r.Text(content); got != want {
			t.Errorf("%s is shown as %s, want %s", content, got, want)
		}
	}
}

// TestRedactorOfResults proves that all texts of a result that may come from the server are redacted, and that the
// argument stays unchanged.
func TestRedactorOfResults(t *testing.T) {
	s := Secrets{Texts: []string{"s3cr3t"}}
	result := func(secret string) report.Result {
		return report.Result{
			ID: "a/b", Verdict: catalogue.Fail, Message: "got " + secret, Subjects: []string{"tool " + secret},
			Evidence: []report.Line{{Arrow: "←", HTTP: "200 OK; x-key: " + secret, Text: secret}},
		}
	}
	given := result("s3cr3t")
	if diff := cmp.Diff(result("[redacted]"), s.Redactor().Result(given)); diff != "" {
		t.Errorf("result, - wanted, + got:\n%s", diff)
	}
	if diff := cmp.Diff(result("s3cr3t"), given); diff != "" {
		t.Errorf("the argument has changed:\n%s", diff)
	}
	info := s.Redactor().Server(report.ServerInfo{
		Name: "s3cr3t server", Version: "1-s3cr3t", Capabilities: []string{"s3cr3t", "tools"}, Tools: 2,
		DiscoverError: "error 1: s3cr3t",
	})
	want := report.ServerInfo{
		Name: "[redacted] server", Version: "1-[redacted]", Capabilities: []string{"[redacted]", "tools"}, Tools: 2,
		DiscoverError: "error 1: [redacted]",
	}
	if diff := cmp.Diff(want, info); diff != "" {
		t.Errorf("server, - wanted, + got:\n%s", diff)
	}
	if got := strings.Join(s.Redactor().Texts([]string{"--key", "s3cr3t"}), " "); got != "--key [redacted]" {
		t.Error(got)
	}
}

// TestNamedSecrets proves that a value is a secret when its name says so.
func TestNamedSecrets(t *testing.T) {
	for _, c := range []struct {
		command []string
		env     string
		want    []string
	}{
		{command: []string{"server", "--api-key", "abcdef", "--port", "8765"}, want: []string{"abcdef"}},
		{command: []string{"server", "--token=abcdef", "--name=server"}, want: []string{"abcdef"}},
		{command: []string{"server", "--token", "--verbose"}},
		{command: []string{"env", "GITHUB_PAT=abcdef", "SORT=name", "node"}, want: []string{"abcdef"}},
		{command: []string{"mcp-remote", "--header", "Authorization: Bearer abcdef"},
			want: []string{"Bearer abcdef", "abcdef"}},
		{command: []string{"server", "postgres://me:abcdef@db/x"}, want: []string{"abcdef"}},
		{command: []string{"node", "tokenize.js", "monkey"}},
		{env: "STRIPE_SECRET=abcdefgh", want: []string{"abcdefgh"}},
		{env: "AWS_ACCESS_KEY_ID=abcdefgh", want: []string{"abcdefgh"}},
		{env: "SORT_KEY=name"}, // too short to be redacted
		{env: "PRIMARY_KEY=description"},
		{env: "PWD=/home/someone"},
		{env: "KEYBOARD=some layout"},
		{env: "DATABASE_URL=postgres://me:abcdef@db/x", want: []string{"abcdef"}},
	} {
		var s Secrets
		s.AddCommand(c.command)
		s.AddInherited([]string{c.env})
		if diff := cmp.Diff(c.want, s.Texts); diff != "" {
			t.Errorf("%q %s, - wanted, + got:\n%s", c.command, c.env, diff)
		}
	}
}
