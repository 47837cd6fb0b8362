package schemas

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// decode reads JSON as the driver does, with numbers kept as they are written.
func decode(t testing.TB, text string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return value
}

func lines(violations []Violation) []string {
	var lines []string
	for _, v := range violations {
		lines = append(lines, strings.TrimPrefix(v.String(), v.Definition+": "))
	}
	return lines
}

// TestViolations holds what is said of a broken value, by the latest of the handshake revisions.
func TestViolations(t *testing.T) {
	tests := []struct {
		name, definition, value string
		want                    []string
	}{
		{"null for a required member", "ListToolsResult", `{"tools":[{"name":null,"inputSchema":{"type":"object"}}]}`,
			[]string{"/tools/0/name: want string, got null"}},
		{"missing members", "ListToolsResult", `{"tools":[{}]}`,
			[]string{`/tools/0: missing required member "inputSchema"`, `/tools/0: missing required member "name"`}},
		{"the whole value", "ListToolsResult", `[]`, []string{"want object, got array"}},
		{"entries in the order of their index", "ListToolsResult", `{"tools":[{},1,2,3,4,5,6,7,8,9,10]}`,
			[]string{
				`/tools/0: missing required member "inputSchema"`, `/tools/0: missing required member "name"`,
				"/tools/1: want object, got number", "/tools/2: want object, got number",
				"/tools/3: want object, got number", "/tools/4: want object, got number",
				"/tools/5: want object, got number", "/tools/6: want object, got number",
				"/tools/7: want object, got number", "/tools/8: want object, got number",
				"/tools/9: want object, got number", "/tools/10: want object, got number",
			}},
		{"input schema", "Tool",
			`{"name":"a","inputSchema":{"type":"string","properties":{"x":1,"y":true},"required":[1]}}`,
			[]string{
				"/inputSchema/properties/x: want boolean or object, got number",
				"/inputSchema/required/0: want string, got number",
				`/inputSchema/type: want "object", got "string"`,
			}},
		{"enum", "GetPromptResult", `{"messages":[{"role":"bot","content":{"type":"text","text":""}}]}`,
			[]string{`/messages/0/role: want one of "user", "assistant", got "bot"`}},
		{"only the meant member of a union", "CallToolResult", `{"content":[{"type":"text","text":1}]}`,
			[]string{"/content/0/text: want string, got number"}},
		{"unknown member of a union", "CallToolResult", `{"content":[{"type":"video"}]}`,
			[]string{`/content/0/type: want one of "text", "image", "audio", "resource_link", "resource", ` +
				`got "video"`}},
		{"member of a union without type", "CallToolResult", `{"content":[{"text":"a"}]}`,
			[]string{`/content/0: missing required member "type"`}},
		{"null for a member of a union", "CallToolResult", `{"content":[null]}`,
			[]string{"/content/0: want object, got null"}},
		{"neither text nor blob", "ReadResourceResult", `{"contents":[{"uri":"a:b"}]}`,
			[]string{`/contents/0: missing required member "text" or "blob"`}},
		{"neither uri nor text nor blob", "ReadResourceResult", `{"contents":[{}]}`,
			[]string{
				`/contents/0: missing required member "text" or "blob"`, `/contents/0: missing required member "uri"`,
			}},
		{"text that is null", "ReadResourceResult", `{"contents":[{"uri":"a:b","text":null}]}`,
			[]string{"/contents/0/text: want string, got null"}},
		{"a bad text beside a blob", "ReadResourceResult", `{"contents":[{"uri":"a:b","text":1,"blob":""}]}`,
			nil},
		{"range", "Annotations", `{"priority":1.5,"audience":"user"}`,
			[]string{"/audience: want array, got string", "/priority: want at most 1, got 1.5"}},
		{"fraction for an integer", "ProgressNotification",
			`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1.5,"progress":0.5}}`,
			[]string{"/params/progressToken: want integer or string, got number with a fraction"}},
		{"judged twice, said once", "PingRequest", `{"jsonrpc":"1.0","id":1,"method":2,"params":null}`,
			[]string{
				`/jsonrpc: want "2.0", got "1.0"`, "/method: want string, got number", "/params: want object, got null",
			}},
		{"long values", "Error", `{"jsonrpc":"` + strings.Repeat("ä", 500) + `","error":{"code":1,"message":""}}`,
			[]string{`/jsonrpc: want "2.0", got "` + strings.Repeat("ä", 60) + `"…`}},
		{"member names in paths", "ServerCapabilities", `{"experimental":{"a/~\n":1}}`,
			[]string{`"/experimental/a~1~0\n": want object, got number`}},
		{"absurd numbers", "Annotations", `{"priority":1e999999999}`,
			[]string{"/priority: want at most 1, got 1.7976931348623157e+308"}},
		{"absurdly small numbers", "Annotations", `{"priority":1e-999999999}`, nil},
		{"elicitation mode", "ElicitRequest", `{"jsonrpc":"2.0","id":1,"method":"elicitation/create",
			"params":{"mode":"link","message":"","requestedSchema":{"type":"object","properties":{}}}}`,
			[]string{`/params/mode: want one of "form", "url", got "link"`}},
		{"elicitation by url", "ElicitRequest", `{"jsonrpc":"2.0","id":1,"method":"elicitation/create",
			"params":{"mode":"url","message":""}}`,
			[]string{`/params: missing required member "elicitationId"`, `/params: missing required member "url"`}},
		{"field of a form", "ElicitRequestFormParams", `{"message":"","requestedSchema":{"type":"object","properties":{
			"a":{"type":"object"},"b":{"type":"string","format":"ipv4"},
			"c":{"type":"array"},"d":{"type":"array","items":{"type":"string"}},
			"e":{"$ref":"#"},"f":{"type":["string","null"]}}}}`,
			[]string{
				`/requestedSchema/properties/a/type: want one of "string", "number", "integer", "boolean", "array", ` +
					`got "object"`,
				`/requestedSchema/properties/b/format: want one of "email", "uri", "date", "date-time", got "ipv4"`,
				`/requestedSchema/properties/c: missing required member "items"`,
				`/requestedSchema/properties/d/items: missing required member "enum" or "anyOf"`,
				`/requestedSchema/properties/e: missing required member "type"`,
				`/requestedSchema/properties/f/type: want string, got array`,
			}},
		{"url elicitation error", "URLElicitationRequiredError",
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32042,"message":"","data":{"elicitations":[{"mode":"form"}]}}}`,
			[]string{
				`/error/data/elicitations/0: missing required member "elicitationId"`,
				`/error/data/elicitations/0: missing required member "message"`,
				`/error/data/elicitations/0: missing required member "url"`,
				`/error/data/elicitations/0/mode: want "url", got "form"`,
			}},
		{"code of an url elicitation error", "URLElicitationRequiredError",
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"","data":{"elicitations":[]}}}`,
			[]string{"/error/code: want -32042, got -32602"}},
		{"error code", "Error", `{"jsonrpc":"2.0","id":1,"error":{"code":"E","message":null,"data":null}}`,
			[]string{"/error/code: want integer, got string", "/error/message: want string, got null"}},
		{"extra members", "InitializeResult",
			`{"x":null,"protocolVersion":"v","capabilities":{"y":null},"serverInfo":{"name":"","version":"","z":null}}`,
			nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := lines(ValidateMessage("2025-11-25", test.definition, decode(t, test.value)))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			var floats any
			if json.Unmarshal([]byte(test.value), &floats) == nil {
				got := lines(ValidateMessage("2025-11-25", test.definition, floats))
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("numbers decoded as float64 (-want +got)\n%s", diff)
				}
			}
		})
	}
}

