package toolcall

import (
	"cmp"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
	"math/bits"
	"slices"
	"strings"
)

// CallWithProgress is a call of a tool that may be made again, as QuickestCall has it, and has reported its progress.
func CallWithProgress(t *check.T) ToolCall {
	calls := ValidCalls(t)
	return QuickestCall(t, calls, "progress was reported", func(c ToolCall) bool {
		return slices.ContainsFunc(transcript.ProgressIn(c.Session, c.Session.FramesSince(0)),
			func(r *transcript.ProgressNotification) bool {
				return r.ForRequest != nil && driver.SameID(r.ForRequest.Request.ID, c.Reply.Request.ID)
			})
	})
}

// CompareBySpeed orders calls such that the same one comes first in each run. A busy machine makes any call somewhat
// slower: only one that takes twice as long comes later, and the names of the tools decide between the others.
func CompareBySpeed(a, b ToolCall) int {
	steps := func(c ToolCall) int { return bits.Len64(uint64(c.Duration / longCallTime)) }
	return cmp.Or(cmp.Compare(steps(a), steps(b)), strings.Compare(a.Tool.Name, b.Tool.Name))
}

// QuickestCall is the first call in the order of CompareBySpeed, of those that are plain, and of a kind. It ends a
// check that finds none; what says what it lacks.
func QuickestCall(t *check.T, calls ToolCalls, what string, is func(ToolCall) bool) ToolCall {
	plain := slices.DeleteFunc(slices.Clone(calls.List),
		func(c ToolCall) bool { return !c.IsDirectSuccess() || !is(c) })
	if len(plain) == 0 {
		SkipNotObserved(t, what, calls.Uncalled, AnyTool)
	}
	return slices.MinFunc(plain, CompareBySpeed)
}

// IsDirectSuccess reports whether the call was answered with success, and asked for no input before.
func (c ToolCall) IsDirectSuccess() bool {
	return c.Reply.Result() != nil && !c.Reply.IsFailure() && len(c.InputLoop.InputReplies) == 0
}

// Again sends the call once more with other members of _meta, none of those that it had before.
func (c ToolCall) Repeat(s *driver.Session, meta check.M) driver.Pending {
	params := c.Params(s)
	all, _ := params["_meta"].(check.M)
	delete(all, "progressToken")
	delete(all, driver.MetaLogLevel)
	for key, value := range meta {
		if all == nil {
			all = check.M{}
		}
		all[key] = value
	}
	if params["_meta"] = all; len(all) == 0 {
		delete(params, "_meta")
	}
	return s.Request("tools/call", params)
}
