package schemas

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// decode decodes JSON as the driver does, without changing numbers.
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

// TestViolations proves the violations of invalid values in the newest legacy revision.
func TestViolations(t *testing.T) {
	tests := []struct {
		name, definition, value string
		want                    []string
	}{
		{"null for a required member", "ListToolsResult", `{"tools":[{"name":null,"inputSchema":{"type":"object"}}]}`,
			[]string{"/tools/0/name: expected string, got null"}},
		{"missing members", "ListToolsResult", `{"tools":[{}]}`,
			[]string{`/tools/0: missing required member "inputSchema"`, `/tools/0: missing required member "name"`}},
		{"the whole value", "ListToolsResult", `[]`, []string{"expected object, got array"}},
		{"entries in the order of their index", "ListToolsResult", `{"tools":[{},1,2,3,4,5,6,7,8,9,10]}`,
			[]string{
				`/tools/0: missing required member "inputSchema"`, `/tools/0: missing required member "name"`,
				"/tools/1: expected object, got number", "/tools/2: expected object, got number",
				"/tools/3: expected object, got number", "/tools/4: expected object, got number",
				"/tools/5: expected object, got number", "/tools/6: expected object, got number",
				"/tools/7: expected object, got number", "/tools/8: expected object, got number",
				"/tools/9: expected object, got number", "/tools/10: expected object, got number",
			}},
		{"input schema", "Tool",
			`{"name":"a","inputSchema":{"type":"string","properties":{"x":1,"y":true},"required":[1]}}`,
			[]string{
				"/inputSchema/properties/x: expected boolean or object, got number",
				"/inputSchema/required/0: expected string, got number",
				`/inputSchema/type: expected "object", got "string"`,
			}},
		{"enum", "GetPromptResult", `{"messages":[{"role":"bot","content":{"type":"text","text":""}}]}`,
			[]string{`/messages/0/role: expected one of "user", "assistant", got "bot"`}},
		{"only the meant member of a union", "CallToolResult", `{"content":[{"type":"text","text":1}]}`,
			[]string{"/content/0/text: expected string, got number"}},
		{"unknown member of a union", "CallToolResult", `{"content":[{"type":"video"}]}`,
			[]string{`/content/0/type: expected one of "text", "image", "audio", "resource_link", "resource", ` +
				`got "video"`}},
		{"member of a union without type", "CallToolResult", `{"content":[{"text":"a"}]}`,
			[]string{`/content/0: missing required member "type"`}},
		{"null for a member of a union", "CallToolResult", `{"content":[null]}`,
			[]string{"/content/0: expected object, got null"}},
		{"neither text nor blob", "ReadResourceResult", `{"contents":[{"uri":"a:b"}]}`,
			[]string{`/contents/0: missing required member "text" or "blob"`}},
		{"neither uri nor text nor blob", "ReadResourceResult", `{"contents":[{}]}`,
			[]string{
				`/contents/0: missing required member "text" or "blob"`, `/contents/0: missing required member "uri"`,
			}},
		{"text that is null", "ReadResourceResult", `{"contents":[{"uri":"a:b","text":null}]}`,
			[]string{"/contents/0/text: expected string, got null"}},
		{"a bad text next to a blob", "ReadResourceResult", `{"contents":[{"uri":"a:b","text":1,"blob":""}]}`,
			nil},
		{"range", "Annotations", `{"priority":1.5,"audience":"user"}`,
			[]string{"/audience: expected array, got string", "/priority: expected at most 1, got 1.5"}},
		{"fraction for an integer", "ProgressNotification",
			`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1.5,"progress":0.5}}`,
			[]string{"/params/progressToken: expected integer or string, got number with a fraction"}},
		{"judged twice, said once", "PingRequest", `{"jsonrpc":"1.0","id":1,"method":2,"params":null}`,
			[]string{
				`/jsonrpc: expected "2.0", got "1.0"`, "/method: expected string, got number",
				"/params: expected object, got null",
			}},
		{"long values", "Error", `{"jsonrpc":"` + strings.Repeat("ä", 500) + `","error":{"code":1,"message":""}}`,
			[]string{`/jsonrpc: expected "2.0", got "` + strings.Repeat("ä", 60) + `"…`}},
		{"member names in paths", "ServerCapabilities", `{"experimental":{"a/~\n":1}}`,
			[]string{`"/experimental/a~1~0\n": expected object, got number`}},
		{"absurd numbers", "Annotations", `{"priority":1e999999999}`,
			[]string{"/priority: expected at most 1, got 1.7976931348623157e+308"}},
		{"absurdly small numbers", "Annotations", `{"priority":1e-999999999}`, nil},
		{"elicitation mode", "ElicitRequest", `{"jsonrpc":"2.0","id":1,"method":"elicitation/create",
			"params":{"mode":"link","message":"","requestedSchema":{"type":"object","properties":{}}}}`,
			[]string{`/params/mode: expected one of "form", "url", got "link"`}},
		{"elicitation by url", "ElicitRequest", `{"jsonrpc":"2.0","id":1,"method":"elicitation/create",
			"params":{"mode":"url","message":""}}`,
			[]string{`/params: missing required member "elicitationId"`, `/params: missing required member "url"`}},
		{"field of a form", "ElicitRequestFormParams", `{"message":"","requestedSchema":{"type":"object","properties":{
			"a":{"type":"object"},"b":{"type":"string","format":"ipv4"},
			"c":{"type":"array"},"d":{"type":"array","items":{"type":"string"}},
			"e":{"$ref":"#"},"f":{"type":["string","null"]}}}}`,
			[]string{
				`/requestedSchema/properties/a/type: expected one of "string", "number", "integer", "boolean", ` +
					`"array", got "object"`,
				`/requestedSchema/properties/b/format: expected one of "email", "uri", "date", "date-time", got "ipv4"`,
				`/requestedSchema/properties/c: missing required member "items"`,
				`/requestedSchema/properties/d/items: missing required member "enum" or "anyOf"`,
				`/requestedSchema/properties/e: missing required member "type"`,
				`/requestedSchema/properties/f/type: expected string, got array`,
			}},
		{"url elicitation error", "URLElicitationRequiredError",
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32042,"message":"","data":{"elicitations":[{"mode":"form"}]}}}`,
			[]string{
				`/error/data/elicitations/0: missing required member "elicitationId"`,
				`/error/data/elicitations/0: missing required member "message"`,
				`/error/data/elicitations/0: missing required member "url"`,
				`/error/data/elicitations/0/mode: expected "url", got "form"`,
			}},
		{"code of an url elicitation error", "URLElicitationRequiredError",
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"","data":{"elicitations":[]}}}`,
			[]string{"/error/code: expected -32042, got -32602"}},
		{"error code", "Error", `{"jsonrpc":"2.0","id":1,"error":{"code":"E","message":null,"data":null}}`,
			[]string{"/error/code: expected integer, got string", "/error/message: expected string, got null"}},
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

