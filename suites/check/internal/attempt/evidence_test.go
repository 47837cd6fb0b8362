package attempt

import (
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// TestDirections checks that every side of a frame has a direction.
func TestDirections(t *testing.T) {
	want := map[driver.Side][2]string{
		driver.FromClient: {"→", "sent"}, driver.FromServer: {"←", "received"},
		driver.StatusOnly: {"←", "received"}, driver.SessionEvent: {"·", "event"},
	}
	for side, way := range want {
		l := report.NewLine(directions[side], nil)
		if got := [2]string{l.Arrow, string(l.Direction)}; got != way {
			t.Errorf("side %d: got %v, want %v", side, got, way)
		}
	}
}
