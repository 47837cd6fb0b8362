package tasksext

import (
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/taskrun"
)

// cancelChecks are the checks of cancelled tasks.
var cancelChecks = check.Suite{
	"tasks-ext/cancel-ack": check.Probe(func(t *check.T) {
		c := cancelTask(t)
		r := c.CancelReply
		c.SkipIfExpired(t, r)
		if taskrun.RequireAnswer(t, r); taskrun.IsUnknownTask(r) {
			t.Yield("there is no such task")
		}
		t.Expect(r).To(check.BeResult())
		expectEmpty(t.DecidedBy(r), r.Result())
	}).InOwnSession(),

	"tasks-ext/get-cancelled": check.Probe(func(t *check.T) {
		c := cancelTask(t)
		c.SkipIfExpired(t, c.GetReply)
		switch {
		case c.GetReply.Result() == nil:
			t.Yield("tasks/get was answered with %s before", check.Got(c.GetReply))
		case c.CancelReply.Result() == nil:
			t.Yield("tasks/cancel was answered with %s", check.Got(c.CancelReply))
		case c.FinalStatus == "completed" || c.FinalStatus == "failed":
			t.Skip(check.NotObserved, "the task was done before it could be cancelled: %s", c.FinalStatus)
		case c.LastReply().Err != nil:
			t.Retry(check.Undecided, "%v", check.Explain(c.LastReply().Err))
		}
		c.SkipIfExpired(t, c.LastReply())
		t.Expect(c.LastReply()).To(check.BeResult(), "a task that was cancelled")
		if status, _ := c.LastReply().Result()["status"].(string); status == "working" || status == "input_required" {
			t.NoVerdict(check.Undecided, "the server need not end the task, and did not within %v (--timeout)",
				c.Session.ReplyTimeout())
		}
		t.DecidedBy(c.LastReply()).Expect(c.LastReply().Result()["status"]).To(check.BeOneOf("cancelled"))
	}).InOwnSession(),

	"tasks-ext/cancel-terminal": check.Probe(func(t *check.T) {
		eachEnded(t, func(t *check.T, e endedTask) {
			taskrun.RequireAnswer(t, e.CancelReply)
			e.SkipIfExpired(t, e.CancelReply)
			requireOwnRefusal(t, e.CancelReply)
			t.Expect(e.CancelReply).To(check.BeResult())
		})
	}),

	"tasks-ext/cancelled-notification-no-effect": check.Probe(func(t *check.T) {
		before := slowestRun(t)
		s := before.NextSession(t, check.ForInvalidInput)
		c := startTask(t, s, before.ToolCall, nil)
		c.CancelCall(t)
		taskrun.FollowTasks(c)
		if c.FinalStatus == "" {
			t.NoVerdict(check.Undecided, "%s", c.IncompleteReason)
		}
		t.Expect(c.FinalStatus).To(check.BeOneOf("completed", "failed"))
	}).InOwnSession(),
}

// requireOwnRefusal ends the check if tasks/cancel fails with the same error for other tasks as well.
func requireOwnRefusal(t *check.T, r driver.Reply) {
	code, isRefused := r.Code()
	if !isRefused || taskrun.IsUnknownTask(r) || len(runTasks(t).Runs) == 0 {
		return
	}
	if usual, always := cancelTask(t).CancelReply.Code(); always && usual == code {
		t.Yield("tasks/cancel is always answered with %s", check.Got(r))
	}
}

// cancelledTask is a task that was polled once and then cancelled.
type cancelledTask struct {
	*taskRun
	// GetReply is the reply to tasks/get.
	GetReply driver.Reply
	// CancelReply is the reply to tasks/cancel.
	CancelReply driver.Reply
}

// cancelTask creates a task, cancels it, and follows it to its end. Over HTTP, this is done on another connection.
func cancelTask(t *check.T) cancelledTask {
	before := slowestRun(t)
	return check.Step(t, "cancelled task", func(t *check.T) cancelledTask {
		c := cancelledTask{taskRun: startTask(t, before.NextSession(t), before.ToolCall, nil)}
		if t.Site() != nil {
			c.Session = t.Session(check.Exclusive)
		}
		c.Poll()
		c.GetReply, c.CancelReply = c.LastReply(), c.send("tasks/cancel", nil)
		c.ExtendDeadline()
		taskrun.FollowTasks(c.taskRun)
		return c
	})
}
