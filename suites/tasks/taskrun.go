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

// taskRun is a task that a call has created, followed to its end, with its result.
type taskRun struct {
	*taskrun.TaskRun
	// ProgressToken is the progress token of the call.
	ProgressToken any
	// ResultReply is the reply to tasks/result; its Err says why there is none.
	ResultReply driver.Reply
	// RepeatedResultReply is the reply to a second tasks/result, which is sent if the first one was answered.
	RepeatedResultReply driver.Reply

	// CanAsk reports that the server still had a way to ask for input when mcpcheck gave up, or that it returned the
	// result.
	CanAsk bool

	// requests are the server requests of the session. It is empty if the session responds to them immediately.
	requests *pendingRequests
	// pendingResult is the tasks/result that was sent before the end; its id is nil if none was.
	pendingResult driver.Pending
	// earlyResults are all tasks/result that were sent before the end.
	earlyResults []driver.Pending
	// resultRequests counts the requests of tasks/result.
	resultRequests int
	// polls counts the requests of tasks/get.
	polls int
}

// requestedTTL is the requested lifetime of tasks, in milliseconds.
const requestedTTL = 60_000

// withTask returns the params of a call that has to run as a task.
func withTask(params check.M) check.M {
	params = maps.Clone(params)
	params["task"] = check.M{"ttl": requestedTTL}
	return params
}

// taskIn returns the task in the result of a call; nil if there is none.
func taskIn(result check.M) check.M {
	task, _ := result["task"].(check.M)
	return task
}

// isTask reports whether a call was answered with a task, even if the members of the task are in the wrong place.
func isTask(r driver.Reply) bool {
	result := r.Result()
	return taskIn(result) != nil || check.HasMember(result, "taskId") && !check.HasMember(result, "content")
}

// newTaskRun returns the run of the task that a call has created.
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

// maxPolls is the number of tasks/get after which tasks/result is sent. A server may wait for input without saying so,
// and send its requests only then.
const maxPolls = 10

// send sends a request about the task. Earlier server requests for input are answered after it, or immediately if the
// server serves nothing else before.
func (c *taskRun) send(method string, more check.M) driver.Reply {
	params := check.M{"taskId": c.ID}
	maps.Copy(params, more)
	open := c.requests.unanswered()
	var r driver.Reply
	answered := false
	c.Session.RetryWhileBusy(func() (busy bool) {
		r = c.Session.Await(c.Session.Request(method, params))
		if busy = r.IsBusy(); busy && c.requests.answerNow(r) {
			answered = true
		}
		return busy
	})
	if method == "tasks/get" {
		if c.polls++; c.polls == maxPolls {
			c.requestResult()
		}
		if c.requests.onTaskReply(open, c.ID, r) || answered {
			c.ExtendDeadline()
		}
	}
	return r
}

// requestResult sends tasks/result, which is answered when the task has ended; it is sent again after an earlier
// response. While it waits, the server may ask for input.
func (c *taskRun) requestResult() {
	if c.pendingResult.ID != nil && isSilent(c.Session.AwaitFor(c.pendingResult, 0)) ||
		c.resultRequests == toolcall.MaxInputRounds {
		return
	}
	c.resultRequests++
	c.pendingResult = c.Session.Request("tasks/result", check.M{"taskId": c.ID})
	c.earlyResults = append(c.earlyResults, c.pendingResult)
}

// isSilent reports whether a response may still be received.
func isSilent(r driver.Reply) bool { return errors.As(r.Err, new(*driver.TimeoutError)) }

// fetchResult returns the result of a task that has ended.
func (c *taskRun) fetchResult() driver.Reply {
	if c.pendingResult.ID != nil && !c.ResultReply.Answered() {
		if r := c.Session.Await(c.pendingResult); !r.IsBusy() {
			return r
		}
	}
	return c.Session.Call("tasks/result", check.M{"taskId": c.ID})
}

// followRuns follows tasks to their end.
func followRuns(runs ...*taskRun) {
	taskrun.FollowTasks(runs...)
	for _, c := range runs {
		switch {
		case c.FinalStatus == "" && c.pendingResult.ID != nil && c.Session.IsUsable():
			r := c.Session.AwaitFor(c.pendingResult, 0)
			c.CanAsk = isSilent(r) || r.Result() != nil
			c.Session.Cancel(c.pendingResult, "mcpcheck waits no longer")
		}
	}
}

// eachSnapshot runs a check on every snapshot.
func eachSnapshot(t *check.T, snapshots []taskrun.TaskSnapshot, run func(*check.T, taskrun.TaskSnapshot)) {
	check.Each(t, snapshots, taskrun.TaskSnapshot.Subject, run)
}

// eachRun runs a check on every task.
func eachRun(t *check.T, runs []*taskRun, run func(*check.T, *taskRun)) {
	check.Each(t, runs, func(c *taskRun) check.Subject {
		s := c.Subject()
		s.Frames = append(s.Frames, c.ResultReply.Request, c.ResultReply.Frame)
		return s
	}, run)
}
