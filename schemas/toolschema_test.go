package schemas

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func mustCompile(t testing.TB, text string) *Schema {
	t.Helper()
	s, err := Compile(decode(t, text), "2025-11-25")
	if err != nil {
		t.Fatalf("%v\n%s", err, truncate(text, 500))
	}
	return s
}

func TestCompileErrors(t *testing.T) {
	tests := []struct{ schema, revision, want string }{
		{`{"type":"object"}`, "2025-11-25", ""},
		{`{}`, "2024-11-05", ""},
		{`true`, "2026-07-28", ""},
		{`null`, "2025-11-25", `InvalidSchemaError /: expected boolean or object, got null`},
		{`"object"`, "2025-11-25", `InvalidSchemaError /: expected boolean or object, got string`},
		{`[]`, "2024-11-05", `InvalidSchemaError /: expected boolean or object, got array`},
		{`{"properties":{"a":{"type":"any"}}}`, "2025-11-25",
			`InvalidSchemaError /properties/a/type: ` +
				`expected one of "array", "boolean", "integer", "null", …, got "any"`},
		{`{"properties":{"a":{"required":true}}}`, "2025-11-25",
			`InvalidSchemaError /properties/a/required: expected array, got boolean`},
		{`{"properties":{"a":{"minimum":"1"}}}`, "2024-11-05",
			`InvalidSchemaError /properties/a/minimum: expected number, got string`},
		{`{"properties":{"a":{"minLength":-1}}}`, "2025-06-18",
			`InvalidSchemaError /properties/a/minLength: expected at least 0, got -1`},
		{`{"properties":{"a":null}}`, "2025-11-25",
			`InvalidSchemaError /properties/a: expected boolean or object, got null`},
		{`{"properties":[]}`, "2025-11-25", `InvalidSchemaError /properties: expected object, got array`},
		{`{"required":["a","a"]}`, "2025-11-25",
			`InvalidSchemaError /required: expected unique items, but 0 and 1 are equal`},
		{`{"$schema":5}`, "2025-11-25", `InvalidSchemaError /$schema: expected string, got number`},
		{`{"type":"object","anyOf":[]}`, "2025-11-25", `InvalidSchemaError /anyOf: expected at least 1 items, got 0`},

		// A tuple in items: draft-07, not 2020-12.
		{`{"properties":{"a":{"items":[{}]}}}`, "2025-11-25",
			`InvalidSchemaError /properties/a/items: expected boolean or object, got array`},
		{`{"properties":{"a":{"items":[{}]}}}`, "2025-06-18", ``},
		{`{"properties":{"a":{"items":[{}]}}}`, "2099-12-31",
			`InvalidSchemaError /properties/a/items: expected boolean or object, got array`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"items":[{}]}}}`, "2025-11-25", ``},
		{`{"$schema":"https://json-schema.org/draft/2020-12/schema","items":[{}]}`, "2024-11-05",
			`InvalidSchemaError /items: expected boolean or object, got array`},
		{`{"$schema":"http://json-schema.org/draft-04/schema",
			"properties":{"a":{"minimum":1,"exclusiveMinimum":true}}}`, "2025-11-25", ``},
		{`{"properties":{"a":{"minimum":1,"exclusiveMinimum":true}}}`, "2025-11-25",
			`InvalidSchemaError /properties/a/exclusiveMinimum: expected number, got boolean`},

		{`{"$schema":"https://spec.openapis.org/oas/3.1/dialect/base"}`, "2025-11-25",
			`UnknownDialectError /$schema: unknown dialect "https://spec.openapis.org/oas/3.1/dialect/base"`},
		{`{"$schema":"http://json-schema.org/draft-03/schema#"}`, "2024-11-05",
			`UnknownDialectError /$schema: unknown dialect "http://json-schema.org/draft-03/schema#"`},

		{`{"properties":{"a":{"$ref":"#/$defs/A"}}}`, "2025-11-25",
			`DanglingRefError /properties/a/$ref: "#/$defs/A" does not resolve`},
		{`{"properties":{"a":{"$ref":"#A"}}}`, "2024-11-05",
			`DanglingRefError /properties/a/$ref: "#A" does not resolve`},
		{`{"properties":{"a":{"$ref":"#/properties/a/title","title":"x"}}}`, "2025-11-25",
			`InvalidSchemaError /properties/a/title: expected boolean or object, got string`},
		{`{"properties":{"a":{"$ref":"https://example.com/a.json"}}}`, "2025-11-25",
			`ExternalRefError /properties/a/$ref: "https://example.com/a.json" is outside the schema, ` +
				`and is not fetched`},
		{`{"properties":{"a":{"$ref":"file:///etc/hostname"}}}`, "2025-11-25",
			`ExternalRefError /properties/a/$ref: "file:///etc/hostname" is outside the schema, and is not fetched`},
		{`{"properties":{"a":{"$ref":"common.json#/a"}}}`, "2025-11-25",
			`ExternalRefError /properties/a/$ref: "common.json#/a" is outside the schema, and is not fetched`},
		{`{"properties":{"a":{"$ref":"#/nope","type":"any"}}}`, "2025-11-25",
			`InvalidSchemaError /properties/a/type: ` +
				`expected one of "array", "boolean", "integer", "null", …, got "any"`},
		{`{"$ref":"#/components/A","components":{"A":{"type":"any"}}}`, "2025-11-25",
			`InvalidSchemaError /components/A/type: ` +
				`expected one of "array", "boolean", "integer", "null", …, got "any"`},
		{`{"$ref":"#/components/A","components":{"A":{"type":"object"}}}`, "2025-11-25", ``},
		{`{"properties":{"schema":{"$ref":"http://json-schema.org/draft-07/schema#"}}}`, "2025-11-25", ``},
		{`{"properties":{"schema":{"$ref":"https://json-schema.org/draft/2020-12/schema"}}}`, "2025-11-25", ``},

		{`{"$ref":"#"}`, "2025-11-25",
			`LimitError beyond what mcpcheck checks: schemas that refer to each other in a circle, ` +
				`or very long chain, at /`},
		{`{"properties":{"$ref":{"type":"string"},"$id":{"type":"string"}}}`, "2025-11-25", ``},
		{`{"default":{"$ref":"#/nope"},"x-more":{"$ref":"#/nope"}}`, "2025-11-25", ``},
		{`{"$id":"my tool","type":"object"}`, "2025-11-25", ``},
		{`{"properties":{"a":{"pattern":"(?=x)y"},"b":{"pattern":"("}}}`, "2025-11-25", ``},
		{`{"properties":{"a":{"maxLength":18446744073709551615}}}`, "2025-11-25", ``},
	}
	for _, test := range tests {
		_, err := Compile(decode(t, test.schema), test.revision)
		if got := typeAndText(err); got != test.want {
			t.Errorf("%s\n got %s\nwant %s", test.schema, got, test.want)
		}
	}
}

// typeAndText is the type of an error with its text; "" when err is nil.
func typeAndText(err error) string {
	if err == nil {
		return ""
	}
	return strings.TrimPrefix(fmt.Sprintf("%T %v", err, err), "*schemas.")
}

func TestDialectOf(t *testing.T) {
	for named, want := range map[string]string{
		"":                               "",
		"http://json-schema.org/schema#": "https://json-schema.org/draft/2020-12/schema",
		"http://json-schema.org/draft-07/schema#":       "http://json-schema.org/draft-07/schema",
		"https://json-schema.org/draft-07/schema":       "http://json-schema.org/draft-07/schema",
		"http://json-schema.org/draft/2020-12/schema#":  "https://json-schema.org/draft/2020-12/schema",
		"https://json-schema.org/draft/2019-09/schema#": "https://json-schema.org/draft/2019-09/schema",
		"http://example.com/mine":                       "http://example.com/mine",
	} {
		if got := DialectOf(map[string]any{"$schema": named}); got != want {
			t.Errorf("%q: got %q, want %q", named, got, want)
		}
	}
	if got := DialectOf(true); got != "" {
		t.Errorf("true: got %q", got)
	}
}

func TestValidateErrors(t *testing.T) {
	tests := []struct{ schema, value, want string }{
		{`{"properties":{"sum":{"type":"number"}}}`, `{"sum":"3"}`, `/sum: expected number, got string`},
		{`{"type":"object"}`, `[]`, `/: expected object, got array`},
		{`{"type":"object"}`, `null`, `/: expected object, got null`},
		{`{"required":["city","units"]}`, `{}`, `/city: missing; /units: missing`},
		{`{"required":["a","b","c","d"]}`, `{}`, `/a: missing; /b: missing; /c: missing`},
		{`{"additionalProperties":false}`, `{"a/b":1}`, `/a~1b: not allowed`},
		{`{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`, `{"a":1}`,
			`/a: expected string or null, got number`},
		{`{"properties":{"a":{"anyOf":[{"type":"string","maxLength":2},{"type":"null"}]}}}`, `{"a":"abc"}`,
			`/a: expected at most 2 characters, got 3`},
		{`{"oneOf":[{"required":["a"]},{"required":["b"]}]}`, `{}`, `/: fits none of the 2 schemas in oneOf`},
		{`{"oneOf":[{"required":["a"]},{"required":["b"]}]}`, `{"a":1,"b":1}`,
			`/: fits more than one schema in oneOf (0 and 1)`},
		{`{"properties":{"a":{"enum":["x","y"]}}}`, `{"a":"z"}`, `/a: expected one of "x", "y", got "z"`},
		{`{"properties":{"a":{"const":1}}}`, `{"a":2}`, `/a: expected 1, got 2`},
		{`{"properties":{"a":{"type":"integer","minimum":1}}}`, `{"a":0}`, `/a: expected at least 1, got 0`},
		{`{"properties":{"a":{"type":"integer"}}}`, `{"a":1.5}`, `/a: expected integer, got number`},
		{`{"properties":{"a":{"type":"integer"}}}`, `{"a":1.0}`, ``},
		{`{"properties":{"a":{"multipleOf":0.1}}}`, `{"a":0.3}`, ``},
		{`{"contains":{"const":1}}`, `[2]`, `/: no item fits contains`},
		{`{"contains":{"const":1},"maxContains":1}`, `[1,1]`, `/: expected at most 1 items that fit contains, got 2`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{}],"additionalItems":false}`, `[1,2]`,
			`/: has 1 items too many`},
		{`{"items":{"type":"string"}}`, `["a",1]`, `/1: expected string, got number`},
		{`{"properties":{"a":{"pattern":"^x"}}}`, `{"a":"y"}`, `/a: expected a match of ^x, got "y"`},
		{`{"properties":{"a":{"pattern":"^\\u0041\\s$"}}}`, `{"a":"A\u00a0"}`, ``},
		{`{"properties":{"a":{"pattern":"^(?!b)"}}}`, `{"a":"b"}`, `/a: expected a match of ^(?!b), got "b"`},
		{`{"patternProperties":{"^(?!b)":{"type":"string"}},"additionalProperties":false}`, `{"b":1}`,
			`/b: not allowed`},
		{`{"properties":{"a":{"format":"date-time"}}}`, `{"a":"tomorrow"}`, ``},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"format":"date-time"}}}`,
			`{"a":"tomorrow"}`, ``},
		{`{"properties":{"a":{"maxLength":18446744073709551615}}}`, `{"a":"x"}`, ``},
		{`{"properties":{"n":{"$ref":"#"}},"required":["v"]}`, `{"v":1,"n":{"v":1,"n":{}}}`, `/n/n/v: missing`},
		{`{"properties":{"schema":{"$ref":"http://json-schema.org/draft-07/schema#"}}}`, `{"schema":{"type":"any"}}`,
			`/schema/type: expected one of "array", "boolean", "integer", "null", …, got "any"`},
		{`{"type":"number"}`, `1e999`, `beyond what mcpcheck checks: the number 1e999`},
		{`{"type":"number"}`, `1e99999999999999999999`,
			`beyond what mcpcheck checks: the number 1e99999999999999999999`},
	}
	for _, test := range tests {
		got := ""
		if err := mustCompile(t, test.schema).Validate(decode(t, test.value)); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s\n%s\n got %s\nwant %s", test.schema, test.value, got, test.want)
		}
	}
}

func TestRefs(t *testing.T) {
	got := Refs(decode(t, `{
		"$defs": {"a": {"$anchor": "here"}, "b~/c": {},
			"e": {"$id": "e.json", "$defs": {"f": {"$ref": "#"}, "g": {"$ref": "#/$defs/f"}}}},
		"properties": {
			"1": {"$ref": "#/$defs/a"}, "2": {"$ref": "#here"}, "3": {"$ref": "#/$defs/b~0~1c"}, "4": {"$ref": "#"},
			"5": {"$ref": "e.json#/$defs/f"}, "6": {"$ref": "#/%24defs/a"},
			"7": {"$ref": "#/x-odd/0"}, "8": {"$ref": "#/nope"}, "9": {"$ref": "other.json"},
			"A": {"$ref": "http://json-schema.org/draft-07/schema#"}, "B": {"$dynamicRef": "#here"}, "C": {"$ref": 5},
			"D": {"default": {"$ref": "#/nope"}}, "$ref": {"type": "string"}
		},
		"x-odd": [{"$ref": "#/x-odd/1"}]
	}`))
	want := []Ref{
		{"/$defs/e/$defs/f/$ref", "#", false, true},
		{"/$defs/e/$defs/g/$ref", "#/$defs/f", false, true},
		{"/properties/1/$ref", "#/$defs/a", false, true},
		{"/properties/2/$ref", "#here", false, true},
		{"/properties/3/$ref", "#/$defs/b~0~1c", false, true},
		{"/properties/4/$ref", "#", false, true},
		{"/properties/5/$ref", "e.json#/$defs/f", false, true},
		{"/properties/6/$ref", "#/%24defs/a", false, true},
		{"/properties/7/$ref", "#/x-odd/0", false, true},
		{"/properties/8/$ref", "#/nope", false, false},
		{"/properties/9/$ref", "other.json", true, false},
		{"/properties/A/$ref", "http://json-schema.org/draft-07/schema#", true, true},
		{"/properties/B/$dynamicRef", "#here", false, true},
		{"/x-odd/0/$ref", "#/x-odd/1", false, false},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// maliciousSchemas are schemas that must not crash the process, run forever or exhaust the memory, whatever the result.
func maliciousSchemas() map[string]string {
	repeat := strings.Repeat
	chain := `{"$defs":{`
	for i := range 40 {
		chain += fmt.Sprintf(`"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	var wide, refs, deep strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&wide, `"p%d":{"type":"string"},`, i)
		fmt.Fprintf(&refs, `"p%d":{"$ref":"#/x/p%d"},`, i, i)
	}
	for i := range 3000 {
		fmt.Fprintf(&deep, `"d%d":{"$ref":"#/$defs/d%d"},`, i, i+1)
	}
	return map[string]string{
		"deep":            repeat(`{"properties":{"a":`, 2000) + `{}` + repeat(`}}`, 2000),
		"deep, not too":   repeat(`{"properties":{"a":`, 100) + `{}` + repeat(`}}`, 100),
		"deep required":   repeat(`{"required":["a"],"properties":{"a":`, 60) + `{}` + repeat(`}}`, 60),
		"exponential":     chain + `"d40":{}},"$ref":"#/$defs/d0"}`,
		"exponential not": chain + `"d40":{"type":"string"}},"not":{"$ref":"#/$defs/d0"}}`,
		"doubling tree": `{"anyOf":[{"properties":{"n":{"$ref":"#"}},"required":["x"]},
			{"properties":{"n":{"$ref":"#"}},"required":["x"]},
			{"properties":{"n":{"$ref":"#"}},"required":["x"]}]}`,
		"long chain": `{"$defs":{` + deep.String() + `"d3000":{}},"$ref":"#/$defs/d0"}`,
		"circle":     `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`,
		"endless":    `{"required":["a"],"properties":{"a":{"$ref":"#"}}}`,
		"endless items": `{"$defs":{"a":{"type":"array","minItems":1,"items":{"$ref":"#/$defs/a"}}},` +
			`"required":["a"],"properties":{"a":{"$ref":"#/$defs/a"}}}`,
		"wide":         `{"properties":{` + wide.String() + `"z":true}}`,
		"many refs":    `{"x":{` + wide.String() + `"z":true},"properties":{` + refs.String() + `"z":true}}`,
		"giant enum":   `{"properties":{"a":{"enum":[` + repeat(`1,`, 19000) + `2]}},"required":["a"]}`,
		"giant enum 2": `{"properties":{"a":{"enum":[` + repeat(`1,`, 100000) + `2]}}}`,
		"huge regexp":  `{"properties":{"a":{"pattern":"` + repeat(`(x{0,100}){9}`, 300) + `"}},"required":["a"]}`,
		"empty regexp": `{"properties":{"a":{"pattern":"x` + repeat(`(`, 90) + repeat(`)+`, 90) + `",` +
			`"minLength":50}},"required":["a"]}`,
		"long regexp": `{"properties":{"a":{"pattern":"` + repeat(`x`, 100000) + `"}},"required":["a"]}`,
		"deep regexp": `{"properties":{"a":{"pattern":"` + repeat(`(`, 900) + repeat(`)`, 900) + `"}},` +
			`"required":["a"]}`,
		"huge numbers": `{"properties":{
			"a":{"minimum":1e400,"multipleOf":1e-400},"b":{"minLength":1e300},"c":{"minItems":99999999999}},
			"required":["a","b","c"]}`,
		"huger number":  `{"properties":{"a":{"minimum":1e1000000000}}}`,
		"many required": `{"minProperties":1000000000}`,
		"impossible":    `{"required":["a"],"properties":{"a":{"allOf":[{"type":"string"},{"type":"integer"}]}}}`,
		"impossible all": `{"required":["a","b","c","d","e","f"],` +
			`"additionalProperties":{"oneOf":[{"type":"string"},{"type":"string"},{"not":{}}]}}`,
		"nul":      `{"properties":{"\u0000":{"pattern":"\u0000","const":"\u0000"}},"required":["\u0000"]}`,
		"false":    `{"properties":{"a":false},"required":["a"]}`,
		"odd ids":  `{"$id":"http://[::1","properties":{"a":{"$id":"%zz"},"b":{"$id":"#x"},"c":{"$id":"#x"}}}`,
		"same ids": `{"properties":{"a":{"$id":"x"},"b":{"$id":"x"}}}`,
		"odd refs": `{"properties":{"a":{"$ref":"%zz"},"b":{"$ref":"#%zz"},"c":{"$ref":"http://[::1"},` +
			`"d":{"$ref":"#/~2"}}}`,
		"odd anchor": `{"$anchor":"a","properties":{"a":{"$anchor":"a"}}}`,
		"dynamic": `{"$id":"a","$dynamicAnchor":"n","properties":{"x":{"$dynamicRef":"#n"},
			"y":{"$id":"b","$dynamicAnchor":"n",
			"properties":{"z":{"$dynamicRef":"a#n"}}}}}`,
		"recursive": `{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,` +
			`"properties":{"a":{"$recursiveRef":"#"}}}`,
		"self schema": `{"$schema":"https://json-schema.org/draft/2020-12/schema",` +
			`"$id":"https://json-schema.org/draft/2020-12/schema","type":"object"}`,
		"nested draft": `{"properties":{"a":{"$id":"x","$schema":"http://example.com/x"}}}`,
		"vocabulary":   `{"$vocabulary":{"http://example.com/v":true}}`,
	}
}

