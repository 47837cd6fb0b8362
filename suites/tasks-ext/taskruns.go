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

// extension is the one that is judged.
const extension = "io.modelcontextprotocol/tasks"

// taskCapabilities is what a client declares that knows tasks, and can answer all that they ask for.
var taskCapabilities = withTasks(protocol.AllModernCapabilities)

// withTasks are the capabilities of a client that knows tasks beside what else it can do.
func withTasks(others check.M) check.M {
	all := protocol.ExtensionCapabilities(extension)
	for name, capability := range others {
		all[name] = capability
	}
	return all
}

// taskRuns is what came of calls of tools for a client that knows tasks.
type taskRuns struct {
	toolcall.ToolCalls
	Runs  []*taskRun
	Ended []endedTask
}

// endedTask is a task that has ended, asked after once more, cancelled, and asked after at last.
type endedTask struct {
	*taskRun
	GetReply, CancelReply, GetAfterCancel driver.Reply
}

// maxEnded is how many tasks are looked at after their end.
const maxEnded = 3

// runTasks calls the tools that may be called, each once, and follows the tasks that come of that to their end.
func runTasks(t *check.T) *taskRuns {
	return check.Step(t, "tasks", func(t *check.T) *taskRuns {
		s := t.Session()
		story := &taskRuns{ToolCalls: toolcall.CallsWithCapabilities(t, s, taskCapabilities,
			toolcall.ToolsInCallOrder(t))}
		for _, call := range story.List {
			if isTask(call.Reply) {
				story.Runs = append(story.Runs, newTaskRun(t, s, call))
			}
		}
		taskrun.FollowTasks(story.Runs...)
		for _, c := range story.Runs {
			if c.FinalStatus != "" && len(story.Ended) < maxEnded {
				e := endedTask{taskRun: c, GetReply: c.PollUnrecorded(), CancelReply: c.send("tasks/cancel", nil)}
				e.GetAfterCancel = c.PollUnrecorded()
				story.Ended = append(story.Ended, e)
			}
		}
		return story
	})
}

// requireRuns are those of the story; without any the check ends.
func requireRuns(t *check.T) []*taskRun {
	told := runTasks(t)
	if len(told.Runs) == 0 {
		toolcall.SkipNotObserved(t, "call was answered by a task", told.Uncalled, toolcall.AnyTool)
	}
	return told.Runs
}

// requireRunsWhere are the tasks of a kind, and what the kind is. Without any the check ends: it could not be tried
// where a task of the story was not followed to its end.
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

// requireSnapshots are the moments of a status; without any the check ends.
func requireSnapshots(t *check.T, kind string, status ...string) []snapshot {
	all := taskrun.Snapshots(requireRuns(t), status...)
	if len(all) == 0 {
		skipNotObserved(t, kind)
	}
	taskrun.CaveatUnfinished(t, runTasks(t).Runs)
	return all
}

// skipNotObserved ends a check for which there was nothing of a kind.
func skipNotObserved(t *check.T, kind string) {
	told := runTasks(t)
	taskrun.SkipNotObservedInTasks(t, kind+" was seen", told.Runs, told.Uncalled)
}

// repeatCall calls a tool once more as a client with other capabilities, and with more params.
func repeatCall(t *check.T, s *driver.Session, call toolcall.ToolCall, capabilities, more check.M) toolcall.ToolCall {
	params := call.Params(s)
	for name, v := range more {
		params[name] = v
	}
	again := toolcall.RunInvalidInputLoop(t, s, "tools/call", protocol.WithCapabilities(params, capabilities))
	if again.LastReply.Err != nil {
		invalid.SkipUnlessServerRejects(t, again.LastReply)
		t.Retry("%v", check.Explain(again.LastReply.Err))
	}
	call.InputLoop, call.Reply = again, again.LastReply
	return call
}

// startTask makes a task by a tool that has made one before, with more params.
func startTask(t *check.T, s *driver.Session, call toolcall.ToolCall, more check.M) *taskRun {
	again := repeatCall(t, s, call, taskCapabilities, more)
	if !isTask(again.Reply) {
		t.Inconclusive("%s made a task before, and now was answered with %s", call.Tool.Name, check.Got(again.Reply))
	}
	return newTaskRun(t, s, again)
}

// slowestRun is the task of the story that was seen to run for the longest, and asked for nothing if there is such a
// one.
func slowestRun(t *check.T) *taskRun {
	working := func(c *taskRun) int {
		if len(c.UpdateReplies) > 0 {
			return -1
		}
		return bits.Len(uint(len(c.Snapshots("working")))) // about as long is as long: the first one is taken
	}
	c := slices.MaxFunc(requireRuns(t), func(a, b *taskRun) int { return working(a) - working(b) })
	if c.FinalStatus == "" {
		check.RequireTime(t)
	}
	return c
}
