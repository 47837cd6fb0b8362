package protocol

import (
	"testing"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/driver"
)

func TestOwnerOf(t *testing.T) {
	for _, c := range []struct{ definition, value, owner string }{
		{"InitializeResult", `{"capabilities":{},"serverInfo":{"name":"x","version":"1"}}`,
			"lifecycle/initialize-result-fields"},
		{"InitializeResult", `{"protocolVersion":"x","capabilities":{},"serverInfo":{"name":"x"}}`,
			"lifecycle/server-info-fields"},
		{"InitializeResult",
			`{"protocolVersion":"x","capabilities":{"tools":null},"serverInfo":{"name":"x","version":"1"}}`,
			"schema/capability-shapes"},
		{"InitializeResult",
			`{"protocolVersion":"x","capabilities":{"tasks":{"list":true}},"serverInfo":{"name":"x","version":"1"}}`,
			"tasks/capability-shape"},
		{"InitializeResult",
			`{"protocolVersion":"x","capabilities":{},"serverInfo":{"name":"x","version":"1","title":null}}`,
			"schema/optional-members-not-null"},
		{"EmptyResult", `null`, "jsonrpc/result-is-object"},
		{"EmptyResult", `{"_meta":null}`, "schema/meta-is-object"},
		{"PingRequest", `{"id":1,"method":"ping"}`, "jsonrpc/version-field"},
		{"ListToolsResult", `{}`, "tools/list-works"},
		{"ListToolsResult", `{"tools":["x"]}`, "tools/list-result-schema"},
		{"ListToolsResult", `{"tools":[],"nextCursor":1}`, "pagination/next-cursor-type"},
		{"ListToolsResult", `{"tools":[],"nextCursor":null}`, "pagination/next-cursor-type"},
		{"ListToolsResult", `{"tools":[{"inputSchema":{"type":"object"}}]}`, "tools/name-is-string"},
		{"ListToolsResult", `{"tools":[{"name":"x","inputSchema":{}}]}`, "tools/input-schema-object"},
		{"ListToolsResult", `{"tools":[{"name":"x","inputSchema":{"type":"object"},"icons":{}}]}`, "schema/icon-shape"},
		{"ListToolsResult", `{"tools":[{"name":"x","inputSchema":{"type":"object"},"annotations":{"title":null}}]}`,
			"tools/annotations-valid"},
		{"ListResourcesResult", `{"resources":[{"uri":"x"}]}`, "resources/list-result-schema"},
		{"ListResourcesResult", `{"resources":[{"uri":"x","name":"x","size":null}]}`, "resources/size-type"},
		{"ListResourcesResult", `{"resources":[{"uri":"x","name":"x","annotations":{"audience":["system"]}}]}`,
			"schema/annotations-audience"},
		{"ListPromptsResult", `{"prompts":[{"name":"x","arguments":{}}]}`, "prompts/list-result-schema"},
		{"ListPromptsResult", `{"prompts":[{"name":"x","description":null}]}`, "prompts/list-result-schema"},
		{"ListPromptsResult", `{"prompts":[{"name":"x","arguments":[{"name":"x","title":null}]}]}`,
			"prompts/title-type"},
		{"GetPromptResult", `{"messages":[{"content":{"type":"text","text":""}}]}`, "prompts/get-result-schema"},
		{"GetPromptResult", `{"messages":[{"role":"system","content":{"type":"text","text":""}}]}`,
			"prompts/message-role"},
		{"GetPromptResult", `{"messages":[{"role":"user","content":{"type":"video"}}]}`, "prompts/content-types"},
		{"GetPromptResult", `{"messages":[{"role":"user","content":[]}]}`, "prompts/get-result-schema"},
		{"CompleteResult", `{"completion":{"values":[],"total":null}}`, "completion/result-schema"},
		{"CompleteResult", `{"values":[]}`, "completion/result-schema"},
		{"CallToolResult", `{}`, "tools/call-content-present"},
		{"CallToolResult", `{"content":[{"type":"text","text":null}]}`, "tools/text-content-shape"},
		{"CallToolResult", `{"content":[{"type":"text","text":"","annotations":{"priority":2}}]}`,
			"schema/annotations-priority"},
		{"CallToolResult", `{"content":[{"type":"video"}]}`, "tools/call-content-types"},
		{"CallToolResult", `{"content":[7]}`, "tools/call-result-schema"},
	} {
		broken := schemas.ValidateMessage(catalogue.NewestLegacy, c.definition, driver.Decode([]byte(c.value)))
		if len(broken) != 1 {
			t.Errorf("%s %s: want one violation, got %v", c.definition, c.value, broken)
		}
		for _, v := range broken {
			if got := OwnerOf(v, catalogue.NewestLegacy); got != c.owner {
				t.Errorf("%v: want %s, got %s", v, c.owner, got)
			}
		}
	}
}

// TestOwnerOfByRevision proves that the owner of a violation depends on the revision.
func TestOwnerOfByRevision(t *testing.T) {
	const legacy, modern = "2025-11-25", "2026-07-28"
	output := schemas.Violation{Definition: "ListToolsResult", Path: "/tools/0/outputSchema", Keyword: "type"}
	status := schemas.Violation{Definition: "GetTaskResult", Path: "/status", Keyword: "type"}
	asked := schemas.Violation{Definition: "InputRequiredResult", Path: "/inputRequests/x/params", Keyword: "required",
		Rule: `missing required member "maxTokens"`}
	named := schemas.Violation{Definition: "InputRequiredResult", Path: "/inputRequests/icons/method", Keyword: "const"}
	null := schemas.Violation{Definition: "CallToolResult", Path: "/x", Keyword: "type", NullOptional: true}
	for _, c := range []struct {
		revision  string
		violation schemas.Violation
		owner     string
	}{
		{legacy, output, "tools/output-schema-object"},
		{modern, output, "tools/output-schema-valid"},
		{legacy, status, "tasks/status-values"},
		{modern, status, "tasks-ext/get-working"},
		{modern, asked, "sampling/request-schema"},
		{modern, named, "mrtr/input-request-methods"},
		{legacy, null, "schema/optional-members-not-null"},
	} {
		if got := OwnerOf(c.violation, c.revision); got != c.owner {
			t.Errorf("%s: %v: want %s, got %s", c.revision, c.violation, c.owner, got)
		}
	}
}
