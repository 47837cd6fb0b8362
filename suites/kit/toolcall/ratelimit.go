package toolcall

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

// detectRateLimit calls an unknown tool before other calls, and again after them. When the server has come to answer
// that in another way, its limit for calls is likely to be reached; limits then returns the second answer.
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

// dropRateLimited takes out calls that the server would not serve, since there were too many: those that it says so of,
// and those that were refused in the words of reached, the answer to any call by then.
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

// RequireNotRateLimited ends a check whose call was refused as the server refuses any call by now, whatever it is of:
// there were too many. To find that out, a tool is called in the session that is served otherwise. It is not where the
// call was refused with one of the codes that the check wants.
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
			t.WithReason(check.ForeignAnswer).Retry("%s is answered with %s as well, as if the server limits calls",
				tool,
				check.Got(control))
		}
	}
}

// ordinaryCall is a call of a tool that was served at once or, when none was, of any that may be called; nil without
// one.
func ordinaryCall(t *check.T) (tool string, params check.M) {
	calls := ValidCalls(t).List
	served := func(c ToolCall) bool {
		return c.Reply.Answered() && !c.Reply.IsFailure() && len(c.InputLoop.InputReplies) == 0
	}
	if at := slices.IndexFunc(calls, served); at >= 0 {
		tool, arguments := calls[at].Tool.Name, calls[at].Arguments
		return tool, WithAllCapabilities(t, check.M{"name": tool, "arguments": arguments})
	}
	for _, tool := range ToolsInCallOrder(t) {
		if arguments, not := ValidArguments(t, tool); not == nil {
			return tool.Name, WithAllCapabilities(t, check.M{"name": tool.Name, "arguments": arguments})
		}
	}
	return "", nil
}
