package driver

import (
	"strings"
	"testing"
)

// A guard kills by nothing but the cookie of a run: the environments of other processes hold all kinds of texts.
func TestRunGuardErrors(t *testing.T) {
	for _, text := range []string{"", "PATH=", "MCPCHECK_RUN=", runMarker + "\n", "X" + runMarker} {
		if err := RunGuard(strings.NewReader(text)); err == nil {
			t.Errorf("%q: a guard sweeps by it", text)
		}
	}
	if !runMarkerPattern.MatchString(runMarker) {
		t.Errorf("%q: a guard refuses it", runMarker)
	}
}
