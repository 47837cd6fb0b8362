package kit

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpcheck/mcpcheck/schemas"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

// OwnerOf is the id of the one entry that reports a violation of a message's schema in a revision: the entry that is
// made for that member or, for want of one, that for null at optional members, or the umbrella of the message.
func OwnerOf(v schemas.Violation, revision string) string {
	general := "schema/all-server-messages-valid"
	if v.NullOptional {
		general = "schema/optional-members-not-null"
	}
	path := strings.Split(memberPath(v), "/")
	for _, o := range ownersIn(revision) {
		if (o.Definition == "" || o.Definition == v.Definition) && matchPath(strings.Split(o.Path, "/"), path) {
			return cmp.Or(o.ID, general)
		}
	}
	if umbrella, ok := umbrellas[v.Definition]; ok && !v.NullOptional {
		return umbrella
	}
	return general
}

// ownersIn are the rows that count in a revision, in their order.
func ownersIn(revision string) []Owned {
	if IsModern(revision) {
		return slices.Concat(ModernOwners, Owners, modernTaskOwners)
	}
	return slices.Concat(Owners, taskOwners)
}

// memberPath is where a violation is: a missing member counts at its own path, and a value that an enum does not list
// is one more step.
func memberPath(v schemas.Violation) string {
	name := ""
	switch v.Keyword {
	case "required":
		name = firstQuoted(strings.TrimPrefix(v.Rule, "missing required member "))
	case "enum":
		name = firstQuoted(v.Rule[strings.LastIndex(v.Rule, " got ")+len(" got "):])
	}
	if name == "" {
		return v.Path
	}
	return v.Path + "/" + pointerStep.Replace(name)
}

// pointerStep writes a name as a step of a JSON pointer.
var pointerStep = strings.NewReplacer("~", "~0", "/", "~1")

// firstQuoted is the string in quotes that a text begins with; empty when it does not.
func firstQuoted(text string) string {
	quoted, _ := strconv.QuotedPrefix(text)
	name, _ := strconv.Unquote(quoted)
	return name
}

// matchPath reports whether a path fits a pattern, in which * is any step and ** any number of steps.
func matchPath(pattern, path []string) bool {
	switch {
	case len(pattern) == 0:
		return len(path) == 0
	case pattern[0] == "**":
		return matchPath(pattern[1:], path) || len(path) > 0 && matchPath(pattern, path[1:])
	case len(path) == 0:
		return false
	}
	return (pattern[0] == "*" || pattern[0] == path[0]) && matchPath(pattern[1:], path[1:])
}

// umbrellas are the entries for what no other entry owns, by definition.
var umbrellas = map[string]string{
	"ListToolsResult": "tools/list-result-schema",
	"CallToolResult":  "tools/call-result-schema",

	"ListResourcesResult":         "resources/list-result-schema",
	"ListResourceTemplatesResult": "resources/templates-result-schema",
	"ReadResourceResult":          "resources/read-result-schema",

	"ListPromptsResult": "prompts/list-result-schema",
	"GetPromptResult":   "prompts/get-result-schema",
	"CompleteResult":    "completion/result-schema",

	"CreateMessageRequest": samplingRequest,
}

