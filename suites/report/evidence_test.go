package report

import (
	"fmt"
	"strings"
	"testing"
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
		if got := ClipLine([]byte(tt.text)); got != tt.want {
			t.Errorf("%s:\nwant %q\n got %q", name, tt.want, got)
		}
		if l := NewLine(Sent, []byte(tt.text)); l.Truncated != (l.Text != tt.text) {
			t.Errorf("%s: truncated is %v", name, l.Truncated)
		}
	}
}

func TestClipLineKeepsCharacters(t *testing.T) {
	got := ClipLine([]byte(strings.Repeat("é", 3000)))
	if !strings.Contains(got, "left out") || strings.ContainsRune(got, '\uFFFD') || len(got) > MaxLineBytes+100 {
		t.Errorf("got %d bytes: %s", len(got), got)
	}
}

// TestGapHasPosition checks that the line for omitted lines has the session and the time of its place.
func TestGapHasPosition(t *testing.T) {
	var all []Line
	for i := range 10 {
		all = append(all, Line{Session: "2", Seconds: float64(i), Text: fmt.Sprint(i)})
	}
	gap := ShortenEvidence(all, 4)[1]
	if !gap.Truncated || gap.Session != "2" || gap.Seconds != 6 {
		t.Errorf("got %+v", gap)
	}
}
