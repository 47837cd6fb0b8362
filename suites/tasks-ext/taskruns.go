package tasksext

import (
	"math/bits"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/taskrun"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// extension is the identifier of the extension.
const extension = "io.modelcontextprotocol/tasks"

// taskCapabilities are the capabilities of a client with the extension that can respond to every input request.
var taskCapabilities = withTasks(protocol.AllModernCapabilities)

// withTasks returns capabilities with the extension added.
func withTasks(others check.M) check.M {
	all := protocol.ExtensionCapabilities(extension)
	for name, capability := range others {
		all[name] = capability
	}
	return all
}

// taskRuns holds the calls of tools by a client with the extension.
type taskRuns struct {
	toolcall.ToolCalls
	Runs  []*taskRun
	Ended []endedTask
}

// endedTask is a task that has ended, with the replies to a later tasks/get, a tasks/cancel and another tasks/get.
type endedTask struct {
	*taskRun
	GetReply, CancelReply, GetAfterCancel driver.Reply
}

// maxEnded is the number of tasks that are polled after their end, besides the first one of each status.
const maxEnded = 3

// runTasks calls each tool that may be called once, and follows the created tasks to their end.
func runTasks(t *check.T) *taskRuns {
	return check.Step(t, "tasks", func(t *check.T) *taskRuns {
		s := t.Session()
		r := &taskRuns{ToolCalls: toolcall.CallsWithCapabilities(t, s, taskCapabilities,
			toolcall.ToolsInCallOrder(t))}
		for _, call := range r.List {
			if isTask(call.Reply) {
				r.Runs = append(r.Runs, newTaskRun(t, s, call))
			}
		}
		taskrun.FollowTasks(r.Runs...)
		for _, c := range r.Runs {
			hasStatus := func(e endedTask) bool { return e.FinalStatus == c.FinalStatus }
			if c.FinalStatus != "" && (len(r.Ended) < maxEnded || !slices.ContainsFunc(r.Ended, hasStatus)) {
				e := endedTask{taskRun: c, GetReply: c.PollUnrecorded(), CancelReply: c.send("tasks/cancel", nil)}
				e.GetAfterCancel = c.PollUnrecorded()
				r.Ended = append(r.Ended, e)
			}
		}
		return r
	})
}

// requireRuns returns the tasks of the run. Without any, it ends the check.
func requireRuns(t *check.T) []*taskRun {
	r := runTasks(t)
	if len(r.Runs) == 0 {
		toolcall.SkipNotObserved(t, "call was answered by a task", r.Uncalled, toolcall.AnyTool)
	}
	return r.Runs
}

// requireRunsWhere returns the tasks that is selects; kind names them. Without any, it ends the check, as inconclusive
// if a task was not followed to its end.
func requireRunsWhere(t *check.T, kind string, is func(*taskRun) bool) (all []*taskRun) {
	everything := requireRuns(t)
	for _, c := range everything {
		if is(c) {
			all = append(all, c)
		}
	}
	if len(all) == 0 {
		skipNotObserved(t, kind)
	}
	taskrun.CaveatUnfinished(t, runTasks(t).Runs)
	return all
}

// requireSnapshots returns the snapshots with one of the statuses. Without any, it ends the check.
func requireSnapshots(t *check.T, kind string, status ...string) []snapshot {
	all := taskrun.Snapshots(requireRuns(t), status...)
	if len(all) == 0 {
		skipNotObserved(t, kind)
	}
	taskrun.CaveatUnfinished(t, runTasks(t).Runs)
	return all
}

// skipNotObserved ends a check that found nothing to judge.
func skipNotObserved(t *check.T, kind string) {
	r := runTasks(t)
	taskrun.SkipNotObservedInTasks(t, kind+" was seen", r.Runs, r.Uncalled)
}

// repeatCall repeats a call as a client with other capabilities, and with more params.
func repeatCall(t *check.T, s *driver.Session, call toolcall.ToolCall, capabilities, more check.M) toolcall.ToolCall {
	params := call.Params(s)
	for name, v := range more {
		params[name] = v
	}
	again := toolcall.RunInvalidInputLoop(t, s, "tools/call", protocol.WithCapabilities(params, capabilities))
	if again.LastReply.Err != nil {
		invalid.SkipUnlessServerRejects(t, again.LastReply)
		t.Retry(check.Undecided, "%v", check.Explain(again.LastReply.Err))
	}
	call.InputLoop, call.Reply = again, again.LastReply
	return call
}

// startTask creates a task with a tool that has created one before, with more params.
func startTask(t *check.T, s *driver.Session, call toolcall.ToolCall, more check.M) *taskRun {
	again := repeatCall(t, s, call, taskCapabilities, more)
	if !isTask(again.Reply) {
		t.NoVerdict(check.Undecided, "%s made a task before, and now was answered with %s", call.Tool.Name,
			check.Got(again.Reply))
	}
	return newTaskRun(t, s, again)
}

// slowestRun returns the task that ran the longest, preferably without asking for input.
func slowestRun(t *check.T) *taskRun {
	working := func(c *taskRun) int {
		if len(c.UpdateReplies) > 0 {
			return -1
		}
		// The logarithm makes durations of the same order equal, so that the choice is stable.
		return bits.Len(uint(len(c.Snapshots("working"))))
	}
	c := slices.MaxFunc(requireRuns(t), func(a, b *taskRun) int { return working(a) - working(b) })
	if c.FinalStatus == "" {
		check.RequireTime(t)
	}
	return c
}
