package yamlfile

import (
	"strings"
	"testing"
)

// TestSyntaxErrorPlace proves that the line of a mistake is found behind lists and texts of several lines, which cannot
// be read in part.
func TestSyntaxErrorPlace(t *testing.T) {
	const flow = "a: {b: [c,\n  d],\n  e: 'f\n\n  g'}\n"
	for mistake, want := range map[string]string{
		"x: [1\n":                ":1: did not find expected ',' or ']'",
		"x: 'y\nz: 1\n":          ":1: found unexpected end of stream; close the quote that begins here",
		"x: 1\ny\n":              ":1: could not find expected ':'; write a colon and a space after each key",
		"x: 1\n\ty: 2\n":         "1: this begins with a tab; YAML is indented with spaces",
		"x: 1\n\n # c\n  y: 2\n": ":3: its indentation is wrong; indent it like the line above",
		"x:\n- y: 1\n  z: @\n": ":3: found character that cannot start any token; " +
			"quote a text that begins with @, % or `",
		"x:\n  y: 1\nz: 'a': b\n": ":1: mapping values are not allowed in this context; " +
			`quote a text that contains ": ", and write a colon after each key`,
	} {
		for _, before := range []string{"", flow, strings.Repeat(flow, 100)} {
			_, err := Read("f", []byte(before+mistake), new(any))
			if err == nil || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("%q after %d lines: %v, want %s", mistake, strings.Count(before, "\n"), err, want)
			}
		}
	}
}
