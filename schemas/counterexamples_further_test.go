package schemas

import (
	"slices"
	"strings"
	"testing"
)

// TestFurtherCounterexamples proves that each place of a schema has its counterexample: required properties, types,
// enums and bounds of every property, in nested objects that valid arguments need not have, and in a second item.
func TestFurtherCounterexamples(t *testing.T) {
	s := mustCompile(t, `{"type":"object","required":["a","b"],"properties":{
		"a":{"type":"number"},
		"b":{"type":"number","minimum":1},
		"unit":{"enum":["c","f"]},
		"inner":{"type":"object","required":["x","y"],"properties":{
			"x":{"type":"string","maxLength":9},"y":{"anyOf":[{"type":"integer","maximum":5},{"type":"null"}]}}},
		"list":{"type":"array","items":{"type":"string","enum":["one","two"]}}}}`)
	valid, err := ValidArguments(s, 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range append(Counterexamples(s, valid, 0), FurtherCounterexamples(s, valid, 0)...) {
		if s.Validate(c.Arguments) == nil {
			t.Errorf("%s %s is valid: %s", c.Keyword, c.Path, jsonText(c.Arguments))
		}
		found := c.Keyword + " " + c.Path
		if c.IsCoercible {
			found += ": " + c.Reason[strings.Index(c.Reason, " ")+1:]
		}
		if slices.Contains(got, found) && c.Keyword != "required" {
			t.Errorf("%s comes twice", found)
		} else {
			got = append(got, found)
		}
	}
	for _, want := range []string{
		"required /a", "required /b", "required /inner/x", "required /inner/y",
		"type /a", "type /b", "type /inner", "type /inner/x", "type /inner/y",
		"type /inner/y: is 1.5, not a whole number", `type /inner/y: is the string "1", not 1`,
		"type /list: is a string, not an array", `type /list: is "one", not an array of it`, "type /list: is null",
		`enum /unit: is "C", not "c"`, `enum /list/1: is "TWO", not "two"`,
		"minimum /b", "maximum /inner/y", "maxLength /inner/x",
		"enum /unit", "enum /list/0", "enum /list/1",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("no %s among %v", want, got)
		}
	}
}
