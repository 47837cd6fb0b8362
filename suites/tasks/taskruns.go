package tasks

import (
	"math/bits"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/client"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/taskrun"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// taskRuns holds the calls that had to run as tasks, in a session whose client has all capabilities.
type taskRuns struct {
	Calls    []toolcall.ToolCall
	Uncalled []toolcall.Uncalled
	Runs     []*taskRun
	Ended    []endedTask
	Requests *pendingRequests
	Session  *driver.Session
	// Mark is the position in the session from which on all messages belong to these calls.
	Mark int
	// ListReply is the reply to tasks/list after the last task, if the server declares that.
	ListReply driver.Reply
}

// endedTask is a task that has ended, with the replies to later requests.
type endedTask struct {
	*taskRun
	// LaterReplies are the replies to tasks/get.
	LaterReplies []driver.Reply
	// CancelReply is the reply to tasks/cancel, if the server declares that.
	CancelReply driver.Reply
}

const (
	// maxEnded is the number of tasks that are polled after their end, besides the first one of each status.
	maxEnded = 3
	// maxLaterPolls is the number of these polls for each task.
	maxLaterPolls = 3
)

// runTasks calls each tool that supports tasks and may be called once as a task, and follows the tasks to their end.
func runTasks(t *check.T) *taskRuns {
	return check.Step(t, "tasks", func(t *check.T) *taskRuns {
		r := &taskRuns{Requests: &pendingRequests{t: t, knownTasks: map[string]bool{}}}
		if !supportsTaskCalls(t) {
			return r
		}
		s := clientSession(t)
		r.Requests.session, r.Requests.ownMethods = s, unpromptedMethods(t, s)
		s.HandleServerRequests(r.Requests.add)
		r.Session, r.Mark = s, s.Mark()
		r.callTools(t)
		followRuns(r.Runs...)
		for _, c := range r.Runs {
			if c.FinalStatus == "" {
				continue
			}
			if c.ResultReply = c.fetchResult(); c.ResultReply.Answered() {
				c.RepeatedResultReply = c.fetchResult()
			}
			hasStatus := func(e endedTask) bool { return e.FinalStatus == c.FinalStatus }
			if len(r.Ended) < maxEnded || !slices.ContainsFunc(r.Ended, hasStatus) {
				r.Ended = append(r.Ended, pollAfterEnd(t, c))
			}
		}
		if declaresList(t) {
			r.ListReply = s.Call("tasks/list", nil)
		}
		return r
	})
}

// clientSession returns a session whose client has all capabilities. In a quick run, it is the only session, whose
// client has not.
func clientSession(t *check.T) *driver.Session {
	if t.IsQuick() {
		return t.Session(check.ExclusiveUnlessQuick)
	}
	all := protocol.AllCapabilities(t.Revision)
	runsAsTask := func(tool check.Subject) bool {
		_, not := toolcall.TaskArguments(t, tool)
		return supportsTasks(tool) && not == nil
	}
	if slices.ContainsFunc(toolcall.ToolsInCallOrder(t), runsAsTask) {
		// Tasks take their time, so that the session is used in parallel with all others.
		return client.NewClient(t, all, client.AcceptAll(t)).Session
	}
	return client.ReusedClient(t, all, client.AcceptAll(t)).Session
}

// supportsTasks reports whether a tool can be called as a task.
func supportsTasks(tool check.Subject) bool {
	support := taskSupport(tool.Value)
	return support == "optional" || support == "required"
}

// unpromptedMethods returns the methods that the server requests before any tool call. Later requests with these need
// not come from a task.
func unpromptedMethods(t *check.T, s *driver.Session) map[string]bool {
	check.TryNoOp(t, s)
	if t.IsConfirmation() {
		handshake.AwaitServerRequests(t, s)
	}
	own := map[string]bool{}
	for _, f := range s.FramesSince(0) {
		if f.Side == driver.FromClient && f.Method == "tools/call" {
			break // another check has used the session
		}
		own[f.Method] = own[f.Method] || f.Side == driver.FromServer && f.IsRequest()
	}
	return own
}

// pollAfterEnd polls a task that has ended, and cancels it in between.
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

const (
	// maxFailureTools is the number of tools that are called with invalid arguments so that a task fails.
	maxFailureTools = 3
	// maxFailureCalls is the number of these calls of each tool.
	maxFailureCalls = 3
)

// failedTask returns a task that has failed, or whose tool has: if no task did so by itself, that of a call with
// arguments that the tool does not allow. It returns nil if the server makes no task of such a call, and answers it
// with an error.
func failedTask(t *check.T) *endedTask {
	usual := runTasks(t)
	hasFailed := func(c *taskRun) bool { return c.FinalStatus == "failed" || isFailedCall(c.ResultReply) }
	if len(usual.Runs) == 0 || slices.ContainsFunc(usual.Runs, hasFailed) || t.IsQuick() || check.SavesRequests(t) {
		return nil
	}
	return check.Step(t, "failed task", func(t *check.T) *endedTask {
		tools := 0
		for _, before := range usual.Runs {
			calls := failingCalls(t, before)
			if len(calls) == 0 || before.Duration() > timing.LongTask {
				continue
			}
			if tools++; tools > maxFailureTools {
				break
			}
			s := before.NextSession(t)
			for _, call := range calls {
				if call = callAsTask(t, s, call, new(pendingRequests)); !call.Reply.Answered() {
					return nil
				} else if !isTask(call.Reply) {
					continue
				}
				c := newTaskRun(t, s, call, new(pendingRequests))
				if followRuns(c); c.FinalStatus == "" {
					continue
				}
				if c.ResultReply = c.fetchResult(); !hasFailed(c) {
					continue
				}
				if c.ResultReply.Answered() {
					c.RepeatedResultReply = c.fetchResult()
				}
				e := pollAfterEnd(t, c)
				return &e
			}
		}
		return nil
	})
}

// failingCalls returns calls of a tool with arguments that it does not allow.
func failingCalls(t *check.T, before *taskRun) (calls []toolcall.ToolCall) {
	tool := before.ToolCall.Tool
	if toolcall.CheckMayVary(t, tool) != nil || check.ExampleArguments(t, tool.Name) != nil {
		return nil
	}
	schema, err := schemas.Compile(tool.Value["inputSchema"], t.Revision)
	if err != nil {
		return nil
	}
	for _, broken := range schemas.Counterexamples(schema, before.ToolCall.Arguments, t.Seed) {
		if len(calls) < maxFailureCalls && !broken.IsCoercible {
			calls = append(calls, toolcall.ToolCall{Tool: tool, Arguments: broken.Arguments})
		}
	}
	return calls
}

// callTools makes the calls one after the other. Each has to be answered before its task has ended.
func (r *taskRuns) callTools(t *check.T) {
	allowance := toolcall.NewCallBudget()
	for _, tool := range toolcall.ToolsInCallOrder(t) {
		if !supportsTasks(tool) {
			continue
		}
		args, not := toolcall.TaskArguments(t, tool)
		if why := allowance.ExhaustedReason(); not == nil && why != "" {
			not = &toolcall.Uncalled{Tool: tool, Detail: why}
		}
		if not == nil && !r.Session.IsUsable() {
			not = &toolcall.Uncalled{Tool: tool, Detail: "the session did not last until it was called"}
		}
		if not != nil {
			r.Uncalled = append(r.Uncalled, *not)
			continue
		}
		call := toolcall.ToolCall{Tool: tool, Arguments: args}
		call = callAsTask(t, r.Session, call, r.Requests)
		allowance.Charge(call.Reply)
		r.Calls = append(r.Calls, call)
		if !isTask(call.Reply) {
			why := "its call was answered with " + check.Got(call.Reply)
			r.Uncalled = append(r.Uncalled,
				toolcall.Uncalled{Tool: tool, Detail: why, Unanswered: !call.Reply.Answered()})
			continue
		}
		c := newTaskRun(t, r.Session, call, r.Requests)
		r.Requests.knownTasks[c.ID] = true
		r.Runs = append(r.Runs, c)
	}
}

// callAsTask calls a tool as a task. Server requests that are received before the response are answered soon.
func callAsTask(t *check.T, s *driver.Session, call toolcall.ToolCall, asked *pendingRequests) toolcall.ToolCall {
	return awaitTaskCall(s, s.Request("tools/call", withTask(call.Params(s))), call, asked)
}

// awaitTaskCall waits for the response to a call of a tool as a task.
func awaitTaskCall(
	s *driver.Session, p driver.Pending, call toolcall.ToolCall, asked *pendingRequests,
) toolcall.ToolCall {
	begin := time.Now()
	for call.Reply = s.AwaitFor(p, timing.TaskRequests); !call.Reply.Answered() && len(asked.unanswered()) > 0; {
		for _, q := range asked.unanswered() {
			asked.answer(q, "")
		}
		call.Reply = s.AwaitFor(p, timing.TaskRequests)
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

// taskSupport returns the taskSupport of a tool; without one, it is "forbidden".
func taskSupport(tool check.M) string {
	execution, _ := tool["execution"].(check.M)
	if text, isString := execution["taskSupport"].(string); isString {
		return text
	}
	return "forbidden"
}

// requireRuns returns the tasks of the run. Without any, it ends the check.
func requireRuns(t *check.T) []*taskRun {
	r := runTasks(t)
	if len(r.Runs) == 0 {
		skipNotObserved(t, "call was answered by a task")
	}
	return r.Runs
}

// skipNotObserved ends a check that found nothing to judge.
func skipNotObserved(t *check.T, what string) {
	r := runTasks(t)
	taskrun.SkipNotObservedInTasks(t, what, r.Runs, r.Uncalled)
}

// withFailed returns the tasks with one that has failed, if there is one.
func withFailed(t *check.T, runs []*taskRun) []*taskRun {
	if e := failedTask(t); e != nil {
		runs = append(slices.Clip(runs), e.taskRun)
	}
	return runs
}

// requireRunsWhere returns the tasks that is selects; kind names them. Without any, it ends the check.
func requireRunsWhere(t *check.T, kind string, is func(*taskRun) bool) (all []*taskRun) {
	for _, c := range withFailed(t, requireRuns(t)) {
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

// requireSnapshots returns the states that tasks/get reported, with one of the statuses if there are some. Without any,
// it ends the check.
func requireSnapshots(t *check.T, status ...string) []taskrun.TaskSnapshot {
	all := taskrun.Snapshots(withFailed(t, requireRuns(t)), status...)
	if len(all) == 0 {
		skipNotObserved(t, "task was told of by tasks/get")
	}
	taskrun.CaveatUnfinished(t, runTasks(t).Runs)
	return all
}

// startTask creates a task with a tool that has created one before.
func startTask(t *check.T, s *driver.Session, before *taskRun) *taskRun {
	nothing := new(pendingRequests)
	return startedTask(t, s, callAsTask(t, s, before.ToolCall, nothing), nothing)
}

// startTaskWithoutTTL is startTask without a requested lifetime.
func startTaskWithoutTTL(t *check.T, s *driver.Session, before *taskRun) *taskRun {
	nothing, params := new(pendingRequests), before.ToolCall.Params(s)
	params["task"] = check.M{}
	p := s.Request("tools/call", params)
	return startedTask(t, s, awaitTaskCall(s, p, before.ToolCall, nothing), nothing)
}

// startedTask is the task that a call has created. Without one, it ends the check.
func startedTask(t *check.T, s *driver.Session, call toolcall.ToolCall, nothing *pendingRequests) *taskRun {
	taskrun.RequireAnswer(t, call.Reply)
	if !isTask(call.Reply) {
		t.NoVerdict(check.Undecided, "%s made a task before, and now was answered with %s", call.Tool.Name,
			check.Got(call.Reply))
	}
	return newTaskRun(t, s, call, nothing)
}

// slowestRun returns the task that ran the longest, preferably without asking for input.
func slowestRun(t *check.T) *taskRun {
	working := func(c *taskRun) int {
		switch {
		case c.ID == "":
			return -2
		case c.pendingResult.ID != nil:
			return -1
		}
		// The logarithm makes durations of the same order equal, so that the choice is stable.
		return bits.Len(uint(len(c.Snapshots("working"))))
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

// triggerTasks makes sure that there are tasks, and that the reply to an unknown method is known.
func triggerTasks(t *check.T) {
	if len(runTasks(t).Runs) > 0 {
		invalid.SendUnknownMethod(t)
	}
}
