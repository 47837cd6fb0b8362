package tasks

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/taskrun"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// resultChecks are the checks of the results of tasks.
var resultChecks = check.Suite{
	"tasks/result-blocks": check.Probe(func(t *check.T) {
		w := awaitResult(t)
		if len(w.WorkingReplies) > 0 {
			w.expectEnded(t)
		}
		if premature := prematureResults(t); len(premature) > 0 {
			check.Each(t, premature, prematureResult.subject, func(t *check.T, p prematureResult) {
				t.DecidedBy(p.reply).Fail("an answer to tasks/result once tasks/get tells that the task has ended",
					"%s", check.Got(p.reply))
			})
		}
		if len(w.WorkingReplies) == 0 {
			t.Skip(check.NotObserved, "tasks/get has not told of work while tasks/result waited")
		}
	}),

	"tasks/result-equals-underlying": check.Probe(func(t *check.T) {
		eachRun(t, finishedRuns(t), func(t *check.T, c *taskRun) {
			taskrun.RequireAnswer(t, c.ResultReply)
			if c.FinalStatus == "failed" && c.ResultReply.Error() != nil {
				t.Skip(check.NotApplicable, "its call has failed")
			}
			t.Expect(c.ResultReply).To(check.BeResult())
			var rules []string
			for _, v := range schemas.ValidateMessage(t.Revision, "CallToolResult", c.ResultReply.Result()) {
				rules = append(rules, v.String())
			}
			t.Expect(rules).To(check.BeEmptyList[string]("the result of the call itself"))
			again := c.RepeatedResultReply
			if !again.Answered() || again.IsBusy() || again.IsStatusOnly() {
				return
			}
			c.SkipIfExpired(t, again)
			t.Expect(again).To(check.BeResult(), "once more")
			t.DecidedBy(again).Expect(isFailedCall(again)).To(check.BeOneOf(isFailedCall(c.ResultReply)),
				"isError, once more")
		})
	}),

	"tasks/result-related-meta": check.Probe(func(t *check.T) {
		eachRun(t, finishedRuns(t), func(t *check.T, c *taskRun) {
			taskrun.RequireAnswer(t, c.ResultReply)
			if c.ResultReply.Result() == nil {
				t.Skip(check.NotObserved, "tasks/result was answered with %s", check.Got(c.ResultReply))
			}
			related := protocol.MetaOf(c.ResultReply.Result())[taskrun.RelatedTaskKey]
			t.Expect(memberAt(check.M{"": related}, "", "taskId")).To(check.BeOneOf[any](c.ID),
				taskrun.RelatedTaskKey+" in _meta")
		})
	}),

	"tasks/error-passthrough": check.Probe(func(t *check.T) {
		expectErrorOfUnknownTool(t)
		failed := requireRunsWhere(t, "task whose call has failed", func(c *taskRun) bool {
			return c.FinalStatus == "failed" && c.ResultReply.Result()["isError"] != true
		})
		eachRun(t, failed, func(t *check.T, c *taskRun) {
			taskrun.RequireAnswer(t, c.ResultReply)
			c.SkipIfExpired(t, c.ResultReply)
			t.Expect(c.ResultReply).To(check.BeError())
			if c.RepeatedResultReply.Answered() && !taskrun.IsUnknownTask(c.RepeatedResultReply) {
				t.Expect(string(text.CompactJSON(c.RepeatedResultReply.Error()))).
					To(check.BeOneOf(string(text.CompactJSON(c.ResultReply.Error()))), "once more")
			}
		})
	}),

	"tasks/iserror-means-failed": check.Probe(func(t *check.T) {
		unhappy := requireRunsWhere(t, "task whose tool failed", func(c *taskRun) bool {
			return c.ResultReply.Result()["isError"] == true
		})
		eachRun(t, unhappy, func(t *check.T, c *taskRun) {
			if c.FinalStatus == "cancelled" {
				t.Skip(check.NotObserved, "it was cancelled")
			}
			t.Expect(c.FinalStatus).To(check.BeOneOf("failed"))
		})
	}),

	"tasks/failed-status-message": check.Probe(func(t *check.T) {
		eachSnapshot(t, snapshotsOf(t, "failed"), func(t *check.T, m taskrun.TaskSnapshot) {
			text, _ := m.State()["statusMessage"].(string)
			t.Expect(text != "").To(check.BeTrue("a statusMessage", "%s", check.Show(m.State())))
		})
	}),
}

// expectErrorOfUnknownTool calls a tool that does not exist as a task. If the server makes a task, its result has to be
// the error that a call without one is answered with.
func expectErrorOfUnknownTool(t *check.T) {
	requireRuns(t)
	name, plain := invalid.CallUnknownTool(t)
	if plain.Error() == nil {
		return // tools/unknown-tool-protocol-error judges it
	}
	call := toolcall.ToolCall{Tool: check.NamedSubject(name), Arguments: check.M{}}
	s := t.Session(check.ForInvalidInput)
	if call = callAsTask(t, s, call, new(pendingRequests)); !isTask(call.Reply) {
		return
	}
	c := newTaskRun(t, s, call, new(pendingRequests))
	if followRuns(c); c.FinalStatus == "" {
		t.NoVerdict(check.Undecided, "the task of an unknown tool has not ended: %s", c.IncompleteReason)
	}
	c.ResultReply = c.fetchResult()
	taskrun.RequireAnswer(t, c.ResultReply)
	c.SkipIfExpired(t, c.ResultReply)
	code, _ := plain.Code()
	t.Expect(c.ResultReply).To(check.BeError(code), "the result of a task of %s, a tool that does not exist", name)
}

