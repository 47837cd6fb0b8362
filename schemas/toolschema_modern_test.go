package schemas

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// TestSchemasOfTools follows basic/index#json-schema-usage and server/tools#data-types of 2026-07-28 on the schemas of
// tools.
func TestSchemasOfTools(t *testing.T) {
	const composed = `{"type":"object","oneOf":[{"properties":{"id":{"type":"string"}},"required":["id"]},
		{"properties":{"name":{"type":"string"}},"required":["name"]}]}`
	const users = `{"type":"array","items":{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}}`
	tests := []struct {
		sentence, schema string
		accepted         []string // values, if the schema has no error
		refused          []string
		wantError        string // the beginning of the error
	}{
		{"When a schema does not include a $schema field, it defaults to 2020-12: prefixItems counts",
			`{"prefixItems":[{"type":"string"}]}`, []string{`["a"]`}, []string{`[1]`}, ""},
		{"… and a list in items is not valid", `{"items":[{"type":"string"}]}`, nil, nil, "InvalidSchemaError /items:"},
		{"… and keywords next to $ref count", `{"$ref":"#/$defs/s","maxLength":1,"$defs":{"s":{"type":"string"}}}`,
			[]string{`"a"`}, []string{`"ab"`}, ""},
		{"Schemas MAY include a $schema field to specify a different dialect",
			`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}]}`,
			[]string{`["a",1]`}, []string{`[1]`}, ""},
		{"They MUST handle unsupported dialects gracefully", `{"$schema":"https://example.com/dialect"}`, nil, nil,
			"UnknownDialectError /$schema:"},
		{"Schemas MUST be valid according to their declared or default dialect", `{"properties":{"a":{"type":"any"}}}`,
			nil, nil, "InvalidSchemaError /properties/a/type:"},
		{"… in $defs as well", `{"$defs":{"a":{"required":true}}}`, nil, nil, "InvalidSchemaError /$defs/a/required:"},
		{"inputSchema MUST be a valid JSON Schema object (not null)", `null`, nil, nil, "InvalidSchemaError /:"},
		{"{} with additionalProperties false: explicitly accepts only empty objects",
			`{"type":"object","additionalProperties":false}`, []string{`{}`}, []string{`{"a":1}`}, ""},
		{"{} of type object: accepts any object", `{"type":"object"}`, []string{`{}`, `{"a":1}`}, []string{`null`}, ""},
		{"inputSchema allows any JSON Schema 2020-12 keywords", composed,
			[]string{`{"id":"a"}`, `{"name":"a"}`}, []string{`{}`, `{"id":"a","name":"b"}`}, ""},
		{"… conditions", `{"type":"object","if":{"required":["a"]},"then":{"required":["b"]}}`,
			[]string{`{}`, `{"a":1,"b":1}`}, []string{`{"a":1}`}, ""},
		{"… unevaluatedProperties",
			`{"type":"object","allOf":[{"properties":{"a":true}}],"unevaluatedProperties":false}`,
			[]string{`{"a":1}`}, []string{`{"b":1}`}, ""},
		{"… and unknown ones", `{"type":"object","x-mcp-header":1,"x":{"type":"any"}}`, []string{`{}`}, nil, ""},
		{"outputSchema allows any root: an array", users, []string{`[]`, `[{"id":"1"}]`}, []string{`{}`, `[{}]`}, ""},
		{"… a number", `{"type":"number"}`, []string{`0.5`}, []string{`"0.5"`}, ""},
		{"… null", `{"type":["null","string"]}`, []string{`null`, `""`}, []string{`1`}, ""},
		{"$ref to an absolute URI that is the schema's own",
			`{"$id":"https://example.com/a","$ref":"https://example.com/a#/$defs/s","$defs":{"s":{"type":"string"}}}`,
			[]string{`"a"`}, []string{`1`}, ""},
		{"… or that of a schema inside it",
			`{"$ref":"https://example.com/s","$defs":{"s":{"$id":"https://example.com/s","type":"string"}}}`,
			[]string{`"a"`}, []string{`1`}, ""},
		{"$ref to itself", `{"type":"object","properties":{"next":{"$ref":"#"}}}`,
			[]string{`{"next":{"next":{}}}`}, []string{`{"next":1}`}, ""},
		{"Schemas that fail to validate due to an unresolved external $ref SHOULD be rejected",
			`{"properties":{"a":{"$ref":"https://example.com/a.json"}}}`, nil, nil,
			"ExternalRefError /properties/a/$ref:"},
		{"… also when the URI is relative", `{"$ref":"a.json"}`, nil, nil, "ExternalRefError /$ref:"},
		{"… also by $dynamicRef", `{"$dynamicRef":"https://example.com/a#b"}`, nil, nil,
			"ExternalRefError /$dynamicRef:"},
		{"a local $ref that leads nowhere", `{"$ref":"#/$defs/a"}`, nil, nil, "DanglingRefError /$ref:"},
	}
	for _, test := range tests {
		t.Run(test.sentence, func(t *testing.T) {
			s, err := Compile(decode(t, test.schema), "2026-07-28")
			if got := typeAndText(err); (err != nil) != (test.wantError != "") || !strings.HasPrefix(got,
				test.wantError) {
				t.Fatalf("got error %q, want %q", got, test.wantError)
			}
			for _, value := range test.accepted {
				if err := s.Validate(decode(t, value)); err != nil {
					t.Errorf("%s: %v", value, err)
				}
			}
			for _, value := range test.refused {
				if s.Validate(decode(t, value)) == nil {
					t.Errorf("%s is accepted", value)
				}
			}
		})
	}
}

