package schemas

import (
	"bytes"
	"encoding/json"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// publishedDir holds the published schema.json of each revision, as <revision>.json. They are not part of the project.
const publishedDir = "../../shared/spec-schemas"

// differences are all the reasons for which our verdict may differ from that of the published schema: each changes the
// published schema so that it agrees, and names a value that shows that it would not agree otherwise.
var differences = []struct {
	reason     string
	patch      map[string]any // by path in the definitions; a path that a revision lacks is passed over
	definition string
	witness    string
	revisions  string // where the patch applies, and the witness shows it
}{
	{
		reason: "schema.ts types size as number, schema.json narrows it to integer",
		patch: map[string]any{
			"Resource/properties/size/type":     "number",
			"ResourceLink/properties/size/type": "number",
		},
		definition: "Resource", witness: `{"name":"","uri":"","size":0.5}`,
		revisions: "2024-11-05 2025-03-26 2025-06-18 2025-11-25",
	},
	{
		reason:     "schema.ts types total as number, schema.json narrows it to integer",
		patch:      map[string]any{"CompleteResult/properties/completion/properties/total/type": "number"},
		definition: "CompleteResult", witness: `{"completion":{"values":[],"total":0.5}}`,
		revisions: "2024-11-05 2025-03-26 2025-06-18 2025-11-25",
	},
	{
		reason: "schema.ts types maxTokens as number, schema.json narrows it to integer",
		patch: map[string]any{
			"CreateMessageRequest/properties/params/properties/maxTokens/type": "number",
			"CreateMessageRequestParams/properties/maxTokens/type":             "number",
		},
		definition: "CreateMessageRequest",
		witness: `{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage",
			"params":{"messages":[],"maxTokens":0.5}}`,
		revisions: "2024-11-05 2025-03-26 2025-06-18 2025-11-25",
	},
	{
		reason: "schema.ts types minLength and maxLength as number, schema.json narrows them to integer",
		patch: map[string]any{
			"StringSchema/properties/minLength/type": "number",
			"StringSchema/properties/maxLength/type": "number",
		},
		definition: "StringSchema", witness: `{"type":"string","minLength":0.5}`,
		revisions: "2025-06-18 2025-11-25",
	},
	{
		reason: "schema.ts types minItems and maxItems as number, schema.json narrows them to integer",
		patch: map[string]any{
			"UntitledMultiSelectEnumSchema/properties/minItems/type": "number",
			"UntitledMultiSelectEnumSchema/properties/maxItems/type": "number",
			"TitledMultiSelectEnumSchema/properties/minItems/type":   "number",
			"TitledMultiSelectEnumSchema/properties/maxItems/type":   "number",
		},
		definition: "UntitledMultiSelectEnumSchema",
		witness:    `{"type":"array","items":{"type":"string","enum":[]},"minItems":0.5}`,
		revisions:  "2025-11-25",
	},
	{
		reason:     "schema.ts types the requested ttl of a task as number, schema.json narrows it to integer",
		patch:      map[string]any{"TaskMetadata/properties/ttl/type": "number"},
		definition: "TaskMetadata", witness: `{"ttl":0.5}`,
		revisions: "2025-11-25",
	},
	{
		reason: "schema.ts types numbers in a form as number, schema.json narrows them to integer",
		patch: map[string]any{
			"ElicitResult/properties/content/additionalProperties": map[string]any{
				"type": []any{"string", "number", "boolean"},
			},
		},
		definition: "ElicitResult", witness: `{"action":"accept","content":{"a":0.5}}`,
		revisions: "2025-06-18",
	},
	{
		reason: "the same where a form may have lists",
		patch: map[string]any{
			"ElicitResult/properties/content/additionalProperties": map[string]any{
				"type":  []any{"string", "number", "boolean", "array"},
				"items": map[string]any{"type": "string"},
			},
		},
		definition: "ElicitResult", witness: `{"action":"accept","content":{"a":0.5}}`,
		revisions: "2025-11-25",
	},
	{
		reason: "schema.ts types ttl and pollInterval of a task as number, schema.json narrows them to integer",
		patch: map[string]any{
			"Task/properties/ttl/type":          []any{"number", "null"},
			"Task/properties/pollInterval/type": "number",
		},
		definition: "Task", witness: `{"taskId":"","status":"working","createdAt":"","lastUpdatedAt":"","ttl":0.5}`,
		revisions: "2025-11-25",
	},
	{
		reason: "boolean property subschemas are judged by tools/input-schema-properties-are-objects alone",
		patch: map[string]any{
			"Tool/properties/inputSchema/properties/properties/additionalProperties/type":  []any{"object", "boolean"},
			"Tool/properties/outputSchema/properties/properties/additionalProperties/type": []any{"object", "boolean"},
		},
		definition: "Tool", witness: `{"name":"","inputSchema":{"type":"object","properties":{"x":true}}}`,
		revisions: "2024-11-05 2025-03-26 2025-06-18 2025-11-25",
	},
	{
		reason: "an error about a message that could not be read has id null",
		patch: map[string]any{
			"JSONRPCError/properties/id":                map[string]any{"type": []any{"string", "integer", "null"}},
			"JSONRPCErrorResponse/properties/id":        map[string]any{"type": []any{"string", "integer", "null"}},
			"URLElicitationRequiredError/properties/id": map[string]any{"type": []any{"string", "integer", "null"}},
		},
		definition: "Error", witness: `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":""}}`,
		revisions: "2024-11-05 2025-03-26 2025-06-18 2025-11-25",
	},
	{
		reason:     "an error about a message that could not be read may lack the id (schema.ts: from 2025-11-25 on)",
		patch:      map[string]any{"JSONRPCError/required": []any{"error", "jsonrpc"}},
		definition: "Error", witness: `{"jsonrpc":"2.0","error":{"code":-32700,"message":""}}`,
		revisions: "2024-11-05 2025-03-26 2025-06-18",
	},
	{
		reason: "_meta is reserved in all params (basic/index#meta); schema.ts leaves it out of those written inline",
		patch: map[string]any{
			"JSONRPCNotification/properties/params/properties": map[string]any{
				"_meta": map[string]any{"type": "object"},
			},
			"JSONRPCRequest/properties/params/properties": map[string]any{"_meta": map[string]any{
				"type":       "object",
				"properties": map[string]any{"progressToken": map[string]any{"$ref": "#/$defs/ProgressToken"}},
			}},
		},
		definition: "GetTaskRequest",
		witness:    `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"","_meta":null}}`,
		revisions:  "2025-11-25",
	},
}

// TestSameVerdictAsPublished judges values made after our schemas and after the published ones, as they are and with
// one thing broken, by both.
func TestSameVerdictAsPublished(t *testing.T) {
	for _, revision := range messages().Revisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			ours, theirs := messagesOf(revision).schemas, published(t, revision)
			for _, d := range differences {
				if strings.Contains(d.revisions, revision) {
					applyPatch(theirs, d.patch)
				}
			}
			var valid, broken int
			for _, name := range slices.Sorted(maps.Keys(ours)) {
				counterpart := counterpartOf(theirs, name)
				if counterpart == "" {
					continue // a part of ours that the published schema writes inline
				}
				schema := compileDefinition(theirs, counterpart)
				values := newGenerator(revision+name+"ours", ours).values(name)
				values = append(values, newGenerator(revision+name+"theirs", theirs).values(counterpart)...)
				for _, value := range values {
					want, got := schema.Validate(value), ValidateMessage(revision, name, value)
					if (want == nil) != (got == nil) {
						t.Errorf("%s: %s\nours: %v\npublished: %v", name, asJSON(value), got, want)
					}
					if want == nil {
						valid++
					} else {
						broken++
					}
				}
			}
			t.Logf("%d valid and %d broken values", valid, broken)
			if min(valid, broken) < 5000 {
				t.Error("too few of one kind: the generator tries too little")
			}
		})
	}
}