// TestMaliciousSchemas proves that everything that is done with a schema ends; otherwise the test exceeds the timeout
// of go test.
func TestMaliciousSchemas(t *testing.T) {
	deepValue := any(map[string]any{})
	for range 60 {
		deepValue = map[string]any{"n": deepValue, "a": []any{deepValue}}
		if len(fmt.Sprint(deepValue)) > 50_000 {
			break
		}
	}
	chain := any(map[string]any{})
	for range 200 {
		chain = map[string]any{"n": chain}
	}
	long := make([]any, 20_000)
	huge := strings.Repeat("x", 1<<20)
	values := []any{deepValue, chain, map[string]any{"a": long, "n": huge}, long, huge, nil}
	for name, text := range maliciousSchemas() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc := decode(t, text)
			for _, revision := range []string{"2024-11-05", "2025-11-25"} {
				s, err := Compile(doc, revision)
				Refs(doc)
				if err != nil {
					continue
				}
				for _, v := range values {
					_ = s.Validate(v)
				}
				valid, err := ValidArguments(s, 1)
				if err == nil {
					checkCounterexamples(t, s, valid)
				}
			}
		})
	}
}

func TestValidateOtherGoTypes(t *testing.T) {
	s := mustCompile(t, `{"properties":{"a":{"type":"string"}}}`)
	for _, v := range []any{
		struct{}{}, map[string]any{"a": []string{"x"}}, map[string]any{"a": func() {}}, make(chan int),
	} {
		if s.Validate(v) == nil {
			t.Errorf("%T was accepted", v)
		}
	}
	if err := s.Validate(map[string]any{"a": "x", "b": 1.5, "c": int64(1), "d": json.Number("1")}); err != nil {
		t.Error(err)
	}
}

