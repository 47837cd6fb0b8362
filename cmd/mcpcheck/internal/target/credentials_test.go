package target

import (
	"net/http"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/configtest"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/redact"
)

// TestForgedTokensAreRedacted proves that tokens derived from the ordinary one are redacted, since they contain most of
// it.
func TestForgedTokensAreRedacted(t *testing.T) {
	a := httpCredentials{header: http.Header{}, secrets: &redact.Secrets{}}
	a.addHeader("Authorization", "Bearer e30.e30claims.signature")
	r := a.secrets.Redactor()
	for _, token := range []string{a.tokens.Bearer, a.tokens.AlteredToken(), a.tokens.UnsignedToken()} {
		if got := r.Text(token); token == "" || got != "[redacted]" {
			t.Errorf("%q is shown as %s", token, got)
		}
	}
}

// TestReadCredentials proves that headers that are given take precedence over mcpcheck.yaml, and that all values are
// secrets.
func TestReadCredentials(t *testing.T) {
	for _, variable := range []string{"FILE", "BEARER", "FLAG", "SECOND"} {
		t.Setenv(variable, "s3cr3t-"+variable)
	}
	const key, bearer = "headers: {X-Key: FILE}\n", "bearer-env: BEARER\n"
	for _, test := range []struct {
		line, file string
		// want are the headers and tokens, or the error.
		want string
	}{
		{"", key + bearer, "X-Key: s3cr3t-FILE, Authorization: Bearer s3cr3t-BEARER, token s3cr3t-BEARER"},
		{"--header x-key:s3cr3t-given", key, "X-Key: s3cr3t-given"},
		{"--bearer-env FLAG", bearer, "Authorization: Bearer s3cr3t-FLAG, token s3cr3t-FLAG"},
		{"--bearer-env FLAG", "headers: {authorization: FILE}\n",
			"Authorization: Bearer s3cr3t-FLAG, token s3cr3t-FLAG"},
		{"--header Authorization:s3cr3t-given", bearer, "Authorization: s3cr3t-given"},
		{"--token-env second=SECOND", "", "second s3cr3t-SECOND"},
		{"--header Authorization:x --bearer-env FLAG", "", "--bearer-env and the header Authorization are the same"},
		{"--header-env x-key=FLAG", key, "X-Key: s3cr3t-FLAG"},
		{"--header-env Authorization=FLAG", bearer, "Authorization: s3cr3t-FLAG"},
		{"--header-env Host=FLAG", "", "--header-env cannot set Host"},
		{"--header-env X-Key=a-value", "", "--header-env needs NAME=VARIABLE"},
		{"--header-env X-Key=NONE", "", "--header-env X-Key: the environment variable NONE is empty or not set"},
		{"--header X-Key:x --header-env X-Key=FLAG", "", "--header-env X-Key is given already"},
		{"--header Host:x", "", "--header cannot set Host"},
		{"--header x", "", "--header needs 'NAME: VALUE'"},
		{"--bearer-env NONE", "", "--bearer-env: the environment variable NONE is empty or not set"},
		{"", "bearer-env: NONE\n", "mcpcheck.yaml:1:13: bearer-env: the environment variable NONE is empty"},
		{"", "headers: {X-Key: NONE}\n", "mcpcheck.yaml:1:18: X-Key: the environment variable NONE is empty"},
		{"--token-env third=FLAG", "", "--token-env needs KIND=VARIABLE"},
	} {
		v, err := config.Resolve(configtest.ParseFlags(t, test.line+" --url http://h/"),
			configtest.ParseFile(t, test.file))
		if err != nil {
			t.Fatal(err)
		}
		var s redact.Secrets
		x, err := readCredentials(v, config.Address{URL: v.URL, Headers: v.Flags.Remote.Headers}, &s)
		got := describeCredentials(x)
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, test.want) || err == nil && got != test.want {
			t.Errorf("%s with %q: %s, want %s", test.line, test.file, got, test.want)
		}
		if shown := s.Redactor().Text(got); strings.Contains(shown, "s3cr3t") {
			t.Errorf("%s with %q: not secret: %s", test.line, test.file, shown)
		}
	}
}

// describeCredentials returns credentials as a text.
func describeCredentials(x httpCredentials) string {
	var parts []string
	for _, part := range []struct{ name, value string }{
		{"X-Key: ", x.header.Get("X-Key")}, {"Authorization: ", x.header.Get("Authorization")},
		{"token ", x.tokens.Bearer}, {"second ", x.tokens.SecondPrincipal},
	} {
		if part.value != "" {
			parts = append(parts, part.name+part.value)
		}
	}
	return strings.Join(parts, ", ")
}
