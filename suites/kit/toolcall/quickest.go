package toolcall

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// CompareBySpeed orders calls in the same way in each run. On a busy machine any call may be somewhat slower, so only a
// call that takes twice as long comes later; otherwise the name of the tool decides.
func CompareBySpeed(a, b ToolCall) int {
	steps := func(c ToolCall) int { return bits.Len64(uint64(c.Duration / timing.LongCall)) }
	return cmp.Or(cmp.Compare(steps(a), steps(b)), strings.Compare(a.Tool.Name, b.Tool.Name))
}

// QuickestCall is the first call by CompareBySpeed of those that succeeded without input and for which is reports true.
// It ends a check when there is none; what names in the reason what was not observed.
func QuickestCall(t *check.T, calls ToolCalls, what string, is func(ToolCall) bool) ToolCall {
	plain := slices.DeleteFunc(slices.Clone(calls.List),
		func(c ToolCall) bool { return !c.IsDirectSuccess() || !is(c) })
	if len(plain) == 0 {
		SkipNotObserved(t, what, calls.Uncalled, AnyTool)
	}
	return slices.MinFunc(plain, CompareBySpeed)
}

// LastingCall is a call that succeeded, takes a while, and fits: the quickest of those. It is false without one.
func LastingCall(t *check.T, fits func(ToolCall) bool) (call ToolCall, ok bool) {
	if len(t.Server.Tools) == 0 {
		return call, false
	}
	const while, tooLong = 100 * time.Millisecond, 4 * time.Second
	for _, c := range ValidCalls(t).List {
		if c.IsDirectSuccess() && c.Duration >= while && c.Duration <= tooLong && fits(c) &&
			(!ok || CompareBySpeed(c, call) < 0) {
			call, ok = c, true
		}
	}
	return call, ok
}

// IsDirectSuccess reports whether the call succeeded without input.
func (c ToolCall) IsDirectSuccess() bool {
	return c.Reply.Result() != nil && !c.Reply.IsFailure() && len(c.InputLoop.InputReplies) == 0
}

// Repeat sends the call again with these members of _meta instead of its own progress token and log level.
func (c ToolCall) Repeat(s *driver.Session, meta check.M) driver.Pending {
	return s.Request("tools/call", c.paramsWith(s, meta))
}

// RepeatWithID is Repeat under an id.
func (c ToolCall) RepeatWithID(s *driver.Session, id any, meta check.M) driver.Pending {
	return s.RequestWithID(id, "tools/call", c.paramsWith(s, meta))
}

// paramsWith returns the params for Repeat.
func (c ToolCall) paramsWith(s *driver.Session, meta check.M) check.M {
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
	return params
}

// RepeatableCalls are the calls that succeeded without input, of tools that say that another call has no further
// effect, ordered by CompareBySpeed.
func RepeatableCalls(calls ToolCalls) []ToolCall {
	all := slices.DeleteFunc(slices.Clone(calls.List),
		func(c ToolCall) bool { return !c.IsDirectSuccess() || !IsRepeatable(c.Tool) })
	slices.SortStableFunc(all, CompareBySpeed)
	return all
}

// IsRepeatable reports whether a tool says that another call has no further effect.
func IsRepeatable(tool check.Subject) bool {
	annotations, _ := tool.Value["annotations"].(check.M)
	return annotations["readOnlyHint"] == true || annotations["idempotentHint"] == true
}
