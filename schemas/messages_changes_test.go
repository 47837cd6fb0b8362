package schemas

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// changes are values that are valid in some revisions only: until a revision gave a member its type, or from a revision
// on.
var changes = []struct {
	definition, value string
	legal             string // revisions in which the value is legal; "-" where the definition does not exist
}{
	// 2025-03-26
	{"ServerCapabilities", `{"completions":true}`, "yes no no no no"},
	{"Tool", `{"name":"","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":"yes"}}`, "yes no no no no"},
	{"ProgressNotification", `{"jsonrpc":"2.0","method":"notifications/progress",
		"params":{"progressToken":1,"progress":1,"message":1}}`,
		"yes no no no no"},
	{"ContentBlock", `{"type":"audio","data":"","mimeType":""}`, "no yes yes yes yes"},
	{"CallToolResult", `{"resultType":"","content":[{"type":"audio","data":"","mimeType":""}]}`, "no yes yes yes yes"},
	{"SamplingMessageContentBlock", `{"type":"audio","data":"","mimeType":""}`, "no yes yes yes yes"},

	// 2025-06-18
	{"BaseMetadata", `{"name":"","title":1}`, "yes yes no no no"},
	{"InitializeResult", `{"protocolVersion":"","capabilities":{},"serverInfo":{"name":"","version":"","title":null}}`,
		"yes yes no no -"},
	{"Tool", `{"name":"","inputSchema":{"type":"object"},"outputSchema":{"type":"string"}}`, "yes yes no no yes"},
	{"Tool", `{"name":"","inputSchema":{"type":"object"},"_meta":[]}`, "yes yes no no no"},
	{"CallToolResult", `{"content":[],"structuredContent":[]}`, "yes yes no no no"},
	{"Annotations", `{"lastModified":1735689600}`, "yes yes no no no"},
	{"ContentBlock", `{"type":"resource_link","name":"","uri":""}`, "no no yes yes yes"},
	{"TextContent", `{"type":"text","text":"","_meta":null}`, "yes yes no no no"},
	{"ImageContent", `{"type":"image","data":"","mimeType":"","_meta":null}`, "yes yes no no no"},
	{"AudioContent", `{"type":"audio","data":"","mimeType":"","_meta":null}`, "- yes no no no"},
	{"EmbeddedResource", `{"type":"resource","resource":{"uri":"","text":""},"_meta":null}`, "yes yes no no no"},
	{"Resource", `{"name":"","uri":"","_meta":null}`, "yes yes no no no"},
	{"ResourceTemplate", `{"name":"","uriTemplate":"","_meta":null}`, "yes yes no no no"},
	{"ResourceContents", `{"uri":"","_meta":null}`, "yes yes no no no"},
	{"Prompt", `{"name":"","_meta":null}`, "yes yes no no no"},
	{"Root", `{"uri":"","_meta":null}`, "yes yes no no no"},
	{"ClientCapabilities", `{"elicitation":true}`, "yes yes no no no"},
	{"CompleteRequest", `{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"context":1,
		"ref":{"type":"ref/prompt","name":""},"argument":{"name":"","value":""}}}`, "yes yes no no no"},

	// 2025-11-25
	{"Icons", `{"icons":[{}]}`, "yes yes yes no no"},
	{"ListToolsResult", `{"tools":[{"name":"","inputSchema":{"type":"object"},"icons":[{"src":"","sizes":"48x48"}]}]}`,
		"yes yes yes no no"},
	{"Implementation", `{"name":"","version":"","description":1}`, "yes yes yes no no"},
	{"Implementation", `{"name":"","version":"","websiteUrl":1}`, "yes yes yes no no"},
	{"ServerCapabilities", `{"tasks":{"list":true}}`, "yes yes yes no yes"},
	{"ClientCapabilities", `{"sampling":{"tools":true}}`, "yes yes yes no no"},
	{"ClientCapabilities", `{"tasks":{"requests":{"sampling":{"createMessage":true}}}}`, "yes yes yes no yes"},
	{"Tool", `{"name":"","inputSchema":{"type":"object"},"execution":{"taskSupport":"maybe"}}`, "yes yes yes no yes"},
	{"ToolSchema", `{"type":"object","$schema":1}`, "yes yes yes no no"},
	{"TaskAugmentedRequestParams", `{"task":{"ttl":"1m"}}`, "yes yes yes no -"},
	{"CancelledNotification", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}`, "no no no yes no"},
	{"CreateMessageRequestParams", `{"messages":[],"maxTokens":1,"tools":[{}]}`, "yes yes yes no no"},
	{"CreateMessageRequestParams", `{"messages":[],"maxTokens":1,"toolChoice":{"mode":"any"}}`, "yes yes yes no no"},
	{"SamplingMessage", `{"role":"user","content":[]}`, "no no no yes yes"},
	{"SamplingMessage", `{"role":"user","content":{"type":"text","text":""},"_meta":null}`, "yes yes yes no no"},
	{"SamplingMessageContentBlock", `{"type":"tool_use","id":"","name":"","input":{}}`, "no no no yes yes"},
	{"SamplingMessageContentBlock", `{"type":"tool_result","toolUseId":"","content":[]}`, "no no no yes yes"},
	{"ElicitRequest", `{"jsonrpc":"2.0","id":1,"method":"elicitation/create",
		"params":{"mode":"url","message":"","elicitationId":"","url":""}}`,
		"- - no yes yes"},
	{"ElicitRequestFormParams", `{"message":"","requestedSchema":{"type":"object","properties":{},"$schema":1}}`,
		"- - yes no no"},
	{"PrimitiveSchemaDefinition", `{"type":"array","items":{"type":"string","enum":[]}}`, "- - no yes yes"},
	{"PrimitiveSchemaDefinition", `{"type":"string","oneOf":[{"const":"","title":""}],"format":"none"}`,
		"- - no yes yes"},
	{"PrimitiveSchemaDefinition", `{"type":"string","enum":["a"],"format":"none"}`, "- - yes yes yes"}, // by EnumSchema
	{"StringSchema", `{"type":"string","default":1}`, "- - yes no no"},
	{"ElicitResult", `{"action":"accept","content":{"colours":["red"]}}`, "- - no yes yes"},
	{"NumberSchema", `{"type":"number","default":""}`, "- - yes no no"},

	// 2026-07-28
	{"Request", `{"jsonrpc":"2.0","id":1,"method":"a"}`, "yes yes yes yes no"},
	{"RequestParams", `{}`, "yes yes yes yes no"},
	{"RequestMeta", `{"io.modelcontextprotocol/protocolVersion":"a"}`, "yes yes yes yes no"},
	{"NotificationMeta", `{"io.modelcontextprotocol/subscriptionId":null}`, "yes yes yes yes no"},
	{"Result", `{}`, "yes yes yes yes no"},
	{"ResultMeta", `{"io.modelcontextprotocol/serverInfo":{}}`, "yes yes yes yes no"},
	{"ServerCapabilities", `{"extensions":{"a/b":true}}`, "yes yes yes yes no"},
	{"ClientCapabilities", `{"roots":{"listChanged":1}}`, "no no no no yes"},
	{"ClientCapabilities", `{"extensions":[]}`, "yes yes yes yes no"},
	{"CallToolRequest", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"","requestState":1,
		"_meta":{"io.modelcontextprotocol/protocolVersion":"","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		"yes yes yes yes no"},
	{"ReadResourceRequest", `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"","requestState":1,
		"_meta":{"io.modelcontextprotocol/protocolVersion":"","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		"yes yes yes yes no"},
	{"GetPromptRequest", `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"","inputResponses":[],
		"_meta":{"io.modelcontextprotocol/protocolVersion":"","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		"yes yes yes yes no"},
	{"ListToolsResult", `{"resultType":"complete","tools":[]}`, "yes yes yes yes no"},
	{"ListResourcesResult", `{"resultType":"complete","resources":[],"ttlMs":-1,"cacheScope":"public"}`,
		"yes yes yes yes no"},
	{"ListResourceTemplatesResult", `{"resultType":"complete","resourceTemplates":[],"ttlMs":0,"cacheScope":""}`,
		"yes yes yes yes no"},
	{"ListPromptsResult", `{"resultType":"complete","prompts":[],"ttlMs":0.5,"cacheScope":"private"}`,
		"yes yes yes yes no"},
	{"ReadResourceResult", `{"resultType":"complete","contents":[],"ttlMs":0}`, "yes yes yes yes no"},
	{"Tool", `{"name":"","inputSchema":{"type":"object"},"execution":[]}`, "yes yes yes no yes"},
	{"ToolSchema", `{"type":"object","properties":[]}`, "no no no no yes"}, // by Compile
	{"ToolOutputSchema", `{"anyOf":[]}`, "- - no no yes"},
	{"CallToolResult", `{"resultType":"complete","content":[],"structuredContent":null}`, "yes yes no no yes"},
	{"ToolResultContent", `{"type":"tool_result","toolUseId":"","content":[],"structuredContent":[]}`, "- - - no yes"},
	{"ListRootsRequest", `{"method":"roots/list"}`, "no no no no yes"},
	{"ListRootsResult", `{"roots":[],"_meta":null}`, "no no no no yes"},
	{"CreateMessageRequest", `{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}`,
		"no no no no yes"},
	{"CreateMessageRequestParams", `{"messages":[],"maxTokens":1,"task":null}`, "yes yes yes no yes"},
	{"ElicitRequest", `{"method":"elicitation/create","params":{"message":"",
		"requestedSchema":{"type":"object","properties":{}}}}`, "- - no no yes"},
	{"ElicitRequestFormParams", `{"message":"","requestedSchema":{"type":"object","properties":{}},"task":null}`,
		"- - yes no yes"},
	{"ElicitRequestURLParams", `{"mode":"url","message":"","url":""}`, "- - - no yes"},
	{"ElicitResult", `{"action":"accept","_meta":null}`, "- - no no yes"},
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

// TestChangesAreComplete proves that the table has a row for every definition whose text changes from one revision to
// the next.
func TestChangesAreComplete(t *testing.T) {
	revisions := messages().Revisions
	for i := 1; i < len(revisions); i++ {
		before, after := messages().definitions(revisions[i-1]), messages().definitions(revisions[i])
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
