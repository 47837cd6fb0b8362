package suites

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
)

// TestSDKsAreValid checks that deviations name known SDKs, and that each SDK is named.
func TestSDKsAreValid(t *testing.T) {
	if err := All().CheckSDKs(SDKs()); err != nil {
		t.Error(err)
	}
	for _, sdk := range SDKs() {
		deviates := func(d catalogue.Deviation) bool { return d.SDK == sdk.ID }
		named := func(r *catalogue.Requirement) bool { return slices.ContainsFunc(r.SDKs, deviates) }
		if !slices.ContainsFunc(All(), named) {
			t.Errorf("no entry names %s", sdk.ID)
		}
		if SDKName(sdk.ID) == "" || len(sdk.Errors) == 0 {
			t.Errorf("%s has no name, or no errors", sdk.ID)
		}
	}
}

// TestSDKsAreRecognised checks the recognition of SDKs with parts of lines on the wire: errors of servers of each SDK,
// and errors of other servers, since texts of libraries and the style of a language identify no SDK.
func TestSDKsAreRecognised(t *testing.T) {
	const zod = `"message":"[\n  {\n    \"expected\": \"object\",\n    \"code\": \"invalid_type\",\n` +
		`    \"path\": [\n      \"params\"\n    ],`
	for _, tt := range []struct{ said, sdks string }{
		{`{"code":-32603,"message":"Server does not support task creation (required for tools/call)"}`, "typescript-1"},
		{`"text":"MCP error -32602: Tool mcpcheck_no_such_tool_6e2658 not found"}],"isError":true`, "typescript-1"},
		{`"text":"MCP error -32602: Input validation error: Invalid arguments for tool add: Invalid`, "typescript-1"},
		{zod + "|" + `{"code":-32602,"message":"MCP error -32602: Unknown tool x"}`, "typescript-1"},
		{`"message":"Invalid _meta envelope for protocol revision 2026-07-28: Invalid input`, "typescript-2"},
		{`"message":"Request is missing the required _meta envelope for protocol revision 2026`, "typescript-2"},
		{strings.Replace(zod, "[", "Invalid tools/call request: [", 1), "typescript-2"},
		{`"message":"Bad Request: the request headers and body disagree: the body names method`, "typescript-2"},
		{`"message":"MCP error -32602: Tool 'add' parameter validation failed: a: Invalid input. Please check the ` +
			`parameter types and values according to the tool's schema."`, "fastmcp"},
		{`"message":"MCP error -32603: Initialization failed: Invalid key: Expected \"clientInfo\"`, "tmcp"},
		{`"message":"MCP error -32602: Requests with per-request protocol metadata must include both `, "tmcp"},
		{`"message":"MCP error -32601: Method a/b not found"|"text":"Invalid arguments for tool a: [{\"`, "tmcp"},
		{`{"code":-32602,"message":"tools/call requires an object with name and arguments"}`, "mcp-lite"},
		{`{"code":-32602,"message":"tools/call requires a string 'name' field"}`, "mcp-lite"},
		{`Bad Request: POST SSE requires a request with 'id'`, "mcp-lite"},
		{`"text":"Tool input validation failed for add. Please fix the following errors and try again:\n- a`, "mastra"},
		{`{"code":-32602,"message":"Invalid request parameters","data":""}`, "python"},
		{`{"code":0,"message":"method \"tools/list\" is invalid during session initialization"}`, "go"},
		{`"text":"validating \"arguments\": validating root: required: missing properties: [\"a\"]"`, "go"},
		{`"message":"handling 'tools/call': invalid params: unmarshaling \"{}\" into a *mcp.CallToolParamsRaw`, "go"},
		{`JSON RPC not handled: "mcpcheck/no-such-method" unsupported`, "go"},
		{`"message":"tool 'mcpcheck_no_such_tool_6e2658' not found: tool not found"`, "mcp-go"},
		{`"message":"\"server/discover\" requires protocol version 2026-07-28 or later"`, "mcp-go"},
		{`"message":"unparsable ping request: json: cannot unmarshal string into Go struct field`, "mcp-go"},
		{`{"code":-32000,"message":"method not found: a/b"}|{"code":-32000,"message":"failed to unmarshal arguments: ` +
			`json: cannot unmarshal number into Go struct field baseCallToolRequestParams.name`, "mcp-golang"},

		{zod, ""},
		{`{"code":-32602,"message":"MCP error -32602: Tool x not found"}`, ""}, // an error class of the server's own
		{`{"code":-32601,"message":"method not found: \"a/b\""}`, ""},          // %q of Go
		{`{"code":-32000,"message":"method not found: a/b"}`, ""},
		{`{"code":-32000,"message":"failed to unmarshal arguments: json: cannot unmarshal number into Go value`, ""},
		{`"text":"failed to unmarshal arguments: json: cannot unmarshal object into Go struct`, ""},
		{`"message":"MCP: failed to unmarshal arguments: unknown method"`, ""},
		{`JSON RPC not handled: "a/b"`, ""}, // of golang.org/x/exp/jsonrpc2
		{`"text":"Invalid arguments for tool add: [{\"expected\":\"number\"`, ""},
		{`{"code":-32600,"message":"Invalid JSON-RPC 2.0 message format"}`, ""},
		{`{"code":-32601,"message":"Method not found"}`, ""},
		{`{"code":-32601,"message":"method not found: tools/no-such-method"}`, ""},
		{`{"code":-32601,"message":"MCP error -32601: Unknown tool: x"}`, ""}, // in the examples of the TypeScript SDK
		{`{"code":-32602,"message":"Tool x not found"}`, ""},
		{`"text":"Unknown tool: x"}],"isError":true`, ""},
		{`"serverInfo":{"name":"fastmcp","version":"1.0.0"}`, ""},
		{`{"code":-32000,"message":"Bad Request: Server not initialized"}`, ""}, // several SDKs copy the sentence
		{`Not Acceptable: Client must accept both application/json and text/event-stream`, ""},
	} {
		var recognised []string
		for _, sdk := range SDKs() {
			if sdk.Matches(bytes.Split([]byte(tt.said), []byte("|"))...) {
				recognised = append(recognised, sdk.ID)
			}
		}
		if got := strings.Join(recognised, " "); got != tt.sdks {
			t.Errorf("%s: got %q, want %q", tt.said, got, tt.sdks)
		}
	}
}

