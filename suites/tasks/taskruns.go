package tasks

import (
	"math/bits"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/client"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/taskrun"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// taskRuns is what came of calls that were to run as tasks, in a session whose client can be asked for input.
type taskRuns struct {
	Calls     []toolcall.ToolCall
	Uncalled  []toolcall.Uncalled
	Runs      []*taskRun
	Ended     []endedTask
	Requests  *pendingRequests
	Session   *driver.Session
	Mark      int          // in the session, from which on all belongs to these calls
	ListReply driver.Reply // to tasks/list in the end, where the server declares it
}

// endedTask is a task that has ended, asked after some more, and cancelled meanwhile.
type endedTask struct {
	*taskRun
	LaterReplies []driver.Reply // to tasks/get
	CancelReply  driver.Reply   // where the server declares tasks.cancel
}

const (
	maxEnded      = 3 // how many tasks are looked at after their end
	maxLaterPolls = 3 // how often each
)

// runTasks calls the tools as tasks that run as such and may be called, each once, and follows the tasks to their end.
func runTasks(t *check.T) *taskRuns {
	return check.Step(t, "tasks", func(t *check.T) *taskRuns {
		story := &taskRuns{Requests: &pendingRequests{t: t, knownTasks: map[string]bool{}}}
		if !supportsTaskCalls(t) {
			return story
		}
		s := clientSession(t)
		story.Requests.session, story.Requests.ownMethods = s, unpromptedMethods(t, s)
		s.HandleServerRequests(story.Requests.add)
		story.Session, story.Mark = s, s.Mark()
		story.callTools(t)
		followRuns(story.Runs...)
		for _, c := range story.Runs {
			if c.FinalStatus == "" {
				continue
			}
			if c.ResultReply = c.fetchResult(); c.ResultReply.Error() != nil {
				c.RepeatedResultReply = c.fetchResult()
			}
			if len(story.Ended) < maxEnded {
				story.Ended = append(story.Ended, pollAfterEnd(t, c))
			}
		}
		if declaresList(t) {
			story.ListReply = s.Call("tasks/list", nil)
		}
		return story
	})
}

// clientSession is a session whose client can be asked for everything. A quick run has one session, whose client
// cannot.
func clientSession(t *check.T) *driver.Session {
	if t.IsQuick() {
		return check.ExclusiveUnlessQuick(t)
	}
	// side by side with all others, since tasks take their time
	return client.NewClient(t, protocol.AllCapabilities(t.Revision)).Session
}

// unpromptedMethods are the methods of what a server asks its client for before any tool is called: without more, it is
// not a task that asks for that.
func unpromptedMethods(t *check.T, s *driver.Session) map[string]bool {
	check.TryNoOp(t, s)
	if t.IsConfirmation() {
		handshake.AwaitServerRequests(t, s)
	}
	own := map[string]bool{}
	for _, f := range s.FramesSince(0) {
		if f.Side == driver.FromClient && f.Method == "tools/call" {
			break // of another check that has used the session
		}
		own[f.Method] = own[f.Method] || f.Side == driver.FromServer && f.IsRequest()
	}
	return own
}

// pollAfterEnd asks after a task that has ended.
func pollAfterEnd(t *check.T, c *taskRun) endedTask {
	e := endedTask{taskRun: c, CancelReply: driver.Reply{Err: errNotSent}}
	e.LaterReplies = append(e.LaterReplies, c.PollUnrecorded())
	if declaresCancel(t) {
		e.CancelReply = c.send("tasks/cancel", nil)
	}
	for len(e.LaterReplies) < maxLaterPolls {
		e.LaterReplies = append(e.LaterReplies, c.PollUnrecorded())
	}
	return e
}

// callTools makes the calls, one after the other: each is to be answered before its task is done.
func (story *taskRuns) callTools(t *check.T) {
	allowance := toolcall.NewCallBudget()
	for _, tool := range toolcall.ToolsInCallOrder(t) {
		if taskSupport(tool.Value) != "optional" && taskSupport(tool.Value) != "required" {
			continue
		}
		args, not := toolcall.TaskArguments(t, tool)
		if why := allowance.ExhaustedReason(); not == nil && why != "" {
			not = &toolcall.Uncalled{Tool: tool, Detail: why}
		}
		if not == nil && !story.Session.IsUsable() {
			not = &toolcall.Uncalled{Tool: tool, Detail: "the session did not last until it was called"}
		}
		if not != nil {
			story.Uncalled = append(story.Uncalled, *not)
			continue
		}
		call := toolcall.ToolCall{Tool: tool, Arguments: args}
		call = callAsTask(t, story.Session, call, story.Requests)
		allowance.Charge(call.Reply)
		story.Calls = append(story.Calls, call)
		if !isTask(call.Reply) {
			why := "its call was answered with " + check.Got(call.Reply)
			story.Uncalled = append(story.Uncalled,
				toolcall.Uncalled{Tool: tool, Detail: why, Unanswered: !call.Reply.Answered()})
			continue
		}
		c := newTaskRun(t, story.Session, call, story.Requests)
		story.Requests.knownTasks[c.ID] = true
		story.Runs = append(story.Runs, c)
	}
}

// callAsTask calls a tool as a task. What the server asks while the call has no answer is answered before long.
func callAsTask(t *check.T, s *driver.Session, call toolcall.ToolCall, asked *pendingRequests) toolcall.ToolCall {
	const pause = 100 * time.Millisecond
	begin := time.Now()
	p := s.Request("tools/call", withTask(call.Params(s)))
	for call.Reply = s.AwaitFor(p, pause); !call.Reply.Answered() && len(asked.unanswered()) > 0; {
		for _, q := range asked.unanswered() {
			asked.answer(q, "")
		}
		call.Reply = s.AwaitFor(p, pause)
	}
	if !call.Reply.Answered() {
		call.Reply = s.AwaitLongRunning(p)
	}
	call.Duration = time.Since(begin)
	if call.Reply.Answered() {
		call.Duration = call.Reply.Frame.At - call.Reply.Request.At
	}
	return call
}

// taskSupport is what a tool says of tasks: forbidden, where it says nothing.
func taskSupport(tool check.M) string {
	execution, _ := tool["execution"].(check.M)
	if text, isString := execution["taskSupport"].(string); isString {
		return text
	}
	return "forbidden"
}

// requireRuns are those of the story; without any the check ends.
func requireRuns(t *check.T) []*taskRun {
	told := runTasks(t)
	if len(told.Runs) == 0 {
		skipNotObserved(t, "call was answered by a task")
	}
	return told.Runs
}

// skipNotObserved ends a check that found nothing to judge.
func skipNotObserved(t *check.T, what string) {
	told := runTasks(t)
	taskrun.SkipNotObservedInTasks(t, what, told.Runs, told.Uncalled)
}

// requireRunsWhere are the tasks of a kind, and what the kind is. Without any the check ends.
func requireRunsWhere(t *check.T, kind string, is func(*taskRun) bool) (all []*taskRun) {
	for _, c := range requireRuns(t) {
		if is(c) {
			all = append(all, c)
		}
	}
	if len(all) == 0 {
		skipNotObserved(t, kind+" was seen")
	}
	taskrun.CaveatUnfinished(t, runTasks(t).Runs)
	return all
}

// requireSnapshots are what tasks/get has told; without any the check ends.
func requireSnapshots(t *check.T, status ...string) []taskrun.TaskSnapshot {
	all := taskrun.Snapshots(requireRuns(t), status...)
	if len(all) == 0 {
		skipNotObserved(t, "task was told of by tasks/get")
	}
	taskrun.CaveatUnfinished(t, runTasks(t).Runs)
	return all
}

// startTask makes a task by a tool that has made one before.
func startTask(t *check.T, s *driver.Session, before *taskRun) *taskRun {
	nothing := new(pendingRequests)
	call := callAsTask(t, s, before.ToolCall, nothing)
	taskrun.RequireAnswer(t, call.Reply)
	if !isTask(call.Reply) {
		t.Inconclusive("%s made a task before, and now was answered with %s", call.Tool.Name, check.Got(call.Reply))
	}
	return newTaskRun(t, s, call, nothing)
}

// slowestRun is the task of the story that was seen to run for the longest, and asked for nothing if there is such a
// one.
func slowestRun(t *check.T) *taskRun {
	working := func(c *taskRun) int {
		switch {
		case c.ID == "":
			return -2
		case c.pendingResult.ID != nil:
			return -1
		}
		return bits.Len(uint(len(c.Snapshots("working")))) // about as long is as long: the first one is taken
	}
	c := slices.MaxFunc(requireRuns(check.WithoutConfirmation(t)),
		func(a, b *taskRun) int { return working(a) - working(b) })
	if c.ID == "" {
		t.Yield("no task has an id")
	}
	if c.FinalStatus == "" {
		check.RequireTime(t)
	}
	return c
}

// triggerTasks sees to it that there are tasks, and that it is known what the server says to whatever it does not know.
func triggerTasks(t *check.T) {
	if len(runTasks(t).Runs) > 0 {
		invalid.SendUnknownMethod(t)
	}
}
