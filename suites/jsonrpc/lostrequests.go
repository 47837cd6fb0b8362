package jsonrpc

import (
	"maps"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// A connection may break at any time, and over HTTP any session may have ended the one server of all sessions. A
// request that was lost for such a reason is therefore repeated in an exclusive session. Only if it is lost again, it
// counts as unanswered.

// isLost reports whether a request was lost together with its connection or its server.
func isLost(w check.Wire, x *transcript.Call) bool {
	return x.Response == nil && (x.IsConnectionClosed() || x.SessionEnded() && isOtherSessionActive(w, x))
}

// waitReason returns that a request without a response has waited for other ones; empty if it has not.
func (all *runCalls) waitReason(t *check.T, w check.Wire, x *transcript.Call) string {
	if !mayHaveWaited(t, w, x) || !all.hasAnswered(x.Request.Method) {
		return ""
	}
	return all.retryReason(t, x)
}

// mayHaveWaited reports whether other requests may be why a request over HTTP has no response: the server serves one at
// a time, or has sent nothing to any session since then. How many requests it serves at a time, no sentence says, and
// open streams are among them.
func mayHaveWaited(t *check.T, w check.Wire, x *transcript.Call) bool {
	if x.Request.RoundTrip == nil || x.SessionEnded() || x.Request.RoundTrip.Response().StatusCode != 0 {
		return false
	}
	if t.Server.OneRequestAtATime {
		return true
	}
	sent, due := x.Session.TimeOf(x.Request), x.Session.TimeOf(x.Request).Add(x.Session.Patience(x.Request))
	return !slices.ContainsFunc(w.Sessions, func(s *driver.Session) bool {
		return slices.ContainsFunc(s.ReceivedSince(0), func(f *driver.Frame) bool {
			at := s.TimeOf(f)
			return at.After(sent) && at.Before(due)
		})
	})
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
		return "the request was not repeated"
	}
	r := t.Send(t.Session(check.Exclusive), x.Request.Method, params, check.AllowSilence)
	if x.IsConnectionClosed() || x.SessionEnded() {
		if !protocol.IsConnectionLost(r) {
			why = "the connection broke off, and not when the request was repeated"
		}
	} else if r.Answered() {
		why = "it had to wait for others, and was answered when it was repeated alone"
	}
	all.retryReasons[key] = why
	return why
}