func TestValidateConcurrently(t *testing.T) {
	s := mustCompile(t, ordinarySchema)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 50 {
				valid, err := ValidArguments(s, int64(i))
				if err != nil || s.Validate(valid) != nil {
					t.Error(err)
				}
				Counterexamples(s, valid, int64(i))
			}
		})
	}
	wg.Wait()
}

// ordinarySchema is a typical schema of a tool.
const ordinarySchema = `{"type":"object","$schema":"http://json-schema.org/draft-07/schema#",
	"additionalProperties":false,
	"properties":{
		"path":{"type":"string","description":"Where to look"},
		"pattern":{"type":"string","minLength":1},
		"limit":{"type":"integer","minimum":1,"maximum":100,"default":10},
		"sort":{"type":"string","enum":["asc","desc"],"default":"asc"},
		"tags":{"type":"array","items":{"type":"string"},"maxItems":10}},
	"required":["path","pattern"]}`

// TestManyTools observes the cost of servers with 10,000 tools.
func TestManyTools(t *testing.T) {
	doc := decode(t, ordinarySchema)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	kept := make([]*Schema, 3_000)
	start := time.Now()
	for i := range kept {
		s, err := Compile(doc, "2025-11-25")
		if err != nil {
			t.Fatal(err)
		}
		kept[i] = s
	}
	took := time.Since(start)
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := (after.HeapAlloc - before.HeapAlloc) / uint64(len(kept))
	t.Logf("%v, %d bytes kept for each", took, each)
	if each > 16<<10 {
		t.Errorf("%d bytes kept for each schema", each)
	}
	runtime.KeepAlive(kept)
}

