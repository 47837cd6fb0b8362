package schema

import (
	"bytes"
	"crypto/sha256"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// exam is what is known of one message of the server: which rules of its schema it breaks, and which members it has
// that rules of their own hold for.
type exam struct {
	Message
	definition string // of what it was judged by: "ListToolsResult"
	*findings
}

// findings are what equal messages share.
type findings struct {
	broken []schemas.Violation
	parts  []part
}

// part is a member with rules of its own, somewhere in a message.
type part struct {
	kind   string // type of schema.ts that has the member: "Tool"
	member string // "_meta"
	name   string // of what has the member, for people: `tool "add"`
	value  any
	in     Message // the first that has it
}

// Subject names what has the part, and shows the part.
func (p part) Subject() Subject {
	return Subject{Name: p.name, Value: M{p.member: p.value}, Behind: p.in.Subject().Frames}
}

// examined are messages of the server that the revision defines.
type examined []exam

// exact is what findings depend on.
type exact struct {
	definition, title string
	text              [sha256.Size]byte
}

// examine looks at each message of the run once, for all watches. Of lists that came several times it keeps one.
func examine(t *T, w Wire) examined {
	return Memo(t, "all messages", func() (all examined) {
		known := map[exact]*findings{}
		for _, m := range w.Messages().Established(t.Revision).List {
			definition := definitionOf(m, t.Revision)
			if definition == "" {
				continue
			}
			raw := judgedPart(m)
			key := exact{definition, titleOf(m), sha256.Sum256(raw)}
			c, ok := known[key]
			if !ok {
				value := driver.Decode(raw)
				c = &findings{broken: schemas.ValidateMessage(t.Revision, definition, value)}
				c.dissect(definition, titleOf(m), titleOf(m), t.Revision, value)
				known[key] = c
			}
			all = append(all, exam{Message: m, definition: definition, findings: c})
		}
		return all
	})
}

// definitionOf is what the schema of the revision calls a message; empty where it has no word for it, or where other
// areas have an entry for each of its members.
func definitionOf(m Message, revision string) (definition string) {
	ok := false
	switch {
	case m.IsResponse() && m.HasResult && m.Request != nil:
		definition, ok = resultDefinition(m, revision)
		if revision >= "2025-11-25" && definition == "CallToolResult" && startsTask(m) {
			definition = "CreateTaskResult"
		}
	case m.IsResponse():
		return "" // errors: jsonrpc/*
	case m.Method == "elicitation/create" && revision < "2025-11-25" && objectIn(m.JSON(), "params")["mode"] == "url":
		return "" // lifecycle/operation-matches-negotiated-version
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

// resultDefinition is what the schema calls a result, by its type where results have one. A type that the revision does
// not know, or none, is left to the area result; an extension that defines one has an area of its own.
func resultDefinition(m Message, revision string) (definition string, ok bool) {
	if schemas.ResultTypes(revision) == nil {
		return schemas.ResultDefinition(revision, m.Request.Method)
	}
	kind := kit.TypeOf(objectIn(m.JSON(), "result"))
	return schemas.ResultTypeDefinition(revision, m.Request.Method, kind)
}

// startsTask reports whether a result is the task that the call asked for.
func startsTask(m Message) bool {
	return bytes.Contains(m.Request.Raw.Bytes(), []byte(`"task"`)) && // spares the decoding
		objectIn(m.Request.JSON(), "params")["task"] != nil && objectIn(m.JSON(), "result")["task"] != nil
}

// objectIn is a member that is an object; nil when it is none.
func objectIn(object M, name string) M {
	m, _ := object[name].(M)
	return m
}

// judgedPart is the text that the definition of a message speaks of: the result of a response, else the whole message.
func judgedPart(m Message) []byte {
	if !m.IsResponse() {
		return m.Text()
	}
	return driver.Members(m.Text())["result"]
}

// titleOf names a message for people.
func titleOf(m Message) string {
	if m.Request != nil {
		return "the result of " + m.Request.Method
	}
	return m.Method
}

// Of keeps the messages that pass the test.
func (e examined) Of(test func(exam) bool) (kept examined) {
	for _, x := range e {
		if test(x) {
			kept = append(kept, x)
		}
	}
	return kept
}

// BrokenBy are the violations in the message that the entry owns.
func (x exam) BrokenBy(id string) (broken []schemas.Violation) {
	for _, v := range x.broken {
		if kit.OwnerOf(v, x.Session.Agreed()) == id {
			broken = append(broken, v)
		}
	}
	return broken
}

// Parts are all parts of that name; equal messages count once.
func (e examined) Parts(member string) (parts []part) {
	seen := map[*findings]bool{}
	for _, x := range e {
		if seen[x.findings] {
			continue
		}
		seen[x.findings] = true
		for _, p := range x.parts {
			if p.member == member {
				p.in = x.Message
				parts = append(parts, p)
			}
		}
	}
	return parts
}

// dissect finds the parts in a value of that kind. It goes where the schema has objects of its own, never into free
// JSON.
func (c *findings) dissect(kind, name, root, revision string, value any) {
	if list, ok := value.([]any); ok {
		for _, item := range list {
			c.dissect(kind, name, root, revision, item)
		}
		return
	}
	object, ok := value.(M)
	if !ok {
		return
	}
	if kind == "ContentBlock" {
		blockType, _ := object["type"].(string)
		kind = blockTypes[blockType]
	}
	if kind == "InputRequests" {
		c.dissectAsked(name, root, revision, object)
		return
	}
	shape := shapeOf(kind)
	if shape.noun != "" {
		name = nameOf(shape.noun, root, object)
	}
	for _, m := range shape.members {
		if v, ok := object[m.name]; ok && revision >= m.since {
			c.parts = append(c.parts, part{kind: kind, member: m.name, name: name, value: v})
		}
	}
	for _, h := range shape.objects {
		c.dissect(h.kind, name, root, revision, object[h.member])
	}
}

// dissectAsked finds the parts in what a result asks the client for.
func (c *findings) dissectAsked(name, root, revision string, asked M) {
	for _, key := range slices.Sorted(maps.Keys(asked)) {
		request, _ := asked[key].(M)
		method, _ := request["method"].(string)
		if definition, ok := schemas.InputRequestDefinition(revision, method); ok {
			c.dissect(definition, name, root, revision, request)
		}
	}
}

// nameOf names an object for people: by its own name, else by the message it is in.
func nameOf(noun, root string, object M) string {
	if name, ok := object["name"].(string); ok {
		return noun + " " + strconv.Quote(name)
	}
	return noun + " in " + root
}

// shape is which members of a type of schema.ts have rules of their own, and which hold objects that may have some.
type shape struct {
	noun    string // empty for the outermost objects, which the message names
	members []memberSince
	objects []holder
}

type memberSince struct{ name, since string }

type holder struct{ member, kind string }

// shapeOf is the shape of a type; results, notifications and requests that need no row are like all of their kind.
func shapeOf(kind string) shape {
	s, ok := shapes[kind]
	switch {
	case ok:
		return s
	case strings.HasSuffix(kind, "Result"):
		return shape{members: metaMember}
	case strings.HasSuffix(kind, "Notification"), strings.HasSuffix(kind, "Request"):
		return shape{objects: []holder{{"params", "Params"}}}
	}
	return shape{}
}

var (
	metaMember        = []memberSince{{"_meta", ""}}
	itemMetaMember    = []memberSince{{"_meta", "2025-06-18"}}
	iconsMember       = []memberSince{{"icons", "2025-11-25"}}
	annotationsMember = []memberSince{{"annotations", ""}}

	resourceMembers = slices.Concat(itemMetaMember, iconsMember, annotationsMember)
	blockMembers    = slices.Concat(itemMetaMember, annotationsMember)
)

var shapes = map[string]shape{
	"InitializeResult": {
		members: slices.Concat(metaMember, []memberSince{{"capabilities", ""}}),
		objects: []holder{{"serverInfo", "Implementation"}},
	},
	"DiscoverResult": {
		members: slices.Concat(metaMember, []memberSince{{"capabilities", ""}}),
		objects: []holder{{"_meta", "DiscoverMeta"}},
	},
	"DiscoverMeta":                {objects: []holder{{driver.MetaServer, "Implementation"}}},
	"InputRequiredResult":         {members: metaMember, objects: []holder{{"inputRequests", "InputRequests"}}},
	"ListToolsResult":             {members: metaMember, objects: []holder{{"tools", "Tool"}}},
	"ListPromptsResult":           {members: metaMember, objects: []holder{{"prompts", "Prompt"}}},
	"ListResourcesResult":         {members: metaMember, objects: []holder{{"resources", "Resource"}}},
	"ListResourceTemplatesResult": {members: metaMember, objects: []holder{{"resourceTemplates", "ResourceTemplate"}}},
	"ReadResourceResult":          {members: metaMember, objects: []holder{{"contents", "ResourceContents"}}},
	"CallToolResult":              {members: metaMember, objects: []holder{{"content", "ContentBlock"}}},
	"GetPromptResult":             {members: metaMember, objects: []holder{{"messages", "PromptMessage"}}},
	"CreateMessageRequest":        {objects: []holder{{"params", "CreateMessageRequestParams"}}},

	"Params": {members: metaMember},
	"CreateMessageRequestParams": {
		members: metaMember,
		objects: []holder{{"messages", "SamplingMessage"}, {"tools", "Tool"}},
	},
	"SamplingMessage": {
		noun:    "message",
		members: []memberSince{{"_meta", "2025-11-25"}},
		objects: []holder{{"content", "ContentBlock"}},
	},
	"PromptMessage": {noun: "message", objects: []holder{{"content", "ContentBlock"}}},

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
		objects: []holder{{"resource", "ResourceContents"}},
	},
	"ResourceLink":      {noun: "resource link", members: resourceMembers},
	"ToolUseContent":    {noun: "tool use", members: itemMetaMember},
	"ToolResultContent": {noun: "tool result", members: itemMetaMember, objects: []holder{{"content", "ContentBlock"}}},
}

// blockTypes are the types of content by the value of their member type.
var blockTypes = map[string]string{
	"text":          "TextContent",
	"image":         "ImageContent",
	"audio":         "AudioContent",
	"resource":      "EmbeddedResource",
	"resource_link": "ResourceLink",
	"tool_use":      "ToolUseContent",
	"tool_result":   "ToolResultContent",
}