// Owners are the entries with a built check that report violations of one member, in every definition when none is
// named. The first row that fits counts; one without an id leaves the member to the general entries. An area that gets
// checks adds its rows; until then the general entries report.
var Owners = slices.Concat(elicitedOwners, inputOwners, subscriptionOwners, utilityOwners, []Owned{
	{"", "", "jsonrpc/result-is-object"}, // a result that is not an object; missing members have a path
	{"", "/jsonrpc", "jsonrpc/version-field"},
	{"", "/id", "jsonrpc/server-request-id-type"},

	{"InitializeResult", "/protocolVersion", "lifecycle/initialize-result-fields"},
	{"InitializeResult", "/capabilities", "lifecycle/initialize-result-fields"},
	{"InitializeResult", "/serverInfo", "lifecycle/initialize-result-fields"},
	{"InitializeResult", "/serverInfo/name", "lifecycle/server-info-fields"},
	{"InitializeResult", "/serverInfo/version", "lifecycle/server-info-fields"},
	{"InitializeResult", "/instructions", "schema/instructions-type"},
	{"InitializeResult", "/capabilities/tasks/**", "tasks/capability-shape"},
	{"InitializeResult", "/capabilities/**", "schema/capability-shapes"},

	{"CreateTaskResult", "/ttlMs", "tasks-ext/create-shape"}, // which is not the one of caches
	{"GetTaskResult", "/ttlMs", "tasks-ext/create-shape"},

	{"", "/**/_meta", "schema/meta-is-object"},
	{"", "/**/icons/**", "schema/icon-shape"},
	{"", "/_meta/io.modelcontextprotocol~1serverInfo/**", "result/server-info-shape"},
	{"", "/resultType", "result/type-present"},
	{"", "/ttlMs", "caching/ttl-non-negative-integer"}, // or, where it is missing, the one of the method
	{"", "/cacheScope/**", "caching/scope-enum"},       // likewise
	{"DiscoverResult", "/supportedVersions/**", "discover/required-members"},
	{"DiscoverResult", "/capabilities", "discover/required-members"},
	{"DiscoverResult", "/capabilities/extensions/**", "discover/extensions-shape"},
	{"DiscoverResult", "/capabilities/**", "schema/capability-shapes"},
	{"DiscoverResult", "/instructions", "schema/instructions-type"},
	{"", "/**/annotations/audience/**", "schema/annotations-audience"},
	{"", "/**/annotations/priority", "schema/annotations-priority"},
	{"", "/**/annotations/lastModified", "schema/annotations-last-modified"},
}, clientOwners, listOwners, resourceOwners, toolOwners, promptOwners, skillOwners)

// ModernOwners come before Owners in revisions without a handshake, where other entries hold for the same members.
var ModernOwners = []Owned{
	{"ListToolsResult", "/tools/*/outputSchema", "tools/output-schema-valid"},
}

// inputOwners are the rows of the area mrtr.
var inputOwners = []Owned{
	{"InputRequiredResult", "", "mrtr/requests-or-state"},
	{"InputRequiredResult", "/requestState", "mrtr/request-state-string"},
}

// clientOwners are the rows of what servers ask of their clients, by requests of their own, in results and in tasks.
// What no area has of the requests in results, the area mrtr has.
var clientOwners = slices.Concat(
	anywhere("CreateMessageRequest", samplingOwners),
	[]Owned{
		{"ElicitRequest", "/params", "elicitation/form-request-schema"},
		{"ElicitationCompleteNotification", "/params", "elicitation/complete-known-id"},
		{"ElicitationCompleteNotification", "/params/elicitationId", "elicitation/complete-known-id"},
		{"URLElicitationRequiredError", "/error/data/**", "elicitation/required-error-shape"},
		{"ListRootsRequest", "/params/**", "roots/request-schema"},
		{"InputRequiredResult", "/inputRequests/**", "mrtr/input-request-methods"},
	},
)

// anywhere are rows of a request, wherever it is asked: those of different requests have no member in common.
func anywhere(definition string, rows []Owned) (all []Owned) {
	for _, row := range rows {
		all = append(all, Owned{definition, row.Path, row.ID},
			Owned{"InputRequiredResult", "/inputRequests/*" + row.Path, row.ID},
			Owned{"GetTaskResult", "/inputRequests/*" + row.Path, row.ID})
	}
	return all
}

// elicitedOwners are the rows of the area elicitation. What both modes have counts for forms; the area itself tells
// them apart.
var elicitedOwners = anywhere("ElicitRequest", []Owned{
	{Path: "/params/requestedSchema/properties/*/format/**", ID: "elicitation/string-format"},
	{Path: "/params/requestedSchema/properties/*/**", ID: "elicitation/flat-primitive-schema"},
	{Path: "/params/requestedSchema/**", ID: "elicitation/form-request-schema"},
	{Path: "/params/mode/**", ID: "elicitation/mode-supported-by-client"},
	{Path: "/params/message", ID: "elicitation/form-request-schema"},
	{Path: "/params/url", ID: "elicitation/url-request-schema"},
	{Path: "/params/elicitationId", ID: "elicitation/url-request-schema"},
})

