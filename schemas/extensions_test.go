package schemas

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const tasks = "io.modelcontextprotocol/tasks"

// TestMethodsOfExtensions holds that an extension defines its methods where it is named, and in the revisions that it
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
		{ResultDefinition, "tasks/get", tasks, "GetTaskResult", "", "GetTaskResult"},
		{ResultDefinition, "tasks/update", tasks, "UpdateTaskResult", "", ""},
		{ResultDefinition, "tasks/list", tasks, "", "", "ListTasksResult"},
		{ResultDefinition, "tools/call", tasks, "CallToolResult", "CallToolResult", "CallToolResult"},
		{ofType("task"), "tools/call", tasks, "CreateTaskResult", "", ""},
		{ofType("task"), "prompts/get", tasks, "", "", ""},
		{ofType("complete"), "tasks/cancel", tasks, "CancelTaskResult", "", "CancelTaskResult"},
		{ofType("input_required"), "tools/call", tasks, "InputRequiredResult", "InputRequiredResult", ""},
		{NotificationDefinition, "notifications/tasks", tasks, "TaskStatusNotification", "", ""},
		{NotificationDefinition, "notifications/subscriptions/acknowledged", tasks,
			"TaskSubscriptionsAcknowledgedNotification", "SubscriptionsAcknowledgedNotification", ""},
		{ClientRequestDefinition, "tasks/get", tasks, "GetTaskRequest", "", "GetTaskRequest"},
		{ResultDefinition, "tasks/get", "example.com/tasks", "", "", "GetTaskResult"},
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
	if diff := cmp.Diff([]string{"complete", "input_required", "task"}, ResultTypes("2026-07-28", tasks)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := ResultTypes("2025-11-25", tasks); got != nil {
		t.Errorf("2025-11-25: got %v, want none", got)
	}
}

// TestMessagesOfTasks goes through specification/draft/tasks.md of ext-tasks.
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
			"/createdAt: want string, got number", "/pollIntervalMs: want integer, got string",
			"/taskId: want string, got number", "/ttlMs: want null or integer, got number with a fraction",
		}},
		{"another type on the handle", "CreateTaskResult", `{"resultType":"complete",@,"status":"working"}`,
			[]string{`/resultType: want "task", got "complete"`}},
		{"the type of the handle on another result", "GetTaskResult", `{"resultType":"task",@,"status":"working"}`,
			[]string{`/resultType: want "complete", got "task"`}},
		{"working", "GetTaskResult", `{"resultType":"complete",@,"status":"working","x":1}`, nil},
		{"cancelled", "GetTaskResult", `{"resultType":"complete",@,"status":"cancelled"}`, nil},
		{"an unknown status", "GetTaskResult", `{"resultType":"complete",@,"status":"done"}`, []string{
			`/status: want one of "working", "input_required", "completed", "failed", "cancelled", got "done"`,
		}},
		{"no status", "GetTaskResult", `{"resultType":"complete",@}`, []string{`missing required member "status"`}},
		{"waiting for input", "GetTaskResult", `{"resultType":"complete",@,"status":"input_required","inputRequests":{
			"name":{"method":"elicitation/create","params":{"mode":"form","message":"",
			"requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}}}}`, nil},
		{"waiting for nothing", "GetTaskResult", `{"resultType":"complete",@,"status":"input_required"}`,
			[]string{`missing required member "inputRequests"`}},
		{"waiting for something else", "GetTaskResult", `{"resultType":"complete",@,"status":"input_required",
			"inputRequests":{"a":{"method":"ping"}}}`, []string{
			`/inputRequests/a/method: want one of "elicitation/create", "sampling/createMessage", "roots/list", ` +
				`got "ping"`,
		}},
		{"completed", "GetTaskResult", `{"resultType":"complete",@,"status":"completed",
			"result":{"content":[{"type":"text","text":"a"}],"isError":true}}`, nil},
		{"completed without result", "GetTaskResult", `{"resultType":"complete",@,"status":"completed"}`,
			[]string{`missing required member "result"`}},
		{"failed", "GetTaskResult", `{"resultType":"complete",@,"status":"failed",
			"error":{"code":-32603,"message":"a"}}`, nil},
		{"failed with a text", "GetTaskResult", `{"resultType":"complete",@,"status":"failed","error":"a"}`,
			[]string{"/error: want object, got string"}},
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
			[]string{"/params/notifications/taskIds: want array, got string"}},
		{"an update", "UpdateTaskRequest", `{"jsonrpc":"2.0","id":1,"method":"tasks/update","params":{"taskId":"a",
			"_meta":{"io.modelcontextprotocol/protocolVersion":"","io.modelcontextprotocol/clientCapabilities":{}}}}`,
			[]string{`/params: missing required member "inputResponses"`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			value := decode(t, strings.ReplaceAll(test.value, "@", seed))
			got := lines(ValidateMessage("2026-07-28", test.definition, value))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