// TestNullOptional holds where null counts as null at an optional member: not at required members, nor in lists, maps
// and free JSON.
func TestNullOptional(t *testing.T) {
	tests := []struct {
		definition, value, path string
		want                    bool
	}{
		{"ListToolsResult", `{"tools":[],"nextCursor":null}`, "/nextCursor", true},
		{"ListToolsResult", `{"tools":null}`, "/tools", false},
		{"ListToolsResult", `{"tools":[],"_meta":null}`, "/_meta", true},
		{"ListToolsResult", `{"tools":[null]}`, "/tools/0", false},
		{"Tool", `{"name":"","inputSchema":{"type":"object"},"title":null}`, "/title", true},
		{"Tool", `{"name":"","inputSchema":{"type":"object"},"annotations":null}`, "/annotations", true},
		{"Tool", `{"name":"","inputSchema":null}`, "/inputSchema", false},
		{"Tool", `{"name":"","inputSchema":{"type":"object","properties":null}}`, "/inputSchema/properties", true},
		{"Tool", `{"name":"","inputSchema":{"type":"object","properties":{"x":null}}}`, "/inputSchema/properties/x",
			false},
		{"Tool", `{"name":"","inputSchema":{"type":"object","$schema":null}}`, "/inputSchema/$schema", true},
		{"ServerCapabilities", `{"tools":null}`, "/tools", true},
		{"ServerCapabilities", `{"resources":{"subscribe":null}}`, "/resources/subscribe", true},
		{"ServerCapabilities", `{"experimental":{"x":null}}`, "/experimental/x", false},
		{"CallToolResult", `{"content":[{"type":"text","text":"","_meta":null}]}`, "/content/0/_meta", true},
		{"CallToolResult", `{"content":[{"type":"text","text":null}]}`, "/content/0/text", false},
		{"CallToolResult", `{"content":[{"type":null}]}`, "/content/0/type", false},
		{"ReadResourceResult", `{"contents":[{"uri":"","text":"","mimeType":null}]}`, "/contents/0/mimeType", true},
		{"Icon", `{"src":"","theme":null}`, "/theme", true},
		{"PingRequest", `{"jsonrpc":"2.0","id":1,"method":"ping","params":null}`, "/params", true},
		{"GetTaskRequest", `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":null}`, "/params", false},
		{"SamplingMessage", `{"role":"user","content":null}`, "/content", false},
		{"CreateTaskResult", `{"task":{"taskId":"","status":"working","createdAt":"","lastUpdatedAt":"",
			"ttl":null,"pollInterval":null}}`,
			"/task/pollInterval", true},
	}
	for _, test := range tests {
		got := ValidateMessage("2025-11-25", test.definition, decode(t, test.value))
		if len(got) != 1 || got[0].Path != test.path || got[0].NullOptional != test.want {
			t.Errorf("%s %s: got %+v, want one violation at %s with NullOptional %v",
				test.definition, test.value, got, test.path, test.want)
		}
	}
}

