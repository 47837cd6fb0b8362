package protocol

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
)

// ModernResults are the results of requests that were sent in the tested revision, which is a modern one.
func ModernResults(t *check.T, w check.Wire) check.Messages {
	return check.MemoOf(t, w, "modern results", func() check.Messages {
		return w.Results().Negotiated(t.Revision).Filter("result", func(m check.Message) bool {
			return m.Request != nil && ResultOf(m) != nil && RequestMeta(m)[driver.MetaRevision] == t.Revision
		})
	})
}

// IsTaskResponse reports whether a response answers a request of the tasks extension, which has rules of its own for
// it.
func IsTaskResponse(m check.Message) bool { return strings.HasPrefix(m.Request.Method, "tasks/") }

// ResultOf is the result object of a response; nil when there is none.
func ResultOf(m check.Message) check.M {
	result, _ := m.JSON()["result"].(check.M)
	return result
}

// IsAlwaysComplete reports whether a method is always answered with a complete result, and never asks for input.
func IsAlwaysComplete(method string) bool {
	return slices.Contains([]string{
		"server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list",
	}, method)
}

// MayRequireInput reports whether a response answers a request that may be answered with input_required.
func MayRequireInput(m check.Message) bool {
	askers := []string{"tools/call", "resources/read", "prompts/get"}
	return m.Request != nil && slices.Contains(askers, m.Request.Method)
}

// IsRetiredCode reports whether an error code is one that earlier revisions defined and later ones forbid: -32002 for
// unknown resources, and -32042 for a required URL elicitation.
func IsRetiredCode(code int) bool {
	return code == errcode.ResourceNotFound || code == errcode.URLElicitationRequired
}

// RequestParams are the params of the request that a response answers; nil when there are none.
func RequestParams(m check.Message) check.M {
	params, _ := m.Request.JSON()["params"].(check.M)
	return params
}

// WithoutMember is a copy of an object without one member.
func WithoutMember(object check.M, member string) check.M {
	rest := maps.Clone(object)
	delete(rest, member)
	return rest
}

// MetaOf is the _meta of an object; nil when there is none.
func MetaOf(object check.M) check.M {
	meta, _ := object["_meta"].(check.M)
	return meta
}

// RequestMeta is the _meta of the request that a response answers.
func RequestMeta(m check.Message) check.M { return MetaOf(RequestParams(m)) }

// HeaderErrorCodes are the error codes for headers that do not match the body. Over HTTP a request without a name or
// URI may be refused with them, since it has nothing to put into Mcp-Name.
func HeaderErrorCodes(t *check.T) []int {
	if t.Server.Transport == "http" {
		return []int{errcode.HeaderMismatch}
	}
	return nil
}

// SkipUnlessObject ends a check of the members of a result that is not an object.
func SkipUnlessObject(t *check.T, r driver.Reply) {
	if check.HasMember(r.Message(), "result") && r.Result() == nil {
		t.Yield("the result is not an object")
	}
}

// IsConnectionLost reports whether the server exited or closed the connection instead of responding.
func IsConnectionLost(r driver.Reply) bool {
	var none *driver.NoResponseError
	return IsServerExit(r) || errors.As(r.Err, &none) && none.RoundTrip.IsConnectionClosed()
}

// IsServerExit reports whether the server exited instead of responding.
func IsServerExit(r driver.Reply) bool { return errors.As(r.Err, new(*driver.SessionEndError)) }

// MayLackID reports whether an error response may lack its id, as the body of an HTTP error may.
func MayLackID(f *driver.Frame) bool {
	return f.RoundTrip != nil && f.RoundTrip.Response().StatusCode >= 400 && IsMissingID(f.ID)
}

// IsMissingID reports whether an id is absent or null.
func IsMissingID(id json.RawMessage) bool { return id == nil || string(id) == "null" }
