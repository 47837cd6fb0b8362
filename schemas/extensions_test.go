package schemas

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	tasksExtension  = "io.modelcontextprotocol/tasks"
	skillsExtension = "io.modelcontextprotocol/skills"
)

// TestMethodsOfExtensions proves that an extension defines its methods where it is named, and in the revisions that it
// extends.
func TestMethodsOfExtensions(t *testing.T) {
	type lookup func(revision, method string, extensions ...string) (string, bool)
	ofType := func(resultType string) lookup {
		return func(revision, method string, extensions ...string) (string, bool) {
			return ResultTypeDefinition(revision, method, resultType, extensions...)
		}
	}
	tests := []struct {
		lookup                 lookup
		method, extension      string
		with, without, earlier string // definitions in 2026-07-28 with and without it, and with it in 2025-11-25
	}{
		{ResultDefinition, "tasks/get", tasksExtension, "GetTaskResult", "", "GetTaskResult"},
		{ResultDefinition, "tasks/update", tasksExtension, "UpdateTaskResult", "", ""},
		{ResultDefinition, "tasks/list", tasksExtension, "", "", "ListTasksResult"},
		{ResultDefinition, "tools/call", tasksExtension, "CallToolResult", "CallToolResult", "CallToolResult"},
		{ofType("task"), "tools/call", tasksExtension, "CreateTaskResult", "", ""},
		{ofType("task"), "prompts/get", tasksExtension, "", "", ""},
		{ofType("complete"), "tasks/cancel", tasksExtension, "CancelTaskResult", "", "CancelTaskResult"},
		{ofType("input_required"), "tools/call", tasksExtension, "InputRequiredResult", "InputRequiredResult", ""},
		{NotificationDefinition, "notifications/tasks", tasksExtension, "TaskStatusNotification", "", ""},
		{NotificationDefinition, "notifications/subscriptions/acknowledged", tasksExtension,
			"TaskSubscriptionsAcknowledgedNotification", "SubscriptionsAcknowledgedNotification", ""},
		{ClientRequestDefinition, "tasks/get", tasksExtension, "GetTaskRequest", "", "GetTaskRequest"},
		{ResultDefinition, "tasks/get", "example.com/tasks", "", "", "GetTaskResult"},
		{ResultDefinition, "tasks/get", skillsExtension, "", "", "GetTaskResult"},
		{ResultDefinition, "skills/list", skillsExtension, "ListSkillsResult", "", ""},
		{ResultDefinition, "skills/get", skillsExtension, "GetSkillResult", "", ""},
		{ofType("input_required"), "skills/get", skillsExtension, "", "", ""},
		{ResultDefinition, "resources/directory/read", skillsExtension, "ReadResourceDirectoryResult", "", ""},
		{ClientRequestDefinition, "skills/get", skillsExtension, "GetSkillRequest", "", ""},
		{ResultDefinition, "skills/list", tasksExtension, "", "", ""},
	}
	for _, test := range tests {
		with, _ := test.lookup("2026-07-28", test.method, "example.com/other", test.extension)
		without, _ := test.lookup("2026-07-28", test.method)
		earlier, _ := test.lookup("2025-11-25", test.method, test.extension)
		got := []string{with, without, earlier}
		if diff := cmp.Diff([]string{test.with, test.without, test.earlier}, got); diff != "" {
			t.Errorf("%s with %s (-want +got)\n%s", test.method, test.extension, diff)
		}
	}
}

