package jsonrpc

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// unansweredCalls are the calls of tools that were given up for want of an answer, unless an equal one was answered.
type unansweredCalls struct {
	blocking  []*transcript.Call // while which nothing was answered in the session, not even a ping
	slowTools []string           // other tools that had no answer in time: they may run for long
}

func unansweredCallsIn(all []*transcript.Call) (h unansweredCalls) {
	held := map[*driver.Session]bool{} // what was asked in it later may have had to wait
	for i, x := range all {
		switch {
		case !x.TimedOut || x.OpensStream || held[x.Session], x.IsReceiving():
			continue
		case x.NothingAnsweredAfter() && slices.ContainsFunc(all[i+1:],
			func(y *transcript.Call) bool { return y.Session == x.Session }):
			held[x.Session] = true // else nothing was tried meanwhile
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

// toolName is the name of the tool that a request calls.
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