func BenchmarkCompile(b *testing.B) {
	doc := decode(b, ordinarySchema)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Compile(doc, "2025-11-25"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkValidate(b *testing.B) {
	s := mustCompile(b, ordinarySchema)
	v := decode(b, `{"path":"a","pattern":"b","limit":5,"tags":["x","y"]}`)
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Validate(v); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzCompile(f *testing.F) {
	f.Add(ordinarySchema, `{}`)
	f.Add(`{"anyOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"pattern":"[a-z]{2}\\s"}}}`, `{"a":1}`)
	f.Fuzz(func(t *testing.T, schema, value string) {
		var doc, v any
		if json.Unmarshal([]byte(schema), &doc) != nil || json.Unmarshal([]byte(value), &v) != nil {
			return
		}
		for _, revision := range []string{"2024-11-05", "2025-11-25"} {
			s, err := Compile(doc, revision)
			if err != nil {
				if strings.Contains(err.Error(), "\n") {
					t.Errorf("more than one line: %v", err)
				}
				continue
			}
			_ = s.Validate(v)
			if valid, err := ValidArguments(s, 3); err == nil {
				checkCounterexamples(t, s, valid)
			}
		}
	})
}

// TestOpenDialect has schemas with different meanings in draft-07 and 2020-12, in revisions that allow both.
func TestOpenDialect(t *testing.T) {
	const sibling = `{"type":"object","properties":{"q":{"$ref":"#/$defs/s","maxLength":3}},` +
		`"required":["q"],"$defs":{"s":{"type":"string"}}}`
	const older = `{"$schema":"http://json-schema.org/draft-07/schema#",`
	tests := []struct {
		schema, revision string
		accepted         []string // by Validate
		broken           []string // keywords of counterexamples
	}{
		{sibling, "2025-06-18", []string{`{"q":"abcd"}`}, []string{"required", "type"}},
		{sibling, "2025-11-25", nil, []string{"required", "type", "maxLength"}},
		{older + sibling[1:], "2025-11-25", []string{`{"q":"abcd"}`}, []string{"required", "type"}},
		{`{"type":"object","properties":{"q":{"type":"array","prefixItems":[{"type":"string"}],"minItems":1}},` +
			`"required":["q"]}`, "2024-11-05", []string{`{"q":[1]}`}, []string{"required", "type", "minItems"}},
		{`{"type":"object","properties":{"a":true,"b":true},"required":["a"],"dependentRequired":{"a":["b"]}}`,
			"2025-03-26", []string{`{"a":1}`}, []string{"required"}},
	}
	for _, test := range tests {
		s, err := Compile(decode(t, test.schema), test.revision)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range test.accepted {
			if err := s.Validate(decode(t, text)); err != nil {
				t.Errorf("%s: %s: %v", test.schema, text, err)
			}
		}
		valid, err := ValidArguments(s, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.validateAll(valid); err != nil {
			t.Errorf("%s: %v is valid in one dialect only: %v", test.schema, valid, err)
		}
		var broken []string
		for _, c := range checkCounterexamples(t, s, valid) {
			broken = appendNew(broken, []string{c.Keyword})
		}
		if !slices.Equal(broken, test.broken) {
			t.Errorf("%s: %s: counterexamples for %v, want %v", test.schema, test.revision, broken, test.broken)
		}
	}
}
