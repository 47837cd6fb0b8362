package schema

import (
	"bytes"
	"crypto/sha256"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// validatedMessage is a message of the server with the violations of its schema and the parts that have checks of their
// own.
type validatedMessage struct {
	check.Message
	// definition is the definition of the schema by which the message was validated, such as "ListToolsResult".
	definition string
	*findings
}

// findings are the results of the validation, which equal messages share.
type findings struct {
	violations []schemas.Violation
	parts      []part
}

// part is a member with checks of its own, anywhere in a message.
type part struct {
	// kind is the type of schema.ts that has the member, such as "Tool".
	kind string
	// member is the name of the member, such as "_meta".
	member string
	// name describes the object that has the member, such as `tool "add"`.
	name  string
	value any
	// message is the first message with the part.
	message check.Message
}

// Subject names the object that has the part, and shows the part.
func (p part) Subject() check.Subject {
	return check.Subject{Name: p.name, Value: check.M{p.member: p.value}, SourceFrames: p.message.Subject().Frames}
}

// validatedMessages are messages of the server that the revision defines.
type validatedMessages []validatedMessage

// findingsKey identifies messages that are equal for the validation.
type findingsKey struct {
	definition, title string
	text              [sha256.Size]byte
}

// validateMessages validates each message of the run once for all watches. Equal messages share their findings.
func validateMessages(t *check.T, w check.Wire) validatedMessages {
	return check.Memo(t, "all messages", func() (all validatedMessages) {
		known := map[findingsKey]*findings{}
		for _, m := range w.Messages().Negotiated(t.Revision).List {
			definition := definitionOf(m, t.Revision)
			if definition == "" {
				continue
			}
			raw := validatedText(m)
			key := findingsKey{definition, titleOf(m), sha256.Sum256(raw)}
			c, ok := known[key]
			if !ok {
				value := driver.Decode(raw)
				c = &findings{violations: schemas.ValidateMessage(t.Revision, definition, value)}
				c.collectParts(definition, titleOf(m), titleOf(m), t.Revision, value)
				known[key] = c
			}
			all = append(all, validatedMessage{Message: m, definition: definition, findings: c})
		}
		return all
	})
}

// definitionOf returns the definition of a message in the schema of the revision. It is empty if there is none, or if
// entries of other areas cover all of its members.
func definitionOf(m check.Message, revision string) (definition string) {
	ok := false
	switch {
	case m.IsResponse() && m.HasResult && m.Request != nil:
		definition, ok = resultDefinition(m, revision)
		if revision >= "2025-11-25" && definition == "CallToolResult" && startsTask(m) {
			definition = "CreateTaskResult"
		}
	case m.IsResponse():
		return "" // the area jsonrpc judges errors
	case m.Method == "elicitation/create" && revision < "2025-11-25" && objectIn(m.JSON(), "params")["mode"] == "url":
		return "" // lifecycle/operation-matches-negotiated-version reports it
	default:
		if definition, ok = schemas.NotificationDefinition(revision, m.Method); !ok {
			definition, ok = schemas.RequestDefinition(revision, m.Method)
		}
	}
	if !ok {
		return ""
	}
	return definition
}

// resultDefinition returns the definition of a result, by its resultType if the revision has one. Missing and unknown
// types are left to the area result, and those of extensions to their own areas.
func resultDefinition(m check.Message, revision string) (definition string, ok bool) {
	if schemas.ResultTypes(revision) == nil {
		return schemas.ResultDefinition(revision, m.Request.Method)
	}
	kind := toolcall.ResultType(objectIn(m.JSON(), "result"))
	return schemas.ResultTypeDefinition(revision, m.Request.Method, kind)
}

// startsTask reports whether a result is the task that the call asked for.
func startsTask(m check.Message) bool {
	return bytes.Contains(m.Request.Raw.Bytes(), []byte(`"task"`)) && // avoids decoding most requests
		objectIn(m.Request.JSON(), "params")["task"] != nil && objectIn(m.JSON(), "result")["task"] != nil
}

// objectIn returns a member that is an object; nil if it is not.
func objectIn(object check.M, name string) check.M {
	m, _ := object[name].(check.M)
	return m
}

// validatedText returns the text that the definition of a message describes: the result of a response, or else the
// whole message.
func validatedText(m check.Message) []byte {
	if !m.IsResponse() {
		return m.TextToMaxDepth()
	}
	return driver.Members(m.TextToMaxDepth())["result"]
}

// titleOf names a message in results.
func titleOf(m check.Message) string {
	if m.Request != nil {
		return "the result of " + m.Request.Method
	}
	return m.Method
}

// Filter returns the messages that test selects.
func (e validatedMessages) Filter(test func(validatedMessage) bool) (kept validatedMessages) {
	for _, x := range e {
		if test(x) {
			kept = append(kept, x)
		}
	}
	return kept
}

// ViolationsOwnedBy returns the violations in the message that belong to the entry.
func (x validatedMessage) ViolationsOwnedBy(id string) (broken []schemas.Violation) {
	for _, v := range x.violations {
		if protocol.OwnerOf(v, x.Session.NegotiatedRevision()) == id {
			broken = append(broken, v)
		}
	}
	return broken
}

// Parts returns all parts with that member; equal messages count once.
func (e validatedMessages) Parts(member string) (parts []part) {
	seen := map[*findings]bool{}
	for _, x := range e {
		if seen[x.findings] {
			continue
		}
		seen[x.findings] = true
		for _, p := range x.parts {
			if p.member == member {
				p.message = x.Message
				parts = append(parts, p)
			}
		}
	}
	return parts
}

// collectParts finds the parts in a value of that type. It descends only into objects that the schema defines, never
// into free JSON.
func (c *findings) collectParts(kind, name, root, revision string, value any) {
	if list, ok := value.([]any); ok {
		for _, item := range list {
			c.collectParts(kind, name, root, revision, item)
		}
		return
	}
	object, ok := value.(check.M)
	if !ok {
		return
	}
	if kind == "ContentBlock" {
		blockType, _ := object["type"].(string)
		kind = blockTypes[blockType]
	}
	if kind == "InputRequests" {
		c.collectInputParts(name, root, revision, object)
		return
	}
	shape := typeRulesOf(kind)
	if shape.noun != "" {
		name = nameOf(shape.noun, root, object)
	}
	for _, m := range shape.members {
		if v, ok := object[m.name]; ok && revision >= m.since {
			c.parts = append(c.parts, part{kind: kind, member: m.name, name: name, value: v})
		}
	}
	for _, h := range shape.objects {
		c.collectParts(h.kind, name, root, revision, object[h.member])
	}
}

// collectInputParts finds the parts in the input requests of a result.
func (c *findings) collectInputParts(name, root, revision string, asked check.M) {
	for _, key := range slices.Sorted(maps.Keys(asked)) {
		request, _ := asked[key].(check.M)
		method, _ := request["method"].(string)
		if definition, ok := schemas.InputRequestDefinition(revision, method); ok {
			c.collectParts(definition, name, root, revision, request)
		}
	}
}

// nameOf names an object in results: by its own name, or else by its message.
func nameOf(noun, root string, object check.M) string {
	if name, ok := object["name"].(string); ok {
		return noun + " " + strconv.Quote(name)
	}
	return noun + " in " + root
}

// typeRules holds which members of a type of schema.ts have checks of their own, and which contain objects that may
// have some.
type typeRules struct {
	// noun names the type in results; empty for outermost objects, which are named by their message.
	noun    string
	members []memberSince
	objects []childObject
}

// memberSince is a member with the first revision that has it.
type memberSince struct{ name, since string }

// childObject is a member with the type of the objects in it.
type childObject struct{ member, kind string }

// typeRulesOf returns the rules of a type. Results, notifications and requests without a row have the rules of their
// kind.
func typeRulesOf(kind string) typeRules {
	s, ok := rulesByType[kind]
	switch {
	case ok:
		return s
	case strings.HasSuffix(kind, "Result"):
		return typeRules{members: metaMember}
	case strings.HasSuffix(kind, "Notification"), strings.HasSuffix(kind, "Request"):
		return typeRules{objects: []childObject{{"params", "Params"}}}
	}
	return typeRules{}
}

var (
	metaMember        = []memberSince{{"_meta", ""}}
	itemMetaMember    = []memberSince{{"_meta", "2025-06-18"}}
	iconsMember       = []memberSince{{"icons", "2025-11-25"}}
	annotationsMember = []memberSince{{"annotations", ""}}

	resourceMembers = slices.Concat(itemMetaMember, iconsMember, annotationsMember)
	blockMembers    = slices.Concat(itemMetaMember, annotationsMember)
)

// rulesByType are the rules of the types of schema.ts that are not like all of their kind.
var rulesByType = map[string]typeRules{
	"InitializeResult": {
		members: slices.Concat(metaMember, []memberSince{{"capabilities", ""}}),
		objects: []childObject{{"serverInfo", "Implementation"}},
	},
	"DiscoverResult": {
		members: slices.Concat(metaMember, []memberSince{{"capabilities", ""}}),
		objects: []childObject{{"_meta", "DiscoverMeta"}},
	},
	"DiscoverMeta":        {objects: []childObject{{driver.MetaServer, "Implementation"}}},
	"InputRequiredResult": {members: metaMember, objects: []childObject{{"inputRequests", "InputRequests"}}},
	"ListToolsResult":     {members: metaMember, objects: []childObject{{"tools", "Tool"}}},
	"ListPromptsResult":   {members: metaMember, objects: []childObject{{"prompts", "Prompt"}}},
	"ListResourcesResult": {members: metaMember, objects: []childObject{{"resources", "Resource"}}},
	"ListResourceTemplatesResult": {members: metaMember,
		objects: []childObject{{"resourceTemplates", "ResourceTemplate"}}},
	"ReadResourceResult":   {members: metaMember, objects: []childObject{{"contents", "ResourceContents"}}},
	"CallToolResult":       {members: metaMember, objects: []childObject{{"content", "ContentBlock"}}},
	"GetPromptResult":      {members: metaMember, objects: []childObject{{"messages", "PromptMessage"}}},
	"CreateMessageRequest": {objects: []childObject{{"params", "CreateMessageRequestParams"}}},

	"Params": {members: metaMember},
	"CreateMessageRequestParams": {
		members: metaMember,
		objects: []childObject{{"messages", "SamplingMessage"}, {"tools", "Tool"}},
	},
	"SamplingMessage": {
		noun:    "message",
		members: []memberSince{{"_meta", "2025-11-25"}},
		objects: []childObject{{"content", "ContentBlock"}},
	},
	"PromptMessage": {noun: "message", objects: []childObject{{"content", "ContentBlock"}}},

	"Implementation": {
		noun:    "serverInfo",
		members: slices.Concat(iconsMember, []memberSince{{"websiteUrl", "2025-11-25"}}),
	},
	"Tool": {
		noun:    "tool",
		members: slices.Concat(itemMetaMember, iconsMember, []memberSince{{"annotations", "2025-03-26"}}),
	},
	"Prompt":           {noun: "prompt", members: slices.Concat(itemMetaMember, iconsMember)},
	"Resource":         {noun: "resource", members: resourceMembers},
	"ResourceTemplate": {noun: "template", members: resourceMembers},
	"ResourceContents": {noun: "contents", members: itemMetaMember},

	"TextContent":  {noun: "text block", members: blockMembers},
	"ImageContent": {noun: "image block", members: blockMembers},
	"AudioContent": {noun: "audio block", members: blockMembers},
	"EmbeddedResource": {
		noun:    "resource block",
		members: blockMembers,
		objects: []childObject{{"resource", "ResourceContents"}},
	},
	"ResourceLink":   {noun: "resource link", members: resourceMembers},
	"ToolUseContent": {noun: "tool use", members: itemMetaMember},
	"ToolResultContent": {noun: "tool result", members: itemMetaMember,
		objects: []childObject{{"content", "ContentBlock"}}},
}

// blockTypes maps the type member of content to the types of schema.ts.
var blockTypes = map[string]string{
	"text":          "TextContent",
	"image":         "ImageContent",
	"audio":         "AudioContent",
	"resource":      "EmbeddedResource",
	"resource_link": "ResourceLink",
	"tool_use":      "ToolUseContent",
	"tool_result":   "ToolResultContent",
}
