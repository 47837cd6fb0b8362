package toolcall

import (
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// maxChangeCalls is how often a tool that announces changes is called again.
const maxChangeCalls = 3

// callsForOtherChanges are calls of the tools that change something and were seen to announce it, with the other values
// of their enums: each may be the name of another thing that changes. They are few, since these calls have effects.
func callsForOtherChanges(f *CallGroup, mark int) (queue []*ToolCall) {
	if f.T.IsQuick() || check.SavesRequests(f.T) {
		return nil
	}
	for i, call := range f.Calls {
		if report.IsReadOnly(call.Tool.Value) || !call.IsDirectSuccess() || call.Duration > MaxVariedDuration ||
			!f.announcesChange(i, mark) {
			continue
		}
		all := variedArguments(f.T, *call, schemas.OtherEnumValues)
		for _, arguments := range all[:min(len(all), maxChangeCalls)] {
			queue = append(queue, &ToolCall{Tool: call.Tool, Arguments: arguments})
		}
	}
	return queue
}

// announcesChange reports whether a change was announced since the mark and during a call, or after it and before the
// next one.
func (f *CallGroup) announcesChange(i, mark int) bool {
	call := f.Calls[i]
	return slices.ContainsFunc(f.Session.ReceivedSince(mark), func(came *driver.Frame) bool {
		isBeforeNext := i+1 == len(f.Calls) || came.At < f.Calls[i+1].Reply.Request.At
		return isChangeNotification(came) && came.At >= call.Reply.Request.At &&
			(came.At <= call.Reply.Frame.At || isBeforeNext)
	})
}

// isChangeNotification reports whether a frame of the server says that a list or a resource has changed.
func isChangeNotification(f *driver.Frame) bool {
	return f.Side == driver.FromServer &&
		(f.Method == "notifications/resources/updated" || strings.HasSuffix(f.Method, "/list_changed"))
}

// callForOtherChanges makes these calls in the session of the first ones, and records what changes anew: what the first
// call has changed, another one may change back.
func (c *ToolCalls) callForOtherChanges(first *CallGroup, mark int) {
	queue := callsForOtherChanges(first, mark)
	if len(queue) == 0 {
		return
	}
	t, s := first.T, first.Session
	for i, x := range c.currentResources {
		c.currentResources[i].before = s.Call("resources/read", check.M{"uri": x.URI})
	}
	mark = c.recordLists(t, s)
	f := &CallGroup{T: t, Session: s, Budget: first.Budget}
	further := ToolCalls{IsRepetition: true}
	further.RunCalls(f, queue)
	c.ForOtherChanges = append(c.ForOtherChanges, further.List...)
	if f.isHealthy() {
		c.recordChanges(t, s, mark)
	}
	f.CancelUnanswered()
}