// TestAllMessagesCompared wants a published counterpart for what the methods name and for the definitions that checks
// name themselves.
func TestAllMessagesCompared(t *testing.T) {
	for _, revision := range messages().Revisions {
		set, theirs := messagesOf(revision), published(t, revision)
		names := []string{
			"Error", "Tool", "Resource", "ResourceTemplate", "Prompt", "Implementation", "ServerCapabilities",
		}
		for _, sent := range []side{set.server, set.client} {
			for _, byMethod := range []map[string]string{sent.results, sent.notifications, sent.requests} {
				names = slices.AppendSeq(names, maps.Values(byMethod))
			}
		}
		if revision == "2025-11-25" {
			names = append(names, "CreateTaskResult", "URLElicitationRequiredError")
		}
		for _, name := range names {
			if counterpartOf(theirs, name) == "" {
				t.Errorf("%s: no published counterpart of %s", revision, name)
			}
		}
	}
}

// TestDifferencesOccur wants every listed difference to be one.
func TestDifferencesOccur(t *testing.T) {
	for _, d := range differences {
		for _, revision := range strings.Fields(d.revisions) {
			theirs := published(t, revision)
			value := decode(t, d.witness)
			got := ValidateMessage(revision, d.definition, value)
			counterpart := counterpartOf(theirs, d.definition)
			want := compileDefinition(theirs, counterpart).Validate(value)
			if (got == nil) == (want == nil) {
				t.Errorf("%s: not so in %s: both say valid: %v", d.reason, revision, got == nil)
			}
			applyPatch(theirs, d.patch)
			want = compileDefinition(theirs, counterpart).Validate(value)
			if (got == nil) != (want == nil) {
				t.Errorf("%s: the patch does not make them agree in %s", d.reason, revision)
			}
		}
	}
}

