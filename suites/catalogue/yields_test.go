package catalogue

import (
	"fmt"
	"testing"
)

func TestCheckYields(t *testing.T) {
	ids := []string{"a/one", "a/two", "b/one", "b/two"}
	for _, tt := range []struct{ one, two, want string }{
		{"[a/two, b/*]", "[b/one]", ""},
		{"[a/*]", "", ""},
		{"[a/thre]", "", `a/one: yields_to "a/thre" is not an entry that a check tries`},
		{"[a/planned]", "", `a/one: yields_to "a/planned" is not an entry that a check tries`},
		{"['[']", "", `a/one: yields_to "[": syntax error in pattern`},
		{"[a/one]", "", "a/one yields to itself"},
		{"[a/two]", "[a/one]", "yields_to forms a circle: a/one yields to a/two yields to a/one"},
		{"[a/two]", "[a/*]", "yields_to forms a circle: a/one yields to a/two yields to a/one"},
		{"[a/two]", "[b/two]", ""},
		{"[b/one]", "[b/three]", `a/two: yields_to "b/three" is not an entry that a check tries`},
	} {
		const yaml = "- {id: a/one, yields_to: %s}\n- {id: a/two, yields_to: %s}\n" +
			"- id: a/planned\n- id: b/one\n- {id: b/two, yields_to: [b/one]}\n"
		entries, err := ReadCatalogue(fmt.Appendf(nil, yaml, tt.one, tt.two))
		if err == nil {
			err = entries.CheckYields(ids)
		}
		if got := fmt.Sprint(err); err == nil && tt.want != "" || err != nil && got != tt.want {
			t.Errorf("%s, %s: got %s, want %s", tt.one, tt.two, got, tt.want)
		}
	}
}

// TestYieldCircle checks that a circle is named without the entries that lead to it, and that two ways from one entry
// to another are not a circle.
func TestYieldCircle(t *testing.T) {
	const yaml = "- {id: a/one, yields_to: [a/two, a/three]}\n- {id: a/two, yields_to: [a/three]}\n" +
		"- {id: a/three, yields_to: [a/four]}\n- {id: a/four, yields_to: %s}\n"
	for yields, want := range map[string]string{
		"[]":      "",
		"[a/two]": "yields_to forms a circle: a/two yields to a/three yields to a/four yields to a/two",
	} {
		entries, err := ReadCatalogue(fmt.Appendf(nil, yaml, yields))
		if err == nil {
			err = entries.CheckYields([]string{"a/one", "a/two", "a/three", "a/four"})
		}
		if got := fmt.Sprint(err); err == nil && want != "" || err != nil && got != want {
			t.Errorf("%s: got %s, want %s", yields, got, want)
		}
	}
}
