package target

import (
	"cmp"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/redact"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// httpCredentials are the headers that mcpcheck sends to a server over HTTP, and the tokens of the authorization
// checks. All values are secrets.
type httpCredentials struct {
	// header is sent with every request.
	header  http.Header
	tokens  check.Credentials
	secrets *redact.Secrets
}

// readCredentials returns the credentials that the options and the address contain.
func readCredentials(v config.Options, a config.Address, s *redact.Secrets) (httpCredentials, error) {
	s.AddURL(a.URL)
	s.AddURL(a.SSEURL)
	x := httpCredentials{header: http.Header{}, secrets: s}
	x.tokens.MayContactIssuer = v.Flags.Remote.ContactIssuer
	err := cmp.Or( // the first error
		x.readHeaders(a.Headers),
		x.readHeadersFromEnv(v.Flags.Remote.HeaderEnv),
		x.readBearerToken(v),
		x.readConfigHeaders(v.File),
		x.readTokens(v.Flags.Remote.TokenEnv),
	)
	return x, err
}

// readHeaders reads headers that are given as NAME: VALUE.
func (a *httpCredentials) readHeaders(headers []string) error {
	for _, pair := range headers {
		name, value, ok := strings.Cut(pair, ":")
		value = strings.TrimSpace(value)
		if !ok || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return exit.Usagef("--header needs 'NAME: VALUE'; %q is not that", name)
		}
		if err := validateHeaderName("--header", name); err != nil {
			return err
		}
		a.addHeader(name, value)
	}
	return nil
}

// readHeadersFromEnv reads headers that are given as NAME=VARIABLE.
func (a *httpCredentials) readHeadersFromEnv(pairs []string) error {
	for _, pair := range pairs {
		name, variable, _ := strings.Cut(pair, "=")
		if !httpguts.ValidHeaderFieldName(name) || !config.IsVariableName(variable) { // not quoted: it may be a secret
			return exit.Usagef("--header-env needs NAME=VARIABLE, the variable that holds the value of the header %q",
				name)
		}
		if a.header.Get(name) != "" {
			return exit.Usagef("--header-env %s is given already; give the header once", name)
		}
		if err := validateHeaderName("--header-env", name); err != nil {
			return err
		}
		value, err := a.readVariable("--header-env "+name, variable)
		if err != nil {
			return err
		}
		a.addHeader(name, value)
	}
	return nil
}

// validateHeaderName returns an error of usage for a header that the transport sets.
func validateHeaderName(flag, name string) error {
	if name = http.CanonicalHeaderKey(name); slices.Contains(config.ReservedHeaders, name) {
		return exit.Usagef("%s cannot set %s, which mcpcheck sets for each request", flag, name)
	}
	return nil
}

// readBearerToken reads the token of every request. A header that was given takes precedence over mcpcheck.yaml.
func (a *httpCredentials) readBearerToken(v config.Options) error {
	given, has := v.Flags.IsGiven("bearer-env"), a.header.Get("Authorization") != ""
	if v.BearerEnv == "" || has && !given {
		return nil
	}
	token, err := a.readVariable(v.Origin("bearer-env"), v.BearerEnv)
	if err != nil {
		return err
	}
	if has {
		return exit.Usagef("--bearer-env and the header Authorization are the same; give one of them")
	}
	a.addHeader("Authorization", "Bearer "+token)
	return nil
}

// readConfigHeaders reads the headers of mcpcheck.yaml, whose values are in environment variables. Headers that were
// given take precedence.
func (a *httpCredentials) readConfigHeaders(c config.File) error {
	for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
		if a.header.Get(name) != "" {
			continue
		}
		value, err := a.readVariable(c.Location("headers", name)+": "+name, c.Headers[name])
		if err != nil {
			return err
		}
		a.addHeader(name, value)
	}
	return nil
}

// readTokens reads the tokens of the authorization checks, which are given as KIND=VARIABLE.
func (a *httpCredentials) readTokens(pairs []string) error {
	c := &a.tokens
	kinds := map[string]*string{
		"second": &c.SecondPrincipal, "expired": &c.Expired, "narrow": &c.InsufficientScope,
		"broad": &c.BroadScope, "other-audience": &c.OtherAudience,
	}
	for _, pair := range pairs {
		kind, variable, ok := strings.Cut(pair, "=")
		if !ok || kinds[kind] == nil {
			return exit.Usagef(
				"--token-env needs KIND=VARIABLE with a kind of second, expired, narrow, broad, other-audience; "+
					"%q is not that", pair)
		}
		token, err := a.readVariable("--token-env "+kind, variable)
		if err != nil {
			return err
		}
		*kinds[kind] = token
	}
	return nil
}

// readVariable returns the value of an environment variable. The origin, for the error, is the flag or key that names
// it.
func (a *httpCredentials) readVariable(origin, name string) (string, error) {
	value := strings.TrimSpace(os.Getenv(name))
	switch {
	case value == "":
		return "", exit.Usagef("%s: the environment variable %s is empty or not set", origin, name)
	case !httpguts.ValidHeaderFieldValue(value):
		return "", exit.Usagef("%s: the value of %s cannot stand in an HTTP header", origin, name)
	}
	a.secrets.Add(value)
	return value, nil
}

// addHeader adds a header and makes its value a secret.
func (a *httpCredentials) addHeader(name, value string) {
	a.header.Add(name, value)
	a.secrets.Add(value)
	scheme, token, ok := strings.Cut(value, " ")
	if !ok {
		return
	}
	a.secrets.Add(token)
	if strings.EqualFold(name, "Authorization") && strings.EqualFold(scheme, "Bearer") {
		a.tokens.Bearer = strings.TrimSpace(token)
		a.secrets.Add(a.tokens.AlteredToken())
		a.secrets.Add(a.tokens.UnsignedToken())
	}
}
