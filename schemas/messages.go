package schemas

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Violation is one rule of a message schema that a value violates.
type Violation struct {
	// Definition is the definition by which the value was validated: "ListToolsResult".
	Definition string
	// Path is a JSON pointer into the value, "" for the whole: "/tools/0/name".
	Path string
	// Keyword is the keyword of JSON Schema, such as "required", "type" or "enum".
	Keyword string
	// Rule says in one line what was expected and what the value is: "expected string, got null".
	Rule string
	// NullOptional reports whether the value is null at an optional member that does not allow null.
	NullOptional bool
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

// ValidateMessage validates a message, or a part of one, by the schema that the revision gives for the definition.
//
// The value is what encoding/json decodes, with or without UseNumber. For the name of a definition see
// [ResultDefinition], [NotificationDefinition] and [RequestDefinition]; "Error" is the definition of an error response
// (the whole message; its id may be null or absent in every revision), and every type of schema.ts that messages.yaml
// knows can be named too, for instance "Tool" or "CreateTaskResult", as well as every type of an extension.
//
// It returns nil for a valid value, and otherwise the violations ordered by path. It panics when the revision has no
// such definition. A revision that messages.yaml does not list is treated as the newest one before it, here and in all
// functions of this package.
func ValidateMessage(revision, definition string, value any) []Violation {
	set := messagesOf(revision)
	compile, ok := set.compile[definition]
	if !ok {
		panic(fmt.Sprintf("schemas: no definition %q in revision %q", definition, revision))
	}
	return set.violations(definition, compile().Validate(boundNumbers(value)))
}

// ResultDefinition names the definition of the result of a client's request; the value to judge is the member "result"
// of the response. The second result is false when the revision has no such request, or messages.yaml does not cover
// it.
//
// The extensions, here and below, are the identifiers of those that both sides declared, or of the one that is tested.
// Their definitions take precedence over those of the protocol. Unknown extensions define nothing.
//
// Some results depend on more than the method: a request augmented with a task (2025-11-25) is answered with
// "CreateTaskResult", the result of tasks/result also has the form for the request that became the task, and from
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

// ResultTypeDefinition is [ResultDefinition] for a result of a type: "complete", which is the one of ResultDefinition,
// or another one that a result may have. The second result is also false when no result of that type may answer the
// request.
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
// revision knows it. It distinguishes a method of a later revision from an undefined one.
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