// changes are values whose verdict changes between revisions: legal until a revision gave a member its type, or only
// from a revision on.
var changes = []struct {
	definition, value string
	legal             string // revisions in which the value is legal; "-" where the definition does not exist
}{
	// 2025-03-26
	{"ServerCapabilities", `{"completions":true}`, "yes no no no"},
	{"Tool", `{"name":"","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":"yes"}}`, "yes no no no"},
	{"ProgressNotification", `{"jsonrpc":"2.0","method":"notifications/progress",
		"params":{"progressToken":1,"progress":1,"message":1}}`,
		"yes no no no"},
	{"ContentBlock", `{"type":"audio","data":"","mimeType":""}`, "no yes yes yes"},
	{"CallToolResult", `{"content":[{"type":"audio","data":"","mimeType":""}]}`, "no yes yes yes"},
	{"SamplingMessageContentBlock", `{"type":"audio","data":"","mimeType":""}`, "no yes yes yes"},

	// 2025-06-18
	{"BaseMetadata", `{"name":"","title":1}`, "yes yes no no"},
	{"InitializeResult", `{"protocolVersion":"","capabilities":{},"serverInfo":{"name":"","version":"","title":null}}`,
		"yes yes no no"},
	{"Tool", `{"name":"","inputSchema":{"type":"object"},"outputSchema":{"type":"string"}}`, "yes yes no no"},
	{"Tool", `{"name":"","inputSchema":{"type":"object"},"_meta":[]}`, "yes yes no no"},
	{"CallToolResult", `{"content":[],"structuredContent":[]}`, "yes yes no no"},
	{"Annotations", `{"lastModified":1735689600}`, "yes yes no no"},
	{"ContentBlock", `{"type":"resource_link","name":"","uri":""}`, "no no yes yes"},
	{"TextContent", `{"type":"text","text":"","_meta":null}`, "yes yes no no"},
	{"ImageContent", `{"type":"image","data":"","mimeType":"","_meta":null}`, "yes yes no no"},
	{"AudioContent", `{"type":"audio","data":"","mimeType":"","_meta":null}`, "- yes no no"},
	{"EmbeddedResource", `{"type":"resource","resource":{"uri":"","text":""},"_meta":null}`, "yes yes no no"},
	{"Resource", `{"name":"","uri":"","_meta":null}`, "yes yes no no"},
	{"ResourceTemplate", `{"name":"","uriTemplate":"","_meta":null}`, "yes yes no no"},
	{"ResourceContents", `{"uri":"","_meta":null}`, "yes yes no no"},
	{"Prompt", `{"name":"","_meta":null}`, "yes yes no no"},
	{"Root", `{"uri":"","_meta":null}`, "yes yes no no"},
	{"ClientCapabilities", `{"elicitation":true}`, "yes yes no no"},
	{"CompleteRequest", `{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"context":1,
		"ref":{"type":"ref/prompt","name":""},"argument":{"name":"","value":""}}}`, "yes yes no no"},

	// 2025-11-25
	{"Icons", `{"icons":[{}]}`, "yes yes yes no"},
	{"ListToolsResult", `{"tools":[{"name":"","inputSchema":{"type":"object"},"icons":[{"src":"","sizes":"48x48"}]}]}`,
		"yes yes yes no"},
	{"Implementation", `{"name":"","version":"","description":1}`, "yes yes yes no"},
	{"Implementation", `{"name":"","version":"","websiteUrl":1}`, "yes yes yes no"},
	{"ServerCapabilities", `{"tasks":{"list":true}}`, "yes yes yes no"},
	{"ClientCapabilities", `{"sampling":{"tools":true}}`, "yes yes yes no"},
	{"ClientCapabilities", `{"tasks":{"requests":{"sampling":{"createMessage":true}}}}`, "yes yes yes no"},
	{"Tool", `{"name":"","inputSchema":{"type":"object"},"execution":{"taskSupport":"maybe"}}`, "yes yes yes no"},
	{"ToolSchema", `{"type":"object","$schema":1}`, "yes yes yes no"},
	{"TaskAugmentedRequestParams", `{"task":{"ttl":"1m"}}`, "yes yes yes no"},
	{"CancelledNotification", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}`, "no no no yes"},
	{"CreateMessageRequestParams", `{"messages":[],"maxTokens":1,"tools":[{}]}`, "yes yes yes no"},
	{"CreateMessageRequestParams", `{"messages":[],"maxTokens":1,"toolChoice":{"mode":"any"}}`, "yes yes yes no"},
	{"SamplingMessage", `{"role":"user","content":[]}`, "no no no yes"},
	{"SamplingMessage", `{"role":"user","content":{"type":"text","text":""},"_meta":null}`, "yes yes yes no"},
	{"SamplingMessageContentBlock", `{"type":"tool_use","id":"","name":"","input":{}}`, "no no no yes"},
	{"SamplingMessageContentBlock", `{"type":"tool_result","toolUseId":"","content":[]}`, "no no no yes"},
	{"ElicitRequest", `{"jsonrpc":"2.0","id":1,"method":"elicitation/create",
		"params":{"mode":"url","message":"","elicitationId":"","url":""}}`,
		"- - no yes"},
	{"ElicitRequestFormParams", `{"message":"","requestedSchema":{"type":"object","properties":{},"$schema":1}}`,
		"- - yes no"},
	{"PrimitiveSchemaDefinition", `{"type":"array","items":{"type":"string","enum":[]}}`, "- - no yes"},
	{"PrimitiveSchemaDefinition", `{"type":"string","oneOf":[{"const":"","title":""}],"format":"none"}`, "- - no yes"},
	{"PrimitiveSchemaDefinition", `{"type":"string","enum":["a"],"format":"none"}`, "- - yes yes"}, // by EnumSchema
	{"StringSchema", `{"type":"string","default":1}`, "- - yes no"},
	{"ElicitResult", `{"action":"accept","content":{"colours":["red"]}}`, "- - no yes"},
	{"NumberSchema", `{"type":"number","default":""}`, "- - yes no"},
}

func TestChangesBetweenRevisions(t *testing.T) {
	for _, change := range changes {
		for i, legal := range strings.Fields(change.legal) {
			revision := messages().Revisions[i]
			if _, exists := messagesOf(revision).schemas[change.definition]; exists != (legal != "-") {
				t.Errorf("%s: definition %s exists: %v", revision, change.definition, exists)
				continue
			} else if !exists {
				continue
			}
			got := ValidateMessage(revision, change.definition, decode(t, change.value))
			if (got == nil) != (legal == "yes") {
				t.Errorf("%s: %s %s: got %v, want legal: %s", revision, change.definition, change.value, got, legal)
			}
		}
	}
}

// TestChangesAreComplete wants a row in the table for every definition whose own text changed from one revision to the
// next.
func TestChangesAreComplete(t *testing.T) {
	revisions := messages().Revisions
	for i := 1; i < len(revisions); i++ {
		before, after := messagesOf(revisions[i-1]).schemas, messagesOf(revisions[i]).schemas
		for name := range before {
			if after[name] == nil || cmp.Equal(before[name], after[name]) {
				continue
			}
			shown := false
			for _, change := range changes {
				legal := strings.Fields(change.legal)
				shown = shown || change.definition == name && legal[i-1] != legal[i]
			}
			if !shown {
				t.Errorf("%s changed in %s: no row in changes shows it", name, revisions[i])
			}
		}
	}
}

func TestMethods(t *testing.T) {
	type lookup func(revision, method string) (string, bool)
	tests := []struct {
		lookup         lookup
		method, since  string
		wantDefinition string
	}{
		{ResultDefinition, "initialize", "2024-11-05", "InitializeResult"},
		{ResultDefinition, "ping", "2024-11-05", "EmptyResult"},
		{ResultDefinition, "tasks/result", "2025-11-25", "GetTaskPayloadResult"},
		{NotificationDefinition, "notifications/message", "2024-11-05", "LoggingMessageNotification"},
		{NotificationDefinition, "notifications/tasks/status", "2025-11-25", "TaskStatusNotification"},
		{RequestDefinition, "elicitation/create", "2025-06-18", "ElicitRequest"},
		{ClientResultDefinition, "elicitation/create", "2025-06-18", "ElicitResult"},
		{ClientNotificationDefinition, "notifications/initialized", "2024-11-05", "InitializedNotification"},
		{ClientRequestDefinition, "tools/call", "2024-11-05", "CallToolRequest"},
		{ClientRequestDefinition, "tasks/get", "2025-11-25", "GetTaskRequest"},
	}
	for _, test := range tests {
		for _, revision := range messages().Revisions {
			definition, ok := test.lookup(revision, test.method)
			if want := revision >= test.since; ok != want || ok && definition != test.wantDefinition {
				t.Errorf("%s in %s: got %q, %v, want %q, %v",
					test.method, revision, definition, ok, test.wantDefinition, want)
			}
		}
	}
}

func TestMethodsOfUnknownRevision(t *testing.T) {
	if definition, ok := ResultDefinition("2020-01-01", "ping"); ok {
		t.Errorf("got %q, want none", definition)
	}
}

func TestMethodSince(t *testing.T) {
	tests := map[string]string{
		"ping":                               "2024-11-05",
		"notifications/progress":             "2024-11-05",
		"elicitation/create":                 "2025-06-18",
		"notifications/elicitation/complete": "2025-11-25",
		"tasks/list":                         "2025-11-25",
		"tools/list":                         "", // servers do not send it
		"notifications/initialized":          "",
		"no/such":                            "",
	}
	for method, want := range tests {
		if got, ok := MethodSince(method); got != want || ok != (want != "") {
			t.Errorf("%s: got %q, %v, want %q", method, got, ok, want)
		}
	}
}

func TestIsWord(t *testing.T) {
	for text, want := range map[string]bool{
		"tools/call": true, "inputSchema": true, "name": true, "list_changed": false, "s3cret": false, "": false,
		"notation": false, // of a comment
	} {
		if got := IsWord(text); got != want {
			t.Errorf("IsWord(%q) is %v", text, got)
		}
	}
}

func TestUnknownNamesPanic(t *testing.T) {
	for name, call := range map[string]func(){
		"unknown revision":               func() { ValidateMessage("2020-01-01", "Tool", nil) },
		"unknown definition":             func() { ValidateMessage("2025-11-25", "NoSuch", nil) },
		"definition of a later revision": func() { ValidateMessage("2024-11-05", "Task", nil) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			call()
		})
	}
}

// otherMessages are the definitions that no method names and checks do.
var otherMessages = []string{"Error", "CreateTaskResult", "URLElicitationRequiredError"}

// TestSource holds the rules that the head of messages.yaml states: every definition compiles and serves some message
// of its revision, what a method names exists, and who requires a member declares it.
func TestSource(t *testing.T) {
	for _, revision := range messages().Revisions {
		set := messagesOf(revision)
		roots := slices.Clone(otherMessages)
		for _, sent := range []side{set.server, set.client} {
			for _, names := range []map[string]string{sent.results, sent.notifications, sent.requests} {
				for method, name := range names {
					roots = append(roots, name)
					if set.schemas[name] == nil {
						t.Errorf("%s: %s: no definition %s", revision, method, name)
					}
				}
			}
		}
		used := map[string]any{}
		for _, root := range roots {
			collectRefs(set.schemas, "#/$defs/"+root, used)
		}
		for name := range set.schemas {
			if used[name] == nil {
				t.Errorf("%s: no message uses the definition %s", revision, name)
			}
			set.compile[name]()
		}
		checkSource(t, revision, "", map[string]any(set.schemas))
	}
}

// checkSource walks a resolved schema.
func checkSource(t *testing.T, revision, path string, schema any) {
	t.Helper()
	switch schema := schema.(type) {
	case map[string]any:
		properties, _ := schema["properties"].(map[string]any)
		required, _ := schema["required"].([]any)
		for _, name := range required {
			if properties[name.(string)] == nil {
				t.Errorf("%s: %s requires %q and does not declare it", revision, path, name)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(schema)) {
			if _, ok := schema[key].(string); ok && (key == "since" || key == "before" || key == "is") {
				t.Errorf("%s: %s: %s was not resolved", revision, path, key)
			}
			checkSource(t, revision, path+"/"+key, schema[key])
		}
	case []any:
		for _, entry := range schema {
			checkSource(t, revision, path, entry)
		}
	}
}

// benchmarkValue is a page of tools like those of a middle-sized server.
func benchmarkValue(b *testing.B) any {
	tool := `{"name":"get","title":"Get","description":"Gets.","inputSchema":{"type":"object",
		"properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["a"]},
		"annotations":{"readOnlyHint":true}}`
	return decode(b, `{"tools":[`+strings.Repeat(tool+",", 29)+tool+`]}`)
}

// BenchmarkFirstUse measures what the first judged message costs beyond the judgment: reading the source, resolving the
// revision, compiling.
func BenchmarkFirstUse(b *testing.B) {
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			readMessages()
		}
	})
	b.Run("resolve", func(b *testing.B) {
		for b.Loop() {
			newMessageSet(messages(), "2025-11-25")
		}
	})
	for _, name := range []string{
		"EmptyResult", "InitializeResult", "ListToolsResult", "CallToolResult", "CreateMessageRequest",
	} {
		b.Run("compile/"+name, func(b *testing.B) {
			set := messagesOf("2025-11-25")
			for b.Loop() {
				compileDefinition(set.schemas, name)
			}
		})
	}
}

func BenchmarkValidateMessage(b *testing.B) {
	value := benchmarkValue(b)
	for b.Loop() {
		if got := ValidateMessage("2025-11-25", "ListToolsResult", value); got != nil {
			b.Fatal(got)
		}
	}
}
