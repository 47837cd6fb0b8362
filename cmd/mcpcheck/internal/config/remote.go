package config

import (
	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/redact"
)

// remoteFlags are the flags for a server over HTTP, besides its URL.
type remoteFlags struct {
	// Headers are sent with every request, each as NAME: VALUE.
	Headers []string
	// HeaderEnv are headers as NAME=VARIABLE; the environment variable holds the value.
	HeaderEnv []string
	// TokenEnv are tokens for the authorization checks as KIND=VARIABLE; the environment variable holds the token.
	TokenEnv []string
	// ContactIssuer allows requests to the authorization server.
	ContactIssuer bool
	// SSEURL is the endpoint of the HTTP+SSE transport of 2024-11-05.
	SSEURL string
	// Insecure accepts any TLS certificate.
	Insecure bool
	// Cacert is a file of certificates, in PEM, that are trusted besides those of the system.
	Cacert string
}

// addRemote defines the flags for a server over HTTP, besides its URL.
func (f *Flags) addRemote(cmd *cobra.Command) {
	flags, remote := cmd.Flags(), &f.Remote
	flags.StringArrayVar(&remote.Headers, "header", nil,
		"`'NAME: VALUE'` for every HTTP request; the value is redacted in reports")
	flags.StringArrayVar(&remote.HeaderEnv, "header-env", nil,
		"`NAME=VARIABLE`: header for every HTTP request, with its value from an environment variable")
	f.AddKeys(cmd, "bearer-env")
	flags.StringArrayVar(&remote.TokenEnv, "token-env", nil,
		"`KIND=VARIABLE`: another token for the authorization checks; kinds: second (of another user), "+
			"expired, narrow (with fewer scopes), broad (with a scope that implies all), other-audience")
	flags.BoolVar(&remote.ContactIssuer, "contact-issuer", false,
		"let the authorization checks fetch the metadata of the authorization server, wherever it is")
	flags.StringVar(&remote.SSEURL, "sse-url", "", "`URL` of an HTTP+SSE endpoint for old clients")
	flags.BoolVar(&remote.Insecure, "insecure", false, "do not verify the server's TLS certificate")
	flags.StringVar(&remote.Cacert, "cacert", "", "also trust the certificates in this PEM `FILE`")
}

// Args returns those flags that have no key in mcpcheck.yaml, as arguments and without secrets.
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
