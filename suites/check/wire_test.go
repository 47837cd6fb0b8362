package check

import (
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

func TestClipLine(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"short":              {"{}", "{}"},
		"the maximum length": {strings.Repeat("x", 2000), strings.Repeat("x", 2000)},
		"longer": {strings.Repeat("x", 2000) + "0123456789",
			strings.Repeat("x", 1800) + " … (10 bytes left out) … " + strings.Repeat("x", 190) + "0123456789"},
		"characters of two bytes": {"a" + strings.Repeat("é", 1000),
			"a" + strings.Repeat("é", 899) + " … (1 bytes left out) … " + strings.Repeat("é", 100)},
	}
	for name, tt := range tests {
		if got := report.ClipLine([]byte(tt.text)); got != tt.want {
			t.Errorf("%s:\nwant %q\n got %q", name, tt.want, got)
		}
		if l := report.NewLine(report.Sent, []byte(tt.text)); l.Truncated != (l.Text != tt.text) {
			t.Errorf("%s: truncated is %v", name, l.Truncated)
		}
	}
}

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
