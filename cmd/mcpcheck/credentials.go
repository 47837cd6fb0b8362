package main

import (
	"cmp"
	"net/http"
	"os"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/mcpcheck/mcpcheck/suites/check"
)

// httpCredentials is what a server over HTTP is shown to let mcpcheck in: headers, and the tokens of the checks of
// authorization. Their values are secrets.
type httpCredentials struct {
	header  http.Header // of every request
	tokens  check.Credentials
	secrets *secrets
}

// readCredentials finds what the values and the address of a server give.
func readCredentials(v options, a address, s *secrets) (httpCredentials, error) {
	s.addURL(a.url)
	s.addURL(a.sseURL)
	x := httpCredentials{header: http.Header{}, secrets: s}
	x.tokens.MayContactIssuer = v.flags.remote.contactIssuer
	err := cmp.Or( // the first
		x.readHeaders(a.headers),
		x.readHeadersFromEnv(v.flags.remote.headerEnv),
		x.readBearerToken(v),
		x.readConfigHeaders(v.config),
		x.readTokens(v.flags.remote.tokenEnv),
	)
	return x, err
}

// readHeaders reads headers that are given as NAME: VALUE.
func (a *httpCredentials) readHeaders(headers []string) error {
	for _, pair := range headers {
		name, value, ok := strings.Cut(pair, ":")
		value = strings.TrimSpace(value)
		if !ok || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return usageErrorf("--header wants 'NAME: VALUE'; %q is not that", name)
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
		if !httpguts.ValidHeaderFieldName(name) || !isVariableName(variable) { // which may be a secret
			return usageErrorf("--header-env wants NAME=VARIABLE, the variable that holds the value of the header %q",
				name)
		}
		if a.header.Get(name) != "" {
			return usageErrorf("--header-env %s is given already; give the header once", name)
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

// validateHeaderName is an error of use for a header that belongs to the transport.
func validateHeaderName(flag, name string) error {
	if name = http.CanonicalHeaderKey(name); slices.Contains(reservedHeaders, name) {
		return usageErrorf("%s cannot set %s, which mcpcheck sets for each request", flag, name)
	}
	return nil
}

// reservedHeaders are headers that belong to the transport.
var reservedHeaders = []string{
	"Host", "Connection", "Content-Length", "Transfer-Encoding", "Content-Type", "Accept", "Accept-Encoding",
	"Mcp-Session-Id", "Mcp-Protocol-Version", "Last-Event-Id",
}

// readBearerToken reads the token of every request. A header that was given wins over one that mcpcheck.yaml names.
func (a *httpCredentials) readBearerToken(v options) error {
	given, has := v.flags.isGiven("bearer-env"), a.header.Get("Authorization") != ""
	if v.BearerEnv == "" || has && !given {
		return nil
	}
	token, err := a.readVariable(v.origin("bearer-env"), v.BearerEnv)
	if err != nil {
		return err
	}
	if has {
		return usageErrorf("--bearer-env and the header Authorization are the same; give one of them")
	}
	a.addHeader("Authorization", "Bearer "+token)
	return nil
}

// readConfigHeaders reads the headers whose values stand in environment variables, by mcpcheck.yaml, but those that are
// given.
func (a *httpCredentials) readConfigHeaders(c config) error {
	for _, name := range sortedKeys(c.Headers) {
		if a.header.Get(name) != "" {
			continue
		}
		value, err := a.readVariable(c.location("headers", name)+": "+name, c.Headers[name])
		if err != nil {
			return err
		}
		a.addHeader(name, value)
	}
	return nil
}

// readTokens reads the tokens of the checks of authorization, given as KIND=VARIABLE.
func (a *httpCredentials) readTokens(pairs []string) error {
	c := &a.tokens
	kinds := map[string]*string{
		"second": &c.SecondPrincipal, "expired": &c.Expired, "narrow": &c.InsufficientScope,
		"other-audience": &c.OtherAudience,
	}
	for _, pair := range pairs {
		kind, variable, ok := strings.Cut(pair, "=")
		if !ok || kinds[kind] == nil {
			return usageErrorf(
				"--token-env wants KIND=VARIABLE with a kind of second, expired, narrow, other-audience; "+
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

// variable is the value of an environment variable that something asks for.
func (a *httpCredentials) readVariable(origin, name string) (string, error) {
	value := strings.TrimSpace(os.Getenv(name))
	switch {
	case value == "":
		return "", usageErrorf("%s: the environment variable %s is empty or not set", origin, name)
	case !httpguts.ValidHeaderFieldValue(value):
		return "", usageErrorf("%s: the value of %s cannot stand in an HTTP header", origin, name)
	}
	a.secrets.add(value)
	return value, nil
}

// addHeader adds a header.
func (a *httpCredentials) addHeader(name, value string) {
	a.header.Add(name, value)
	a.secrets.add(value)
	scheme, token, ok := strings.Cut(value, " ")
	if !ok {
		return
	}
	a.secrets.add(token)
	if strings.EqualFold(name, "Authorization") && strings.EqualFold(scheme, "Bearer") {
		a.tokens.Bearer = strings.TrimSpace(token)
		a.secrets.add(a.tokens.AlteredToken())
		a.secrets.add(a.tokens.UnsignedToken())
	}
}
