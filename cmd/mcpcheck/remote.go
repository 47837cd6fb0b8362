package main

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/net/http/httpguts"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// remoteFlags say how a server over HTTP is reached.
type remoteFlags struct {
	url           string
	headers       []string
	bearerEnv     string
	tokenEnv      []string
	insecure      bool
	cacert        string
	contactIssuer bool
	sseURL        string

	file   config      // has more headers
	header http.Header // what all headers come to

	given, givenSSE string // the URLs as they were given, when there is a {port}
}

func (f *remoteFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.url, "url", "", "reach the server at this `URL`, over Streamable HTTP or HTTP+SSE")
	flags.StringArrayVar(&f.headers, "header", nil, "`'NAME: VALUE'` for every HTTP request; the value is redacted in reports")
	flags.StringVar(&f.bearerEnv, "bearer-env", "", "environment `VARIABLE` that holds a bearer token for every HTTP request")
	flags.StringArrayVar(&f.tokenEnv, "token-env", nil, "`KIND=VARIABLE`: a further token for the checks of authorization; kinds: second (of another user), expired, narrow (with less scope), other-audience")
	flags.BoolVar(&f.contactIssuer, "contact-issuer", false, "let the checks of authorization ask the authorization server for its metadata, wherever it is")
	flags.StringVar(&f.sseURL, "sse-url", "", "`URL` of an HTTP+SSE endpoint that the server keeps for old clients")
	flags.BoolVar(&f.insecure, "insecure", false, "do not verify the server's TLS certificate")
	flags.StringVar(&f.cacert, "cacert", "", "trust the certificates in this PEM `FILE`, too")
}

// used reports whether a flag was given that has a meaning with a URL only.
func (f *remoteFlags) used() bool {
	return len(f.headers) > 0 || f.bearerEnv != "" || len(f.tokenEnv) > 0 || f.insecure || f.cacert != "" || f.contactIssuer || f.sseURL != ""
}

// read finds the values of headers and tokens, and hides them.
func (f *remoteFlags) read(s *settings) error {
	f.header = http.Header{}
	s.hideURL(f.url)
	s.hideURL(f.sseURL)
	for _, pair := range f.headers {
		name, value, ok := strings.Cut(pair, ":")
		if value = strings.TrimSpace(value); !ok || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return usage("--header wants 'NAME: VALUE'; %q is not that", name)
		}
		if slices.Contains(reserved, http.CanonicalHeaderKey(name)) {
			return usage("--header cannot set %s, which mcpcheck sets for each request", http.CanonicalHeaderKey(name))
		}
		f.set(s, name, value)
	}
	if f.bearerEnv != "" {
		token, err := f.token(s, "--bearer-env", f.bearerEnv)
		if err != nil {
			return err
		}
		if f.header.Get("Authorization") != "" {
			return usage("--bearer-env and --header Authorization are the same; give one of them")
		}
		f.set(s, "Authorization", "Bearer "+token)
	}
	if err := f.readFile(s); err != nil {
		return err
	}
	return f.readTokens(s)
}

// readFile finds the values of the configuration file's headers, but those that a
// flag gives.
func (f *remoteFlags) readFile(s *settings) error {
	for _, name := range sortedKeys(f.file.Headers) {
		if f.header.Get(name) != "" {
			continue
		}
		value, err := f.token(s, f.file.place("headers", name)+": "+name, f.file.Headers[name])
		if err != nil {
			return err
		}
		f.set(s, name, value)
	}
	if f.file.BearerEnv == "" || f.header.Get("Authorization") != "" {
		return nil
	}
	token, err := f.token(s, f.file.place("bearer-env")+": bearer-env", f.file.BearerEnv)
	if err != nil {
		return err
	}
	f.set(s, "Authorization", "Bearer "+token)
	return nil
}

// set adds a header, whose value is a secret.
func (f *remoteFlags) set(s *settings, name, value string) {
	f.header.Add(name, value)
	s.hide(value)
	scheme, token, ok := strings.Cut(value, " ")
	if !ok {
		return
	}
	s.hide(token)
	if strings.EqualFold(name, "Authorization") && strings.EqualFold(scheme, "Bearer") {
		s.credentials.Bearer = strings.TrimSpace(token)
	}
}

// reserved are headers that belong to the transport.
var reserved = []string{
	"Host", "Connection", "Content-Length", "Transfer-Encoding", "Content-Type", "Accept", "Accept-Encoding",
	"Mcp-Session-Id", "Mcp-Protocol-Version", "Last-Event-Id",
}