// isFailedCall reports whether a result says that the tool has failed.
func isFailedCall(r driver.Reply) bool { return r.Result()["isError"] == true }

// prematureResult is a reply to tasks/result, with a later reply to tasks/get that tells of a task that has not ended.
type prematureResult struct {
	*taskRun
	reply, later driver.Reply
}

func (p prematureResult) subject() check.Subject {
	return check.Subject{Name: p.ToolCall.Tool.Name,
		Frames: []*driver.Frame{p.reply.Request, p.reply.Frame, p.later.Request, p.later.Frame}}
}

// prematureResults returns the tasks whose result was asked for and answered before they had ended, those that wait for
// input among them. What the server refuses for being busy is left out.
func prematureResults(t *check.T) (all []prematureResult) {
	for _, c := range runTasks(t).Runs {
		for _, p := range c.earlyResults {
			r := c.Session.AwaitFor(p, 0)
			if !r.Answered() || r.IsBusy() || r.IsStatusOnly() {
				continue
			}
			unfinished := c.Snapshots("working", "input_required")
			i := slices.IndexFunc(unfinished, func(m taskrun.TaskSnapshot) bool { return m.Request.At > r.Frame.At })
			if i >= 0 {
				all = append(all, prematureResult{c, r, unfinished[i].Reply})
				break
			}
		}
	}
	return all
}

// finishedRuns returns the tasks that were completed or failed, and whose results were requested.
func finishedRuns(t *check.T) []*taskRun {
	return requireRunsWhere(t, "task that has ended", func(c *taskRun) bool {
		kept := !taskrun.IsUnknownTask(c.ResultReply) || !c.MayBeExpired(c.ResultReply)
		return (c.FinalStatus == "completed" || c.FinalStatus == "failed") && c.ResultReply.Err == nil && kept
	})
}

// snapshotsOf returns the snapshots with a status. Without any, it ends the check.
func snapshotsOf(t *check.T, status string) []taskrun.TaskSnapshot {
	all := taskrun.Snapshots(requireRuns(t), status)
	if len(all) == 0 {
		skipNotObserved(t, "task was "+status)
	}
	taskrun.CaveatUnfinished(t, runTasks(t).Runs)
	return all
}

// awaitedResult is a task whose result was requested immediately.
type awaitedResult struct {
	*taskRun
	// WorkingReplies are the replies to tasks/get that reported a running task while tasks/result waited.
	WorkingReplies []driver.Reply
	// ReplyAfter is the reply to the tasks/get that was sent after the response to tasks/result.
	ReplyAfter driver.Reply
}

// awaitResult creates a task and requests its result immediately.
func awaitResult(t *check.T) awaitedResult {
	before := slowestRun(t)
	return check.Step(t, "task whose result is awaited", func(t *check.T) awaitedResult {
		w := awaitedResult{taskRun: startTask(t, before.NextSession(t), before)}
		w.requestResult()
		for r := w.PollUnrecorded(); r.Result() != nil && w.HasTime(); r = w.PollUnrecorded() {
			if status := r.Result()["status"]; status != "working" && status != "input_required" {
				break
			}
			w.WorkingReplies = append(w.WorkingReplies, r)
			if w.ResultReply = w.Session.AwaitFor(w.pendingResult, 0); w.ResultReply.Answered() {
				break
			}
		}
		if !w.ResultReply.Answered() {
			w.ResultReply = w.Session.AwaitFor(w.pendingResult, w.Session.ReplyTimeout())
		}
		// The last one may have been sent after the result, and the task may end before the next one.
		if last := w.lastWorkingReply(); w.ResultReply.Answered() && last.Answered() &&
			last.Request.At > w.ResultReply.Frame.At {
			w.ReplyAfter = last
			return w
		}
		if w.ReplyAfter = w.PollUnrecorded(); !w.ResultReply.Answered() {
			w.Session.Cancel(w.pendingResult, "mcpcheck waits no longer")
			cancelRuns(t, w.taskRun)
		}
		return w
	})
}

// lastWorkingReply is the last of WorkingReplies; it is not answered when there is none.
func (w awaitedResult) lastWorkingReply() (last driver.Reply) {
	if n := len(w.WorkingReplies); n > 0 {
		last = w.WorkingReplies[n-1]
	}
	return last
}

// expectEnded requires that the task has ended when its result came.
func (w awaitedResult) expectEnded(t *check.T) {
	taskrun.RequireAnswer(t, w.ResultReply)
	taskrun.RequireAnswer(t, w.ReplyAfter)
	w.SkipIfExpired(t, w.ResultReply)
	t.Expect(w.ReplyAfter).NotTo(check.Satisfy("a task that is still at work", func(r driver.Reply) bool {
		status := r.Result()["status"]
		return status == "working" || status == "input_required"
	}), "tasks/get after tasks/result was answered with %s", check.Got(w.ResultReply))
}
