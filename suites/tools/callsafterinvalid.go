package tools

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// maxCallsAfterInvalid is how many valid calls are made again after invalid ones.
const maxCallsAfterInvalid = 5

// callsAfterInvalid calls a few tools as ValidCalls does, each right after a call with arguments that it has refused:
// what is refused may leave something behind. Tools with an outputSchema come first, since more of their results can be
// judged.
func callsAfterInvalid(t *check.T) (calls []toolcall.ToolCall) {
	if len(t.Server.Tools) == 0 || check.SavesRequests(t) || t.IsQuick() {
		return nil
	}
	refused, valid := toolcall.InvalidCalls(t), toolcall.ValidCalls(t)
	return check.Step(t, "valid calls after invalid ones", func(t *check.T) []toolcall.ToolCall {
		all := toolcall.ToolCalls{IsRepetition: true}
		all.RunInSessions(t, newCallsAfterInvalid(refused, valid))
		return slices.DeleteFunc(all.List, func(c toolcall.ToolCall) bool { return c.Counterexample != nil })
	})
}

func newCallsAfterInvalid(refused, valid toolcall.ToolCalls) (queue []*toolcall.ToolCall) {
	again := toolcall.RepeatableCalls(valid)
	hasNoOutput := func(c toolcall.ToolCall) bool { return !check.HasMember(c.Tool.Value, "outputSchema") }
	others := slices.DeleteFunc(slices.Clone(again), func(c toolcall.ToolCall) bool { return !hasNoOutput(c) })
	again = append(slices.DeleteFunc(again, hasNoOutput), others...)
	for _, c := range again {
		i := slices.IndexFunc(refused.List, func(r toolcall.ToolCall) bool {
			return r.Tool.Name == c.Tool.Name && r.Reply.IsFailure() && r.Duration < toolcall.MaxVariedDuration
		})
		if i >= 0 && c.Duration < toolcall.MaxVariedDuration && len(queue) < 2*maxCallsAfterInvalid {
			r := refused.List[i]
			queue = append(queue,
				&toolcall.ToolCall{Tool: r.Tool, Arguments: r.Arguments, Counterexample: r.Counterexample},
				&toolcall.ToolCall{Tool: c.Tool, Arguments: c.Arguments})
		}
	}
	return queue
}
