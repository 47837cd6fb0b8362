package schemas

import (
	_ "embed"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// messagesYAML is the one source; its head explains the notation.
//
//go:embed messages.yaml
var messagesYAML []byte

// messageSource is messages.yaml as it is read, before a revision is chosen.
type messageSource struct {
	Revisions      []string
	Server, Client sideSource
	Definitions    map[string]any

	sets map[string]func() *messageSet // by revision
}

// sideSource is what one side sends.
type sideSource struct{ Results, Notifications, Requests map[string]any }

func (s sideSource) in(revision string) side {
	return side{names(s.Results, revision), names(s.Notifications, revision), names(s.Requests, revision)}
}

// messageSet is what one revision makes of the source: what each side sends, and plain JSON Schemas by definition name.
type messageSet struct {
	server, client side

	schemas  map[string]any
	optional map[string]bool // addresses of the schemas of optional members
	compile  map[string]func() *jsonschema.Schema
}

// side is what one side sends: definition names by method.
type side struct{ results, notifications, requests map[string]string }

// messages is the source, read when it is first needed.
var messages = sync.OnceValue(readMessages)

// IsWord reports whether a text is a word that messages are made of: a method, a member, a value.
func IsWord(text string) bool { return vocabulary()[text] }

// vocabulary is all words in the source, but for its comments. To read it as YAML would take longer.
var vocabulary = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{}
	for line := range strings.Lines(string(messagesYAML)) {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		for _, word := range wordForm.FindAllString(line, -1) {
			all[word] = true
		}
	}
	return all
})

var wordForm = regexp.MustCompile(`[A-Za-z][A-Za-z/_]*`)

func readMessages() *messageSource {
	var s messageSource
	if err := yaml.UnmarshalWithOptions(messagesYAML, &s, yaml.Strict()); err != nil {
		panic("schemas: messages.yaml: " + err.Error())
	}
	s.sets = map[string]func() *messageSet{}
	for _, revision := range s.Revisions {
		s.sets[revision] = sync.OnceValue(func() *messageSet { return newMessageSet(&s, revision) })
	}
	return &s
}

// messagesOf returns what the source holds for a revision, an empty set if nothing.
func messagesOf(revision string) *messageSet {
	if set, ok := messages().sets[revision]; ok {
		return set()
	}
	return &messageSet{}
}

func newMessageSet(s *messageSource, revision string) *messageSet {
	set := &messageSet{
		server:   s.Server.in(revision),
		client:   s.Client.in(revision),
		schemas:  resolve(s.Definitions, revision).(map[string]any),
		optional: map[string]bool{},
		compile:  map[string]func() *jsonschema.Schema{},
	}
	expandUnions(set.schemas, set.schemas)
	for name, schema := range set.schemas {
		collectOptional(schema, messageLocation+"#/$defs/"+name, set.optional)
		set.compile[name] = sync.OnceValue(func() *jsonschema.Schema {
			return compileDefinition(set.schemas, name)
		})
	}
	return set
}

// names resolves a map from methods to definitions.
func names(source map[string]any, revision string) map[string]string {
	byMethod := map[string]string{}
	for method, definition := range resolve(source, revision).(map[string]any) {
		byMethod[method] = definition.(string)
	}
	return byMethod
}

// resolve copies the part of the source that holds in the revision, as plain JSON Schema but for unions.
func resolve(source any, revision string) any {
	switch source := source.(type) {
	case map[string]any:
		return resolveMap(source, revision)
	case []any:
		list := []any{}
		for _, entry := range source {
			if holds(entry, revision) {
				list = append(list, resolve(entry, revision))
			}
		}
		return list
	case uint64:
		return float64(source)
	case int64:
		return float64(source)
	}
	return source
}

func resolveMap(source map[string]any, revision string) any {
	if is, ok := source["is"].(string); ok {
		return is
	}
	resolved := make(map[string]any, len(source))
	for key, value := range source {
		if !holds(value, revision) {
			continue
		}
		resolved[key] = resolve(value, revision)
	}
	if ref, ok := resolved["$ref"].(string); ok {
		resolved["$ref"] = "#/$defs/" + ref
	}
	for _, key := range []string{"since", "before"} {
		if _, ok := resolved[key].(string); ok {
			delete(resolved, key)
		}
	}
	return resolved
}

