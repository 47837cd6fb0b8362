package kit

import (
	"testing"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/harness"
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
			"schema/all-server-messages-valid"},
		{"InitializeResult",
			`{"protocolVersion":"x","capabilities":{},"serverInfo":{"name":"x","version":"1","title":null}}`,
			"schema/optional-members-not-null"},
		{"EmptyResult", `null`, "jsonrpc/result-is-object"},
		{"EmptyResult", `{"_meta":null}`, "schema/meta-is-object"},
		{"PingRequest", `{"id":1,"method":"ping"}`, "jsonrpc/version-field"},
		{"ListToolsResult", `{}`, "tools/list-works"},
		{"ListToolsResult", `{"tools":["x"]}`, "tools/list-result-schema"},
		{"ListToolsResult", `{"tools":[],"nextCursor":1}`, "schema/all-server-messages-valid"},
		{"ListToolsResult", `{"tools":[],"nextCursor":null}`, "schema/optional-members-not-null"},
		{"ListToolsResult", `{"tools":[{"inputSchema":{"type":"object"}}]}`, "tools/name-is-string"},
		{"ListToolsResult", `{"tools":[{"name":"x","inputSchema":{}}]}`, "tools/input-schema-object"},
		{"ListToolsResult", `{"tools":[{"name":"x","inputSchema":{"type":"object"},"icons":{}}]}`, "schema/icon-shape"},
		{"ListToolsResult", `{"tools":[{"name":"x","inputSchema":{"type":"object"},"annotations":{"title":null}}]}`,
			"tools/annotations-valid"},
		{"ListResourcesResult", `{"resources":[{"uri":"x"}]}`, "schema/all-server-messages-valid"},
		{"ListResourcesResult", `{"resources":[{"uri":"x","name":"x","size":null}]}`,
			"schema/optional-members-not-null"},
		{"ListResourcesResult", `{"resources":[{"uri":"x","name":"x","annotations":{"audience":["system"]}}]}`,
			"schema/annotations-audience"},
		{"CallToolResult", `{}`, "tools/call-content-present"},
		{"CallToolResult", `{"content":[{"type":"text","text":null}]}`, "tools/text-content-shape"},
		{"CallToolResult", `{"content":[{"type":"text","text":"","annotations":{"priority":2}}]}`,
			"schema/annotations-priority"},
		{"CallToolResult", `{"content":[{"type":"video"}]}`, "tools/call-content-types"},
		{"CallToolResult", `{"content":[7]}`, "tools/call-result-schema"},
	} {
		broken := schemas.ValidateMessage(harness.Newest, c.definition, driver.Decode([]byte(c.value)))
		if len(broken) != 1 {
			t.Errorf("%s %s: want one violation, got %v", c.definition, c.value, broken)
		}
		for _, v := range broken {
			if got := OwnerOf(v, harness.Newest); got != c.owner {
				t.Errorf("%v: want %s, got %s", v, c.owner, got)
			}
		}
	}
}
