package driver

import (
	"strings"
	"testing"
)

func TestBrief(t *testing.T) {
	tests := map[string]struct{ raw, want string }{
		"short":                     {"{}", "{}"},
		"as long as may be":         {strings.Repeat("x", 160), strings.Repeat("x", 160)},
		"longer":                    {strings.Repeat("x", 150) + "0123456789a", strings.Repeat("x", 130) + "…" + strings.Repeat("x", 19) + "0123456789a"},
		"characters of two bytes":   {"a" + strings.Repeat("é", 100), "a" + strings.Repeat("é", 64) + "…" + strings.Repeat("é", 15)},
		"not UTF-8, short":          {"\xff", "\xff"},
		"not UTF-8, longer":         {"\xff" + strings.Repeat("x", 160), strings.Repeat("x", 129) + "…" + strings.Repeat("x", 30)},
		"a character where it ends": {strings.Repeat("x", 129) + "日" + strings.Repeat("x", 30), strings.Repeat("x", 129) + "…" + strings.Repeat("x", 30)},
	}
	for name, tt := range tests {
		if got := Brief([]byte(tt.raw)); got != tt.want {
			t.Errorf("%s:\nwant %q\n got %q", name, tt.want, got)
		}
	}
}
