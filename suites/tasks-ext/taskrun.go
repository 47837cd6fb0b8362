package tasksext

import (
	"fmt"
	"maps"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/taskrun"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// taskRun is a task that a call was answered by, and what was heard of it until its end.
type taskRun struct {
	*taskrun.TaskRun
	UpdateReplies []driver.Reply // to tasks/update

	t                 *check.T
	capabilities      check.M         // what requests about it declare
	snapshotsAtUpdate int             // how many answers to tasks/get were heard when it was last given something
	providedKeys      map[string]bool // the keys of what it has asked for and got
}

// isTask reports whether a result is a task, by its type or, where that is wrong, by what it is made of.
func isTask(r driver.Reply) bool {
	result := r.Result()
	_, hasID := result["taskId"].(string)
	_, hasStatus := result["status"].(string)
	return result["resultType"] == "task" || hasID && hasStatus && !check.HasMember(result, "content")
}

// newTaskRun is the task that a call in a session was answered by.
func newTaskRun(t *check.T, s *driver.Session, call toolcall.ToolCall) *taskRun {
	id, _ := call.Reply.Result()["taskId"].(string)
	c := &taskRun{t: t, capabilities: taskCapabilities, providedKeys: map[string]bool{}}
	c.TaskRun = &taskrun.TaskRun{
		ToolCall: call, CreateReply: call.Reply, StartTime: s.TimeOf(call.Reply.Request), Session: s, ID: id,
		PollIntervalKey: "pollIntervalMs", TTLKey: "ttlMs", Send: c.send, ProvideInput: c.provideInput,
		Timeout: taskrun.TaskTimeout(t),
	}
	c.ExtendDeadline()
	return c
}

// send sends a request about the task.
func (c *taskRun) send(method string, more check.M) driver.Reply {
	params := check.M{"taskId": c.ID}
	maps.Copy(params, more)
	return c.Session.Call(method, protocol.WithCapabilities(params, c.capabilities))
}

// provideInput gives the task what it asks for now and has not got before.
func (c *taskRun) provideInput() {
	responses, err := toolcall.InputResponses(c.t, c.LastReply())
	maps.DeleteFunc(responses, func(key string, _ any) bool { return c.providedKeys[key] })
	switch {
	case err != nil:
		c.IncompleteReason = err.Error()
	case len(responses) == 0: // the server may take its time
	case len(c.UpdateReplies) == toolcall.MaxInputRounds:
		c.IncompleteReason = fmt.Sprintf("it still asks for input after %d updates, mcpcheck's own limit",
			toolcall.MaxInputRounds)
	default:
		if r := c.update(responses); r.Result() == nil {
			c.IncompleteReason = "tasks/update was answered with " + check.Got(r)
		}
	}
}

// update gives the task responses.
func (c *taskRun) update(responses check.M) driver.Reply {
	r := c.send("tasks/update", check.M{"inputResponses": responses})
	c.UpdateReplies, c.snapshotsAtUpdate = append(c.UpdateReplies, r), len(c.GetReplies)
	if r.Result() != nil {
		for key := range responses {
			c.providedKeys[key] = true
		}
	}
	c.ExtendDeadline()
	return r
}

// snapshot is what was told of a task at one time.
type snapshot = taskrun.TaskSnapshot

// eachSnapshot tries a check on moments.
func eachSnapshot(t *check.T, moments []snapshot, run func(*check.T, snapshot)) {
	check.Each(t, moments, snapshot.Subject, run)
}

// eachRun tries a check on tasks.
func eachRun(t *check.T, courses []*taskRun, run func(*check.T, *taskRun)) {
	check.Each(t, courses, func(c *taskRun) check.Subject { return c.Subject() }, run)
}
