package schemas

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestParamHeaders follows the sentences of server/tools#x-mcp-header and
// basic/transports/streamable-http#schema-extension (2026-07-28).
func TestParamHeaders(t *testing.T) {
	tests := []struct {
		name, schema string
		headers      string // name=path of each
		faults       string // rule@path of each, with ? where it is ambiguous
	}{
		{"nothing is marked", `{"type":"object","properties":{"a":{"type":"string"}}}`, "", ""},
		{"the example", `{"type":"object","properties":{"region":{"type":"string","description":"The region",
			"x-mcp-header":"Region"},"query":{"type":"string"}},"required":["region","query"]}`, "Region=region", ""},

		// MUST NOT be empty; MUST match HTTP field-name token syntax; MUST NOT contain control characters
		{"empty", `{"properties":{"a":{"type":"string","x-mcp-header":""}}}`, "", "name@/properties/a"},
		{"a space", `{"properties":{"a":{"type":"string","x-mcp-header":"My Region"}}}`, "", "name@/properties/a"},
		{"a colon", `{"properties":{"a":{"type":"string","x-mcp-header":"a:b"}}}`, "", "name@/properties/a"},
		{"not ASCII", `{"properties":{"a":{"type":"string","x-mcp-header":"Région"}}}`, "", "name@/properties/a"},
		{"a tab", `{"properties":{"a":{"type":"string","x-mcp-header":"a\tb"}}}`, "", "name@/properties/a"},
		{"CR LF", `{"properties":{"a":{"type":"string","x-mcp-header":"a\r\n"}}}`, "", "name@/properties/a"},
		{"not a string", `{"properties":{"a":{"type":"string","x-mcp-header":true}}}`, "", "name@/properties/a"},
		{"null", `{"properties":{"a":{"type":"string","x-mcp-header":null}}}`, "", "name@/properties/a"},
		{"every kind of tchar", `{"properties":{"a":{"type":"string","x-mcp-header":"!#$%&'*+-.^_\u0060|~0Az"}}}`,
			"!#$%&'*+-.^_`|~0Az=a", ""},
		{"the name of a standard header", `{"properties":{"a":{"type":"string","x-mcp-header":"Method"}}}`,
			"Method=a", ""},

		// MUST be case-insensitively unique among all values in the inputSchema
		{"twice", `{"properties":{"a":{"type":"string","x-mcp-header":"Region"},
			"b":{"type":"string","x-mcp-header":"REGION"}}}`, "Region=a", "unique@/properties/b"},
		{"twice at different depths", `{"properties":{"a":{"type":"object","properties":{
			"b":{"type":"string","x-mcp-header":"X"}}},"c":{"type":"string","x-mcp-header":"x"}}}`,
			"X=a.b", "unique@/properties/c"},
		{"twice, once out of place", `{"$defs":{"a":{"type":"string","x-mcp-header":"X"}},
			"properties":{"c":{"type":"string","x-mcp-header":"x"}}}`, "", "place@/$defs/a unique@/properties/c"},
		{"two names", `{"properties":{"a":{"type":"string","x-mcp-header":"A"},
			"b":{"type":"string","x-mcp-header":"B"}}}`, "A=a B=b", ""},

		// MUST only be applied to parameters with primitive types; number is not permitted
		{"integer", `{"properties":{"a":{"type":"integer","x-mcp-header":"A"}}}`, "A=a", ""},
		{"boolean", `{"properties":{"a":{"type":"boolean","x-mcp-header":"A"}}}`, "A=a", ""},
		{"number", `{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}`, "", "type@/properties/a"},
		{"array", `{"properties":{"a":{"type":"array","x-mcp-header":"A"}}}`, "", "type@/properties/a"},
		{"object", `{"properties":{"a":{"type":"object","x-mcp-header":"A"}}}`, "", "type@/properties/a"},
		{"null as type", `{"properties":{"a":{"type":"null","x-mcp-header":"A"}}}`, "", "type@/properties/a"},
		{"any type", `{"properties":{"a":{"x-mcp-header":"A"}}}`, "", "type@/properties/a"},
		{"a union with number", `{"properties":{"a":{"type":["string","number"],"x-mcp-header":"A"}}}`,
			"", "type@/properties/a"},
		{"a union with null", `{"properties":{"a":{"type":["string","null"],"x-mcp-header":"A"}}}`,
			"", "type@/properties/a?"},
		{"strings without type", `{"properties":{"a":{"enum":["eu","us"],"x-mcp-header":"A"}}}`,
			"", "type@/properties/a?"},
		{"an integer without type", `{"properties":{"a":{"const":1.0,"x-mcp-header":"A"}}}`, "", "type@/properties/a?"},
		{"a fraction without type", `{"properties":{"a":{"enum":["",0.5],"x-mcp-header":"A"}}}`,
			"", "type@/properties/a"},
		{"an object without type", `{"properties":{"a":{"const":{},"x-mcp-header":"A"}}}`, "", "type@/properties/a"},
		{"a type that is elsewhere", `{"properties":{"a":{"$ref":"#/$defs/s","x-mcp-header":"A"}},
			"$defs":{"s":{"type":"string"}}}`, "", "type@/properties/a?"},
		{"an optional string as SDKs write it", `{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}],
			"x-mcp-header":"A"}}}`, "", "type@/properties/a?"},

		// Integer values MUST be within the safe range for JavaScript
		{"the safe range", `{"properties":{"a":{"type":"integer","minimum":-9007199254740991,
			"maximum":9007199254740991,"enum":[-9007199254740991,9007199254740991],"x-mcp-header":"A"}}}`, "A=a", ""},
		{"the safe range, exclusively", `{"properties":{"a":{"type":"integer","exclusiveMinimum":-9007199254740992,
			"exclusiveMaximum":9007199254740992,"x-mcp-header":"A"}}}`, "A=a", ""},
		{"an unsafe value", `{"properties":{"a":{"type":"integer","const":9007199254740992,"x-mcp-header":"A"}}}`,
			"A=a", "range@/properties/a"},
		{"unsafe values", `{"properties":{"a":{"type":"integer","enum":[1,-9007199254740992,1e400],
			"x-mcp-header":"A"}}}`, "A=a", "range@/properties/a range@/properties/a"},
		{"an unsafe default and example", `{"properties":{"a":{"type":"integer","default":9223372036854775807,
			"examples":[9007199254740993],"x-mcp-header":"A"}}}`, "A=a", "range@/properties/a range@/properties/a"},
		{"bounds of 64 bits", `{"properties":{"a":{"type":"integer","minimum":-9223372036854775808,
			"exclusiveMaximum":9223372036854775808,"x-mcp-header":"A"}}}`,
			"A=a", "range@/properties/a? range@/properties/a?"},
		{"bounds that admit unsafe values only", `{"properties":{"a":{"type":"integer","minimum":9007199254740992,
			"x-mcp-header":"A"},"b":{"type":"integer","exclusiveMaximum":-9007199254740994,"x-mcp-header":"B"}}}`,
			"A=a B=b", "range@/properties/a range@/properties/b"},
		{"digits in a string", `{"properties":{"a":{"type":"string","default":"9007199254740992",
			"x-mcp-header":"A"}}}`, "A=a", ""},

		// MUST only be applied to properties reachable via a chain consisting solely of properties keys
		{"nested", `{"properties":{"a":{"type":"object","properties":{"b":{"properties":{
			"c/d":{"type":"string","x-mcp-header":"A"}}}}}}}`, "A=a.b.c/d", ""},
		{"a property without a name", `{"properties":{"":{"type":"string","x-mcp-header":"A"}}}`, "A=", ""},
		{"the root", `{"type":"object","x-mcp-header":"A"}`, "", "place@"},
		{"items", `{"properties":{"a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}}}`,
			"", "place@/properties/a/items"},
		{"prefixItems", `{"properties":{"a":{"prefixItems":[{"type":"string","x-mcp-header":"A"}]}}}`,
			"", "place@/properties/a/prefixItems/0"},
		{"contains", `{"properties":{"a":{"contains":{"type":"string","x-mcp-header":"A"}}}}`,
			"", "place@/properties/a/contains"},
		{"oneOf", `{"oneOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}`,
			"", "place@/oneOf/0/properties/a"},
		{"anyOf", `{"properties":{"a":{"anyOf":[{"type":"string","x-mcp-header":"A"}]}}}`,
			"", "place@/properties/a/anyOf/0"},
		{"allOf", `{"allOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}`,
			"", "place@/allOf/0/properties/a"},
		{"not", `{"not":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}}`, "", "place@/not/properties/a"},
		{"if, then, else", `{"if":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}},
			"then":{"properties":{"a":{"type":"string","x-mcp-header":"B"}}},
			"else":{"properties":{"a":{"type":"string","x-mcp-header":"C"}}}}`,
			"", "place@/else/properties/a place@/if/properties/a place@/then/properties/a"},
		{"$ref", `{"properties":{"a":{"$ref":"#/$defs/s"}},"$defs":{"s":{"type":"string","x-mcp-header":"A"}}}`,
			"", "place@/$defs/s"},
		{"$ref to an object", `{"properties":{"a":{"$ref":"#/definitions/s"}},"definitions":{"s":{"properties":{
			"b":{"type":"string","x-mcp-header":"A"}}}}}`, "", "place@/definitions/s/properties/b"},
		{"patternProperties", `{"patternProperties":{"a":{"type":"string","x-mcp-header":"A"}}}`,
			"", "place@/patternProperties/a"},
		{"additionalProperties", `{"additionalProperties":{"type":"string","x-mcp-header":"A"}}`,
			"", "place@/additionalProperties"},
		{"dependentSchemas", `{"dependentSchemas":{"a":{"properties":{"b":{"type":"string","x-mcp-header":"A"}}}}}`,
			"", "place@/dependentSchemas/a/properties/b"},
		{"out of place and not a token", `{"properties":{"a":{"items":{"type":"number","x-mcp-header":""}}}}`,
			"", "name@/properties/a/items place@/properties/a/items"},

		// what is not a keyword of a schema
		{"a property of that name", `{"properties":{"x-mcp-header":{"type":"string"}}}`, "", ""},
		{"values", `{"properties":{"a":{"default":{"x-mcp-header":""},"enum":[{"x-mcp-header":1}],
			"examples":[{"x-mcp-header":1}]}}}`, "", ""},
		{"an unknown keyword", `{"x-note":{"x-mcp-header":""}}`, "", ""},
		{"not a schema", `[{"x-mcp-header":""}]`, "", ""},
		{"a boolean schema", `{"properties":{"a":true}}`, "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			headers, faults := ParamHeaders(decode(t, test.schema))
			var gotHeaders, gotFaults []string
			for _, h := range headers {
				gotHeaders = append(gotHeaders, h.Name+"="+strings.Join(h.Path, "."))
			}
			for _, f := range faults {
				place := string(f.Rule) + "@" + strings.TrimSuffix(f.Path, "/"+HeaderKeyword)
				if f.Ambiguous {
					place += "?"
				}
				gotFaults = append(gotFaults, place)
			}
			if diff := cmp.Diff(test.headers, strings.Join(gotHeaders, " ")); diff != "" {
				t.Errorf("headers (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(test.faults, strings.Join(gotFaults, " ")); diff != "" {
				t.Errorf("faults (-want +got)\n%s", diff)
			}
		})
	}
}

