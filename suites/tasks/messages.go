package tasks

import (
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/taskrun"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// messageChecks are the checks of other messages about tasks: notifications, and requests for input.
var messageChecks = check.Suite{
	"tasks/status-replies-without-related-meta": check.WatchWithSetup(triggerTasks, func(t *check.T, w check.Wire) {
		replies := w.Results().Negotiated(t.Revision).Filter("result of tasks/get, tasks/list or tasks/cancel",
			func(m check.Message) bool {
				methods := []string{"tasks/get", "tasks/list", "tasks/cancel"}
				return m.Request != nil && slices.Contains(methods, m.Request.Method)
			})
		t.Judge(replies, func(t *check.T, m check.Message) {
			meta := protocol.MetaOf(protocol.ResultOf(m))
			t.ExpectShould(!check.HasMember(meta, taskrun.RelatedTaskKey)).
				To(check.BeTrue("no "+taskrun.RelatedTaskKey+" in _meta", "%s", check.Show(meta)))
		})
	}),

	"tasks/status-notification": check.WatchWithSetup(triggerTasks, func(t *check.T, w check.Wire) {
		notifications := w.Notifications().Negotiated(t.Revision).Filter("notification of the status of a task",
			func(m check.Message) bool { return m.Method == statusMethod })
		t.Judge(notifications, func(t *check.T, m check.Message) {
			broken := protocol.Violations(t, "tasks/status-notification", "TaskStatusNotification", m.JSON())
			t.Expect(broken).To(check.BeEmptyList[string]("the whole task"))
			params, _ := m.JSON()["params"].(check.M)
			t.ExpectShould(!check.HasMember(protocol.MetaOf(params), taskrun.RelatedTaskKey)).
				To(check.BeTrue("no "+taskrun.RelatedTaskKey+" in _meta", "%s", check.Show(protocol.MetaOf(params))))
		})
	}),

	"tasks/nested-requests-carry-meta": check.Probe(func(t *check.T) {
		requireRuns(t)
		asked, progress := runTasks(t).Requests.all(), progressAfterCreation(t)
		if len(asked)+len(progress) == 0 {
			skipNotObserved(t, "task asked for input or reported progress")
		}
		taskrun.CaveatUnfinished(t, runTasks(t).Runs)
		// The token of progress names the call of the task as well.
		check.Each(t, progress, progressReport.subject, func(t *check.T, r progressReport) {
			t.ExpectShould(relatedTaskID(r.Frame)).To(check.BeOneOf(r.taskRun.ID),
				taskrun.RelatedTaskKey+" in _meta of progress")
		})
		check.Each(t, asked, (*pendingRequest).Subject, func(t *check.T, q *pendingRequest) {
			if len(q.TaskReplies) == 0 && q.taskID() == "" {
				t.Skip(check.NotObserved, "it came before there was a task")
			}
			if q.taskID() == "" && runTasks(t).Requests.ownMethods[q.Method] {
				t.Skip(check.NotObserved, "the server asks for %s before any tool is called, too", q.Method)
			}
			t.Expect(q.taskID()).To(check.Satisfy("the id of a task as "+taskrun.RelatedTaskKey+" in _meta",
				func(id string) bool {
					return runTasks(t).Requests.knownTasks[id]
				}))
		})
	}),

	"tasks/input-required-status": check.Probe(func(t *check.T) {
		all, known := requireTaskRequests(t), runTasks(t).Requests.knownTasks
		asked := slices.DeleteFunc(slices.Clone(all), func(q *pendingRequest) bool { return !known[q.taskID()] })
		if len(asked) == 0 {
			t.Yield("no question says of which task it is")
		}
		asked = slices.DeleteFunc(asked,
			func(q *pendingRequest) bool { return q.TaskReplies[q.taskID()].Result() == nil })
		if len(asked) == 0 {
			t.Skip(check.NotObserved, "the server tells nothing of a task that waits for an answer")
		}
		check.Each(t, asked, (*pendingRequest).Subject, func(t *check.T, q *pendingRequest) {
			if status, _ := q.TaskReplies[q.taskID()].Result()["status"].(string); !isStatus(status) {
				t.Yield("it is not a status")
			}
			t.ExpectShould(q.TaskReplies[q.taskID()].Result()["status"]).To(check.BeOneOf[any]("input_required"),
				"the status meanwhile")
			if c := blockedRun(t, q, all); c != nil {
				t.Expect(c.LastReply().Result()["status"]).NotTo(check.BeOneOf[any]("input_required"),
					"the status at last")
			}
		})
	}),

	"tasks/progress-token-continues": check.Probe(func(t *check.T) {
		runs := runTasks(t)
		if runs.Session == nil {
			skipNotObserved(t, "task was made")
		}
		var all []progressReport
		for _, c := range runs.Runs {
			all = append(all, c.progressReports(runs.Mark)...)
		}
		if len(all) == 0 {
			skipNotObserved(t, "progress of a task was reported")
		}
		taskrun.CaveatUnfinished(t, runTasks(t).Runs)
		check.Each(t, all, progressReport.subject, func(t *check.T, r progressReport) {
			// in this time, a message of another stream may cross
			switch {
			case r.endFrame == nil || r.At <= r.endFrame.At:
			case r.RoundTrip == r.endFrame.RoundTrip:
				t.Fail("none after the task was "+r.FinalStatus, "progress %s", check.Show(r.params()["progress"]))
			case r.At-r.endFrame.At > timing.Crossing:
				t.Fail("none after the task was "+r.FinalStatus, "progress %s over another stream, %v later",
					check.Show(r.params()["progress"]), (r.At - r.endFrame.At).Round(time.Millisecond))
			}
		})
	}),
}

// progressAfterCreation returns the progress notifications that were received after the task that they belong to was
// told of.
func progressAfterCreation(t *check.T) (all []progressReport) {
	for _, c := range runTasks(t).Runs {
		for _, r := range c.progressReports(runTasks(t).Mark) {
			if c.ID != "" && r.At > c.CreateReply.Frame.At {
				all = append(all, r)
			}
		}
	}
	return all
}

// requireTaskRequests returns the requests for input of tasks. If there are none, it ends the check.
func requireTaskRequests(t *check.T) []*pendingRequest {
	requireRuns(t)
	asked := runTasks(t).Requests.all()
	if len(asked) == 0 {
		skipNotObserved(t, "task asked for input")
	}
	return asked
}

// blockedRun returns the task that did not end although its last request, q, was answered. It is nil if there is none,
// or if the server had no way to ask for more.
func blockedRun(t *check.T, q *pendingRequest, all []*pendingRequest) *taskRun {
	for _, other := range slices.Backward(all) {
		if other.taskID() != q.taskID() {
			continue
		}
		if other != q {
			return nil
		}
		break
	}
	for _, c := range runTasks(t).Runs {
		if c.ID == q.taskID() && c.TimedOut && c.CanAsk && q.answered {
			return c
		}
	}
	return nil
}

// progressReport is a progress notification of a task.
type progressReport struct {
	*taskRun
	*driver.Frame
	// endFrame is the message that reported the end of the task; nil if none did.
	endFrame *driver.Frame
}

func (r progressReport) params() check.M {
	params, _ := r.JSON()["params"].(check.M)
	return params
}

func (r progressReport) subject() check.Subject {
	return check.Subject{Name: r.ToolCall.Tool.Name,
		Frames: []*driver.Frame{r.CreateReply.Request, r.endFrame, r.Frame}}
}

// progressReports returns the progress notifications of the task since a mark.
func (c *taskRun) progressReports(mark int) (all []progressReport) {
	var end *driver.Frame
	if c.FinalStatus != "" {
		end = c.LastReply().Frame
	}
	for _, f := range statusNotifications(c.Session, mark, c.ID) {
		params, _ := f.JSON()["params"].(check.M)
		status, _ := params["status"].(string)
		if end != nil && f.At < end.At && slices.Contains(taskrun.TerminalStatuses, status) {
			end = f
		}
	}
	for _, f := range c.Session.ReceivedSince(mark) {
		params, _ := f.JSON()["params"].(check.M)
		if f.Side == driver.FromServer && transcript.IsProgress(f) && params["progressToken"] == c.ProgressToken {
			all = append(all, progressReport{c, f, end})
		}
	}
	return all
}