// holds tells whether a part of the source exists in the revision. Revisions are dates, so that they compare as
// strings.
func holds(source any, revision string) bool {
	part, ok := source.(map[string]any)
	if !ok {
		return true
	}
	since, _ := part["since"].(string)
	before, _ := part["before"].(string)
	return revision >= since && (before == "" || revision < before)
}

// expandUnions gives each union in the schema the keywords that judge it. The list of its members stays, as an
// annotation that validators ignore.
func expandUnions(schema any, definitions map[string]any) {
	switch schema := schema.(type) {
	case map[string]any:
		for _, value := range schema {
			expandUnions(value, definitions)
		}
		if members, ok := schema["union"].([]any); ok {
			maps.Copy(schema, unionOf(members, definitions))
		}
	case []any:
		for _, value := range schema {
			expandUnions(value, definitions)
		}
	}
}

// unionOf builds the schema of a closed union: an object whose type is one of the members' types, and for each type the
// members that have it.
func unionOf(members []any, definitions map[string]any) map[string]any {
	var types, branches []any
	byType := map[any][]any{}
	for _, member := range members {
		for _, t := range typesOf(definitions[member.(string)]) {
			if byType[t] == nil {
				types = append(types, t)
			}
			byType[t] = append(byType[t], map[string]any{"$ref": "#/$defs/" + member.(string)})
		}
	}
	for _, t := range types {
		then := byType[t][0]
		if len(byType[t]) > 1 {
			then = map[string]any{"anyOf": byType[t]}
		}
		branches = append(branches, map[string]any{
			"if": map[string]any{
				"required":   []any{"type"},
				"properties": map[string]any{"type": map[string]any{"const": t}},
			},
			"then": then,
		})
	}
	return map[string]any{
		"type":       "object",
		"required":   []any{"type"},
		"properties": map[string]any{"type": map[string]any{"type": "string", "enum": types}},
		"allOf":      branches,
	}
}

// typesOf returns the values that a member of a union allows for its type.
func typesOf(definition any) []any {
	properties := definition.(map[string]any)["properties"].(map[string]any)
	t := properties["type"].(map[string]any)
	if enum, ok := t["enum"].([]any); ok {
		return enum
	}
	return []any{t["const"]}
}

// collectOptional adds the addresses of the members that the schema at the address declares and does not require.
func collectOptional(schema any, address string, optional map[string]bool) {
	switch schema := schema.(type) {
	case map[string]any:
		properties, _ := schema["properties"].(map[string]any)
		required, _ := schema["required"].([]any)
		for name, member := range properties {
			memberAddress := address + "/properties/" + name
			optional[memberAddress] = !slices.Contains(required, any(name))
			collectOptional(member, memberAddress, optional)
		}
		for keyword, value := range schema {
			if keyword != "properties" {
				collectOptional(value, address+"/"+keyword, optional)
			}
		}
	case []any:
		for i, value := range schema {
			collectOptional(value, address+"/"+strconv.Itoa(i), optional)
		}
	}
}

// messageLocation is the address that the document of a definition goes by.
const messageLocation = "mcp:///message"

// compileDefinition compiles one definition with what it refers to and nothing else, for what is in the document costs
// time even where it is not used.
func compileDefinition(definitions map[string]any, name string) *jsonschema.Schema {
	used := map[string]any{}
	collectRefs(definitions, "#/$defs/"+name, used)
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource(messageLocation, map[string]any{"$defs": used}); err != nil {
		panic("schemas: " + name + ": " + err.Error())
	}
	return c.MustCompile(messageLocation + "#/$defs/" + name)
}

// collectRefs adds to used the definitions that can be reached from the schema or the reference to one.
func collectRefs(definitions map[string]any, schema any, used map[string]any) {
	switch schema := schema.(type) {
	case map[string]any:
		for _, value := range schema {
			collectRefs(definitions, value, used)
		}
	case []any:
		for _, value := range schema {
			collectRefs(definitions, value, used)
		}
	case string:
		name, ok := strings.CutPrefix(schema, "#/$defs/")
		if !ok || used[name] != nil {
			return
		}
		used[name] = definitions[name]
		collectRefs(definitions, definitions[name], used)
	}
}
