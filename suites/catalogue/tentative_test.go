package catalogue

import (
	"strings"
	"testing"
)

// TestTentative checks that a check is tentative in versions before the release that introduces it, in that release and
// in its patches.
func TestTentative(t *testing.T) {
	all := Catalogue{{ID: "a/old"}, {ID: "a/earlier", Since: "1.9"}, {ID: "a/new", Since: "1.10"}}
	for version, want := range map[string]string{
		"1.8.0": "a/earlier a/new", "1.9.7": "a/earlier a/new", "1.10.0": "a/new", "1.10.3": "a/new",
		"1.10.0-rc.1": "a/new", "1.11.0": "", "2.0.0": "", "devel": "a/new",
		"1.9.8-0.20260101000000-abcdef": "a/earlier a/new",
	} {
		var got []string
		for _, r := range all {
			if all.Tentative(version)(r) {
				got = append(got, r.ID)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", version, got, want)
		}
	}
}
