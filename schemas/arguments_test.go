package schemas

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// publishedSchemas are schemas as generators and well-known servers publish them, with the arguments made for seed 0
// (or the error) and the counterexamples.
var publishedSchemas = []struct {
	name, schema, valid string
	invalid             []string
}{
	{"nothing", `{}`, `{}`, nil},
	{"true", `true`, `{}`, nil},
	{"object only", `{"type":"object"}`, `{}`, nil},
	{"no parameters, closed", `{"type":"object","additionalProperties":false}`, `{}`, []string{
		`additionalProperties /mcpcheck_extra {"mcpcheck_extra":true}: mcpcheck_extra is not declared`,
	}},
	{"zod-to-json-schema", `{"type":"object","properties":{
			"location":{"type":"string","minLength":1,"description":"City name"},
			"units":{"type":"string","enum":["metric","imperial"],"default":"metric"},
			"days":{"type":"integer","exclusiveMinimum":0,"maximum":14}},
		"required":["location"],"additionalProperties":false,"$schema":"http://json-schema.org/draft-07/schema#"}`,
		`{"location":"mcpcheck"}`, []string{
			`required /location {}: location is missing`,
			`type /location {"location":{"mcpcheck":true}}: location is an object, not a string`,
			`enum /units {"location":"mcpcheck","units":"mcpcheck-not-in-enum"}: ` +
				`units is "mcpcheck-not-in-enum", not one of "metric", "imperial"`,
			`maximum /days {"days":15,"location":"mcpcheck"}: days is 15, above the maximum 14`,
			`exclusiveMinimum /days {"days":0,"location":"mcpcheck"}: days is 0, not above 0`,
			`minLength /location {"location":""}: location has 0 characters, fewer than 1`,
			`additionalProperties /mcpcheck_extra {"location":"mcpcheck","mcpcheck_extra":true}: ` +
				`mcpcheck_extra is not declared`,
		}},
	{"zod-to-json-schema with a name", `{"$ref":"#/definitions/Add","definitions":{"Add":{"type":"object",
			"properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"],
			"additionalProperties":false}},
		"$schema":"http://json-schema.org/draft-07/schema#"}`, `{"a":1,"b":1}`, []string{
		`required /a {"b":1}: a is missing`,
		`required /a {}: there are no arguments: a, b are missing`,
		`type /a {"a":{"mcpcheck":true},"b":1}: a is an object, not a number`,
		`additionalProperties /mcpcheck_extra {"a":1,"b":1,"mcpcheck_extra":true}: mcpcheck_extra is not declared`,
	}},
	{"zod 4 integers", `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
		"properties":{"n":{"type":"integer","minimum":-9007199254740991,"maximum":9007199254740991}},"required":["n"]}`,
		`{"n":1}`, []string{
			`required /n {}: n is missing`,
			`type /n {"n":{"mcpcheck":true}}: n is an object, not a whole number`,
		}},
	{"pydantic", `{"$defs":{"Color":{"enum":["red","green"],"title":"Color","type":"string"},
			"Item":{"properties":{"name":{"title":"Name","type":"string"},"color":{"$ref":"#/$defs/Color"},
				"price":{"anyOf":[{"type":"number"},{"type":"null"}],"default":null,"title":"Price"}},
				"required":["name","color"],"title":"Item","type":"object"}},
		"properties":{"items":{"items":{"$ref":"#/$defs/Item"},"title":"Items","type":"array"},
			"note":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null,"title":"Note"}},
		"required":["items"],"title":"orderArguments","type":"object"}`,
		`{"items":[{"color":"red","name":"mcpcheck"}]}`, []string{
			`required /items {}: items is missing`,
			`type /items {"items":"mcpcheck"}: items is a string, not an array`,
			`enum /items/0/color {"items":[{"color":"mcpcheck-not-in-enum","name":"mcpcheck"}]}: ` +
				`items.0.color is "mcpcheck-not-in-enum", not one of "red", "green"`,
		}},
	{"pydantic, required and nullable",
		`{"properties":{"q":{"anyOf":[{"type":"string"},{"type":"null"}]}},"required":["q"],"type":"object"}`,
		`{"q":"mcpcheck"}`, []string{
			`required /q {}: q is missing`,
			`type /q {"q":{"mcpcheck":true}}: q is an object, not a string`,
		}},
	{"required with default",
		`{"type":"object","properties":{"limit":{"type":"integer","default":10}},"required":["limit"]}`,
		`{"limit":10}`, []string{`type /limit {"limit":{"mcpcheck":true}}: limit is an object, not a whole number`}},
	{"examples", `{"type":"object","properties":{"q":{"type":"string","examples":["rain in Spain"]}},"required":["q"]}`,
		`{"q":"rain in Spain"}`, []string{
			`required /q {}: q is missing`,
			`type /q {"q":{"mcpcheck":true}}: q is an object, not a string`,
		}},
	{"server-everything", `{"type":"object","properties":{
			"messageType":{"type":"string","enum":["error","success","debug"]},
			"includeImage":{"type":"boolean","default":false}},
		"required":["messageType"],"additionalProperties":false,
		"$schema":"http://json-schema.org/draft-07/schema#"}`, `{"messageType":"error"}`, []string{
		`required /messageType {}: messageType is missing`,
		`type /includeImage {"includeImage":{"mcpcheck":true},"messageType":"error"}: ` +
			`includeImage is an object, not a boolean`,
		`enum /messageType {"messageType":"mcpcheck-not-in-enum"}: ` +
			`messageType is "mcpcheck-not-in-enum", not one of "error", "success", "debug"`,
		`additionalProperties /mcpcheck_extra {"mcpcheck_extra":true,"messageType":"error"}: ` +
			`mcpcheck_extra is not declared`,
	}},
	{"server-filesystem edit_file", `{"type":"object","properties":{
			"path":{"type":"string"},
			"edits":{"type":"array","items":{"type":"object",
				"properties":{"oldText":{"type":"string"},"newText":{"type":"string"}},
				"required":["oldText","newText"],"additionalProperties":false}},
			"dryRun":{"type":"boolean","default":false}},
		"required":["path","edits"],"additionalProperties":false,
		"$schema":"http://json-schema.org/draft-07/schema#"}`,
		`{"edits":[{"newText":"mcpcheck","oldText":"mcpcheck"}],"path":"mcpcheck"}`, []string{
			`required /path {"edits":[{"newText":"mcpcheck","oldText":"mcpcheck"}]}: path is missing`,
			`required /path {}: there are no arguments: path, edits are missing`,
			`type /path {"edits":[{"newText":"mcpcheck","oldText":"mcpcheck"}],"path":{"mcpcheck":true}}: ` +
				`path is an object, not a string`,
			`additionalProperties /mcpcheck_extra {"edits":[{"newText":"mcpcheck","oldText":"mcpcheck"}],` +
				`"mcpcheck_extra":true,"path":"mcpcheck"}: mcpcheck_extra is not declared`,
		}},
	{"server-fetch", `{"description":"Parameters for fetching a URL.","properties":{
			"url":{"description":"URL to fetch","format":"uri","minLength":1,"title":"Url","type":"string"},
			"max_length":{"default":5000,"exclusiveMaximum":1000000,"exclusiveMinimum":0,
				"title":"Max Length","type":"integer"}},
		"required":["url"],"title":"Fetch","type":"object"}`, `{"url":"https://example.com/mcpcheck"}`, []string{
		`required /url {}: url is missing`,
		`type /url {"url":{"mcpcheck":true}}: url is an object, not a string`,
		`exclusiveMinimum /max_length {"max_length":0,"url":"https://example.com/mcpcheck"}: ` +
			`max_length is 0, not above 0`,
		`exclusiveMaximum /max_length {"max_length":1000000,"url":"https://example.com/mcpcheck"}: ` +
			`max_length is 1000000, not below 1000000`,
		`minLength /url {"url":""}: url has 0 characters, fewer than 1`,
	}},
	{"go-sdk", `{"type":"object","required":["name"],"properties":{
			"name":{"type":"string","description":"who"},
			"tags":{"type":["null","array"],"items":{"type":"string"}}},
		"additionalProperties":{"not":{}}}`, `{"name":"mcpcheck"}`, []string{
		`required /name {}: name is missing`,
		`type /name {"name":{"mcpcheck":true}}: name is an object, not a string`,
	}},
	{"schemars (Rust)", `{"$schema":"http://json-schema.org/draft-07/schema#","title":"P","type":"object",
		"required":["count","mode"],"properties":{
			"count":{"type":"integer","format":"uint32","minimum":0.0},
			"mode":{"oneOf":[
				{"type":"string","enum":["Fast"]},
				{"type":"object","required":["Slow"],"properties":{"Slow":{"type":"string"}},
					"additionalProperties":false}]}}}`,
		`{"count":1,"mode":"Fast"}`, []string{
			`required /count {"mode":"Fast"}: count is missing`,
			`required /count {}: there are no arguments: count, mode are missing`,
			`type /count {"count":{"mcpcheck":true},"mode":"Fast"}: count is an object, not a whole number`,
			`minimum /count {"count":-1,"mode":"Fast"}: count is -1, below the minimum 0`,
			`oneOf /mode {"count":1,"mode":"mcpcheck-not-in-union"}: mode matches none, or several, of oneOf`,
		}},
	{"discriminated union", `{"type":"object","properties":{"shape":{"oneOf":[
			{"type":"object","properties":{"kind":{"const":"circle"},"r":{"type":"number","exclusiveMinimum":0}},
				"required":["kind","r"]},
			{"type":"object","properties":{"kind":{"const":"square"},"a":{"type":"number"}},"required":["kind","a"]}]}},
		"required":["shape"]}`, `{"shape":{"kind":"circle","r":1}}`, []string{
		`required /shape {}: shape is missing`,
		`oneOf /shape {"shape":{"r":1}}: shape matches none, or several, of oneOf`,
	}},
	{"const at the root", `{"type":"object","properties":{
			"action":{"const":"list"},"confirm":{"type":"boolean","const":true},"v":{"const":null}},
		"required":["action","confirm","v"]}`, `{"action":"list","confirm":true,"v":null}`, []string{
		`required /action {"confirm":true,"v":null}: action is missing`,
		`required /action {}: there are no arguments: action, confirm, v are missing`,
		`type /confirm {"action":"list","confirm":{"mcpcheck":true},"v":null}: confirm is an object, not a boolean`,
		`const /action {"action":"mcpcheck-not-the-const","confirm":true,"v":null}: ` +
			`action is "mcpcheck-not-the-const", not "list"`,
	}},
	{"patterns", `{"type":"object","properties":{
			"id":{"type":"string","pattern":"^[A-Z]{3}-\\d{4}$"},
			"sha":{"type":"string","pattern":"^[0-9a-f]{40}$"},
			"slug":{"type":"string","pattern":"^[a-z0-9]+(?:-[a-z0-9]+)*$","minLength":3,"maxLength":6}},
		"required":["id","sha","slug"]}`,
		`{"id":"ABC-4567","sha":"cccceecccccceecccccceecccccceecccccceecc","slug":"mcpche"}`, []string{
			`required /id {"sha":"cccceecccccceecccccceecccccceecccccceecc","slug":"mcpche"}: id is missing`,
			`required /id {}: there are no arguments: id, sha, slug are missing`,
			`type /id {"id":{"mcpcheck":true},"sha":"cccceecccccceecccccceecccccceecccccceecc","slug":"mcpche"}: ` +
				`id is an object, not a string`,
			`minLength /slug {"id":"ABC-4567","sha":"cccceecccccceecccccceecccccceecccccceecc","slug":"mc"}: ` +
				`slug has 2 characters, fewer than 3`,
			`maxLength /slug {"id":"ABC-4567","sha":"cccceecccccceecccccceecccccceecccccceecc","slug":"mcpchec"}: ` +
				`slug has 7 characters, more than 6`,
			`pattern /id {"id":"mcpcheck","sha":"cccceecccccceecccccceecccccceecccccceecc","slug":"mcpche"}: ` +
				`id is "mcpcheck", no match of ^[A-Z]{3}-\d{4}$`,
		}},
	{"lookahead", `{"type":"object","properties":{"q":{"type":"string","pattern":"(?=x)y"}},"required":["q"]}`,
		`/properties/q/pattern: no string found for (?=x)y`, nil},
	{"lookahead with a default",
		`{"type":"object","properties":{"q":{"type":"string","pattern":"(?=x)xy","default":"xy"}},"required":["q"]}`,
		`{"q":"xy"}`, []string{`type /q {"q":{"mcpcheck":true}}: q is an object, not a string`,
			`pattern /q {"q":"mcpcheck"}: q is "mcpcheck", no match of (?=x)xy`}},
	{"tree", `{"type":"object","properties":{"root":{"$ref":"#/$defs/Node"}},"required":["root"],
		"$defs":{"Node":{"type":"object",
			"properties":{"value":{"type":"integer"},"children":{"type":"array","items":{"$ref":"#/$defs/Node"}}},
			"required":["value","children"]}}}`,
		`{"root":{"children":[],"value":1}}`, []string{
			`required /root {}: root is missing`,
			`type /root {"root":"mcpcheck"}: root is a string, not an object`,
		}},
	{"recursive filter", `{"type":"object","properties":{"filter":{"$ref":"#/$defs/Expr"}},"required":["filter"],
		"$defs":{"Expr":{"anyOf":[
			{"type":"object","properties":{"and":{"type":"array","items":{"$ref":"#/$defs/Expr"},"minItems":2}},
				"required":["and"]},
			{"type":"object","properties":{"not":{"$ref":"#/$defs/Expr"}},"required":["not"]},
			{"type":"object","properties":{"field":{"type":"string"}},"required":["field"]}]}}}`,
		`{"filter":{"field":"mcpcheck"}}`, []string{
			`required /filter {}: filter is missing`,
			`anyOf /filter {"filter":{}}: filter matches none of anyOf`,
		}},
	{"endless", `{"type":"object","properties":{"n":{"$ref":"#"}},"required":["n"]}`,
		`/properties/n: values would be nested without end`, nil},
	{"impossible", `{"type":"object","properties":{"n":{"type":"integer","minimum":2,"maximum":1}},"required":["n"]}`,
		`/properties/n: no number found`, nil},
	{"forbidden and required", `{"type":"object","properties":{"n":false},"required":["n"]}`,
		`/properties/n: no type fits`, nil},
}

