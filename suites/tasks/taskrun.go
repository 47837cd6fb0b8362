package tasks

import (
	"errors"
	"maps"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/taskrun"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// taskRun is a task that a call was answered by, what was heard of it until its end, and what came of it.
type taskRun struct {
	*taskrun.TaskRun
	ProgressToken       any          // of its progress
	ResultReply         driver.Reply // to tasks/result; Err says why there is none
	RepeatedResultReply driver.Reply // to another, where that was an error

	CanAsk bool // until mcpcheck gave up, the server had a way to ask, or it has told the result

	requests       *pendingRequests // what the server asks meanwhile; nothing where the session answers it at once
	pendingResult  driver.Pending   // tasks/result, which was sent before the end; without an id it was not
	resultRequests int              // how often
	polls          int
}

// requestedTTL is how long tasks are wanted to be kept, in milliseconds.
const requestedTTL = 60_000

// withTask are params of a call that is to run as a task.
func withTask(params check.M) check.M {
	params = maps.Clone(params)
	params["task"] = check.M{"ttl": requestedTTL}
	return params
}

// taskIn is the task in the result of a call; nil when there is none.
func taskIn(result check.M) check.M {
	task, _ := result["task"].(check.M)
	return task
}

// isTask reports whether a call was answered by a task, be it one whose members are not where they belong.
func isTask(r driver.Reply) bool {
	result := r.Result()
	return taskIn(result) != nil || check.HasMember(result, "taskId") && !check.HasMember(result, "content")
}

// newTaskRun is the task that a call in a session was answered by.
func newTaskRun(t *check.T, s *driver.Session, call toolcall.ToolCall, asked *pendingRequests) *taskRun {
	c := &taskRun{requests: asked}
	task := taskIn(call.Reply.Result())
	id, _ := task["taskId"].(string)
	params, _ := call.Reply.Request.JSON()["params"].(check.M)
	c.ProgressToken = protocol.MetaOf(params)["progressToken"]
	c.TaskRun = &taskrun.TaskRun{
		ToolCall: call, CreateReply: call.Reply, StartTime: s.TimeOf(call.Reply.Request), Session: s, ID: id,
		PollIntervalKey: "pollInterval", TTLKey: "ttl", TaskIn: taskIn, Send: c.send, ProvideInput: c.requestResult,
		Timeout: taskrun.TaskTimeout(t),
	}
	if id == "" {
		c.IncompleteReason = "it has no id"
	}
	c.ExtendDeadline()
	return c
}

// maxPolls is how often a task is asked after before its result is: a server may not say that it waits for input.
const maxPolls = 10

// send sends a request about the task. What the server has asked before, and waits for, is answered after that; but at
// once where it serves nothing else meanwhile.
func (c *taskRun) send(method string, more check.M) driver.Reply {
	params := check.M{"taskId": c.ID}
	maps.Copy(params, more)
	open := c.requests.unanswered()
	var r driver.Reply
	hurried := false
	c.Session.RetryWhileBusy(func() (busy bool) {
		r = c.Session.Await(c.Session.Request(method, params))
		if busy = r.IsBusy(); busy && c.requests.answerNow(r) {
			hurried = true
		}
		return busy
	})
	if method == "tasks/get" {
		if c.polls++; c.polls == maxPolls {
			c.requestResult()
		}
		if c.requests.onTaskReply(open, c.ID, r) || hurried {
			c.ExtendDeadline()
		}
	}
	return r
}

// requestResult asks for the result, which comes when the task has ended, and again when that was answered before. On
// the way to it the server asks for input.
func (c *taskRun) requestResult() {
	if c.pendingResult.ID != nil && isSilent(c.Session.AwaitFor(c.pendingResult,
		0)) || c.resultRequests == toolcall.MaxInputRounds {
		return
	}
	c.resultRequests++
	c.pendingResult = c.Session.Request("tasks/result", check.M{"taskId": c.ID})
}

// isSilent reports whether an answer may come yet.
func isSilent(r driver.Reply) bool { return errors.As(r.Err, new(*driver.TimeoutError)) }

// fetchResult is the result of a task that has ended.
func (c *taskRun) fetchResult() driver.Reply {
	if c.pendingResult.ID != nil && !c.ResultReply.Answered() {
		if r := c.Session.Await(c.pendingResult); !r.IsBusy() {
			return r
		}
	}
	return c.Session.Call("tasks/result", check.M{"taskId": c.ID})
}

// followRuns follows tasks to their end.
func followRuns(courses ...*taskRun) {
	taskrun.FollowTasks(courses...)
	for _, c := range courses {
		switch {
		case c.FinalStatus == "" && c.pendingResult.ID != nil && c.Session.IsUsable():
			r := c.Session.AwaitFor(c.pendingResult, 0)
			c.CanAsk = isSilent(r) || r.Result() != nil
			c.Session.Cancel(c.pendingResult, "mcpcheck waits no longer")
		}
	}
}

// eachSnapshot tries a check on moments.
func eachSnapshot(t *check.T, moments []taskrun.TaskSnapshot, run func(*check.T, taskrun.TaskSnapshot)) {
	check.Each(t, moments, taskrun.TaskSnapshot.Subject, run)
}

// eachRun tries a check on tasks.
func eachRun(t *check.T, courses []*taskRun, run func(*check.T, *taskRun)) {
	check.Each(t, courses, func(c *taskRun) check.Subject {
		s := c.Subject()
		s.Frames = append(s.Frames, c.ResultReply.Request, c.ResultReply.Frame)
		return s
	}, run)
}
