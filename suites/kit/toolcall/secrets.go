package toolcall

import (
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Secrets are the credentials that the server was given. Short ones are left out, since any text may contain them.
func Secrets(t *check.T) (secrets []string) {
	const short = 8
	c := t.Credentials
	for _, secret := range []string{c.Bearer, c.SecondPrincipal, c.Expired, c.InsufficientScope, c.BroadScope,
		c.OtherAudience, c.EnvironmentSecret} {
		if len(secret) >= short {
			secrets = append(secrets, secret)
		}
	}
	return secrets
}
