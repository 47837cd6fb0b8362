package schema

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

// TestCollectParts proves that the members of the protocol are found and that free JSON is left alone.
func TestCollectParts(t *testing.T) {
	free := `{"_meta":1,"icons":1,"annotations":1}`
	for _, c := range []struct {
		revision, definition, value string
		want                        []string
	}{
		{"2025-11-25", "InitializeResult", `{"_meta":{},"capabilities":{"experimental":` + free + `},` +
			`"serverInfo":{"name":"x","icons":[],"websiteUrl":""}}`,
			[]string{"InitializeResult._meta", "InitializeResult.capabilities",
				"Implementation.icons", "Implementation.websiteUrl"}},
		{"2025-11-25", "ListToolsResult", `{"tools":[{"name":"x","_meta":` + free + `,"inputSchema":` + free + `,` +
			`"outputSchema":` + free + `,"annotations":{},"icons":[]}]}`,
			[]string{"Tool._meta", "Tool.icons", "Tool.annotations"}},
		{"2025-03-26", "ListToolsResult", `{"_meta":{},"tools":[{"name":"x","_meta":1,"annotations":{},"icons":[]}]}`,
			[]string{"ListToolsResult._meta", "Tool.annotations"}},
		{"2025-06-18", "CallToolResult", `{"structuredContent":` + free + `,"content":[{"type":"text","_meta":{},` +
			`"icons":1,"annotations":{}},{"type":"resource","resource":{"_meta":{}}},{"type":"video","_meta":1},` +
			`{"type":"resource_link","_meta":{}}]}`,
			[]string{"TextContent._meta", "TextContent.annotations", "ResourceContents._meta", "ResourceLink._meta"}},
		{"2025-11-25", "GetPromptResult", `{"messages":[{"_meta":1,"content":{"type":"image","annotations":{}}}]}`,
			[]string{"ImageContent.annotations"}},
		{"2025-11-25", "CreateMessageRequest", `{"_meta":1,"params":{"_meta":{},"metadata":` + free + `,` +
			`"messages":[{"_meta":{},"content":[{"type":"tool_use","input":` + free + `}]}]}}`,
			[]string{"CreateMessageRequestParams._meta", "SamplingMessage._meta"}},
		{"2024-11-05", "LoggingMessageNotification", `{"_meta":1,"params":{"_meta":{},"data":` + free + `}}`,
			[]string{"Params._meta"}},
		{"2026-07-28", "DiscoverResult", `{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"x","icons":[]}},` +
			`"capabilities":{"extensions":` + free + `}}`,
			[]string{"DiscoverResult._meta", "DiscoverResult.capabilities", "Implementation.icons"}},
		{"2026-07-28", "InputRequiredResult", `{"inputRequests":{"a":{"method":"sampling/createMessage","params":` +
			`{"_meta":{},"messages":[{"content":{"type":"text","annotations":{}}}]}},"b":` + free + `}}`,
			[]string{"CreateMessageRequestParams._meta", "TextContent.annotations"}},
		{"2024-11-05", "EmptyResult", `{"_meta":{"_meta":1}}`, []string{"EmptyResult._meta"}},
	} {
		var found findings
		found.collectParts(c.definition, "", "", c.revision, driver.Decode([]byte(c.value)))
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
		"": true, "x": true, "progressToken": true, "openai/outputTemplate": true, "a-b.c/x": true,
		"com.example/": true, "com.example/a_b-c.d": true,
		"_fastmcp": false, "a b": false, "/x": false, "x.": false, "com.example/x/y": false,
		"1com.example/x": false, "com..example/x": false, "com.example-/x": false,
	} {
		if protocol.IsMetaKey(key) != ok {
			t.Errorf("key %q: want %v", key, ok)
		}
	}
	for _, c := range []struct {
		key string
		// earlier and latest report whether the key is reserved in 2025-06-18 and in 2025-11-25.
		earlier, latest bool
	}{
		{"io.modelcontextprotocol/x", false, true},
		{"modelcontextprotocol.io/x", true, false},
		{"tools.mcp.com/x", true, true},
		{"com.mcp.tools/x", true, true},
		{"com.example.mcp/x", false, false},
		{"mcp/x", false, false},
	} {
		labels := prefixLabels(c.key)
		if isReserved(labels, "2025-06-18") != c.earlier || isReserved(labels, "2025-11-25") != c.latest {
			t.Errorf("key %q: want reserved %v and %v", c.key, c.earlier, c.latest)
		}
	}
}

func TestTimestamps(t *testing.T) {
	for text, ok := range map[string]bool{
		"2025-01-12T15:00:58Z": true, "2025-01-12T15:00:58": true, "2025-01-12T15:00:58.123+01:00": true,
		"2025-01-12T15:00-0800": true, "20250112T150058Z": true,
		"2025-01-12": true, "2025-W02-7": true, "2025-012": true, "2025-01": true,
		"": false, "1736694058": false, "1736694058000": false, "2025-13-12": false, "2025-01-12T25:00": false,
		"1/12/2025, 3:00:58 PM": false, "Sun Jan 12 2025": false,
	} {
		if timestampPattern.MatchString(text) != ok {
			t.Errorf("%q: want %v", text, ok)
		}
	}
}

func TestTraceFormats(t *testing.T) {
	for _, c := range []struct {
		key, text string
		ok        bool
	}{
		{"traceparent", "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01", true},
		{"traceparent", "01-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01-more", true},
		{"traceparent", "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01-more", false},
		{"traceparent", "00-0AF7651916CD43DD8448EB211C80319C-00f067aa0ba902b7-01", false},
		{"traceparent", "00-00000000000000000000000000000000-00f067aa0ba902b7-01", false},
		{"traceparent", "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", false},
		{"traceparent", "ff-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01", false},
		{"traceparent", "0af7651916cd43dd8448eb211c80319c", false},
		{"tracestate", "", true},
		{"tracestate", "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", true},
		{"tracestate", "fw529a3039@dt=FfAz,\t1a-2f@foo=bar baz ,,", true},
		{"tracestate", "Rojo=1", false},
		{"tracestate", "rojo", false},
		{"tracestate", "rojo=1=2", false},
		{"tracestate", strings.Repeat("a=1,", 32) + "a=1", false},
		{"baggage", "userId=alice,serverNode=DF%2028,isProduction=false", true},
		{"baggage", "key1 = value1;property1;propertyKey = propertyValue , key2=", true},
		{"baggage", "", false},
		{"baggage", "userId=Amélie", false},
		{"baggage", `{"userId":"alice"}`, false},
	} {
		if traceFormats[c.key](c.text) != c.ok {
			t.Errorf("%s %q: want %v", c.key, c.text, c.ok)
		}
	}
}