func TestPublishedSchemas(t *testing.T) {
	for _, test := range publishedSchemas {
		t.Run(test.name, func(t *testing.T) {
			s := mustCompile(t, test.schema)
			got, invalid := generatedArguments(t, s)
			if got != test.valid {
				t.Errorf("got %s\nwant %s", got, test.valid)
			}
			if a, b := strings.Join(invalid, "\n"), strings.Join(test.invalid, "\n"); a != b {
				t.Errorf("got\n%s\nwant\n%s", a, b)
			}
		})
	}
}

// generatedArguments returns what ValidArguments and Counterexamples make for seed 0, as text.
func generatedArguments(t *testing.T, s *Schema) (string, []string) {
	t.Helper()
	valid, err := ValidArguments(s, 0)
	if err != nil {
		return err.Error(), nil
	}
	var invalid []string
	for _, c := range checkCounterexamples(t, s, valid) {
		invalid = append(invalid, fmt.Sprintf("%s %s %s: %s", c.Keyword, c.Path, jsonText(c.Arguments), c.Reason))
	}
	return jsonText(valid), invalid
}

func jsonText(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// checkCounterexamples makes counterexamples, and confirms that they are invalid.
func checkCounterexamples(t *testing.T, s *Schema, valid map[string]any) []Counterexample {
	t.Helper()
	if err := s.Validate(valid); err != nil {
		t.Errorf("valid arguments are refused: %v", err)
	}
	before := jsonText(valid)
	list := Counterexamples(s, valid, 0)
	for _, c := range list {
		if s.Validate(c.Arguments) == nil {
			t.Errorf("%s: accepted: %s", c.Keyword, jsonText(c.Arguments))
		}
		if n := len(jsonText(c.Arguments)); n > len(before)*(maxOverlongItems+2)+2*maxExampleLength {
			t.Errorf("%s: %d bytes", c.Keyword, n)
		}
		if strings.Contains(c.Reason, "\n") || c.Reason == "" {
			t.Errorf("%s: reason: %q", c.Keyword, c.Reason)
		}
	}
	if jsonText(valid) != before {
		t.Errorf("valid arguments were changed")
	}
	return list
}

// requiredProperty is the schema of an object with the required property x.
func requiredProperty(property string) string {
	return `{"type":"object","properties":{"x":` + property + `},"required":["x"]}`
}

func TestValidKeywords(t *testing.T) {
	tests := []struct{ schema, want string }{
		{requiredProperty(`{}`), `"mcpcheck"`},
		{requiredProperty(`true`), `"mcpcheck"`},
		{requiredProperty(`{"type":"null"}`), `null`},
		{requiredProperty(`{"type":"boolean"}`), `false`},
		{requiredProperty(`{"type":["null","integer"]}`), `1`},
		{requiredProperty(`{"type":"integer","minimum":5}`), `5`},
		{requiredProperty(`{"type":"integer","exclusiveMinimum":5}`), `6`},
		{requiredProperty(`{"type":"integer","maximum":-5}`), `-5`},
		{requiredProperty(`{"type":"integer","exclusiveMaximum":0}`), `-1`},
		{requiredProperty(`{"type":"integer","minimum":3,"maximum":20,"multipleOf":7}`), `7`},
		{requiredProperty(`{"type":"integer","multipleOf":0.5}`), `1`},
		{requiredProperty(`{"type":"integer","multipleOf":1.5}`), `3`},
		{requiredProperty(`{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1}`), `0.5`},
		{requiredProperty(`{"type":"number","minimum":0.1,"maximum":0.2,"multipleOf":0.1}`), `0.1`},
		{requiredProperty(`{"type":"number","minimum":2.5,"maximum":2.5}`), `2.5`},
		{requiredProperty(`{"type":"integer","minimum":9007199254740993}`), `9007199254740993`},
		{requiredProperty(`{"type":"string","minLength":12}`), `"mcpcheckmcpc"`},
		{requiredProperty(`{"type":"string","maxLength":3}`), `"mcp"`},
		{requiredProperty(`{"type":"string","maxLength":0}`), `""`},
		{requiredProperty(`{"type":"string","format":"date-time"}`), `"2025-01-01T12:00:00Z"`},
		{requiredProperty(`{"type":"string","format":"date"}`), `"2025-01-01"`},
		{requiredProperty(`{"type":"string","format":"time"}`), `"12:00:00Z"`},
		{requiredProperty(`{"type":"string","format":"duration"}`), `"PT1M"`},
		{requiredProperty(`{"type":"string","format":"email"}`), `"mcpcheck@example.com"`},
		{requiredProperty(`{"type":"string","format":"email","minLength":30}`), `"mcpcheckmcpcheckmc@example.com"`},
		{requiredProperty(`{"type":"string","format":"email","maxLength":7}`), `"a@a.co"`},
		{requiredProperty(`{"type":"string","format":"hostname","maxLength":6}`), `"a.co"`},
		{requiredProperty(`{"type":"string","format":"uri","maxLength":12}`), `"http://a.co"`},
		{requiredProperty(`{"type":"string","format":"uri","minLength":31}`), `"https://example.com/mcpcheckmcp"`},
		{requiredProperty(`{"type":"string","format":"date-time","minLength":24}`), `"2025-01-01T12:00:00.000Z"`},
		{requiredProperty(`{"type":"array","minItems":2,"items":{"enum":["a","b"]}}`), `["a","b"]`},
		{requiredProperty(`{"type":"string","format":"uri"}`), `"https://example.com/mcpcheck"`},
		{requiredProperty(`{"type":"string","format":"url"}`), `"https://example.com/mcpcheck"`},
		{requiredProperty(`{"type":"string","format":"uuid"}`), `"00000000-0000-4000-8000-000000000001"`},
		{requiredProperty(`{"type":"string","format":"ipv4"}`), `"192.0.2.1"`},
		{requiredProperty(`{"type":"string","format":"ipv6"}`), `"2001:db8::1"`},
		{requiredProperty(`{"type":"string","format":"hostname"}`), `"mcpcheck.example.com"`},
		{requiredProperty(`{"type":"string","format":"regex"}`), `"mcpcheck"`},
		{requiredProperty(`{"type":"string","format":"json-pointer"}`), `"/mcpcheck"`},
		{requiredProperty(`{"type":"string","format":"date-time","pattern":"Z$"}`), `"2025-01-01T12:00:00Z"`},
		{requiredProperty(`{"type":"string","pattern":"^https://github\\.com/"}`), `"https://github.com/"`},
		{requiredProperty(`{"type":"string","pattern":"^(GET|POST)$"}`), `"GET"`},
		{requiredProperty(`{"type":"string","pattern":"^\\S+\\s\\S+$"}`), `"mcpche k"`},
		{requiredProperty(`{"type":"string","pattern":"^\\p{Lu}\\w*$"}`), ``},
		{requiredProperty(`{"allOf":[{"type":"string","pattern":"^a"},{"pattern":"z$"}]}`), ``},
		{requiredProperty(`{"type":"string","enum":["b","a"]}`), `"b"`},
		{requiredProperty(`{"enum":[null,1]}`), `null`},
		{requiredProperty(`{"type":"integer","enum":["1",2]}`), `2`},
		{requiredProperty(`{"const":{"a":[1]}}`), `{"a":[1]}`},
		{requiredProperty(`{"type":"string","default":5}`), `"mcpcheck"`},
		{requiredProperty(`{"type":"array"}`), `[]`},
		{requiredProperty(`{"type":"array","items":{"type":"integer"}}`), `[1]`},
		{requiredProperty(`{"type":"array","items":{"type":"integer"},"maxItems":0}`), `[]`},
		{requiredProperty(`{"type":"array","items":{"enum":["a","b","c"]},"minItems":3,"uniqueItems":true}`),
			`["a","b","c"]`},
		{requiredProperty(`{"type":"array","items":{"type":"boolean"},"minItems":2,"uniqueItems":true}`),
			`[false,true]`},
		{requiredProperty(`{"type":"array","minItems":2,"uniqueItems":true}`), `["mcpcheck","mcpcheck1"]`},
		{requiredProperty(
			`{"type":"array","prefixItems":[{"type":"string"},{"type":"integer"}],"items":false,"minItems":2}`),
			`["mcpcheck",1]`},
		{requiredProperty(
			`{"type":"array","prefixItems":[{"type":"string"}],"contains":{"type":"integer"},"minContains":2}`),
			`["mcpcheck",1,1]`},
		{requiredProperty(`{"type":"array","contains":{"const":"x"}}`), `["x"]`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","required":["x"],
			"properties":{"x":{"type":"array",
			"items":[{"type":"string"},{"type":"integer"}],"additionalItems":false}}}`, `["mcpcheck",1]`},
		{requiredProperty(`{"type":"object","minProperties":2}`), `{"mcpcheck":"mcpcheck","mcpcheck1":"mcpcheck"}`},
		{requiredProperty(`{"type":"object","minProperties":1,"properties":{"a":{"type":"integer"},"b":{}}}`),
			`{"a":1}`},
		{requiredProperty(`{"type":"object","minProperties":1,"propertyNames":{"pattern":"^k\\d$"},` +
			`"additionalProperties":{"type":"null"}}`), ``},
		{requiredProperty(`{"type":"object","minProperties":2,"patternProperties":{"^k\\d$":{"type":"integer"}},` +
			`"additionalProperties":false}`), ``},
		{requiredProperty(`{"type":"object","additionalProperties":{"type":"integer"},"required":["k"]}`), `{"k":1}`},
		{requiredProperty(`{"type":"object","required":["a"],"dependentRequired":{"a":["b"],"b":["c"]}}`),
			`{"a":"mcpcheck","b":"mcpcheck","c":"mcpcheck"}`},
		{requiredProperty(`{"type":"object","required":["a"],"dependentSchemas":{"a":{"required":["d"],` +
			`"properties":{"d":{"const":1}}}}}`), `{"a":"mcpcheck","d":1}`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","required":["x"],` +
			`"dependencies":{"x":["y"],"y":{"required":["z"]}}}`, ``},
		{`{"type":"object","anyOf":[{"required":["x"]},{"required":["y"]}]}`, `"mcpcheck"`},
		{`{"type":"object","oneOf":[{"properties":{"t":{"const":"a"}}},{"properties":{"t":{"const":"b"}}}],` +
			`"required":["x"]}`, ``},
		{`{"type":"object","required":["x"],"properties":{"x":{"enum":["a","b"]}},` +
			`"if":{"properties":{"x":{"const":"a"}}},"then":{"required":["y"]}}`, `"a"`},
		{`{"type":"object","required":["x"],"properties":{"x":{"enum":["a","b"]}},` +
			`"if":{"properties":{"x":{"const":"a"}}},"then":false}`, `"b"`},
		{requiredProperty(`{"type":"string","not":{"const":"mcpcheck"}}`), `"mcpcheck1"`},
		{requiredProperty(`{"type":"string","not":{"enum":["mcpcheck","mcpcheck1"]}}`), `"mcpcheck2"`},
		{requiredProperty(`{"not":{"type":"string"}}`), `1`},
		{requiredProperty(`{"allOf":[{"type":"object","properties":{"a":{"type":"integer"}},` +
			`"required":["a"]},{"properties":{"a":{"minimum":7}}}]}`), `{"a":7}`},
		{requiredProperty(`{"oneOf":[{"type":"number"},{"type":"integer"}]}`), ``},
		{requiredProperty(`{"anyOf":[false,{"type":"integer"}]}`), `1`},
		{`{"type":"object","properties":{"x":{"type":"string"}},"required":["x"],"unevaluatedProperties":false,` +
			`"allOf":[{"properties":{"y":true}}]}`, `"mcpcheck"`},
		{`{"type":"object","required":["x"],"properties":{"x":{"$ref":"http://json-schema.org/draft-07/schema#"}}}`,
			``},
	}
	for _, test := range tests {
		s := mustCompile(t, test.schema)
		valid, err := ValidArguments(s, 0)
		if err != nil {
			t.Errorf("%s: %v", test.schema, err)
			continue
		}
		if got := jsonText(valid["x"]); got != test.want && test.want != "" {
			t.Errorf("%s: got %s, want %s", test.schema, got, test.want)
		}
		checkCounterexamples(t, s, valid)
	}
}