// TestSameMethodsAsPublished compares the tables of methods with the unions of what the published schemas let each side
// send.
func TestSameMethodsAsPublished(t *testing.T) {
	for _, revision := range messages().Revisions {
		set, theirs := messagesOf(revision), published(t, revision)
		compareMethods(t, revision, theirs, "Server", set.server, set.client)
		compareMethods(t, revision, theirs, "Client", set.client, set.server)
	}
}

// compareMethods compares what one side sends: its requests and notifications, and a result for each request of the
// other.
func compareMethods(t *testing.T, revision string, theirs map[string]any, name string, sent, other side) {
	t.Helper()
	if diff := cmp.Diff(methodsOf(theirs, name+"Notification"), sent.notifications); diff != "" {
		t.Errorf("%s: notifications (-published +ours)\n%s", revision, diff)
	}
	if diff := cmp.Diff(methodsOf(theirs, name+"Request"), sent.requests); diff != "" {
		t.Errorf("%s: requests (-published +ours)\n%s", revision, diff)
	}
	requests, results := slices.Sorted(maps.Keys(other.requests)), slices.Sorted(maps.Keys(sent.results))
	if diff := cmp.Diff(requests, results); diff != "" {
		t.Errorf("%s: results of the %s (-requests +results)\n%s", revision, name, diff)
	}
	for method, result := range sent.results {
		if result != "EmptyResult" && !slices.Contains(membersOf(theirs, name+"Result"), result) {
			t.Errorf("%s: %s of %s is not a published %sResult", revision, result, method, name)
		}
	}
}

// membersOf names the members of a published union.
func membersOf(definitions map[string]any, union string) []string {
	var members []string
	for _, member := range definitions[union].(map[string]any)["anyOf"].([]any) {
		members = append(members, strings.TrimPrefix(member.(map[string]any)["$ref"].(string), "#/$defs/"))
	}
	return members
}

// methodsOf maps the methods of a published union of messages to their names.
func methodsOf(definitions map[string]any, union string) map[string]string {
	methods := map[string]string{}
	for _, name := range membersOf(definitions, union) {
		method := at(definitions, name+"/properties/method").(map[string]any)["const"].(string)
		methods[method] = name
	}
	return methods
}

// published reads the definitions of a published schema.
func published(t *testing.T, revision string) map[string]any {
	t.Helper()
	source, err := os.ReadFile(filepath.Join(publishedDir, revision+".json"))
	if err != nil {
		t.Skipf("the published schemas are not here, nothing to compare with: %v", err)
	}
	var document struct {
		Definitions map[string]any `json:"definitions"` // up to 2025-06-18
		Defs        map[string]any `json:"$defs"`
	}
	source = bytes.ReplaceAll(source, []byte("#/definitions/"), []byte("#/$defs/"))
	if err := json.Unmarshal(source, &document); err != nil {
		t.Fatalf("%s: %v", revision, err)
	}
	if document.Defs != nil {
		return document.Defs
	}
	return document.Definitions
}

// counterpartOf names the published definition to compare one of ours with, "" if there is none. Up to 2025-06-18 the
// published requests and notifications lack their envelope; the counterpart, added to the definitions, has it.
func counterpartOf(definitions map[string]any, name string) string {
	if name == "Error" {
		name = "JSONRPCErrorResponse"
		if definitions[name] == nil {
			name = "JSONRPCError"
		}
	}
	if definitions[name] == nil {
		return ""
	}
	for _, envelope := range []string{"Request", "Notification"} {
		if strings.HasSuffix(name, envelope) {
			whole := "Whole" + name
			definitions[whole] = map[string]any{"allOf": []any{
				map[string]any{"$ref": "#/$defs/JSONRPC" + envelope},
				map[string]any{"$ref": "#/$defs/" + name},
			}}
			return whole
		}
	}
	return name
}

// applyPatch sets what the paths name, where there is something to set it in.
func applyPatch(definitions map[string]any, patch map[string]any) {
	for path, value := range patch {
		i := strings.LastIndex(path, "/")
		if parent, ok := at(definitions, path[:i]).(map[string]any); ok {
			parent[path[i+1:]] = value
		}
	}
}