// TestNothingIsFetched proves that implementations "MUST NOT automatically dereference $ref values that resolve to a
// network URI".
func TestNothingIsFetched(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s was fetched", r.URL)
	}))
	defer server.Close()
	for _, schema := range []string{
		`{"$ref":"URL/a.json"}`, `{"$ref":"URL/a.json#/$defs/a"}`, `{"$dynamicRef":"URL/a.json#a"}`,
		`{"$schema":"URL/dialect"}`, `{"$id":"URL/a.json","$ref":"b.json"}`, `{"$id":"URL/a.json","type":"object"}`,
		`{"properties":{"a":{"$schema":"URL/dialect","$id":"b","type":"string"}}}`,
	} {
		doc := decode(t, strings.ReplaceAll(schema, "URL", server.URL))
		s, err := Compile(doc, "2026-07-28")
		if wantError := !strings.Contains(schema, `"type":"object"`); (err != nil) != wantError {
			t.Errorf("%s: error %v", schema, err)
		}
		Refs(doc)
		ParamHeaders(doc)
		if err == nil {
			_ = s.Validate(map[string]any{})
		}
	}
}

// TestArgumentsOfModernTools makes arguments and counterexamples for schemas from the pages of 2026-07-28.
func TestArgumentsOfModernTools(t *testing.T) {
	tests := []struct {
		schema, valid string
		broken        []string // keywords of counterexamples
	}{
		{`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"query":{"type":"string"}},
			"required":["region","query"]}`, `{"query":"mcpcheck","region":"mcpcheck"}`, []string{"required", "type"}},
		{`{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}},"required":["n"]}`,
			`{"n":1}`, []string{"required", "type"}},
		{`{"type":"object","oneOf":[{"properties":{"id":{"type":"string"}},"required":["id"]},
			{"properties":{"name":{"type":"string"}},"required":["name"]}]}`, `{"id":"mcpcheck"}`, []string{"oneOf"}},
		{`{"type":"object","additionalProperties":false}`, `{}`, []string{"additionalProperties"}},
		{`{"type":"object","properties":{"a":{"$ref":"#/$defs/p"}},"required":["a"],"$defs":{"p":{"type":"object",
			"properties":{"b":{"type":"boolean"}},"required":["b"]}}}`, `{"a":{"b":false}}`,
			[]string{"required", "type"}},
	}
	for _, test := range tests {
		s, err := Compile(decode(t, test.schema), "2026-07-28")
		if err != nil {
			t.Fatal(err)
		}
		valid, err := ValidArguments(s, 0)
		if err != nil || jsonText(valid) != test.valid {
			t.Errorf("%s: valid is %s (%v), want %s", test.schema, jsonText(valid), err, test.valid)
			continue
		}
		var broken []string
		for _, c := range checkCounterexamples(t, s, valid) {
			broken = appendNew(broken, []string{c.Keyword})
		}
		if !slices.Equal(broken, test.broken) {
			t.Errorf("%s: counterexamples for %v, want %v", test.schema, broken, test.broken)
		}
	}
}
