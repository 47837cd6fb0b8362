package harness

import (
	"strings"
	"testing"
)

func TestClip(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"short":             {"{}", "{}"},
		"as long as may be": {strings.Repeat("x", 2000), strings.Repeat("x", 2000)},
		"longer": {strings.Repeat("x", 2000) + "0123456789",
			strings.Repeat("x", 1800) + " … (10 bytes left out) … " + strings.Repeat("x", 190) + "0123456789"},
		"characters of two bytes": {"a" + strings.Repeat("é", 1000),
			"a" + strings.Repeat("é", 899) + " … (1 bytes left out) … " + strings.Repeat("é", 100)},
	}
	for name, tt := range tests {
		if got := clip([]byte(tt.text)); got != tt.want {
			t.Errorf("%s:\nwant %q\n got %q", name, tt.want, got)
		}
	}
}