func (f *remoteFlags) readTokens(s *settings) error {
	c := &s.credentials
	kinds := map[string]*string{"second": &c.Second, "expired": &c.Expired, "narrow": &c.Narrow, "other-audience": &c.OtherAudience}
	for _, pair := range f.tokenEnv {
		kind, variable, ok := strings.Cut(pair, "=")
		if !ok || kinds[kind] == nil {
			return usage("--token-env wants KIND=VARIABLE with a kind of second, expired, narrow, other-audience; %q is not that", pair)
		}
		token, err := f.token(s, "--token-env "+kind, variable)
		if err != nil {
			return err
		}
		*kinds[kind] = token
	}
	c.ContactIssuer = f.contactIssuer
	return nil
}

// token is the value of an environment variable, a secret.
func (f *remoteFlags) token(s *settings, flag, variable string) (string, error) {
	value := strings.TrimSpace(os.Getenv(variable))
	switch {
	case value == "":
		return "", usage("%s: the environment variable %s is empty or not set", flag, variable)
	case !httpguts.ValidHeaderFieldValue(value):
		return "", usage("%s: the value of %s cannot stand in an HTTP header", flag, variable)
	}
	s.hide(value)
	return value, nil
}

// aimAt makes the target of a URL.
func (s *settings) aimAt(f remoteFlags, env []string) error {
	f, command, env, err := s.withPort(f, env)
	if err != nil {
		return err
	}
	s.flags.remote = f
	var roots []byte
	if f.cacert != "" {
		if roots, err = os.ReadFile(f.cacert); err != nil {
			return usage("--cacert: %w", err)
		}
		if !x509.NewCertPool().AppendCertsFromPEM(roots) {
			return usage("--cacert %s holds no certificate in PEM", f.cacert)
		}
	}
	if f.sseURL != "" {
		if _, err := driver.ParseURL(f.sseURL); err != nil {
			return usage("--sse-url: %w", err)
		}
		s.credentials.OldURL = f.sseURL
	}
	site, err := driver.NewSite(driver.SiteOptions{
		URL: f.url, Header: f.header, Insecure: f.insecure, Roots: roots, Command: command, Env: env, Dir: s.Cwd,
	})
	if err != nil {
		return usage("%s: %s", s.origin("url"), s.redact.Replace(err.Error()))
	}
	s.target.Site, s.target.Command, s.target.Env = site, nil, nil
	s.shown = harness.TargetInfo{Transport: "http", URL: s.redact.Replace(f.url), Command: s.redacted(command), Dir: s.Cwd}
	if len(command) == 0 {
		return nil
	}
	return s.lookUp()
}

// withPort puts a free port in the place of {port}.
func (s *settings) withPort(f remoteFlags, env []string) (_ remoteFlags, command, newEnv []string, err error) {
	all := strings.Join(append(append([]string{f.url, f.sseURL}, s.Command...), env...), " ")
	if !strings.Contains(all, "{port}") {
		return f, s.Command, env, nil
	}
	if len(s.Command) == 0 {
		return f, nil, nil, usage("{port} wants a command to start; say mcpcheck run --url URL -- COMMAND [ARG…]")
	}
	port, err := freePort()
	if err != nil {
		return f, nil, nil, err
	}
	fill := func(texts []string) (out []string) {
		for _, text := range texts {
			out = append(out, strings.ReplaceAll(text, "{port}", port))
		}
		return out
	}
	f.given, f.givenSSE = f.url, f.sseURL
	f.url, f.sseURL = strings.ReplaceAll(f.url, "{port}", port), strings.ReplaceAll(f.sseURL, "{port}", port)
	return f, fill(s.Command), fill(env), nil
}

// freePort is a port of the loopback interface that nobody listens on.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port), nil
}

// repeat is the flags that reach the server again.
func (f *remoteFlags) repeat(redact *strings.Replacer) (words []string) {
	if address := cmp.Or(f.given, f.url); address != "" {
		words = append(words, "--url", redact.Replace(address))
	}
	for _, pair := range f.headers {
		name, _, _ := strings.Cut(pair, ":")
		words = append(words, "--header", name+": …")
	}
	if f.bearerEnv != "" {
		words = append(words, "--bearer-env", f.bearerEnv)
	}
	for _, pair := range f.tokenEnv {
		words = append(words, "--token-env", pair)
	}
	if f.contactIssuer {
		words = append(words, "--contact-issuer")
	}
	if f.sseURL != "" {
		words = append(words, "--sse-url", cmp.Or(f.givenSSE, f.sseURL))
	}
	if f.insecure {
		words = append(words, "--insecure")
	}
	if f.cacert != "" {
		words = append(words, "--cacert", f.cacert)
	}
	return words
}

// hint says what to do about an error of a connection.
func hint(err error) string {
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	var name x509.HostnameError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return "; the server speaks no TLS here: is the URL http:// in place of https://?"
	case errors.As(err, &name):
		return "; use a name that the certificate is for, or give --insecure to go without"
	case errors.As(err, &unknown), errors.As(err, &invalid):
		return "; give --cacert FILE if you trust the issuer, or --insecure to go without"
	}
	return ""
}