// samplingOwners are the rows of the area sampling.
var samplingOwners = []Owned{
	{Path: "/params/messages/*/content/type/**", ID: "sampling/content-types"},
	{Path: "/params/messages/*/content/*/type/**", ID: "sampling/content-types"},
	{Path: "/params/messages/*/content/data", ID: samplingMedia},
	{Path: "/params/messages/*/content/*/data", ID: samplingMedia},
	{Path: "/params/messages/*/content/mimeType", ID: samplingMedia},
	{Path: "/params/messages/*/content/*/mimeType", ID: samplingMedia},
	{Path: "/params/messages/**", ID: samplingRequest},
	{Path: "/params/maxTokens", ID: samplingRequest},
	{Path: "/params/systemPrompt", ID: samplingRequest},
	{Path: "/params/temperature", ID: samplingRequest},
	{Path: "/params/stopSequences/**", ID: samplingRequest},
	{Path: "/params/metadata", ID: samplingRequest},
	{Path: "/params/includeContext/**", ID: "sampling/include-context-values"},
	{Path: "/params/modelPreferences/costPriority", ID: samplingPriorities},
	{Path: "/params/modelPreferences/speedPriority", ID: samplingPriorities},
	{Path: "/params/modelPreferences/intelligencePriority", ID: samplingPriorities},
	{Path: "/params/modelPreferences/**", ID: samplingRequest},
	{Path: "/params/toolChoice/**", ID: "sampling/tool-choice-mode"},
	{Path: "/params/tools/**", ID: "sampling/tool-definitions-valid"},
}

const (
	samplingRequest    = "sampling/request-schema"
	samplingMedia      = "sampling/binary-base64"
	samplingPriorities = "sampling/priorities-in-range"
)

// subscriptionOwners are the rows of the area subscriptions.
var subscriptionOwners = []Owned{
	{"SubscriptionsAcknowledgedNotification", "/params/notifications/**", "subscriptions/ack-shape"},
	{"SubscriptionsAcknowledgedNotification", "/params/_meta", "subscriptions/ack-id"},
	{"SubscriptionsAcknowledgedNotification", metaSubscription, "subscriptions/ack-id"},
	{"SubscriptionsListenResult", "/_meta", "subscriptions/close-result-shape"},
	{"SubscriptionsListenResult", strings.TrimPrefix(metaSubscription, "/params"), "subscriptions/close-result-shape"},
}

// utilityOwners are the rows of the notifications that requests bring: of their progress, and of what is logged.
var utilityOwners = []Owned{
	{"ProgressNotification", "/params", "progress/params-valid"},
	{"ProgressNotification", "/params/progress", "progress/params-valid"},
	{"ProgressNotification", "/params/total", "progress/params-valid"},
	{"ProgressNotification", "/params/message", "progress/params-valid"},
	{"ProgressNotification", "/params/progressToken", "progress/known-token"},
	{"", "/params/_meta/progressToken", "progress/server-token-valid"},
	{"LoggingMessageNotification", "/params", "logging/message-schema"},
	{"LoggingMessageNotification", "/params/level/**", "logging/message-schema"},
	{"LoggingMessageNotification", "/params/logger", "logging/message-schema"},
	{"LoggingMessageNotification", "/params/data", "logging/message-schema"},
}

// skillOwners are the rows of the area skills, after those of all results.
var skillOwners = []Owned{
	{"ListSkillsResult", "/skills/*/frontmatter/**", "skills/frontmatter-present"},
	{"ListSkillsResult", "/skills/*/resources/**", "skills/resource-entries"}, // and its siblings
	{"ListSkillsResult", "/skills/*/uri", "skills/entry-uri"},
	{"ListSkillsResult", "/skills/**", "skills/list-implemented"},
	{"GetSkillResult", "/skill/**", "skills/get-implemented"},
	{"ReadResourceDirectoryResult", "/resources/**", "skills/directory-read-implemented"},
}

// metaSubscription is where a notification says which subscription it is for.
const metaSubscription = "/params/_meta/io.modelcontextprotocol~1subscriptionId"

