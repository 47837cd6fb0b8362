package main

import (
	"cmp"
	"net/http"
	"os"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// access is what a server over HTTP is shown to let mcpcheck in: headers, and the tokens of the checks of
// authorization. Their values are secrets.
type access struct {
	header      http.Header // of every request
	credentials harness.Credentials
	secrets     *secrets
}

// readAccess finds what the values and the address of a server give.
func readAccess(v values, a address, s *secrets) (access, error) {
	s.hideURL(a.url)
	s.hideURL(a.sseURL)
	x := access{header: http.Header{}, secrets: s}
	x.credentials.ContactIssuer = v.flags.remote.contactIssuer
	err := cmp.Or( // the first
		x.readHeaders(a.headers),
		x.readHeaderEnv(v.flags.remote.headerEnv),
		x.readBearer(v),
		x.readVariables(v.config),
		x.readTokens(v.flags.remote.tokenEnv),
	)
	return x, err
}

// readHeaders reads headers that are given as NAME: VALUE.
func (a *access) readHeaders(headers []string) error {
	for _, pair := range headers {
		name, value, ok := strings.Cut(pair, ":")
		value = strings.TrimSpace(value)
		if !ok || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return usage("--header wants 'NAME: VALUE'; %q is not that", name)
		}
		if err := free("--header", name); err != nil {
			return err
		}
		a.set(name, value)
	}
	return nil
}

// readHeaderEnv reads headers that are given as NAME=VARIABLE.
func (a *access) readHeaderEnv(pairs []string) error {
	for _, pair := range pairs {
		name, variable, _ := strings.Cut(pair, "=")
		if !httpguts.ValidHeaderFieldName(name) || !isVariable(variable) { // which may be a secret
			return usage("--header-env wants NAME=VARIABLE, the variable that holds the value of the header %q", name)
		}
		if a.header.Get(name) != "" {
			return usage("--header-env %s is given already; give the header once", name)
		}
		if err := free("--header-env", name); err != nil {
			return err
		}
		value, err := a.variable("--header-env "+name, variable)
		if err != nil {
			return err
		}
		a.set(name, value)
	}
	return nil
}

// free is an error of use for a header that belongs to the transport.
func free(flag, name string) error {
	if name = http.CanonicalHeaderKey(name); slices.Contains(reserved, name) {
		return usage("%s cannot set %s, which mcpcheck sets for each request", flag, name)
	}
	return nil
}

// reserved are headers that belong to the transport.
var reserved = []string{
	"Host", "Connection", "Content-Length", "Transfer-Encoding", "Content-Type", "Accept", "Accept-Encoding",
	"Mcp-Session-Id", "Mcp-Protocol-Version", "Last-Event-Id",
}

// readBearer reads the token of every request. A header that was given wins over one that mcpcheck.yaml names.
func (a *access) readBearer(v values) error {
	given, has := v.flags.given("bearer-env"), a.header.Get("Authorization") != ""
	if v.BearerEnv == "" || has && !given {
		return nil
	}
	token, err := a.variable(v.origin("bearer-env"), v.BearerEnv)
	if err != nil {
		return err
	}
	if has {
		return usage("--bearer-env and the header Authorization are the same; give one of them")
	}
	a.set("Authorization", "Bearer "+token)
	return nil
}

// readVariables reads the headers whose values stand in environment variables, by mcpcheck.yaml, but those that are
// given.
func (a *access) readVariables(c config) error {
	for _, name := range sortedKeys(c.Headers) {
		if a.header.Get(name) != "" {
			continue
		}
		value, err := a.variable(c.place("headers", name)+": "+name, c.Headers[name])
		if err != nil {
			return err
		}
		a.set(name, value)
	}
	return nil
}

// readTokens reads the tokens of the checks of authorization, given as KIND=VARIABLE.
func (a *access) readTokens(pairs []string) error {
	c := &a.credentials
	kinds := map[string]*string{
		"second": &c.Second, "expired": &c.Expired, "narrow": &c.Narrow, "other-audience": &c.OtherAudience,
	}
	for _, pair := range pairs {
		kind, variable, ok := strings.Cut(pair, "=")
		if !ok || kinds[kind] == nil {
			return usage("--token-env wants KIND=VARIABLE with a kind of second, expired, narrow, other-audience; "+
				"%q is not that", pair)
		}
		token, err := a.variable("--token-env "+kind, variable)
		if err != nil {
			return err
		}
		*kinds[kind] = token
	}
	return nil
}

// variable is the value of an environment variable that something asks for.
func (a *access) variable(origin, name string) (string, error) {
	value := strings.TrimSpace(os.Getenv(name))
	switch {
	case value == "":
		return "", usage("%s: the environment variable %s is empty or not set", origin, name)
	case !httpguts.ValidHeaderFieldValue(value):
		return "", usage("%s: the value of %s cannot stand in an HTTP header", origin, name)
	}
	a.secrets.hide(value)
	return value, nil
}

// set adds a header.
func (a *access) set(name, value string) {
	a.header.Add(name, value)
	a.secrets.hide(value)
	scheme, token, ok := strings.Cut(value, " ")
	if !ok {
		return
	}
	a.secrets.hide(token)
	if strings.EqualFold(name, "Authorization") && strings.EqualFold(scheme, "Bearer") {
		a.credentials.Bearer = strings.TrimSpace(token)
		a.secrets.hide(a.credentials.Altered())
		a.secrets.hide(a.credentials.Unsigned())
	}
}
