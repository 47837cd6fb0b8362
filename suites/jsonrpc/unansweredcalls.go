package jsonrpc

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// unansweredCalls holds the tool calls that timed out, unless an equal one was answered.
type unansweredCalls struct {
	// blocking are the calls after which nothing was answered in the session, not even a ping.
	blocking []*transcript.Call
	// slowTools are the other tools that timed out: they may be slow.
	slowTools []string
}

// unansweredCallsIn returns the unanswered ones among all calls.
func unansweredCallsIn(all []*transcript.Call) (h unansweredCalls) {
	// Later calls in a blocked session may have had to wait.
	held := map[*driver.Session]bool{}
	for i, x := range all {
		switch {
		case !x.TimedOut || x.OpensStream || held[x.Session], isReceiving(x):
			continue
		case isNothingAnsweredAfter(x) && slices.ContainsFunc(all[i+1:],
			func(y *transcript.Call) bool { return y.Session == x.Session }):
			held[x.Session] = true // otherwise nothing was sent after the call
		}
		switch name := toolName(x); {
		case slices.ContainsFunc(all, func(y *transcript.Call) bool { return y.Response != nil && sameCall(x, y) }):
		case held[x.Session]:
			h.blocking = append(h.blocking, x)
		case !slices.Contains(h.slowTools, name):
			h.slowTools = append(h.slowTools, name)
		}
	}
	return h
}

// toolName returns the name of the tool that a request calls.
func toolName(x *transcript.Call) string {
	params, _ := x.Request.JSON()["params"].(check.M)
	name, _ := params["name"].(string)
	return name
}

// sameCall reports whether two requests call the same tool with the same arguments.
func sameCall(x, y *transcript.Call) bool {
	arguments := func(x *transcript.Call) string {
		params, _ := x.Request.JSON()["params"].(check.M)
		return string(text.CompactJSON(params["arguments"]))
	}
	return x.Request.Method == y.Request.Method && toolName(x) == toolName(y) && arguments(x) == arguments(y)
}
