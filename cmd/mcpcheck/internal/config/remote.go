package config

import (
	"github.com/spf13/pflag"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/redact"
)

// remoteFlags say how a server over HTTP is reached, beside its URL.
type remoteFlags struct {
	Headers       []string
	HeaderEnv     []string
	TokenEnv      []string
	ContactIssuer bool
	SSEURL        string
	Insecure      bool
	Cacert        string
}

func (f *remoteFlags) add(flags *pflag.FlagSet, keys *File) {
	flags.StringArrayVar(&f.Headers, "header", nil,
		"`'NAME: VALUE'` for every HTTP request; the value is redacted in reports")
	flags.StringArrayVar(&f.HeaderEnv, "header-env", nil,
		"`NAME=VARIABLE`: header for every HTTP request, with its value from an environment variable")
	flags.StringVar(&keys.BearerEnv, "bearer-env", "",
		"environment `VARIABLE` with the bearer token for every HTTP request")
	flags.StringArrayVar(&f.TokenEnv, "token-env", nil,
		"`KIND=VARIABLE`: another token for the authorization checks; kinds: second (of another user), "+
			"expired, narrow (with fewer scopes), other-audience")
	flags.BoolVar(&f.ContactIssuer, "contact-issuer", false,
		"let the authorization checks fetch the metadata of the authorization server, wherever it is")
	flags.StringVar(&f.SSEURL, "sse-url", "", "`URL` of an HTTP+SSE endpoint for old clients")
	flags.BoolVar(&f.Insecure, "insecure", false, "do not verify the server's TLS certificate")
	flags.StringVar(&f.Cacert, "cacert", "", "also trust the certificates in this PEM `FILE`")
}

// Args are the flags for which mcpcheck.yaml has no key.
func (f remoteFlags) Args(hide redact.Redactor) (words []string) {
	for _, pair := range f.TokenEnv {
		words = append(words, "--token-env", pair)
	}
	if f.ContactIssuer {
		words = append(words, "--contact-issuer")
	}
	if f.SSEURL != "" {
		words = append(words, "--sse-url", hide.Text(f.SSEURL))
	}
	if f.Insecure {
		words = append(words, "--insecure")
	}
	if f.Cacert != "" {
		words = append(words, "--cacert", f.Cacert)
	}
	return words
}
