package schemas

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// publishedDir holds the published schema.json of each revision as <revision>.json. These are not part of the project.
const publishedDir = "../../shared/spec-schemas"

// differences are all the reasons for which messages.yaml may differ from the published schema. Each patches the
// published schema so that both agree, and has a value on which they would not agree otherwise.
var differences = []struct {
	reason     string
	patch      map[string]any // by path in the definitions; a path that a revision lacks is ignored
	definition string
	example    string
	revisions  string // where the patch applies, and the example shows the difference
}{
	{
		reason: "schema.ts types size as number, schema.json narrows it to integer",
		patch: map[string]any{
			"Resource/properties/size/type":     "number",
			"ResourceLink/properties/size/type": "number",
		},
		definition: "Resource", example: `{"name":"","uri":"","size":0.5}`,
		revisions: "2024-11-05 2025-03-26 2025-06-18 2025-11-25 2026-07-28",
	},
	{
		reason:     "schema.ts types total as number, schema.json narrows it to integer",
		patch:      map[string]any{"CompleteResult/properties/completion/properties/total/type": "number"},
		definition: "CompleteResult", example: `{"resultType":"","completion":{"values":[],"total":0.5}}`,
		revisions: "2024-11-05 2025-03-26 2025-06-18 2025-11-25 2026-07-28",
	},
	{
		reason: "schema.ts types maxTokens as number, schema.json narrows it to integer",
		patch: map[string]any{
			"CreateMessageRequest/properties/params/properties/maxTokens/type": "number",
			"CreateMessageRequestParams/properties/maxTokens/type":             "number",
		},
		definition: "CreateMessageRequest",
		example: `{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage",
			"params":{"messages":[],"maxTokens":0.5}}`,
		revisions: "2024-11-05 2025-03-26 2025-06-18 2025-11-25 2026-07-28",
	},
	{
		reason: "schema.ts types minLength and maxLength as number, schema.json narrows them to integer",
		patch: map[string]any{
			"StringSchema/properties/minLength/type": "number",
			"StringSchema/properties/maxLength/type": "number",
		},
		definition: "StringSchema", example: `{"type":"string","minLength":0.5}`,
		revisions: "2025-06-18 2025-11-25 2026-07-28",
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
		example:    `{"type":"array","items":{"type":"string","enum":[]},"minItems":0.5}`,
		revisions:  "2025-11-25 2026-07-28",
	},
	{
		reason:     "schema.ts types the requested ttl of a task as number, schema.json narrows it to integer",
		patch:      map[string]any{"TaskMetadata/properties/ttl/type": "number"},
		definition: "TaskMetadata", example: `{"ttl":0.5}`,
		revisions: "2025-11-25",
	},
	{
		reason: "schema.ts types numbers in a form as number, schema.json narrows them to integer",
		patch: map[string]any{
			"ElicitResult/properties/content/additionalProperties": map[string]any{
				"type": []any{"string", "number", "boolean"},
			},
		},
		definition: "ElicitResult", example: `{"action":"accept","content":{"a":0.5}}`,
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
		definition: "ElicitResult", example: `{"action":"accept","content":{"a":0.5}}`,
		revisions: "2025-11-25 2026-07-28",
	},
	{
		reason: "schema.ts types ttl and pollInterval of a task as number, schema.json narrows them to integer",
		patch: map[string]any{
			"Task/properties/ttl/type":          []any{"number", "null"},
			"Task/properties/pollInterval/type": "number",
		},
		definition: "Task", example: `{"taskId":"","status":"working","createdAt":"","lastUpdatedAt":"","ttl":0.5}`,
		revisions: "2025-11-25",
	},
	{
		reason: "boolean property subschemas are judged by tools/input-schema-properties-are-objects alone",
		patch: map[string]any{
			"Tool/properties/inputSchema/properties/properties/additionalProperties/type":  []any{"object", "boolean"},
			"Tool/properties/outputSchema/properties/properties/additionalProperties/type": []any{"object", "boolean"},
		},
		definition: "Tool", example: `{"name":"","inputSchema":{"type":"object","properties":{"x":true}}}`,
		revisions: "2024-11-05 2025-03-26 2025-06-18 2025-11-25",
	},
	{
		reason: "an error about a message that could not be read has id null",
		patch: map[string]any{
			"JSONRPCError/properties/id":                map[string]any{"type": []any{"string", "integer", "null"}},
			"JSONRPCErrorResponse/properties/id":        map[string]any{"type": []any{"string", "integer", "null"}},
			"URLElicitationRequiredError/properties/id": map[string]any{"type": []any{"string", "integer", "null"}},
			"HeaderMismatchError/properties/id":         map[string]any{"type": []any{"string", "integer", "null"}},
			"MissingRequiredClientCapabilityError/properties/id": map[string]any{
				"type": []any{"string", "integer", "null"},
			},
			"UnsupportedProtocolVersionError/properties/id": map[string]any{
				"type": []any{"string", "integer", "null"},
			},
		},
		definition: "Error", example: `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":""}}`,
		revisions: "2024-11-05 2025-03-26 2025-06-18 2025-11-25 2026-07-28",
	},
	{
		reason:     "an error about a message that could not be read may lack the id (schema.ts: from 2025-11-25 on)",
		patch:      map[string]any{"JSONRPCError/required": []any{"error", "jsonrpc"}},
		definition: "Error", example: `{"jsonrpc":"2.0","error":{"code":-32700,"message":""}}`,
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
		example:    `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"","_meta":null}}`,
		revisions:  "2025-11-25",
	},
	{
		reason: "params of all messages are typed (basic/index#meta); schema.ts types them where a method is known",
		patch: map[string]any{
			"JSONRPCRequest/required":               []any{"jsonrpc", "id", "method", "params"},
			"JSONRPCRequest/properties/params":      map[string]any{"$ref": "#/$defs/RequestParams"},
			"JSONRPCNotification/properties/params": map[string]any{"$ref": "#/$defs/NotificationParams"},
		},
		definition: "Request", example: `{"jsonrpc":"2.0","id":1,"method":""}`,
		revisions: "2026-07-28",
	},
	{
		reason:     "schema.ts has null and all numbers among JSON values, schema.json leaves out null and fractions",
		patch:      map[string]any{"JSONObject/additionalProperties": true},
		definition: "ServerCapabilities", example: `{"logging":{"a":[null,0.5]}}`,
		revisions: "2026-07-28",
	},
	{
		reason: "a result that asks for input has inputRequests or requestState (basic/patterns/mrtr, schema.ts)",
		patch: map[string]any{"InputRequiredResult/anyOf": []any{
			map[string]any{"required": []any{"inputRequests"}}, map[string]any{"required": []any{"requestState"}},
		}},
		definition: "InputRequiredResult", example: `{"resultType":"input_required"}`,
		revisions: "2026-07-28",
	},
	{
		reason: "an acknowledgment names its subscription (basic/patterns/subscriptions#acknowledgment)",
		patch: map[string]any{
			"SubscriptionsAcknowledgedNotificationParams/required": []any{"_meta", "notifications"},
			"SubscriptionsAcknowledgedNotificationParams/properties/_meta": map[string]any{
				"type":     "object",
				"required": []any{"io.modelcontextprotocol/subscriptionId"},
				"properties": map[string]any{
					"io.modelcontextprotocol/subscriptionId": map[string]any{"$ref": "#/$defs/RequestId"},
				},
			},
		},
		definition: "SubscriptionsAcknowledgedNotification",
		example: `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged",
			"params":{"notifications":{}}}`,
		revisions: "2026-07-28",
	},
}