func TestHeaderViolationTexts(t *testing.T) {
	schema := `{"x-mcp-header":"Root","properties":{
		"a":{"type":"string","x-mcp-header":"My Region"},"b":{"type":["string","null"],"x-mcp-header":"B"},
		"c":{"type":"number","x-mcp-header":"C"},"d":{"type":"string","x-mcp-header":"root"},
		"e":{"x-mcp-header":"E"},"f":{"$ref":"#","x-mcp-header":7},"g":{"enum":["g"],"x-mcp-header":"G"}}}`
	want := []string{
		"/x-mcp-header: expected a property that is reached through properties alone",
		`/properties/a/x-mcp-header: expected a token of RFC 9110, got "My Region"`,
		"/properties/b/x-mcp-header: expected integer, string or boolean, got the types [string null]",
		"/properties/c/x-mcp-header: expected integer, string or boolean, got number",
		`/properties/d/x-mcp-header: "root" is at /x-mcp-header as well`,
		"/properties/e/x-mcp-header: expected integer, string or boolean, got no type",
		"/properties/f/x-mcp-header: expected a token of RFC 9110, got 7",
		"/properties/f/x-mcp-header: expected integer, string or boolean, got no type beside $ref",
		"/properties/g/x-mcp-header: expected integer, string or boolean, got values without type",
	}
	var got []string
	_, faults := ParamHeaders(decode(t, schema))
	for _, f := range faults {
		got = append(got, f.Path+": "+f.Text)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
