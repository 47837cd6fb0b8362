package schemas

import (
	"strings"
	"testing"
)

// TestErrorTexts proves the text for a value that a tool's schema rejects, for every keyword.
func TestErrorTexts(t *testing.T) {
	long := strings.Repeat("ä", 30)
	tests := []struct{ schema, value, want string }{
		{`{"type":["string","null"]}`, `1`, `/: expected null or string, got number`},
		{`{"type":"integer"}`, `1.5`, `/: expected integer, got number`},
		{`{"enum":[1,2,3,4]}`, `5`, `/: expected one of 1, 2, 3, 4, got 5`},
		{`{"enum":[1,2,3,4,5]}`, `6`, `/: expected one of 1, 2, 3, 4, …, got 6`},
		{`{"enum":["x"]}`, `null`, `/: expected "x", got null`},
		{`{"enum":[null,true,{},[]]}`, `1.5`,
			`/: expected one of null, true, an object with 0 properties, an array of 0 items, got 1.5`},
		{`{"const":{"a":1}}`, `[1]`, `/: expected an object with 1 properties, got an array of 1 items`},
		{`{"const":"x"}`, `"` + long + `"`, `/: expected "x", got "` + strings.Repeat("ä", 20) + `…"`},
		{`{"const":"x"}`, `"a` + long + `"`, `/: expected "x", got "a` + strings.Repeat("ä", 19) + `…"`},
		{`{"const":1}`, strings.Repeat("9", 50), `/: expected 1, got ` + strings.Repeat("9", 40) + `…`},
		{`{"properties":{"a":false}}`, `{"a":1}`, `/a: not allowed`},
		{`{"not":{}}`, `1`, `/: forbidden by not`},
		{`{"oneOf":[{},{},{}]}`, `1`, `/: fits more than one schema in oneOf (0 and 1)`},
		{`{"oneOf":[{"type":"string"},{"type":"null"},{"type":"string"}]}`, `1`,
			`/: expected string or null, got number`},
		{`{"oneOf":[{"type":"string"},{"minimum":2}]}`, `1`, `/: expected at least 2, got 1`},
		{`{"anyOf":[{"maximum":0},{"minimum":2}]}`, `1`, `/: fits none of the 2 schemas in anyOf`},
		{`{"pattern":"^y*$"}`, `"x"`, `/: expected a match of ^y*$, got "x"`},
		{`{"pattern":"^` + long + long + `"}`, `"x"`,
			`/: expected a match of ^` + strings.Repeat("ä", 39) + `…, got "x"`},
		{`{"propertyNames":{"maxLength":1}}`, `{"ab":1}`, `/: the name "ab" is not allowed`},
		{`{"minLength":2}`, `"ä"`, `/: expected at least 2 characters, got 1`},
		{`{"maxLength":2}`, `"äää"`, `/: expected at most 2 characters, got 3`},
		{`{"minItems":2}`, `[1]`, `/: expected at least 2 items, got 1`},
		{`{"maxItems":0}`, `[1]`, `/: expected at most 0 items, got 1`},
		{`{"uniqueItems":true}`, `[1,2,1]`, `/: expected unique items, but 0 and 2 are equal`},
		{`{"contains":false}`, `[1]`, `/: no item fits contains`},
		{`{"contains":{"const":1},"minContains":2}`, `[1]`, `/: expected at least 2 items that fit contains, got 1`},
		{`{"contains":{},"maxContains":1}`, `[1,2]`, `/: expected at most 1 items that fit contains, got 2`},
		{`{"minProperties":1}`, `{}`, `/: expected at least 1 properties, got 0`},
		{`{"maxProperties":0}`, `{"a":1}`, `/: expected at most 0 properties, got 1`},
		{`{"required":["b","a/~"]}`, `{}`, `/a~1~0: missing; /b: missing`},
		{`{"additionalProperties":false}`, `{"b":1,"a":1}`, `/a: not allowed; /b: not allowed`},
		{`{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, `/b: missing beside a`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"a":["b"]}}`, `{"a":1}`,
			`/b: missing beside a`},
		{`{"minimum":1}`, `0.5`, `/: expected at least 1, got 0.5`},
		{`{"maximum":1e6}`, `1e21`, `/: expected at most 1000000, got 1000000000000000000000`},
		{`{"exclusiveMinimum":1}`, `1`, `/: expected more than 1, got 1`},
		{`{"exclusiveMaximum":1}`, `1`, `/: expected less than 1, got 1`},
		{`{"multipleOf":0.1}`, `1.25`, `/: expected a multiple of 0.1, got 1.25`},
		{`{"unevaluatedProperties":false}`, `{"a":1}`, `/a: not allowed`},
		{`{"items":{"type":"string"}}`, `["",1,2,3,4]`,
			`/1: expected string, got number; /2: expected string, got number; /3: expected string, got number`},
		{`{"type":"string","allOf":[{"type":"string"},{"$ref":"#/allOf/0"}]}`, `1`, `/: expected string, got number`},
	}
	for _, test := range tests {
		err := mustCompile(t, test.schema).Validate(decode(t, test.value))
		if err == nil || err.Error() != test.want {
			t.Errorf("%s\n%s\nwant %s\n got %v", test.schema, test.value, test.want, err)
		}
	}
}
