package jsonrpc

import (
	"maps"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// A connection may break at any time, and over HTTP any session may have ended the one server of all sessions. A
// request that was lost for such a reason is therefore repeated in an exclusive session. Only if it is lost again, it
// counts as unanswered.

// isLost reports whether a request was lost together with its connection or its server.
func isLost(w check.Wire, x *transcript.Call) bool {
	return x.Response == nil && (x.IsConnectionClosed() || x.SessionEnded() && x.OtherSessionActive(w))
}

// maxRetries is the number of requests that are repeated at most.
const maxRetries = 10

// retryReason returns why the loss of a request does not count against the server; empty if the repeated request was
// lost again.
func (all *runCalls) retryReason(t *check.T, x *transcript.Call) string {
	params, _ := x.Request.JSON()["params"].(check.M)
	params = maps.Clone(params)
	delete(params, "_meta") // the session adds its own
	key := x.Request.Method + string(text.CompactJSON(params))
	why, known := all.retryReasons[key]
	switch {
	case known:
		return why
	case len(all.retryReasons) == maxRetries:
		return "the connection broke off, and the request was not made once more"
	}
	if !protocol.IsConnectionLost(t.Send(t.Session(check.Exclusive), x.Request.Method, params, check.AllowSilence)) {
		why = "the connection broke off, and not when the request was made once more"
	}
	all.retryReasons[key] = why
	return why
}
