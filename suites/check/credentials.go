package check

import (
	"encoding/base64"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// Credentials are what the operator gives the checks of authorization; empty ones are not given.
type Credentials struct {
	Bearer            string // of every request
	SecondPrincipal   string // of another principal
	Expired           string
	InsufficientScope string // with less scope than some operation needs
	OtherAudience     string // issued for another resource
	EnvironmentSecret string // value of a variable in the environment of the process that is named like a secret

	MayContactIssuer bool   // the authorization server may be asked for its metadata though it is not on this machine
	SSEURL           string // of an HTTP+SSE endpoint beside the Streamable HTTP one
}

// AlteredToken is the ordinary token with another last character: a JWT with a forged signature or, of another kind, a
// token that is good when only its beginning is compared. Empty when there is none. In base64 the bit that changes is
// one that counts, also where the last bits of a text are padding.
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

// UnsignedToken is the ordinary token without a signature, which its header says to have none. Empty when it is no JWT.
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