func TestSeeds(t *testing.T) {
	s := mustCompile(t, `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"},
		"c":{"enum":["x","y","z"]},
		"d":{"anyOf":[{"type":"string","format":"date"},{"type":"boolean"}]}},"required":["a","b","c","d"]}`)
	different := map[string]bool{}
	for seed := int64(-5); seed < 20; seed++ {
		first, err := ValidArguments(s, seed)
		if err != nil {
			t.Fatal(err)
		}
		second, _ := ValidArguments(s, seed)
		if jsonText(first) != jsonText(second) {
			t.Errorf("seed %d: %s, then %s", seed, jsonText(first), jsonText(second))
		}
		if a, b := fmt.Sprint(Counterexamples(s, first, seed)), fmt.Sprint(Counterexamples(s, first, seed)); a != b {
			t.Errorf("seed %d: %s, then %s", seed, a, b)
		}
		different[jsonText(first)] = true
	}
	if len(different) < 20 {
		t.Errorf("only %d different arguments", len(different))
	}
}

// TestBrokenKeywords proves the change for each keyword that publishedSchemas does not show.
func TestBrokenKeywords(t *testing.T) {
	tests := []struct{ property, keyword, want string }{
		{`{"type":"integer","enum":[3,7]}`, "enum", `{"x":8}`},
		{`{"type":"boolean","enum":[true]}`, "enum", `{"x":false}`},
		{`{"type":"boolean","enum":[true,false]}`, "enum", ``},
		{`{"type":"integer","const":3}`, "const", `{"x":4}`},
		{`{"type":"integer","minimum":0,"multipleOf":5}`, "minimum", `{"x":-5}`},
		{`{"type":"integer","maximum":12,"multipleOf":5}`, "maximum", `{"x":15}`},
		{`{"type":"number","maximum":1.5}`, "maximum", `{"x":2}`},
		{`{"type":"integer","exclusiveMaximum":3.5}`, "exclusiveMaximum", `{"x":4}`},
		{`{"type":"number","exclusiveMinimum":0.5}`, "exclusiveMinimum", `{"x":0}`},
		{`{"type":"integer","multipleOf":5}`, "multipleOf", `{"x":1}`},
		{`{"type":"number","multipleOf":0.5}`, "multipleOf", `{"x":0.25}`},
		{`{"type":"integer","multipleOf":1}`, "multipleOf", ``},
		{`{"type":"string","maxLength":3}`, "maxLength", `{"x":"mcpc"}`},
		{`{"type":"string","maxLength":5000}`, "maxLength", ``},
		{`{"type":"string","pattern":"^[a-z]+$","maxLength":3}`, "maxLength", `{"x":"mcpc"}`},
		{`{"type":"string","pattern":"^[0-9]+$","minLength":3}`, "minLength", `{"x":"01"}`},
		{`{"type":"string","pattern":"^[0-9]+$"}`, "pattern", `{"x":"mcpcheck"}`},
		{`{"type":"string","pattern":"^[a-z]+$"}`, "pattern", `{"x":"mcpcheck does not match!"}`},
		{`{"type":"string","pattern":".*"}`, "pattern", ``},
		{`{"type":"array","items":{"type":"integer"},"minItems":2}`, "minItems", `{"x":[1]}`},
		{`{"type":"array","items":{"type":"integer"},"maxItems":2,"uniqueItems":true}`, "maxItems", `{"x":[1,2,3]}`},
		{`{"type":"array","items":{"type":"integer"},"maxItems":200}`, "maxItems", ``},
		{`{"type":["string","null"]}`, "type", `{"x":{"mcpcheck":true}}`},
		{`{"anyOf":[{"type":"integer","minimum":3},{"type":"null"}]}`, "minimum", `{"x":2}`},
		{`{"type":["string"]}`, "type", `{"x":{"mcpcheck":true}}`},
		{`{"type":"object"}`, "type", `{"x":"mcpcheck"}`},
		{`{"anyOf":[{"type":"string"}]}`, "type", ``},
		{`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, "required", `{}`},
		{`{"type":"object","additionalProperties":false}`, "additionalProperties", `{"x":{"mcpcheck_extra":true}}`},
		{`{"anyOf":[{"type":"integer"},{"type":"boolean"}]}`, "anyOf", `{"x":"mcpcheck-not-in-union"}`},
		{`{"anyOf":[{"type":"string"},{"type":"number"}]}`, "anyOf", `{"x":{"mcpcheck":true}}`},
		{`{"anyOf":[{"type":"string"},{"type":"object"}]}`, "anyOf", `{"x":[[]]}`},
		{`{"anyOf":[{"type":"string"},{"type":"null"}]}`, "anyOf", ``},
		{`{"anyOf":[{},{"type":"null"},{"type":"string"}]}`, "anyOf", ``},
		{`{"type":"string","oneOf":[{"const":"a"},{"const":"b"}]}`, "oneOf", `{"x":"mcpcheck-not-in-union"}`},
		{`{"type":"integer","oneOf":[{"const":1},{"const":2}]}`, "oneOf", `{"x":3}`},
		{`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},
			"oneOf":[{"required":["a"]},{"required":["b"]}]}`, "oneOf", `{"x":{}}`},
		{`{"type":"object","required":["a"],"properties":{"a":{"type":"string"},"b":{"type":"string"}},
			"oneOf":[{"required":["a"]},{"required":["b"]}]}`, "oneOf", `{"x":{"a":"mcpcheck","b":"mcpcheck"}}`},
		{`{"type":"string","not":{"const":"x"}}`, "not", `{"x":"x"}`},
		{`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},
			"not":{"required":["a","b"]}}`, "not", `{"x":{"a":"mcpcheck","b":"mcpcheck"}}`},
		{`{"type":"object","required":["a"],"properties":{"a":{"const":"x"},"b":{"type":"string"}},
			"if":{"properties":{"a":{"const":"x"}}},"then":{"required":["b"]}}`, "if", `{"x":{"a":"x"}}`},
		{`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},
			"dependentRequired":{"a":["b"]}}`, "dependentRequired", `{"x":{"a":"mcpcheck"}}`},
		{`{"type":"array","items":{"type":"integer"},"minItems":1,"uniqueItems":true}`, "uniqueItems", `{"x":[1,1]}`},
		{`{"type":"array","items":{"type":"integer"},"minItems":2,"maxItems":2,"uniqueItems":true}`, "uniqueItems",
			`{"x":[1,1]}`},
	}
	for _, test := range tests {
		s := mustCompile(t, requiredProperty(test.property))
		valid, err := ValidArguments(s, 0)
		if err != nil {
			t.Errorf("%s: %v", test.property, err)
			continue
		}
		got := ""
		for _, c := range checkCounterexamples(t, s, valid) {
			if c.Keyword == test.keyword && got == "" {
				got = jsonText(c.Arguments)
			}
		}
		if got != test.want {
			t.Errorf("%s: %s: got %s, want %s", test.property, test.keyword, got, test.want)
		}
	}
}

// randomSchema makes a schema that nearly always has a valid value.
func randomSchema(r *rand.Rand, depth int) map[string]any {
	s := map[string]any{}
	kinds := []func(){
		func() { s["type"] = "string"; s["minLength"] = r.IntN(4); s["maxLength"] = 4 + r.IntN(8) },
		func() {
			s["type"] = "string"
			s["pattern"] = []string{`^[a-c]{2,5}$`, `^(x|yy)+\d?$`, `foo`, `^\w+@\w+\.com$`, `^[^a-z]*$`}[r.IntN(5)]
		},
		func() { s["type"] = "string"; s["format"] = []string{"date", "uri", "email", "odd"}[r.IntN(4)] },
		func() { s["type"] = "integer"; s["minimum"] = r.IntN(20) - 10; s["maximum"] = 10 + r.IntN(20) },
		func() { s["type"] = "number"; s["exclusiveMinimum"] = r.Float64() - 0.5; s["multipleOf"] = 0.25 },
		func() { s["type"] = "integer"; s["exclusiveMaximum"] = r.IntN(9) },
		func() { s["type"] = []any{"boolean", "null"} },
		func() { s["enum"] = []any{"a", 1.0, nil, map[string]any{"b": true}} },
		func() { s["const"] = r.IntN(5) },
		func() { s["anyOf"] = []any{randomSchema(r, depth-1), randomSchema(r, depth-1)} },
		func() { s["oneOf"] = []any{map[string]any{"type": "integer"}, map[string]any{"type": "string"}} },
		func() { s["$ref"] = "#/$defs/node" },
		func() { s["type"] = "string"; s["not"] = map[string]any{"const": "mcpcheck"} },
		func() {
			s["type"], s["items"] = "array", randomSchema(r, depth-1)
			s["minItems"], s["maxItems"] = r.IntN(3), 3+r.IntN(3)
			s["uniqueItems"] = s["minItems"] == 1
		},
		func() { randomObject(r, s, depth) },
		func() { randomObject(r, s, depth) },
	}
	if depth <= 0 {
		kinds = kinds[:9]
	}
	kinds[r.IntN(len(kinds))]()
	return s
}

func randomObject(r *rand.Rand, s map[string]any, depth int) {
	properties, required := map[string]any{}, []any{}
	for i := range 1 + r.IntN(4) {
		name := fmt.Sprintf("p%d", i)
		properties[name] = randomSchema(r, depth-1)
		if r.IntN(2) == 0 {
			required = append(required, name)
		}
	}
	s["type"], s["properties"], s["required"] = "object", properties, required
	switch r.IntN(5) {
	case 0:
		s["additionalProperties"] = false
	case 1:
		s["minProperties"] = r.IntN(3)
	case 2:
		s["dependentRequired"] = map[string]any{"p0": []any{"p1"}}
	case 3:
		s["if"], s["then"] = map[string]any{"minProperties": 0}, map[string]any{"required": []any{"p0"}}
	}
}

func TestRandomSchemas(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	broken := map[string]int{}
	failed := 0
	const count = 500
	for i := range count {
		doc := map[string]any{}
		randomObject(r, doc, 3)
		doc["$defs"] = map[string]any{"node": map[string]any{
			"type": "object", "required": []any{"v"},
			"properties": map[string]any{"v": randomSchema(r, 0), "next": map[string]any{"$ref": "#/$defs/node"}},
		}}
		s := mustCompile(t, jsonText(doc))
		valid, err := ValidArguments(s, int64(i%3))
		if err != nil {
			failed++
			t.Logf("%v\n%s", err, jsonText(doc))
			continue
		}
		for _, c := range checkCounterexamples(t, s, valid) {
			broken[c.Keyword]++
		}
	}
	if failed > count/50 {
		t.Errorf("no arguments for %d of %d schemas", failed, count)
	}
	for _, k := range mutators {
		if broken[k.keyword] == 0 {
			t.Errorf("%s was never broken", k.keyword)
		}
	}
	t.Logf("broken: %v", broken)
}

func BenchmarkValid(b *testing.B) {
	s := mustCompile(b, ordinarySchema)
	for b.Loop() {
		if _, err := ValidArguments(s, 0); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCounterexamples(b *testing.B) {
	s := mustCompile(b, ordinarySchema)
	valid, _ := ValidArguments(s, 0)
	for b.Loop() {
		Counterexamples(s, valid, 0)
	}
}