// TestViolationsOfModernMessages proves the violations of messages that only modern revisions have.
func TestViolationsOfModernMessages(t *testing.T) {
	tests := []struct {
		name, definition, value string
		want                    []string
	}{
		{"a result of an earlier revision", "ListToolsResult", `{"tools":[]}`,
			[]string{
				`missing required member "cacheScope"`, `missing required member "resultType"`,
				`missing required member "ttlMs"`,
			}},
		{"a ttl with a fraction", "DiscoverResult",
			`{"resultType":"complete","supportedVersions":[],"capabilities":{},"ttlMs":0.5,"cacheScope":"shared"}`,
			[]string{
				`/cacheScope: expected one of "public", "private", got "shared"`,
				"/ttlMs: expected integer, got number with a fraction",
			}},
		{"numbers in other spellings", "CacheableResult", `{"resultType":"","ttlMs":1.0e3,"cacheScope":"public"}`, nil},
		{"neither input requests nor state", "InputRequiredResult", `{"resultType":"input_required"}`,
			[]string{`missing required member "inputRequests" or "requestState"`}},
		{"bad input requests with a state", "InputRequiredResult",
			`{"resultType":"input_required","requestState":"a","inputRequests":[]}`,
			[]string{"/inputRequests: expected object, got array"}},
		{"only the meant input request", "InputRequiredResult", `{"resultType":"input_required","inputRequests":{
			"a":{"method":"sampling/createMessage","params":{"messages":[]}},
			"b":{"method":"tools/call"},"c":{"params":{}},"d":{"jsonrpc":"2.0","id":1,"method":"roots/list"}}}`,
			[]string{
				`/inputRequests/a/params: missing required member "maxTokens"`,
				`/inputRequests/b/method: expected one of "elicitation/create", "sampling/createMessage", ` +
					`"roots/list", got "tools/call"`,
				`/inputRequests/c: missing required member "method"`,
			}},
		{"a URL elicitation without a URL", "InputRequiredResult", `{"resultType":"input_required","inputRequests":{
			"a":{"method":"elicitation/create","params":{"mode":"url","message":"","elicitationId":1}}}}`,
			[]string{`/inputRequests/a/params: missing required member "url"`}},
		{"an acknowledgment of no subscription", "SubscriptionsAcknowledgedNotification",
			`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged",
				"params":{"_meta":{},"notifications":{"toolsListChanged":1}}}`,
			[]string{
				`/params/_meta: missing required member "io.modelcontextprotocol/subscriptionId"`,
				"/params/notifications/toolsListChanged: expected boolean, got number",
			}},
		{"null for a server's identity", "Result",
			`{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":null}}`,
			[]string{"/_meta/io.modelcontextprotocol~1serverInfo: expected object, got null"}},
		{"the capabilities that are missing", "MissingRequiredClientCapabilityError",
			`{"jsonrpc":"2.0","error":{"code":-32021,"message":"","data":{"requiredCapabilities":["sampling"]}}}`,
			[]string{"/error/data/requiredCapabilities: expected object, got array"}},
		{"the version that is not supported", "UnsupportedProtocolVersionError",
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"","data":{"supported":"2026-07-28"}}}`,
			[]string{
				`/error/data: missing required member "requested"`,
				"/error/data/supported: expected array, got string",
			}},
		{"any structured content", "CallToolResult",
			`{"resultType":"complete","content":[],"structuredContent":0.5}`, nil},
		{"extra members", "DiscoverResult", `{"resultType":"complete","supportedVersions":[],"ttlMs":0,
			"cacheScope":"public","serverInfo":1,"capabilities":{"x":1,"extensions":{"a/b":{"c":null}}},
			"_meta":{"x":1,"io.modelcontextprotocol/serverInfo":{"name":"","version":"","x":1}}}`, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := lines(ValidateMessage("2026-07-28", test.definition, decode(t, test.value)))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestNullOptionalOfPrefixedMember proves NullOptional for a member whose name has a slash.
func TestNullOptionalOfPrefixedMember(t *testing.T) {
	value := decode(t, `{"io.modelcontextprotocol/subscriptionId":null}`)
	for definition, want := range map[string]bool{"NotificationMeta": true, "SubscriptionMeta": false} {
		got := ValidateMessage("2026-07-28", definition, value)
		if len(got) != 1 || got[0].NullOptional != want {
			t.Errorf("%s: got %+v, want one violation with NullOptional %v", definition, got, want)
		}
	}
}

// TestNullOptional proves where null counts as null at an optional member: not at required members, nor in lists, maps
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

func TestMethods(t *testing.T) {
	type lookup func(revision, method string) (string, bool)
	ofProtocol := func(lookup func(revision, method string, extensions ...string) (string, bool)) lookup {
		return func(revision, method string) (string, bool) { return lookup(revision, method) }
	}
	tests := []struct {
		lookup                lookup
		method, since, before string
		wantDefinition        string
	}{
		{ofProtocol(ResultDefinition), "initialize", "2024-11-05", "2026-07-28", "InitializeResult"},
		{ofProtocol(ResultDefinition), "ping", "2024-11-05", "2026-07-28", "EmptyResult"},
		{ofProtocol(ResultDefinition), "tasks/result", "2025-11-25", "2026-07-28", "GetTaskPayloadResult"},
		{ofProtocol(ResultDefinition), "server/discover", "2026-07-28", "", "DiscoverResult"},
		{ofProtocol(ResultDefinition), "subscriptions/listen", "2026-07-28", "", "SubscriptionsListenResult"},
		{ofProtocol(NotificationDefinition), "notifications/message", "2024-11-05", "", "LoggingMessageNotification"},
		{ofProtocol(NotificationDefinition), "notifications/tasks/status", "2025-11-25", "2026-07-28",
			"TaskStatusNotification"},
		{ofProtocol(NotificationDefinition), "notifications/subscriptions/acknowledged", "2026-07-28", "",
			"SubscriptionsAcknowledgedNotification"},
		{RequestDefinition, "ping", "2024-11-05", "2026-07-28", "PingRequest"},
		{RequestDefinition, "elicitation/create", "2025-06-18", "2026-07-28", "ElicitRequest"},
		{InputRequestDefinition, "elicitation/create", "2026-07-28", "", "ElicitRequest"},
		{InputResponseDefinition, "roots/list", "2026-07-28", "", "ListRootsResult"},
		{ClientResultDefinition, "elicitation/create", "2025-06-18", "2026-07-28", "ElicitResult"},
		{ClientNotificationDefinition, "notifications/initialized", "2024-11-05", "2026-07-28",
			"InitializedNotification"},
		{ClientNotificationDefinition, "notifications/cancelled", "2024-11-05", "", "CancelledNotification"},
		{ofProtocol(ClientRequestDefinition), "tools/call", "2024-11-05", "", "CallToolRequest"},
		{ofProtocol(ClientRequestDefinition), "tasks/get", "2025-11-25", "2026-07-28", "GetTaskRequest"},
	}
	for _, test := range tests {
		for _, revision := range messages().Revisions {
			definition, ok := test.lookup(revision, test.method)
			want := revision >= test.since && (test.before == "" || revision < test.before)
			if ok != want || ok && definition != test.wantDefinition {
				t.Errorf("%s in %s: got %q, %v, want %q, %v",
					test.method, revision, definition, ok, test.wantDefinition, want)
			}
		}
	}
}

// TestNoServerRequests proves that modern servers request input only inside results.
func TestNoServerRequests(t *testing.T) {
	if set := messagesOf("2026-07-28"); len(set.server.requests) > 0 || len(set.client.results) > 0 {
		t.Errorf("requests of servers %v, results of clients %v", set.server.requests, set.client.results)
	}
}

func TestResultTypes(t *testing.T) {
	if got := ResultTypes("2025-11-25"); got != nil {
		t.Errorf("2025-11-25: got %v, want none", got)
	}
	want := []string{"complete", "input_required"}
	if diff := cmp.Diff(want, ResultTypes("2026-07-28")); diff != "" {
		t.Errorf("2026-07-28 (-want +got)\n%s", diff)
	}
	tests := []struct{ method, resultType, want string }{
		{"tools/call", "complete", "CallToolResult"},
		{"tools/call", "input_required", "InputRequiredResult"},
		{"prompts/get", "input_required", "InputRequiredResult"},
		{"tools/list", "complete", "ListToolsResult"},
		{"tools/list", "input_required", ""},
		{"tools/call", "task", ""},
		{"tools/call", "", ""},
		{"no/such", "complete", ""},
	}
	for _, test := range tests {
		got, ok := ResultTypeDefinition("2026-07-28", test.method, test.resultType)
		if got != test.want || ok != (test.want != "") {
			t.Errorf("%s of %s: got %q, %v, want %q", test.resultType, test.method, got, ok, test.want)
		}
	}
}

func TestErrorCodes(t *testing.T) {
	tests := []struct {
		code           int
		before, modern CodeUse // in 2025-11-25, in 2026-07-28
		definition     string  // in 2026-07-28
	}{
		{-32700, CodeDefined, CodeDefined, "Error"},
		{-32602, CodeDefined, CodeDefined, "Error"},
		{-32604, CodeReserved, CodeReserved, "Error"},
		{-32768, CodeReserved, CodeReserved, "Error"},
		{-32100, CodeReserved, CodeReserved, "Error"},
		{-32099, CodeServer, CodeReserved, "Error"},
		{-32042, CodeDefined, CodeRetired, "Error"},
		{-32023, CodeServer, CodeReserved, "Error"},
		{-32022, CodeServer, CodeDefined, "UnsupportedProtocolVersionError"},
		{-32021, CodeServer, CodeDefined, "MissingRequiredClientCapabilityError"},
		{-32020, CodeServer, CodeDefined, "HeaderMismatchError"},
		{-32019, CodeServer, CodeLegacy, "Error"},
		{-32002, CodeDefined, CodeRetired, "Error"},
		{-32000, CodeServer, CodeLegacy, "Error"},
		{-31999, CodeFree, CodeFree, "Error"},
		{-32769, CodeFree, CodeFree, "Error"},
		{0, CodeFree, CodeFree, "Error"},
	}
	for _, test := range tests {
		before, modern := CodeUseOf("2025-11-25", test.code), CodeUseOf("2026-07-28", test.code)
		if before != test.before || modern != test.modern {
			t.Errorf("%d: got %q and %q, want %q and %q", test.code, before, modern, test.before, test.modern)
		}
		if got := ErrorDefinition("2026-07-28", test.code); got != test.definition {
			t.Errorf("%d: got %q, want %q", test.code, got, test.definition)
		}
	}
	for revision, want := range map[string]string{
		"2025-06-18": "Error", "2025-11-25": "URLElicitationRequiredError", "2026-07-28": "Error",
	} {
		if got := ErrorDefinition(revision, -32042); got != want {
			t.Errorf("%s: got %q, want %q", revision, got, want)
		}
	}
}

func TestMethodsOfEarlierRevision(t *testing.T) {
	if definition, ok := ResultDefinition("2020-01-01", "ping"); ok {
		t.Errorf("got %q, want none", definition)
	}
}

func TestMethodSince(t *testing.T) {
	tests := map[string]string{
		"ping":                                     "2024-11-05",
		"notifications/progress":                   "2024-11-05",
		"elicitation/create":                       "2025-06-18",
		"notifications/elicitation/complete":       "2025-11-25",
		"notifications/subscriptions/acknowledged": "2026-07-28",
		"tasks/list":                               "2025-11-25",
		"tools/list":                               "", // servers do not send it
		"notifications/initialized":                "",
		"no/such":                                  "",
	}
	for method, want := range tests {
		if got, ok := MethodSince(method); got != want || ok != (want != "") {
			t.Errorf("%s: got %q, %v, want %q", method, got, ok, want)
		}
	}
}

func TestMethodBefore(t *testing.T) {
	tests := map[string]string{
		"ping":                                     "2026-07-28",
		"sampling/createMessage":                   "2026-07-28",
		"elicitation/create":                       "2026-07-28",
		"notifications/tasks/status":               "2026-07-28",
		"notifications/progress":                   "",
		"notifications/subscriptions/acknowledged": "",
		"no/such":                                  "",
	}
	for method, want := range tests {
		if got, ok := MethodBefore(method); got != want || ok != (want != "") {
			t.Errorf("%s: got %q, %v, want %q", method, got, ok, want)
		}
	}
}

func TestIsWord(t *testing.T) {
	for text, want := range map[string]bool{
		"tools/call": true, "inputSchema": true, "name": true, "list_changed": false, "s3cret": false, "": false,
		"notation":   false, // in a comment
		"deprecated": false, // in a comment at the end of a line
		"taskId":     true,  // in an extension
	} {
		if got := IsWord(text); got != want {
			t.Errorf("IsWord(%q) is %v", text, got)
		}
	}
}

func TestUnknownNamesPanic(t *testing.T) {
	for name, call := range map[string]func(){
		"revision before the first":      func() { ValidateMessage("2020-01-01", "Tool", nil) },
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

// benchmarkValue is a page of tools of a medium-sized server.
func benchmarkValue(b *testing.B) any {
	tool := `{"name":"get","title":"Get","description":"Gets.","inputSchema":{"type":"object",
		"properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["a"]},
		"annotations":{"readOnlyHint":true}}`
	return decode(b, `{"tools":[`+strings.Repeat(tool+",", 29)+tool+`]}`)
}

// BenchmarkFirstUse measures the cost of the first validated message besides the validation: reading the source,
// resolving the revision, compiling.
func BenchmarkFirstUse(b *testing.B) {
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			readMessages(messagesYAML)
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
