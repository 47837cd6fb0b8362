package toolcall

import (
	"testing"

	"github.com/yosida95/uritemplate/v3"
)

// TestExpandTemplate proves that values beyond ASCII are refused.
func TestExpandTemplate(t *testing.T) {
	for _, test := range []struct{ template, value, want string }{
		{"note:///{name}", "today", "note:///today"},
		{"note:///{name}", "a b", "note:///a%20b"},
		{"note:///{name}", "Zürich", ""},
		{"note:///x{?name}", "é", ""},
	} {
		template := uritemplate.MustNew(test.template)
		got, err := ExpandTemplate(template, map[string]string{"name": test.value})
		if got != test.want || (err != nil) != (test.want == "") {
			t.Errorf("%s with %s: got %s, %v, want %s", test.template, test.value, got, err, test.want)
		}
	}
}
