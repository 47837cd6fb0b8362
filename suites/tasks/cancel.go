package tasks

import (
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/taskrun"
)

// cancelChecks are the checks of cancelled tasks.
var cancelChecks = check.Suite{
	"tasks/cancel-result": check.Probe(func(t *check.T) {
		c := cancelTask(t)
		c.requireCancelledInTime(t)
		t.Expect(c.CancelReply).To(check.BeResult())
		broken := protocol.Violations(t, "tasks/cancel-result", "CancelTaskResult", c.CancelReply.Result())
		t.DecidedBy(c.CancelReply).Expect(broken).To(check.BeEmptyList[string]("a task with all of its members"))
		t.DecidedBy(c.CancelReply).Expect(c.CancelReply.Result()["status"]).To(check.BeOneOf[any]("cancelled"))
	}),

	"tasks/cancel-sticks": check.Probe(func(t *check.T) {
		c := cancelTask(t)
		c.requireCancelledInTime(t)
		if c.CancelReply.Result() == nil {
			t.Yield("tasks/cancel was answered with %s", check.Got(c.CancelReply))
		}
		if c.ShortReason != "" {
			t.Caveat("%s", c.ShortReason)
		}
		for _, r := range c.LaterReplies {
			taskrun.RequireAnswer(t, r)
			if !taskrun.IsUnknownTask(r) {
				t.Expect(r).To(check.BeResult())
				requireFlatTask(t, r)
				t.Expect(r.Result()["status"]).To(check.BeOneOf[any]("cancelled"), "the status after tasks/cancel")
			}
		}
	}),

	"tasks/cancel-terminal-rejected": check.Probe(func(t *check.T) {
		if !declaresCancel(t) {
			t.Skip(check.NotDeclared, "the server does not declare tasks.cancel")
		}
		eachEnded(t, func(t *check.T, e endedTask) {
			taskrun.RequireAnswer(t, e.CancelReply)
			t.Expect(e.CancelReply).To(check.BeError(errcode.InvalidParams))
		})
		if c := cancelTask(t); c.CancelReply.Result() != nil {
			taskrun.RequireAnswer(t, c.SecondCancelReply)
			t.Expect(c.SecondCancelReply).To(check.BeError(errcode.InvalidParams),
				"tasks/cancel of a task that was cancelled before")
		}
	}),

	"tasks/notifications-cancelled-does-not-cancel": check.Probe(func(t *check.T) {
		before := requireLastingTask(t)
		s := before.NextSession(t, check.ForInvalidInput)
		c := startTask(t, s, before)
		c.CancelCall(t)
		followRuns(c)
		if c.FinalStatus == "" {
			t.NoVerdict(check.Undecided, "%s", c.IncompleteReason)
		}
		t.ExpectAdvice(c.FinalStatus).To(check.BeOneOf("completed", "failed"))
	}),
}

// cancelledTask is a task that was cancelled while it was working, as far as the client could know.
type cancelledTask struct {
	*taskRun
	// CancelReply is the reply to tasks/cancel.
	CancelReply driver.Reply
	// SecondCancelReply is the reply to a second tasks/cancel.
	SecondCancelReply driver.Reply
	// LaterReplies are the replies to tasks/get until the task would have been completed.
	LaterReplies []driver.Reply
	// ShortReason is why the task was not watched until then; empty if it was.
	ShortReason string
}

// cancelTask creates a task of the slowest tool, and cancels it.
func cancelTask(t *check.T) cancelledTask {
	if !declaresCancel(t) {
		t.Skip(check.NotDeclared, "the server does not declare tasks.cancel")
	}
	before := requireLastingTask(t)
	return check.Step(t, "cancelled task", func(t *check.T) cancelledTask {
		c := cancelledTask{taskRun: startTaskWithoutTTL(t, before.NextSession(t), before)}
		c.CancelReply = c.send("tasks/cancel", nil)
		c.SecondCancelReply = c.send("tasks/cancel", nil)
		c.ExtendDeadline()
		done := before.Duration() + before.Duration()/2
		if before.FinalStatus == "" || done > c.Session.ReplyTimeout() {
			done = c.Session.ReplyTimeout()
			c.ShortReason = "the task was watched for " + done.String() + " only (--timeout)"
		}
		for over := false; !over; {
			over = time.Since(c.StartTime) > done
			r := c.PollUnrecorded()
			c.LaterReplies = append(c.LaterReplies, r)
			over = over || !r.Answered() || taskrun.IsUnknownTask(r)
		}
		return c
	})
}

// cancelledSnapshots returns the states that tasks/get reported of a task after it was cancelled, if one was.
func cancelledSnapshots(t *check.T) (all []taskrun.TaskSnapshot) {
	noID := func(c *taskRun) bool { return c.ID == "" || c.FinalStatus == "cancelled" }
	if t.IsQuick() || !declaresCancel(t) || slices.ContainsFunc(requireRuns(t), noID) {
		return nil
	}
	c := cancelTask(t)
	for _, r := range c.LaterReplies {
		if r.Result() != nil {
			all = append(all, taskrun.TaskSnapshot{TaskRun: c.TaskRun, Reply: r})
		}
	}
	return all
}

// requireLastingTask returns the slowest task. If the server cancels it on its own, it ends the check.
func requireLastingTask(t *check.T) *taskRun {
	c := slowestRun(t)
	if c.FinalStatus == "cancelled" {
		t.NoVerdict(check.Undecided, "the task of %s is cancelled without being asked to: %s", c.ToolCall.Tool.Name,
			check.Got(c.LastReply()))
	}
	return c
}

// requireCancelledInTime ends the check if the task may have ended before it was cancelled.
func (c cancelledTask) requireCancelledInTime(t *check.T) {
	taskrun.RequireAnswer(t, c.CancelReply)
	c.SkipIfExpired(t, c.CancelReply)
	status := c.LaterReplies[0].Result()["status"]
	if taskrun.IsUnknownTask(c.CancelReply) && (status == "completed" || status == "failed") {
		t.NoVerdict(check.Undecided, "the task was done before it could be cancelled: %s", check.Show(status))
	}
}