// TestSameVerdictAsPublished compares validation by messages.yaml and by the published schemas. It uses values made
// from both, valid ones and ones with a single mutation.
func TestSameVerdictAsPublished(t *testing.T) {
	for _, revision := range messages().Revisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			ours, theirs := messagesOf(revision).schemas, publishedDefinitions(t, revision)
			for _, d := range differences {
				if strings.Contains(d.revisions, revision) {
					applyPatch(theirs, d.patch)
				}
			}
			var valid, broken int
			for _, name := range slices.Sorted(maps.Keys(ours)) {
				counterpart := counterpartOf(theirs, name)
				if counterpart == "" {
					continue // a part that the published schema writes inline
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
			t.Logf("%d valid and %d invalid values", valid, broken)
			if min(valid, broken) < 5000 {
				t.Error("too few values of one kind from the generator")
			}
		})
	}
}

// TestAllMessagesCompared proves that there is a published counterpart for every definition that methods, error codes
// or checks name.
func TestAllMessagesCompared(t *testing.T) {
	for _, revision := range messages().Revisions {
		set, theirs := messagesOf(revision), publishedDefinitions(t, revision)
		names := []string{
			"Error", "Tool", "Resource", "ResourceTemplate", "Prompt", "Implementation", "ServerCapabilities",
		}
		for _, tables := range set.tables() {
			names = slices.AppendSeq(names, maps.Values(tables))
		}
		for _, r := range set.codes {
			names = append(names, ErrorDefinition(revision, r.From))
		}
		if revision == "2025-11-25" {
			names = append(names, "CreateTaskResult")
		}
		for _, name := range names {
			if counterpartOf(theirs, name) == "" {
				t.Errorf("%s: no published counterpart of %s", revision, name)
			}
		}
	}
}

