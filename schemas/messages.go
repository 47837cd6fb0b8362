package schemas

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Violation is one rule of a message schema that a value breaks.
type Violation struct {
	Definition   string // definition the value was judged by: "ListToolsResult"
	Path         string // JSON Pointer into the value, "" for the whole: "/tools/0/name"
	Keyword      string // keyword of JSON Schema: "required", "type", "enum", "const", …
	Rule         string // what was wanted and what came, one line: "want string, got null"
	NullOptional bool   // the value is null at an optional member that has no null type
}

// String names the definition, the path and the rule in one line.
func (v Violation) String() string {
	path := v.Path
	switch {
	case path == "":
		return v.Definition + ": " + v.Rule
	case strings.ContainsFunc(path, unicode.IsControl):
		path = strconv.Quote(path)
	}
	return v.Definition + ": " + path + ": " + v.Rule
}

// ValidateMessage judges a message, or a part of one, by the schema that the
// revision gives for the definition.
//
// The value is what encoding/json decodes, with or without UseNumber. For the
// name of a definition see [ResultDefinition], [NotificationDefinition] and
// [RequestDefinition]; "Error" is the definition of an error response (the
// whole message; its id may be null or absent in every revision), and every
// type of schema.ts that messages.yaml knows can be named too, for instance
// "Tool" or "CreateTaskResult".
//
// It returns nil for a valid value, else the broken rules ordered by path. It
// panics when the revision or the definition in it does not exist.
func ValidateMessage(revision, definition string, value any) []Violation {
	set := messagesOf(revision)
	compile, ok := set.compile[definition]
	if !ok {
		panic(fmt.Sprintf("schemas: no definition %q in revision %q", definition, revision))
	}
	return set.violations(definition, compile().Validate(tame(value)))
}

// ResultDefinition names the definition of the result of a client's request;
// the value to judge is the member "result" of the response. The second result
// is false when the revision has no such request, or is none of those that
// messages.yaml covers.
//
// Two results depend on more than the method: a request augmented with a task
// (2025-11-25) is answered with "CreateTaskResult", and the result of
// tasks/result has in addition the form of the request that became the task.
func ResultDefinition(revision, method string) (definition string, ok bool) {
	definition, ok = messagesOf(revision).server.results[method]
	return definition, ok
}

// NotificationDefinition names the definition of a notification that servers
// send; the value to judge is the whole message. The second result is false
// when the revision has no such notification, as in [ResultDefinition].
func NotificationDefinition(revision, method string) (definition string, ok bool) {
	definition, ok = messagesOf(revision).server.notifications[method]
	return definition, ok
}

// RequestDefinition names the definition of a request that servers send; the
// value to judge is the whole message. The second result is false when the
// revision has no such request, as in [ResultDefinition].
func RequestDefinition(revision, method string) (definition string, ok bool) {
	definition, ok = messagesOf(revision).server.requests[method]
	return definition, ok
}

// ClientResultDefinition is [ResultDefinition] for the results of a server's
// requests, which clients send.
func ClientResultDefinition(revision, method string) (definition string, ok bool) {
	definition, ok = messagesOf(revision).client.results[method]
	return definition, ok
}

// ClientNotificationDefinition is [NotificationDefinition] for the notifications
// that clients send.
func ClientNotificationDefinition(revision, method string) (definition string, ok bool) {
	definition, ok = messagesOf(revision).client.notifications[method]
	return definition, ok
}

// ClientRequestDefinition is [RequestDefinition] for the requests that clients
// send.
func ClientRequestDefinition(revision, method string) (definition string, ok bool) {
	definition, ok = messagesOf(revision).client.requests[method]
	return definition, ok
}

// MethodSince returns the first revision in which servers may send the request
// or notification, and false when no revision knows it. It tells a method of a
// later revision from one that nobody defines.
func MethodSince(method string) (revision string, ok bool) {
	s := messages()
	definition, ok := s.Server.Notifications[method]
	if !ok {
		definition, ok = s.Server.Requests[method]
	}
	for _, revision := range s.Revisions {
		if ok && holds(definition, revision) {
			return revision, true
		}
	}
	return "", false
}

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

// messageSet is what one revision makes of the source: what each side sends, and
// plain JSON Schemas by definition name.
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

// messagesOf returns what the source holds for a revision, an empty set if
// nothing.
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

// resolve copies the part of the source that holds in the revision, as plain
// JSON Schema but for unions.
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

// holds tells whether a part of the source exists in the revision. Revisions
// are dates, so that they compare as strings.
func holds(source any, revision string) bool {
	part, ok := source.(map[string]any)
	if !ok {
		return true
	}
	since, _ := part["since"].(string)
	before, _ := part["before"].(string)
	return revision >= since && (before == "" || revision < before)
}

// expandUnions gives each union in the schema the keywords that judge it. The
// list of its members stays, as an annotation that validators ignore.
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

// unionOf builds the schema of a closed union: an object whose type is one of
// the members' types, and for each type the members that have it.
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

// collectOptional adds the addresses of the members that the schema at the
// address declares and does not require.
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

// compileDefinition compiles one definition with what it refers to and nothing
// else, for what is in the document costs time even where it is not used.
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

// collectRefs adds to used the definitions that can be reached from the schema
// or the reference to one.
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