// at returns what a path leads to, nil if nothing.
func at(value any, path string) any {
	for step := range strings.SplitSeq(path, "/") {
		object, _ := value.(map[string]any)
		value = object[step]
	}
	return value
}

func asJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// generator makes values after a set of definitions, ours or published, always the same ones for a seed.
type generator struct {
	*rand.Rand
	definitions map[string]any
}

func newGenerator(seed string, definitions map[string]any) *generator {
	h := fnv.New64a()
	h.Write([]byte(seed))
	return &generator{rand.New(rand.NewPCG(h.Sum64(), 0)), definitions}
}

// values makes values for a definition, most of them valid, and for each some that differ from a valid one in one
// place.
func (g *generator) values(definition string) []any {
	const values, mutants = 50, 7
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
		return pick(g, enum)
	}
	if value, ok := s["const"]; ok {
		return value
	}
	if members, ok := s["union"].([]any); ok {
		return g.value(map[string]any{"$ref": "#/$defs/" + pick(g, members).(string)})
	}
	var value any
	for _, part := range g.parts(s) {
		value = merge(value, g.value(part))
	}
	if s["type"] != nil || s["properties"] != nil {
		value = merge(value, g.ofType(s))
	}
	if value == nil && len(s) == 0 {
		return g.anything()
	}
	return value
}

// parts lists the schemas that a schema is composed of, one branch where there are several.
func (g *generator) parts(s map[string]any) []any {
	var parts []any
	if ref, ok := s["$ref"].(string); ok {
		parts = append(parts, g.definitions[strings.TrimPrefix(ref, "#/$defs/")])
	}
	if all, ok := s["allOf"].([]any); ok {
		parts = append(parts, all...)
	}
	if branches, ok := s["anyOf"].([]any); ok {
		parts = append(parts, pick(g, branches))
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
		t = pick(g, list)
	}
	switch t {
	case "string":
		return pick(g, words)
	case "integer":
		return pick(g, []any{0.0, 1.0, -7.0, json.Number("3"), json.Number("9007199254740993")})
	case "number":
		return pick(g, []any{0.0, 1.0, 0.25, json.Number("0.5"), json.Number("1")})
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
			object[pick(g, words).(string)] = g.value(others)
		}
	}
	return object
}

// words are strings that mean something somewhere in the protocol.
var words = []any{
	"", "a", "name", "text", "image", "audio", "resource", "resource_link", "tool_use", "tool_result",
	"string", "number", "integer", "boolean", "array", "object", "form", "url", "user", "info", "working", "2.0",
}

// anything makes some JSON.
func (g *generator) anything() any {
	return pick(g, []any{
		nil, true, false, 0.0, -1.0, 1.5, 1e300, json.Number("2"), json.Number("2.5"), "", "a", "ä\n",
		[]any{}, []any{nil}, []any{"a"}, map[string]any{}, map[string]any{"a": nil}, map[string]any{"type": "text"},
	})
}

// mutant breaks the value in one place: a member taken away, null, of another type, another word, or one that no schema
// knows.
func (g *generator) mutant(value any) any {
	object, isObject := value.(map[string]any)
	list, isList := value.([]any)
	switch {
	case isObject && len(object) > 0 && g.IntN(4) > 0:
		name := pick(g, slices.Sorted(maps.Keys(object)))
		if g.IntN(3) == 0 {
			delete(object, name)
		} else {
			object[name] = g.mutant(object[name])
		}
		return object
	case isObject && g.IntN(3) == 0:
		object[pick(g, memberNames)] = g.anything()
		return object
	case isList && len(list) > 0 && g.IntN(8) > 0:
		i := g.IntN(len(list))
		list[i] = g.mutant(list[i])
		return list
	case g.IntN(4) == 0:
		return nil
	case g.IntN(3) == 0:
		return pick(g, words)
	}
	return g.anything()
}

// memberNames are optional members, most of them of some revisions only, and one of none.
var memberNames = []string{
	"_meta", "title", "icons", "annotations", "mode", "task", "execution", "outputSchema", "structuredContent",
	"text", "blob", "enum", "oneOf", "items", "default", "id", "params", "lastModified", "description", "message",
	"metadata", "tools", "toolChoice", "$schema", "tasks", "completions", "data", "context", "sampling",
	"elicitation", "content", "x-unknown",
}

func pick[T any](g *generator, list []T) T { return list[g.IntN(len(list))] }

// merge lays one value over another: objects member by member, else the later.
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