// TestDifferencesOccur proves that every listed difference exists.
func TestDifferencesOccur(t *testing.T) {
	for _, d := range differences {
		for _, revision := range strings.Fields(d.revisions) {
			theirs := publishedDefinitions(t, revision)
			value := decode(t, d.example)
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

// TestSameMethodsAsPublished compares the methods of each side with the published unions of its messages.
func TestSameMethodsAsPublished(t *testing.T) {
	for _, revision := range messages().Revisions {
		set, theirs := messagesOf(revision), publishedDefinitions(t, revision)
		compareMethods(t, revision, theirs, "Server", set.server, set.client)
		compareMethods(t, revision, theirs, "Client", set.client, set.server)
	}
}

// TestSameInputsAsPublished compares which input requests there are, and which results may have any.
func TestSameInputsAsPublished(t *testing.T) {
	for _, revision := range messages().Revisions {
		set, theirs := messagesOf(revision), publishedDefinitions(t, revision)
		if diff := cmp.Diff(methodsOf(theirs, "InputRequest"), set.server.inputs); diff != "" {
			t.Errorf("%s: requests inside results (-published +ours)\n%s", revision, diff)
		}
		asked, answered := slices.Sorted(maps.Keys(set.server.inputs)), slices.Sorted(maps.Keys(set.client.inputs))
		if diff := cmp.Diff(asked, answered); diff != "" {
			t.Errorf("%s: results inside requests (-requests +results)\n%s", revision, diff)
		}
		for method, result := range set.server.results {
			response := membersOf(theirs, result+"Response/properties/result")
			_, asks := ResultTypeDefinition(revision, method, "input_required")
			if slices.Contains(response, "InputRequiredResult") != asks {
				t.Errorf("%s: a result of %s asks for input: %v", revision, method, asks)
			}
		}
	}
}

// compareMethods compares what one side sends: its requests and notifications, and the results for requests of the
// other side.
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

// membersOf names the members of a published union. There are none for a union that is not published, or has one
// member.
func membersOf(definitions map[string]any, union string) []string {
	var members []string
	branches, _ := valueAt(definitions, union+"/anyOf").([]any)
	for _, member := range branches {
		members = append(members, strings.TrimPrefix(member.(map[string]any)["$ref"].(string), "#/$defs/"))
	}
	return members
}

// methodsOf maps the methods of a published union of messages to names. A union of one message is published as that
// message.
func methodsOf(definitions map[string]any, union string) map[string]string {
	methods := map[string]string{}
	if method, ok := valueAt(definitions, union+"/properties/method/const").(string); ok {
		for name, definition := range definitions {
			if name != union && valueAt(definition, "properties/method/const") == method {
				methods[method] = name
			}
		}
	}
	for _, name := range membersOf(definitions, union) {
		method := valueAt(definitions, name+"/properties/method").(map[string]any)["const"].(string)
		methods[method] = name
	}
	return methods
}

// publishedDefinitions reads the definitions of a published schema.
func publishedDefinitions(t *testing.T, revision string) map[string]any {
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

// counterpartOf names the published definition that corresponds to one in messages.yaml, "" if there is none. Up to
// 2025-06-18 the published requests and notifications lack their envelope, later only those inside other messages do;
// the counterpart, which is added to the definitions, has it.
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
	hasEnvelope := func(name string) bool { return valueAt(definitions, name+"/properties/jsonrpc") != nil }
	for _, envelope := range []string{"Request", "Notification"} {
		isInside := name != envelope && hasEnvelope("CallToolRequest") && !hasEnvelope(name)
		if strings.HasSuffix(name, envelope) && !isInside {
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

// applyPatch sets the values at the paths that exist.
func applyPatch(definitions map[string]any, patch map[string]any) {
	for path, value := range patch {
		i := strings.LastIndex(path, "/")
		if parent, ok := valueAt(definitions, path[:i]).(map[string]any); ok {
			parent[path[i+1:]] = value
		}
	}
}

// valueAt is the value at a path; nil when there is none.
func valueAt(value any, path string) any {
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
