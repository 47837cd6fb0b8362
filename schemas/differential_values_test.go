package schemas

import (
	"encoding/json"
	"flag"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// generator makes values for a set of definitions, always the same ones for a seed.
type generator struct {
	*rand.Rand
	definitions map[string]any
}

func newGenerator(seed string, definitions map[string]any) *generator {
	h := fnv.New64a()
	h.Write([]byte(seed))
	return &generator{rand.New(rand.NewPCG(h.Sum64(), 0)), definitions}
}

// whole has the same name as the flag of the proofs in the directory fixtures.
var whole = flag.Bool("whole", false, "compare verdicts on three times as many values")

// values makes values for a definition, most of them valid, and for each some that differ from a valid one in one
// place.
func (g *generator) values(definition string) []any {
	const mutants = 7
	values := 17
	if *whole {
		values = 50
	}
	schema := map[string]any{"$ref": "#/$defs/" + definition}
	var made []any
	for range values {
		made = append(made, g.value(schema))
		for range mutants {
			made = append(made, g.mutant(g.value(schema)))
		}
	}
	return made
}

// value makes a value for a schema.
func (g *generator) value(schema any) any {
	s, _ := schema.(map[string]any)
	if enum, ok := s["enum"].([]any); ok {
		return pickOne(g, enum)
	}
	if value, ok := s["const"]; ok {
		return value
	}
	if members, ok := s["union"].([]any); ok {
		return g.value(map[string]any{"$ref": "#/$defs/" + pickOne(g, members).(string)})
	}
	var value any
	for _, part := range g.parts(s) {
		value = merge(value, g.value(part))
	}
	if s["type"] != nil || s["properties"] != nil {
		value = merge(value, g.ofType(s))
	}
	if value == nil && len(s) == 0 {
		return g.anyJSON()
	}
	return value
}

// parts are the schemas that a schema is composed of, with one branch where there are several.
func (g *generator) parts(s map[string]any) []any {
	var parts []any
	if ref, ok := s["$ref"].(string); ok {
		parts = append(parts, g.definitions[strings.TrimPrefix(ref, "#/$defs/")])
	}
	if all, ok := s["allOf"].([]any); ok {
		parts = append(parts, all...)
	}
	if branches, ok := s["anyOf"].([]any); ok {
		parts = append(parts, pickOne(g, branches))
	}
	if s["if"] != nil && g.IntN(2) == 0 {
		parts = append(parts, s["if"], s["then"])
	} else if s["else"] != nil {
		parts = append(parts, s["else"])
	}
	return parts
}

// ofType makes a value by the keywords of the schema itself.
func (g *generator) ofType(s map[string]any) any {
	t := s["type"]
	if list, ok := t.([]any); ok {
		t = pickOne(g, list)
	}
	switch t {
	case "string":
		return pickOne(g, words)
	case "integer":
		return pickOne(g, []any{0.0, 1.0, -7.0, json.Number("3"), json.Number("9007199254740993")})
	case "number":
		return pickOne(g, []any{0.0, 1.0, 0.25, json.Number("0.5"), json.Number("1")})
	case "boolean":
		return g.IntN(2) == 0
	case "null":
		return nil
	case "array":
		list := []any{}
		for range g.IntN(3) {
			list = append(list, g.value(s["items"]))
		}
		return list
	}
	return g.object(s)
}

func (g *generator) object(s map[string]any) any {
	object := map[string]any{}
	properties, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if slices.Contains(required, any(name)) || g.IntN(3) == 0 {
			object[name] = g.value(properties[name])
		}
	}
	if others, ok := s["additionalProperties"].(map[string]any); ok {
		for range g.IntN(3) {
			object[pickOne(g, words).(string)] = g.value(others)
		}
	}
	return object
}

// words are strings that have a meaning somewhere in the protocol.
var words = []any{
	"", "a", "name", "text", "image", "audio", "resource", "resource_link", "tool_use", "tool_result",
	"string", "number", "integer", "boolean", "array", "object", "form", "url", "user", "info", "working", "2.0",
	"complete", "input_required", "private", "roots/list", "elicitation/create",
}

// anyJSON makes an arbitrary JSON value.
func (g *generator) anyJSON() any {
	return pickOne(g, []any{
		nil, true, false, 0.0, -1.0, 1.5, 1e300, json.Number("2"), json.Number("2.5"), "", "a", "ä\n",
		[]any{}, []any{nil}, []any{"a"}, map[string]any{}, map[string]any{"a": nil}, map[string]any{"type": "text"},
	})
}

// mutant changes the value in one place: a member is removed, null, of another type or another word, or an undeclared
// one is added.
func (g *generator) mutant(value any) any {
	object, isObject := value.(map[string]any)
	list, isList := value.([]any)
	switch {
	case isObject && len(object) > 0 && g.IntN(4) > 0:
		name := pickOne(g, slices.Sorted(maps.Keys(object)))
		if g.IntN(3) == 0 {
			delete(object, name)
		} else {
			object[name] = g.mutant(object[name])
		}
		return object
	case isObject && g.IntN(3) == 0:
		object[pickOne(g, memberNames)] = g.anyJSON()
		return object
	case isList && len(list) > 0 && g.IntN(8) > 0:
		i := g.IntN(len(list))
		list[i] = g.mutant(list[i])
		return list
	case g.IntN(4) == 0:
		return nil
	case g.IntN(3) == 0:
		return pickOne(g, words)
	}
	return g.anyJSON()
}

// memberNames are optional members, most of them of some revisions only, and one of no revision.
var memberNames = []string{
	"_meta", "title", "icons", "annotations", "mode", "task", "execution", "outputSchema", "structuredContent",
	"text", "blob", "enum", "oneOf", "items", "default", "id", "params", "lastModified", "description", "message",
	"metadata", "tools", "toolChoice", "$schema", "tasks", "completions", "data", "context", "sampling",
	"elicitation", "content", "extensions", "resultType", "ttlMs", "cacheScope", "inputRequests", "inputResponses",
	"requestState", "notifications", "io.modelcontextprotocol/serverInfo", "io.modelcontextprotocol/subscriptionId",
	"x-unknown",
}

func pickOne[T any](g *generator, list []T) T { return list[g.IntN(len(list))] }

// merge merges two values: objects member by member; otherwise the later value wins.
func merge(a, b any) any {
	over, ok := b.(map[string]any)
	under, isObject := a.(map[string]any)
	if !ok || !isObject {
		if b == nil {
			return a
		}
		return b
	}
	for name, value := range over {
		under[name] = merge(under[name], value)
	}
	return under
}