// listOwners are the rows of the area pagination.
var listOwners = []Owned{
	{"ListToolsResult", "/nextCursor", nextCursor},
	{"ListPromptsResult", "/nextCursor", nextCursor},
	{"ListResourcesResult", "/nextCursor", nextCursor},
	{"ListResourceTemplatesResult", "/nextCursor", nextCursor},
	{"ListTasksResult", "/nextCursor", nextCursor},
}

const nextCursor = "pagination/next-cursor-type"

// resourceOwners are the rows of the area resources.
var resourceOwners = []Owned{
	{"ListResourcesResult", "/resources", "resources/list-works"},
	{"ListResourcesResult", "/resources/*/size", "resources/size-type"},
	{"ListResourcesResult", "/resources/*/title", "resources/title-type"},
	{"ListResourceTemplatesResult", "/resourceTemplates", ""},
	{"ListResourceTemplatesResult", "/resourceTemplates/*/title", "resources/title-type"},
	{"ResourceUpdatedNotification", "/params", "resources/updated-schema"},
	{"ResourceUpdatedNotification", "/params/uri", "resources/updated-schema"},
}

// toolOwners are the rows of the area tools.
var toolOwners = []Owned{
	{"ListToolsResult", "/tools", "tools/list-works"},
	{"ListToolsResult", "/tools/*/name", "tools/name-is-string"},
	{"ListToolsResult", "/tools/*/title", "tools/title-type"},
	{"ListToolsResult", "/tools/*/description", "tools/description-type"},
	{"ListToolsResult", "/tools/*/inputSchema", "tools/input-schema-object"},
	{"ListToolsResult", "/tools/*/inputSchema/type", "tools/input-schema-object"},
	{"ListToolsResult", "/tools/*/inputSchema/required/**", "tools/input-schema-required-strings"},
	{"ListToolsResult", "/tools/*/inputSchema/**", "tools/input-schema-valid"},
	{"ListToolsResult", "/tools/*/outputSchema", "tools/output-schema-object"},
	{"ListToolsResult", "/tools/*/outputSchema/type", "tools/output-schema-object"},
	{"ListToolsResult", "/tools/*/outputSchema/**", "tools/output-schema-valid"},
	{"ListToolsResult", "/tools/*/annotations/**", "tools/annotations-valid"},
	{"ListToolsResult", "/tools/*/execution/**", "tools/execution-task-support"},

	{"CallToolResult", "/content", "tools/call-content-present"},
	{"CallToolResult", "/isError", "tools/iserror-type"},
	{"CallToolResult", "/structuredContent", "tools/structured-content-object"},
	{"CallToolResult", "/content/*/type/**", "tools/call-content-types"},
	{"CallToolResult", "/content/*/text", "tools/text-content-shape"},
	{"CallToolResult", "/content/*/data", "tools/image-content-shape"},     // or tools/audio-content-shape
	{"CallToolResult", "/content/*/mimeType", "tools/image-content-shape"}, // or tools/audio-content-shape
	{"CallToolResult", "/content/*/resource", "tools/embedded-resource-shape"},
	{"CallToolResult", "/content/*/resource/uri", "tools/embedded-resource-shape"},
	{"CallToolResult", "/content/*/resource/text", "tools/embedded-resource-shape"},
	{"CallToolResult", "/content/*/resource/blob", "tools/embedded-resource-shape"},
	{"CallToolResult", "/content/*/uri", "tools/resource-link-shape"},
	{"CallToolResult", "/content/*/name", "tools/resource-link-shape"},
}