// TestDeviationsMatchTheirFindings checks which findings each deviation explains, and that it explains no others.
func TestDeviationsMatchTheirFindings(t *testing.T) {
	const list = `result {"tools":[{"description":"Greets a person"}]}`
	const silence = "no answer to ping within 500ms"
	for _, tt := range []struct{ id, got, sdks string }{
		{"lifecycle/gates-before-initialize", list, "typescript-2 typescript-1 tmcp mcp-go mcp-golang"},
		{"lifecycle/gates-before-initialize", "no answer to tools/list within 5s", ""},
		{"tools/unknown-tool-protocol-error",
			`result {"content":[{"text":"MCP error -32602: Tool mcpcheck_no_such not found"}]}`, "typescript-1"},
		{"tools/unknown-tool-protocol-error", `result {"content":[{"text":"Tool mcpcheck_no_s…:true}`, "tmcp"},
		{"tools/unknown-tool-protocol-error", `result {"content":[{"text":"Unknown tool: mcpcheck_n…`, "mastra python"},
		{"tools/unknown-tool-protocol-error", `result {"content":[{"text":"I do not know"}],"isError":true}`, ""},
		{"tools/unknown-tool-code", "error -32601: MCP error -32601: Unknown tool: mcpcheck_no_such", "fastmcp"},
		{"tools/unknown-tool-code", "error -32601: Method not found", "mcp-lite"},
		{"tools/unknown-tool-code", "error -32603: Unknown tool", ""},
		{"tools/invalid-input-is-tool-error",
			"error -32602: MCP error -32602: Tool 'add' parameter validation failed: a: Invalid input", "fastmcp"},
		{"tools/invalid-input-is-tool-error", "error -32602: a is missing", ""},
		{"tasks/undeclared-task-param-ignored",
			"with: error -32603: Server does not support task creation " +
				"(required for tools/call); without: ", "typescript-1"},
		{"version/unsupported-newer", list, "typescript-2"},
		{"version/unsupported-older-unknown", `error -32601: method not found: "server/discover"`, "go"},
		{"version/unsupported-older-unknown",
			`error -32601: "server/discover" requires protocol version 2026-07-28 or later`, "mcp-go"},
		{"version/unsupported-older-unknown", list, "go mcp-go"},
		{"stateless/missing-meta",
			"error -32022: Unsupported protocol version: the request did not name a protocol version", "mastra"},
		{"stateless/no-inherited-meta", list, "go"},
		{"subscriptions/ack-first", `"result {\"_meta\":{\"io.modelcontextprotocol/su…"`, "mcp-go"},
		{"subscriptions/ack-first", `"result {\"_meta\":{\"io.model…complete\"}"`, "mcp-go"},
		{"batch/receive-requests", silence, "typescript-1 typescript-2 tmcp"},
		{"batch/receive-requests", `no answer to ping: HTTP 400 Bad Request (application/json): {"error":{"message":` +
			`"Batch requests are not supported in protocol version 2025-06-18"}}`, "mcp-lite"},
		{"batch/receive-requests", `{"error":{"code":-32700,"message":"Failed to parse message"}}`, "mcp-go"},
		{"batch/notification-members-unanswered", silence, "go"},
		{"batch/notifications-only", "the server exited with status 0", "go"},
		{"batch/notifications-only", "the server exited with status 1", "go"},
		{"batch/notifications-only", "the server exited with status 2", ""},
		{"http/get-stream-or-405",
			"HTTP 400 Bad Request (text/plain; charset=UTF-8): Bad Request: Protocol version mismatch", "mcp-lite"},
		{"http/version-header-required", "HTTP 200 OK (application/json): {}", "typescript-2"},
		{"http/request-errors-are-jsonrpc",
			`HTTP 400 Bad Request (text/plain; charset=utf-8): JSON RPC not handled: "x" unsupported`, "go"},
		{"http/request-errors-are-jsonrpc",
			`HTTP 400 Bad Request (text/plain; charset=utf-8): invalid request: missing required "params"`, "go"},
		{"http/request-errors-are-jsonrpc",
			"HTTP 400 Bad Request (text/plain; charset=utf-8): Unsupported protocol version: 1900-01-01", "mcp-go"},
		{"http/version-header-invalid-400", "HTTP 204 No Content with no body", "go"},
		{"jsonrpc/response-id-echo-string", silence, "mcp-golang"},
		{"jsonrpc/result-is-object", "null", "mcp-golang tmcp"},
		{"jsonrpc/result-is-object", `"null"`, ""},
		{"tools/unknown-tool-not-success", "result null", "mcp-golang"},
		{"tools/unknown-tool-not-success", `result {"content":[]}`, ""},
		{"resources/read-result-schema", `"ReadResourceResult: missing required member \"contents\""`, "mcp-golang"},
		{"resources/read-uri-required", "result null", "mcp-golang"},
		{"resources/invalid-uri-rejected", "result null", "mcp-golang"},
	} {
		r, _ := Find(tt.id)
		var recognised []string
		for _, d := range r.SDKs {
			if d.Got.MatchString(tt.got) {
				recognised = append(recognised, d.SDK)
			}
		}
		if got := strings.Join(recognised, " "); got != tt.sdks {
			t.Errorf("%s: %s: got %q, want %q", tt.id, tt.got, got, tt.sdks)
		}
	}
}
