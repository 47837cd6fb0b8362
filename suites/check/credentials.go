package check

import (
	"encoding/base64"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// Credentials are the tokens and settings that the operator provides for checks of authorization. An empty one was not
// provided.
type Credentials struct {
	// Bearer is the valid token that every request bears.
	Bearer string
	// SecondPrincipal is a valid token of another principal.
	SecondPrincipal string
	// Expired is a token that has expired.
	Expired string
	// InsufficientScope is a valid token whose scope does not permit some operation.
	InsufficientScope string
	// BroadScope is a valid token whose scope implies those that the operations need, without being one of them.
	BroadScope string
	// OtherAudience is a token that was issued for another resource.
	OtherAudience string
	// EnvironmentSecret is the value of an environment variable of the server whose name suggests a secret.
	EnvironmentSecret string

	// MayContactIssuer permits requests for the authorization server's metadata although it is on another machine.
	MayContactIssuer bool
	// SSEURL is the URL of an HTTP+SSE endpoint of the same server, besides its Streamable HTTP endpoint.
	SSEURL string
}

// AlteredToken returns the valid token with another last character: a JWT whose signature is wrong or, for an opaque
// token, one that a server accepts only if it compares a prefix. It is empty when there is no valid token. The bit that
// changes is significant even if the last bits of the base64 text are padding.
func (c Credentials) AlteredToken() string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	token := strings.TrimRight(c.Bearer, "=")
	if token == "" {
		return ""
	}
	last := len(token) - 1
	other := (strings.IndexByte(alphabet, token[last]) + len(alphabet)/2) % len(alphabet)
	return token[:last] + alphabet[other:other+1] + c.Bearer[len(token):]
}

// UnsignedToken returns the valid token without a signature and with "alg": "none" in its header (RFC 7519 section 6).
// It is empty when the valid token is not a JWT.
func (c Credentials) UnsignedToken() string {
	parts := strings.Split(c.Bearer, ".")
	if len(parts) != 3 {
		return ""
	}
	decoded, _ := base64.RawURLEncoding.DecodeString(parts[0])
	header, _ := driver.Decode(decoded).(M)
	if header == nil {
		return ""
	}
	header["alg"] = "none"
	return base64.RawURLEncoding.EncodeToString(text.CompactJSON(header)) + "." + parts[1] + "."
}
