package driver

import (
	"strings"
	"testing"
)

// A guard kills by nothing but the cookie of a run: the environments of other processes hold all kinds of texts.
func TestStandGuardRefuses(t *testing.T) {
	for _, text := range []string{"", "PATH=", "MCPCHECK_RUN=", cookie + "\n", "X" + cookie} {
		if err := StandGuard(strings.NewReader(text)); err == nil {
			t.Errorf("%q: a guard sweeps by it", text)
		}
	}
	if !aCookie.MatchString(cookie) {
		t.Errorf("%q: a guard refuses it", cookie)
	}
}
