package toolcall

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

// detectRateLimit calls an unknown tool before other calls; limits calls it again after them. If the reply is a
// different one then, the server probably limits the rate of calls, and limits returns that reply.
func detectRateLimit(t *check.T, s *driver.Session) (limits func(s *driver.Session) driver.Reply) {
	if !check.MayCallUnknown(t) {
		return func(*driver.Session) (none driver.Reply) { return none }
	}
	params := check.M{"name": protocol.UnknownToolName(t), "arguments": check.M{}}
	before := invalid.SendInvalid(t, s, "tools/call", params)
	return func(s *driver.Session) (none driver.Reply) {
		if !before.Answered() {
			return none
		}
		if after := s.Call("tools/call", params); !protocol.SameText(before, after) {
			return after
		}
		return none
	}
}

// dropRateLimited moves calls to Uncalled that the server refused for their rate: those whose replies say so, and those
// with the same reply as reached, which is that of an unknown tool by then.
func (c *ToolCalls) dropRateLimited(reached driver.Reply) {
	served := c.List[:0]
	for _, call := range c.List {
		if call.Reply.IsRateLimited() || call.Reply.IsFailure() && protocol.SameText(call.Reply, reached) {
			c.addUncalled(call, "the server limits calls: "+check.Got(call.Reply))
			continue
		}
		served = append(served, call)
	}
	c.List = served
}

// RequireNotRateLimited ends a check whose call was refused in the same words as any call by now, since there were too
// many. It calls a tool to find that out, unless the call was refused with one of the wanted codes.
func RequireNotRateLimited(t *check.T, s *driver.Session, r driver.Reply, wanted ...int) {
	if code, isError := r.Code(); !r.IsFailure() || isError && slices.Contains(wanted, code) {
		return
	}
	tool, params := ordinaryCall(t)
	if params == nil {
		return
	}
	for _, control := range protocol.RepeatConcurrently(t, s, 2, "tools/call", params) {
		if control.IsFailure() && protocol.SameText(r, control) {
			t.Retry(check.ForeignAnswer, "%s is answered with %s as well, as if the server limits calls",
				tool,
				check.Got(control))
		}
	}
}

// ordinaryCall is the quickest call of a tool that was served without input or, if none was, of any tool that may be
// called; params is nil when there is none.
func ordinaryCall(t *check.T) (tool string, params check.M) {
	served := slices.DeleteFunc(slices.Clone(ValidCalls(t).List), func(c ToolCall) bool {
		return !c.Reply.Answered() || c.Reply.IsFailure() || len(c.InputLoop.InputReplies) > 0
	})
	if len(served) > 0 {
		quickest := slices.MinFunc(served, CompareBySpeed)
		tool, arguments := quickest.Tool.Name, quickest.Arguments
		return tool, WithAllCapabilities(t, check.M{"name": tool, "arguments": arguments})
	}
	for _, tool := range ToolsInCallOrder(t) {
		if arguments, not := ValidArguments(t, tool); not == nil {
			return tool.Name, WithAllCapabilities(t, check.M{"name": tool.Name, "arguments": arguments})
		}
	}
	return "", nil
}