// promptOwners are the rows of the areas prompts and completion.
var promptOwners = []Owned{
	{"ListPromptsResult", "/prompts", "prompts/list-works"},
	{"ListPromptsResult", "/nextCursor", ""},
	{"ListPromptsResult", "/prompts/*/title", "prompts/title-type"},
	{"ListPromptsResult", "/prompts/*/arguments/*/title", "prompts/title-type"},
	{"ListPromptsResult", "/prompts/**", "prompts/list-result-schema"},

	{"GetPromptResult", "/messages/*/role/*", "prompts/message-role"},
	{"GetPromptResult", "/messages/*/content/type/**", "prompts/content-types"},
	{"GetPromptResult", "/messages/*/content/data", "prompts/image-content"},     // or prompts/audio-content
	{"GetPromptResult", "/messages/*/content/mimeType", "prompts/image-content"}, // or prompts/audio-content
	{"GetPromptResult", "/messages/*/content/resource", "prompts/embedded-resource"},
	{"GetPromptResult", "/messages/*/content/resource/uri", "prompts/embedded-resource"},
	{"GetPromptResult", "/messages/*/content/resource/text", "prompts/embedded-resource"},
	{"GetPromptResult", "/messages/*/content/resource/blob", "prompts/embedded-resource"},
	{"GetPromptResult", "/**", "prompts/get-result-schema"},

	{"CompleteResult", "/completion/**", "completion/result-schema"},
}

// taskOwners are the rows of the tasks of 2025-11-25.
var taskOwners = []Owned{
	{"CreateTaskResult", "/task/taskId", "tasks/id-string"},
	{"CreateTaskResult", "/task/status/**", "tasks/status-values"},
	{"CreateTaskResult", "/task/createdAt", "tasks/timestamps"},
	{"CreateTaskResult", "/task/lastUpdatedAt", "tasks/timestamps"},
	{"CreateTaskResult", "/**", "tasks/create-result"},
	{"GetTaskResult", "/taskId", "tasks/id-string"},
	{"GetTaskResult", "/status/**", "tasks/status-values"},
	{"GetTaskResult", "/createdAt", "tasks/timestamps"},
	{"GetTaskResult", "/lastUpdatedAt", "tasks/timestamps"},
	{"GetTaskResult", "/ttl", "tasks/ttl-reported"},
	{"GetTaskResult", "/**", "tasks/get-result-schema"},
	{"CancelTaskResult", "/taskId", "tasks/id-string"},
	{"CancelTaskResult", "/status/**", "tasks/status-values"},
	{"CancelTaskResult", "/createdAt", "tasks/timestamps"},
	{"CancelTaskResult", "/lastUpdatedAt", "tasks/timestamps"},
	{"CancelTaskResult", "/**", "tasks/cancel-result"},
	{"ListTasksResult", "/tasks/*/taskId", "tasks/id-string"},
	{"ListTasksResult", "/tasks/*/status/**", "tasks/status-values"},
	{"ListTasksResult", "/tasks/*/createdAt", "tasks/timestamps"},
	{"ListTasksResult", "/tasks/*/lastUpdatedAt", "tasks/timestamps"},
	{"ListTasksResult", "/tasks/**", "tasks/list-schema"},
	{"TaskStatusNotification", "/params/**", "tasks/status-notification"},
}

// modernTaskOwners are the rows of the extension of tasks, which has definitions of the same names.
var modernTaskOwners = []Owned{
	{"GetTaskResult", "/status/**", "tasks-ext/get-working"},
	{"GetTaskResult", "/inputRequests/**", "tasks-ext/get-input-required"},
	{"GetTaskResult", "/result/**", "tasks-ext/get-completed"},
	{"GetTaskResult", "/error/**", "tasks-ext/get-failed"},
	{"GetTaskResult", "/**", "tasks-ext/create-shape"},
	{"CreateTaskResult", "/**", "tasks-ext/create-shape"},
	{"TaskStatusNotification", "/params/**", "tasks-ext/notification-shape"},
	{"TaskSubscriptionsAcknowledgedNotification", "/params/notifications/taskIds/**", "tasks-ext/listen-ack-subset"},
}

// Owned is what an entry owns: a definition and the path of a member in it.
type Owned struct{ Definition, Path, ID string }

// Broken are the rules of a schema that a value breaks and that the entry reports, an umbrella: what no other entry
// owns.
func Broken(t *T, umbrella, definition string, value any) (rules []string) {
	for _, v := range schemas.ValidateMessage(t.Revision, definition, value) {
		if OwnerOf(v, t.Revision) == umbrella {
			rules = append(rules, v.String())
		}
	}
	return rules
}
