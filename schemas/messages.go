package schemas

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Violation is one rule of a message schema that a value breaks.
type Violation struct {
	Definition   string // definition the value was judged by: "ListToolsResult"
	Path         string // JSON Pointer into the value, "" for the whole: "/tools/0/name"
	Keyword      string // keyword of JSON Schema: "required", "type", "enum", "const", …
	Rule         string // what was expected and what came, one line: "expected string, got null"
	NullOptional bool   // the value is null at an optional member that has no null type
}

// String names the definition, the path and the rule in one line.
func (v Violation) String() string {
	path := v.Path
	switch {
	case path == "":
		return v.Definition + ": " + v.Rule
	case strings.ContainsFunc(path, unicode.IsControl):
		path = strconv.Quote(path)
	}
	return v.Definition + ": " + path + ": " + v.Rule
}

// ValidateMessage judges a message, or a part of one, by the schema that the revision gives for the definition.
//
// The value is what encoding/json decodes, with or without UseNumber. For the name of a definition see
// [ResultDefinition], [NotificationDefinition] and [RequestDefinition]; "Error" is the definition of an error response
// (the whole message; its id may be null or absent in every revision), and every type of schema.ts that messages.yaml
// knows can be named too, for instance "Tool" or "CreateTaskResult", as well as every type of an extension.
//
// It returns nil for a valid value, else the broken rules ordered by path. It panics when the revision has no such
// definition. A revision that messages.yaml does not list is taken for the newest before it, here and in all functions
// of this package.
func ValidateMessage(revision, definition string, value any) []Violation {
	set := messagesOf(revision)
	compile, ok := set.compile[definition]
	if !ok {
		panic(fmt.Sprintf("schemas: no definition %q in revision %q", definition, revision))
	}
	return set.violations(definition, compile().Validate(boundNumbers(value)))
}

// Defines reports whether the schema of the revision has a definition, that of an extension included.
func Defines(revision, definition string) bool {
	return messagesOf(revision).compile[definition] != nil
}

// ResultDefinition names the definition of the result of a client's request; the value to judge is the member "result"
// of the response. The second result is false when the revision has no such request, or messages.yaml does not cover
// it.
//
// The extensions, here and below, are the identifiers of those that both sides declared, or the one that is judged:
// what they define comes before what the protocol says of a method. Those that mcpcheck does not know define nothing.
//
// Some results depend on more than the method: a request augmented with a task (2025-11-25) is answered with
// "CreateTaskResult", the result of tasks/result has in addition the form of the request that became the task, and from
// 2026-07-28 on results have a type, see [ResultTypeDefinition].
func ResultDefinition(revision, method string, extensions ...string) (definition string, ok bool) {
	return messagesOf(revision).lookUp(method, extensions, func(p part) map[string]string { return p.server.results })
}

// NotificationDefinition names the definition of a notification that servers send; the value to judge is the whole
// message. The second result is false when the revision has no such notification, as in [ResultDefinition].
func NotificationDefinition(revision, method string, extensions ...string) (definition string, ok bool) {
	return messagesOf(revision).lookUp(method, extensions, func(p part) map[string]string {
		return p.server.notifications
	})
}

// RequestDefinition names the definition of a request that servers send; the value to judge is the whole message. The
// second result is false when the revision has no such request, as in [ResultDefinition].
func RequestDefinition(revision, method string) (definition string, ok bool) {
	definition, ok = messagesOf(revision).server.requests[method]
	return definition, ok
}

// ClientResultDefinition is [ResultDefinition] for the results of a server's requests, which clients send.
func ClientResultDefinition(revision, method string) (definition string, ok bool) {
	definition, ok = messagesOf(revision).client.results[method]
	return definition, ok
}

// ClientNotificationDefinition is [NotificationDefinition] for the notifications that clients send.
func ClientNotificationDefinition(revision, method string) (definition string, ok bool) {
	definition, ok = messagesOf(revision).client.notifications[method]
	return definition, ok
}

// ClientRequestDefinition is [RequestDefinition] for the requests that clients send.
func ClientRequestDefinition(revision, method string, extensions ...string) (definition string, ok bool) {
	return messagesOf(revision).lookUp(method, extensions, func(p part) map[string]string { return p.client.requests })
}

// ResultTypeDefinition is [ResultDefinition] for a result of a type: "complete", which is what ResultDefinition speaks
// of, or one that a result may have instead. The second result is false as well when no result of that type may answer
// the request.
func ResultTypeDefinition(revision, method, resultType string, extensions ...string) (definition string, ok bool) {
	return messagesOf(revision).lookUp(method, extensions, func(p part) map[string]string {
		if resultType == completeResult {
			return p.server.results
		}
		return p.server.resultTypes[resultType]
	})
}

// completeResult is the type of results that need no table of their own.
const completeResult = "complete"

// ResultTypes lists the types that results of servers have in the revision; none where results have no type.
func ResultTypes(revision string, extensions ...string) []string {
	set := messagesOf(revision)
	if len(set.server.resultTypes) == 0 {
		return nil
	}
	types := slices.AppendSeq([]string{completeResult}, maps.Keys(set.server.resultTypes))
	for _, identifier := range extensions {
		types = slices.AppendSeq(types, maps.Keys(set.extensions[identifier].server.resultTypes))
	}
	slices.Sort(types)
	return types
}

// InputRequestDefinition names the definition of a request that servers put into a result, where the revision has no
// requests of servers; the value to judge is a member of "inputRequests". The second result is as in
// [ResultDefinition].
func InputRequestDefinition(revision, method string) (definition string, ok bool) {
	definition, ok = messagesOf(revision).server.inputs[method]
	return definition, ok
}

// InputResponseDefinition is [InputRequestDefinition] for what clients answer, a member of "inputResponses".
func InputResponseDefinition(revision, method string) (definition string, ok bool) {
	definition, ok = messagesOf(revision).client.inputs[method]
	return definition, ok
}

// MethodSince returns the first revision in which servers may send the request or notification, and false when no
// revision knows it. It tells a method of a later revision from one that nobody defines.
func MethodSince(method string) (revision string, ok bool) {
	for _, revision := range messages().Revisions {
		if isSent(revision, method) {
			return revision, true
		}
	}
	return "", false
}

// MethodBefore returns the first revision in which servers may no longer send a request or notification that an earlier
// one let them send, and false when they still may.
func MethodBefore(method string) (revision string, ok bool) {
	since, known := MethodSince(method)
	for _, revision := range messages().Revisions {
		if known && revision > since && !isSent(revision, method) {
			return revision, true
		}
	}
	return "", false
}

// isSent reports whether servers may send the request or notification in the revision.
func isSent(revision, method string) bool {
	s := messages().Server
	for _, sent := range []tree{s.Notifications, s.Requests} {
		if definition, ok := sent[method]; ok && existsIn(definition, revision) {
			return true
		}
	}
	return false
}
