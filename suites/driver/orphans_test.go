package driver

import (
	"strings"
	"testing"
)

// TestRunGuardErrors checks that a guard accepts nothing but the marker of a run, because the environments of other
// processes contain all kinds of text.
func TestRunGuardErrors(t *testing.T) {
	for _, text := range []string{"", "PATH=", "MCPCHECK_RUN=", runMarker + "\n", "X" + runMarker} {
		if err := RunGuard(strings.NewReader(text)); err == nil {
			t.Errorf("%q: a guard kills processes by it", text)
		}
	}
	if !runMarkerPattern.MatchString(runMarker) {
		t.Errorf("%q: a guard rejects it", runMarker)
	}
}