func TestResultTypesOfExtensions(t *testing.T) {
	if diff := cmp.Diff([]string{"complete", "input_required", "task"},
		ResultTypes("2026-07-28", tasksExtension)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := ResultTypes("2025-11-25", tasksExtension); got != nil {
		t.Errorf("2025-11-25: got %v, want none", got)
	}
}

// TestMessagesOfTasks follows specification/2026-07-28/tasks.md of ext-tasks.
func TestMessagesOfTasks(t *testing.T) {
	const seed = `"taskId":"a","createdAt":"2026-07-28T10:30:00Z","lastUpdatedAt":"2026-07-28T10:40:00Z","ttlMs":60000`
	tests := []struct {
		name, definition, value string // @ is a task without status
		want                    []string
	}{
		{"the task of the page", "CreateTaskResult", `{"resultType":"task",@,"status":"working","statusMessage":"a",
			"pollIntervalMs":5000}`, nil},
		{"an unlimited task", "CreateTaskResult", `{"resultType":"task","taskId":"a","status":"completed",
			"createdAt":"","lastUpdatedAt":"","ttlMs":null}`, nil},
		{"the form of 2025-11-25", "CreateTaskResult", `{"task":{"taskId":"a","status":"working","createdAt":"",
			"lastUpdatedAt":"","ttl":1}}`, []string{
			`missing required member "createdAt"`, `missing required member "lastUpdatedAt"`,
			`missing required member "resultType"`, `missing required member "status"`,
			`missing required member "taskId"`, `missing required member "ttlMs"`,
		}},
		{"integer milliseconds", "CreateTaskResult", `{"resultType":"task","taskId":1,"status":"working","createdAt":0,
			"lastUpdatedAt":"","ttlMs":0.5,"pollIntervalMs":"1"}`, []string{
			"/createdAt: expected string, got number", "/pollIntervalMs: expected integer, got string",
			"/taskId: expected string, got number", "/ttlMs: expected null or integer, got number with a fraction",
		}},
		{"another type on the handle", "CreateTaskResult", `{"resultType":"complete",@,"status":"working"}`,
			[]string{`/resultType: expected "task", got "complete"`}},
		{"the type of the handle on another result", "GetTaskResult", `{"resultType":"task",@,"status":"working"}`,
			[]string{`/resultType: expected "complete", got "task"`}},
		{"working", "GetTaskResult", `{"resultType":"complete",@,"status":"working","x":1}`, nil},
		{"cancelled", "GetTaskResult", `{"resultType":"complete",@,"status":"cancelled"}`, nil},
		{"an unknown status", "GetTaskResult", `{"resultType":"complete",@,"status":"done"}`, []string{
			`/status: expected one of "working", "input_required", "completed", "failed", "cancelled", got "done"`,
		}},
		{"no status", "GetTaskResult", `{"resultType":"complete",@}`, []string{`missing required member "status"`}},
		{"waiting for input", "GetTaskResult", `{"resultType":"complete",@,"status":"input_required","inputRequests":{
			"name":{"method":"elicitation/create","params":{"mode":"form","message":"",
			"requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}}}}`, nil},
		{"waiting for nothing", "GetTaskResult", `{"resultType":"complete",@,"status":"input_required"}`,
			[]string{`missing required member "inputRequests"`}},
		{"waiting for something else", "GetTaskResult", `{"resultType":"complete",@,"status":"input_required",
			"inputRequests":{"a":{"method":"ping"}}}`, []string{
			`/inputRequests/a/method: expected one of "elicitation/create", "sampling/createMessage", "roots/list", ` +
				`got "ping"`,
		}},
		{"completed", "GetTaskResult", `{"resultType":"complete",@,"status":"completed",
			"result":{"content":[{"type":"text","text":"a"}],"isError":true}}`, nil},
		{"completed without result", "GetTaskResult", `{"resultType":"complete",@,"status":"completed"}`,
			[]string{`missing required member "result"`}},
		{"failed", "GetTaskResult", `{"resultType":"complete",@,"status":"failed",
			"error":{"code":-32603,"message":"a"}}`, nil},
		{"failed with a text", "GetTaskResult", `{"resultType":"complete",@,"status":"failed","error":"a"}`,
			[]string{"/error: expected object, got string"}},
		{"failed without a code", "GetTaskResult", `{"resultType":"complete",@,"status":"failed",
			"error":{"message":"a"}}`,
			[]string{`/error: missing required member "code"`}},
		{"an acknowledgment", "UpdateTaskResult", `{"resultType":"complete","_meta":{}}`, nil},
		{"an acknowledgment of an earlier revision", "CancelTaskResult", `{}`,
			[]string{`missing required member "resultType"`}},
		{"a notification", "TaskStatusNotification", `{"jsonrpc":"2.0","method":"notifications/tasks",
			"params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1},@,"status":"completed","result":{}}}`, nil},
		{"a notification of a part", "TaskStatusNotification", `{"jsonrpc":"2.0","method":"notifications/tasks",
			"params":{"taskId":"a","status":"working"}}`, []string{
			`/params: missing required member "createdAt"`, `/params: missing required member "lastUpdatedAt"`,
			`/params: missing required member "ttlMs"`,
		}},
		{"acknowledged tasks", "TaskSubscriptionsAcknowledgedNotification", `{"jsonrpc":"2.0",
			"method":"notifications/subscriptions/acknowledged","params":{"notifications":{"taskIds":"a"},
			"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}`,
			[]string{"/params/notifications/taskIds: expected array, got string"}},
		{"an update", "UpdateTaskRequest", `{"jsonrpc":"2.0","id":1,"method":"tasks/update","params":{"taskId":"a",
			"_meta":{"io.modelcontextprotocol/protocolVersion":"","io.modelcontextprotocol/clientCapabilities":{}}}}`,
			[]string{`/params: missing required member "inputResponses"`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			expectViolations(t, test.definition, strings.ReplaceAll(test.value, "@", seed), test.want)
		})
	}
}

// expectViolations expects these violations of a definition of 2026-07-28.
func expectViolations(t *testing.T, definition, value string, want []string) {
	t.Helper()
	got := lines(ValidateMessage("2026-07-28", definition, decode(t, value)))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestMessagesOfSkills follows specification/stable/skills.mdx of ext-skills.
func TestMessagesOfSkills(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0123456789abcdef", 4)
	tests := []struct {
		name, definition, value string // @ is a digest
		want                    []string
	}{
		{"settings", "SkillsSettings", `{"directoryRead":true,"x":1}`, nil},
		{"no settings", "SkillsSettings", `{}`, nil},
		{"a word for a flag", "SkillsSettings", `{"directoryRead":"yes"}`,
			[]string{"/directoryRead: expected boolean, got string"}},
		{"the listing of the page", "ListSkillsResult", `{"resultType":"complete","skills":[
			{"uri":"skill://acme/billing/refunds/SKILL.md","frontmatter":{"name":"refunds","description":"a",
				"license":"Apache-2.0","metadata":{"version":1}},
				"resources":[{"uri":"skill://acme/billing/refunds/SKILL.md","digest":"@","size":3871}]},
			{"uri":"skill://reports/daily/SKILL.md","frontmatter":{"name":"daily","description":""},
				"resources":"dynamic"}],"nextCursor":"a","ttlMs":300000,"cacheScope":"public"}`, nil},
		{"an empty listing", "ListSkillsResult",
			`{"resultType":"complete","skills":[],"ttlMs":0,"cacheScope":"private"}`, nil},
		{"a listing without cache hints", "ListSkillsResult", `{"resultType":"complete","skills":[]}`,
			[]string{`missing required member "cacheScope"`, `missing required member "ttlMs"`}},
		{"a listing that asks for input", "ListSkillsResult",
			`{"resultType":"input_required","skills":[],"ttlMs":0,"cacheScope":"public"}`,
			[]string{`/resultType: expected "complete", got "input_required"`}},
		{"an entry without anything", "Skill", `{}`, []string{
			`missing required member "frontmatter"`, `missing required member "resources"`,
			`missing required member "uri"`,
		}},
		{"frontmatter without name and description", "Skill", `{"uri":"","frontmatter":{"license":""},"resources":[]}`,
			[]string{
				`/frontmatter: missing required member "description"`, `/frontmatter: missing required member "name"`,
			}},
		{"frontmatter as text", "Skill", `{"uri":"","frontmatter":"name: a","resources":[]}`,
			[]string{"/frontmatter: expected object, got string"}},
		{"neither a list nor dynamic", "Skill", `{"uri":"","frontmatter":{"name":"","description":""},
			"resources":"static"}`, []string{`/resources: expected "dynamic", got "static"`}},
		{"null for the resources", "Skill", `{"uri":"","frontmatter":{"name":"","description":""},"resources":null}`,
			[]string{"/resources: expected string or array, got null"}},
		{"bad resources", "Skill", `{"uri":"","frontmatter":{"name":"","description":""},"resources":[{},
			{"uri":1,"digest":"@","size":-1},{"uri":"","digest":"@","size":0.5},{"uri":"","digest":null,"size":0}]}`,
			[]string{
				`/resources/0: missing required member "digest"`, `/resources/0: missing required member "size"`,
				`/resources/0: missing required member "uri"`, "/resources/1/size: expected at least 0, got -1",
				"/resources/1/uri: expected string, got number",
				"/resources/2/size: expected integer, got number with a fraction",
				"/resources/3/digest: expected string, got null",
			}},
		{"an entry", "GetSkillResult", `{"resultType":"complete","skill":{"uri":"","frontmatter":{"name":"",
			"description":""},"resources":[]},"ttlMs":0,"cacheScope":"public"}`, nil},
		{"the entry itself as result", "GetSkillResult", `{"resultType":"complete","uri":"","ttlMs":0,
			"cacheScope":"public"}`, []string{`missing required member "skill"`}},
		{"a directory, which has no cache hints", "ReadResourceDirectoryResult", `{"resultType":"complete","resources":[
			{"uri":"skill://a/b","name":"b","mimeType":"inode/directory"}]}`, nil},
		{"a directory of entries without name", "ReadResourceDirectoryResult", `{"resultType":"complete","resources":[
			{"uri":"skill://a/b"}]}`, []string{`/resources/0: missing required member "name"`}},
		{"a request without uri", "GetSkillRequest", `{"jsonrpc":"2.0","id":1,"method":"skills/get","params":{"_meta":{
			"io.modelcontextprotocol/protocolVersion":"","io.modelcontextprotocol/clientCapabilities":{}}}}`,
			[]string{`/params: missing required member "uri"`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			expectViolations(t, test.definition, strings.ReplaceAll(test.value, "@", digest), test.want)
		})
	}
}

// TestDigestsOfSkills proves that a digest is "sha256:{hex}" with 64 lowercase hexadecimal characters.
func TestDigestsOfSkills(t *testing.T) {
	hex := strings.Repeat("0123456789abcdef", 4)
	for digest, legal := range map[string]bool{
		"sha256:" + hex: true, "sha256:" + strings.ToUpper(hex): false, "SHA256:" + hex: false, hex: false,
		"sha256:" + hex[1:]: false, "sha256:" + hex + "0": false, "sha256:" + hex + "\\n": false, "": false,
		"sha512:" + hex: false, "sha256-" + hex: false,
	} {
		value := decode(t, `{"uri":"","size":0,"digest":"`+digest+`"}`)
		if got := ValidateMessage("2026-07-28", "SkillResource", value); (got == nil) != legal {
			t.Errorf("%q: got %v, want legal: %v", digest, got, legal)
		}
	}
}

// TestMetadataOfApps follows specification/2026-01-26/apps.mdx of ext-apps.
func TestMetadataOfApps(t *testing.T) {
	tests := []struct {
		name, definition, value string
		want                    []string
	}{
		{"what a client declares", "UISettings", `{"mimeTypes":["text/html;profile=mcp-app"],"features":["a"]}`, nil},
		{"REQUIRED mimeTypes", "UISettings", `{}`, []string{`missing required member "mimeTypes"`}},
		{"a tool with a view", "UITool", `{"name":"a","_meta":{"x":1,"ui":{"resourceUri":"ui://a","x":1,
			"visibility":["model","app"]}}}`, nil},
		{"a tool without one", "UITool", `{"name":"a","_meta":{}}`, nil},
		{"a tool for apps alone", "UITool", `{"_meta":{"ui":{"visibility":["app"]}}}`, nil},
		{"visibility is a list", "UITool", `{"_meta":{"ui":{"resourceUri":["ui://a"],"visibility":"app"}}}`, []string{
			"/_meta/ui/resourceUri: expected string, got array", "/_meta/ui/visibility: expected array, got string",
		}},
		{"visibility of two words", "UITool", `{"_meta":{"ui":{"visibility":["both"]}}}`,
			[]string{`/_meta/ui/visibility/0: expected one of "model", "app", got "both"`}},
		{"the flat key", "UITool", `{"_meta":{"ui/resourceUri":1}}`,
			[]string{"/_meta/ui~1resourceUri: expected string, got number"}},
		{"all settings of a resource", "UIResource", `{"uri":"ui://a","_meta":{"ui":{"csp":{"connectDomains":["a"],
			"resourceDomains":[],"frameDomains":["b"],"baseUriDomains":["c"]},"permissions":{"camera":{},
			"microphone":{},"geolocation":{},"clipboardWrite":{},"x":1},"domain":"a","prefersBorder":false,"x":1}}}`,
			nil},
		{"settings of other types", "UIResource", `{"_meta":{"ui":{"csp":{"connectDomains":"a","resourceDomains":[1]},
			"permissions":{"camera":true},"domain":1,"prefersBorder":"no"}}}`, []string{
			"/_meta/ui/csp/connectDomains: expected array, got string",
			"/_meta/ui/csp/resourceDomains/0: expected string, got number",
			"/_meta/ui/domain: expected string, got number",
			"/_meta/ui/permissions/camera: expected object, got boolean",
			"/_meta/ui/prefersBorder: expected boolean, got string",
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { expectViolations(t, test.definition, test.value, test.want) })
	}
}
