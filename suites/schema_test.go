package suites

import (
	"slices"
	"testing"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// What an entry owns is reported by nobody else, so it needs a check.
func TestOwnersAreBuilt(t *testing.T) {
	for _, o := range owners {
		if r, ok := Find(o.id); o.id != "" && (!ok || !HasCheck(r)) {
			t.Errorf("%s owns %s %s and has no check", o.id, o.definition, o.path)
		}
	}
}

func TestOwnerOf(t *testing.T) {
	for _, c := range []struct{ definition, value, owner string }{
		{"InitializeResult", `{"capabilities":{},"serverInfo":{"name":"x","version":"1"}}`, "lifecycle/initialize-result-fields"},
		{"InitializeResult", `{"protocolVersion":"x","capabilities":{},"serverInfo":{"name":"x"}}`, "lifecycle/server-info-fields"},
		{"InitializeResult", `{"protocolVersion":"x","capabilities":{"tools":null},"serverInfo":{"name":"x","version":"1"}}`, "schema/capability-shapes"},
		{"InitializeResult", `{"protocolVersion":"x","capabilities":{"tasks":{"list":true}},"serverInfo":{"name":"x","version":"1"}}`, "schema/all-server-messages-valid"},
		{"InitializeResult", `{"protocolVersion":"x","capabilities":{},"serverInfo":{"name":"x","version":"1","title":null}}`, "schema/optional-members-not-null"},
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
		{"ListToolsResult", `{"tools":[{"name":"x","inputSchema":{"type":"object"},"annotations":{"title":null}}]}`, "tools/annotations-valid"},
		{"ListResourcesResult", `{"resources":[{"uri":"x"}]}`, "schema/all-server-messages-valid"},
		{"ListResourcesResult", `{"resources":[{"uri":"x","name":"x","size":null}]}`, "schema/optional-members-not-null"},
		{"ListResourcesResult", `{"resources":[{"uri":"x","name":"x","annotations":{"audience":["system"]}}]}`, "schema/annotations-audience"},
		{"CallToolResult", `{}`, "tools/call-content-present"},
		{"CallToolResult", `{"content":[{"type":"text","text":null}]}`, "tools/text-content-shape"},
		{"CallToolResult", `{"content":[{"type":"text","text":"","annotations":{"priority":2}}]}`, "schema/annotations-priority"},
		{"CallToolResult", `{"content":[{"type":"video"}]}`, "tools/call-content-types"},
		{"CallToolResult", `{"content":[7]}`, "tools/call-result-schema"},
	} {
		broken := schemas.ValidateMessage(harness.Newest, c.definition, driver.Decode([]byte(c.value)))
		if len(broken) != 1 {
			t.Errorf("%s %s: want one violation, got %v", c.definition, c.value, broken)
		}
		for _, v := range broken {
			if got := ownerOf(v); got != c.owner {
				t.Errorf("%v: want %s, got %s", v, c.owner, got)
			}
		}
	}
}

// The walk finds members of the protocol and leaves free JSON alone.
func TestDissect(t *testing.T) {
	free := `{"_meta":1,"icons":1,"annotations":1}`
	for _, c := range []struct {
		revision, definition, value string
		want                        []string
	}{
		{"2025-11-25", "InitializeResult", `{"_meta":{},"capabilities":{"experimental":` + free + `},"serverInfo":{"name":"x","icons":[],"websiteUrl":""}}`,
			[]string{"InitializeResult._meta", "InitializeResult.capabilities", "Implementation.icons", "Implementation.websiteUrl"}},
		{"2025-11-25", "ListToolsResult", `{"tools":[{"name":"x","_meta":` + free + `,"inputSchema":` + free + `,"outputSchema":` + free + `,"annotations":{},"icons":[]}]}`,
			[]string{"Tool._meta", "Tool.icons", "Tool.annotations"}},
		{"2025-03-26", "ListToolsResult", `{"_meta":{},"tools":[{"name":"x","_meta":1,"annotations":{},"icons":[]}]}`, []string{"ListToolsResult._meta", "Tool.annotations"}},
		{"2025-06-18", "CallToolResult", `{"structuredContent":` + free + `,"content":[{"type":"text","_meta":{},"icons":1,"annotations":{}},{"type":"resource","resource":{"_meta":{}}},{"type":"video","_meta":1},{"type":"resource_link","_meta":{}}]}`,
			[]string{"TextContent._meta", "TextContent.annotations", "ResourceContents._meta", "ResourceLink._meta"}},
		{"2025-11-25", "GetPromptResult", `{"messages":[{"_meta":1,"content":{"type":"image","annotations":{}}}]}`, []string{"ImageContent.annotations"}},
		{"2025-11-25", "CreateMessageRequest", `{"_meta":1,"params":{"_meta":{},"metadata":` + free + `,"messages":[{"_meta":{},"content":[{"type":"tool_use","input":` + free + `}]}]}}`,
			[]string{"CreateMessageRequestParams._meta", "SamplingMessage._meta"}},
		{"2024-11-05", "LoggingMessageNotification", `{"_meta":1,"params":{"_meta":{},"data":` + free + `}}`, []string{"Params._meta"}},
		{"2024-11-05", "EmptyResult", `{"_meta":{"_meta":1}}`, []string{"EmptyResult._meta"}},
	} {
		var found findings
		found.dissect(c.definition, "", "", c.revision, driver.Decode([]byte(c.value)))
		var got []string
		for _, p := range found.parts {
			got = append(got, p.kind+"."+p.member)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s %s: want %v, got %v", c.revision, c.definition, c.want, got)
		}
	}
}

func TestMetaKeys(t *testing.T) {
	for key, ok := range map[string]bool{
		"": true, "progressToken": true, "com.example/": true, "com.example/a_b-c.d": true, "a-b.c/x": true, "x": true, "openai/outputTemplate": true,
		"_fastmcp": false, "a b": false, "com.example/x/y": false, "1com.example/x": false, "com..example/x": false, "/x": false, "com.example-/x": false, "x.": false,
	} {
		if metaKey.MatchString(key) != ok {
			t.Errorf("key %q: want %v", key, ok)
		}
	}
	for _, c := range []struct {
		key             string
		earlier, latest bool // reserved in 2025-06-18, in 2025-11-25
	}{
		{"io.modelcontextprotocol/x", false, true},
		{"modelcontextprotocol.io/x", true, false},
		{"tools.mcp.com/x", true, true},
		{"com.mcp.tools/x", true, true},
		{"com.example.mcp/x", false, false},
		{"mcp/x", false, false},
	} {
		labels := metaLabels(c.key)
		if isReserved(labels, "2025-06-18") != c.earlier || isReserved(labels, "2025-11-25") != c.latest {
			t.Errorf("key %q: want reserved %v and %v", c.key, c.earlier, c.latest)
		}
	}
}

func TestTimestamps(t *testing.T) {
	for text, ok := range map[string]bool{
		"2025-01-12T15:00:58Z": true, "2025-01-12": true, "2025-01-12T15:00:58.123+01:00": true, "20250112T150058Z": true, "2025-01-12T15:00:58": true,
		"2025-W02-7": true, "2025-012": true, "2025-01": true, "2025-01-12T15:00-0800": true,
		"1736694058": false, "1736694058000": false, "2025-13-12": false, "1/12/2025, 3:00:58 PM": false, "Sun Jan 12 2025": false, "": false, "2025-01-12T25:00": false,
	} {
		if timestamp.MatchString(text) != ok {
			t.Errorf("%q: want %v", text, ok)
		}
	}
}
