package driver

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// setHeaders repeats parts of the message in headers, for intermediaries that do not read bodies: its revision, its
// method, its name or URI, and the arguments that a tool's schema names. A body that is not a message, or names no
// method, gets the headers of the no-op request, so that its headers are valid.
func (e Modern) setHeaders(h *HTTP, header http.Header, message *Frame) {
	params, _ := message.JSON()["params"].(M)
	meta, _ := params["_meta"].(M)
	revision, named := meta[MetaRevision].(string)
	if !named {
		revision, _ = e.meta(h.s)[MetaRevision].(string)
	}
	setField(header, revisionHeader, revision)
	method := message.Method
	if method == "" && !message.IsResponse() && message.Raw.Len() > 0 {
		method, _ = e.noOp()
	}
	setField(header, "Mcp-Method", method)
	if name, has := nameHeaderOf(message.Method, params); has {
		setField(header, "Mcp-Name", FieldValue(name))
	}
	if message.Method == "tools/call" {
		e.setArgumentHeaders(header, params)
	}
}

// setField sets a header if there is a value that can be sent.
func setField(header http.Header, name, value string) {
	if value != "" && isPlain(value) {
		header.Set(name, value)
	}
}

// nameHeaderOf returns the value for the header Mcp-Name: the name, URI or task id in the params of some methods.
func nameHeaderOf(method string, params M) (name string, has bool) {
	switch method {
	case "tools/call", "prompts/get":
		name, has = params["name"].(string)
	case "resources/read":
		name, has = params["uri"].(string)
	case "tasks/get", "tasks/update", "tasks/cancel": // methods of the tasks extension
		name, has = params["taskId"].(string)
	}
	return name, has
}

// setArgumentHeaders sets the headers that a tool's schema names for the arguments of a call.
func (e Modern) setArgumentHeaders(header http.Header, params M) {
	for _, tool := range e.Tools {
		if tool["name"] != params["name"] {
			continue
		}
		schema, _ := tool["inputSchema"].(M)
		arguments, _ := params["arguments"].(M)
		setPropertyHeaders(header, schema, arguments)
		return
	}
}

// setPropertyHeaders sets the headers for the properties of an object and of objects in it. Only properties that are
// reached through properties alone have one.
func setPropertyHeaders(header http.Header, schema, object M) {
	properties, _ := schema["properties"].(M)
	for name, property := range properties {
		schema, _ := property.(M)
		value, given := object[name]
		if !given {
			continue
		}
		if inner, isObject := value.(M); isObject {
			setPropertyHeaders(header, schema, inner)
		}
		field, _ := schema["x-mcp-header"].(string)
		if text, ok := fieldText(value); ok && httpguts.ValidHeaderFieldName(field) {
			header.Set("Mcp-Param-"+field, FieldValue(text))
		}
	}
}

// fieldText returns a value as the text of a header. ok is false for null, objects and arrays, which have none.
func fieldText(value any) (text string, ok bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case json.Number:
		if i, whole := Integer(v); whole {
			return strconv.FormatInt(i, 10), true
		}
		return v.String(), true
	}
	return "", false
}

// These mark a value in Base64.
const (
	encodedPrefix = "=?base64?"
	encodedSuffix = "?="
)

// FieldValue returns a text as the value of a header: unchanged or, if it could not be sent or would be read as
// something else, in Base64.
func FieldValue(text string) string {
	marked := strings.HasPrefix(text, encodedPrefix) && strings.HasSuffix(text, encodedSuffix)
	if isPlain(text) && !marked {
		return text
	}
	return encodedPrefix + base64.StdEncoding.EncodeToString([]byte(text)) + encodedSuffix
}

// isPlain reports whether a text can be a header value unchanged: visible ASCII, spaces and tabs, without white space
// at either end.
func isPlain(text string) bool {
	other := func(r rune) bool { return r != '\t' && (r < ' ' || r > '~') }
	return text == strings.Trim(text, " \t") && !strings.ContainsFunc(text, other)
}
