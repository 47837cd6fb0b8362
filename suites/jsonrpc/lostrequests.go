package jsonrpc

import (
	"maps"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// A connection may break off at any time, and over HTTP any session may have ended the server of them all. So a request
// that was lost in one of these ways is made once more, in a session of its own: what is lost again has no answer.

// isLost reports whether a request was lost in one of these ways.
func isLost(w check.Wire, x *transcript.Call) bool {
	return x.Response == nil && (x.IsConnectionClosed() || x.SessionEnded() && x.OtherSessionActive(w))
}

// maxRetries is how many requests are made once more.
const maxRetries = 10

// retryReason says why it is not for the server that a request was lost; empty when it was lost again.
func (all *runCalls) retryReason(t *check.T, x *transcript.Call) string {
	params, _ := x.Request.JSON()["params"].(check.M)
	params = maps.Clone(params)
	delete(params, "_meta") // which the session makes
	key := x.Request.Method + string(text.CompactJSON(params))
	why, known := all.retryReasons[key]
	switch {
	case known:
		return why
	case len(all.retryReasons) == maxRetries:
		return "the connection broke off, and the request was not made once more"
	}
	if !protocol.IsConnectionLost(t.TryRequest(t.ExclusiveSession(), x.Request.Method, params)) {
		why = "the connection broke off, and not when the request was made once more"
	}
	all.retryReasons[key] = why
	return why
}
