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

// taskRun is a task that a call has created, followed to its end.
type taskRun struct {
	*taskrun.TaskRun
	// UpdateReplies are the replies to tasks/update.
	UpdateReplies []driver.Reply

	t *check.T
	// capabilities are the capabilities that requests about the task declare.
	capabilities check.M
	// snapshotsAtUpdate is the number of snapshots at the last tasks/update.
	snapshotsAtUpdate int
	// providedKeys are the keys of the input requests that were answered.
	providedKeys map[string]bool
}

// isTask reports whether a result is a task, by its resultType or, if that is wrong, by its members.
func isTask(r driver.Reply) bool {
	result := r.Result()
	_, hasID := result["taskId"].(string)
	_, hasStatus := result["status"].(string)
	return result["resultType"] == "task" || hasID && hasStatus && !check.HasMember(result, "content")
}

// newTaskRun returns the run of the task that a call has created.
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

// provideInput responds to the current input requests that were not answered before.
func (c *taskRun) provideInput() {
	responses, err := toolcall.InputResponses(c.t, c.LastReply())
	maps.DeleteFunc(responses, func(key string, _ any) bool { return c.providedKeys[key] })
	switch {
	case err != nil:
		c.IncompleteReason = err.Error()
	case len(responses) == 0: // the server may need some time
	case len(c.UpdateReplies) == toolcall.MaxInputRounds:
		c.IncompleteReason = fmt.Sprintf("it still asks for input after %d updates, mcpcheck's own limit",
			toolcall.MaxInputRounds)
	default:
		if r := c.update(responses); r.Result() == nil {
			c.IncompleteReason = "tasks/update was answered with " + check.Got(r)
		}
	}
}

// update sends responses to the task.
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

// snapshot is the state of a task at one time.
type snapshot = taskrun.TaskSnapshot

// eachSnapshot runs a check on every snapshot.
func eachSnapshot(t *check.T, snapshots []snapshot, run func(*check.T, snapshot)) {
	check.Each(t, snapshots, snapshot.Subject, run)
}

// eachRun runs a check on every task.
func eachRun(t *check.T, runs []*taskRun, run func(*check.T, *taskRun)) {
	check.Each(t, runs, func(c *taskRun) check.Subject { return c.Subject() }, run)
}
