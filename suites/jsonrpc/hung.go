package jsonrpc

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// hung are the calls of tools that were given up for want of an answer, unless an equal one was answered.
type hung struct {
	blocking []*kit.Exchange // while which nothing was answered in the session, not even a ping
	slow     []string        // other tools that had no answer in time: they may run for long
}

func hungCalls(all []*kit.Exchange) (h hung) {
	held := map[*driver.Session]bool{} // what was asked in it later may have had to wait
	for i, x := range all {
		switch {
		case !x.GivenUp || x.Standing || held[x.Session], x.StillComing():
			continue
		case x.Last() && slices.ContainsFunc(all[i+1:], func(y *kit.Exchange) bool { return y.Session == x.Session }):
			held[x.Session] = true // else nothing was tried meanwhile
		}
		switch name := toolOf(x); {
		case slices.ContainsFunc(all, func(y *kit.Exchange) bool { return y.Answer != nil && sameCall(x, y) }):
		case held[x.Session]:
			h.blocking = append(h.blocking, x)
		case !slices.Contains(h.slow, name):
			h.slow = append(h.slow, name)
		}
	}
	return h
}

// toolOf is the name of the tool that a request calls.
func toolOf(x *kit.Exchange) string {
	params, _ := x.Request.JSON()["params"].(M)
	name, _ := params["name"].(string)
	return name
}

// sameCall reports whether two requests call the same tool with the same arguments.
func sameCall(x, y *kit.Exchange) bool {
	arguments := func(x *kit.Exchange) string {
		params, _ := x.Request.JSON()["params"].(M)
		return string(Compact(params["arguments"]))
	}
	return x.Request.Method == y.Request.Method && toolOf(x) == toolOf(y) && arguments(x) == arguments(y)
}
