package toolcall

import (
	"testing"

	"github.com/yosida95/uritemplate/v3"
)

// TestExpandTemplate proves that values beyond ASCII are percent-encoded as UTF-8.
func TestExpandTemplate(t *testing.T) {
	for _, test := range []struct{ template, value, want string }{
		{"note:///{name}", "today", "note:///today"},
		{"note:///{name}", "a b", "note:///a%20b"},
		{"note:///{name}", "Zürich", "note:///Z%C3%BCrich"},
		{"note:///{+name}", "日/記", "note:///%E6%97%A5/%E8%A8%98"},
		{"note:///x{?name}", "é", "note:///x?name=%C3%A9"},
	} {
		template := uritemplate.MustNew(test.template)
		if got, err := ExpandTemplate(template, map[string]string{"name": test.value}); got != test.want || err != nil {
			t.Errorf("%s with %s: got %s, %v, want %s", test.template, test.value, got, err, test.want)
		}
	}
}
