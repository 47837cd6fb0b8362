package driver

import (
	"strings"
	"testing"
)

func TestBrief(t *testing.T) {
	xs := func(n int) string { return strings.Repeat("x", n) }
	es := func(n int) string { return strings.Repeat("é", n) }
	tests := map[string]struct{ raw, want string }{
		"short":                   {"{}", "{}"},
		"at the limit":            {xs(160), xs(160)},
		"longer":                  {xs(150) + "0123456789a", xs(130) + "…" + xs(19) + "0123456789a"},
		"characters of two bytes": {"a" + es(100), "a" + es(64) + "…" + es(15)},
		"not UTF-8, short":        {"\xff", "\xff"},
		"not UTF-8, longer":       {"\xff" + xs(160), xs(129) + "…" + xs(30)},
		"a character at the cut":  {xs(129) + "日" + xs(30), xs(129) + "…" + xs(30)},
	}
	for name, tt := range tests {
		if got := Brief([]byte(tt.raw)); got != tt.want {
			t.Errorf("%s:\nwant %q\n got %q", name, tt.want, got)
		}
	}
}
