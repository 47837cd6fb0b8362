package tasks

import (
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/taskrun"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// creationChecks are the checks of calls that are answered with a task.
var creationChecks = check.Suite{
	"tasks/create-result": check.Probe(func(t *check.T) {
		skipUnlessTaskCalls(t)
		served := toolcall.AnsweredCalls(runTasks(t).Calls)
		toolcall.RequireObserved(t, len(served), "call that is to run as a task was answered", runTasks(t).Uncalled,
			toolcall.AnyTool)
		toolcall.EachToolCall(t, served, func(t *check.T, call toolcall.ToolCall) {
			taskrun.RequireAnswer(t, call.Reply)
			if call.Reply.Error() != nil {
				t.NoVerdict(check.Undecided, "the call was refused: %s", check.Got(call.Reply))
			}
			broken := protocol.Violations(t, "tasks/create-result", "CreateTaskResult", call.Reply.Member("result"))
			t.Expect(broken).To(check.BeEmptyList[string]("a task with all of its members"))
			t.Expect(check.Member(call.Reply.Result(), "content")).To(check.BeOneOf[any](check.Absent{}),
				"content beside the task")
		})
	}),

	"tasks/create-prompt": check.Probe(func(t *check.T) {
		long := max(timing.SlowCall, 4*t.Server.Latency)
		prompt := requireRunsWhere(t, "task that was still at work when it was asked after", func(c *taskRun) bool {
			return len(c.GetReplies) > 0 && (len(c.Snapshots("working", "input_required")) > 0 ||
				c.ToolCall.Duration > long)
		})
		eachRun(t, prompt, func(t *check.T, c *taskRun) {
			first, _ := c.GetReplies[0].Result()["status"].(string)
			t.Expect(first == "working" || first == "input_required" || c.ToolCall.Duration <= long).To(check.BeTrue(
				"a task that is answered while it is at work", "one that is %s at once, %v after the call", first,
				c.ToolCall.Duration.Round(time.Millisecond)))
		})
	}),

	"tasks/initial-status-working": check.Probe(func(t *check.T) {
		eachRun(t, requireRuns(t), func(t *check.T, c *taskRun) {
			task := taskIn(c.CreateReply.Result())
			if task == nil {
				t.Yield("there is no task")
			}
			if status, _ := task["status"].(string); !isStatus(status) {
				t.Yield("it is not a status")
			}
			t.Expect(task["status"]).To(check.BeOneOf[any]("working"))
		})
	}),

	"tasks/id-string": check.WatchWithSetup(triggerTasks, func(t *check.T, w check.Wire) {
		eachReportedTask(t, w, func(t *check.T, x reportedTask) {
			t.Expect(check.Member(x.State, "taskId")).To(check.Satisfy("a string that is not empty",
				func(id string) bool {
					return id != ""
				}))
		})
	}),

	"tasks/id-unique": check.WatchWithSetup(createTwoTasks, func(t *check.T, w check.Wire) {
		made := createdTasks(t, w)
		if len(made) < 2 {
			skipNotObserved(t, "two tasks were made")
		}
		first := map[string]bool{}
		check.Each(t, made, reportedTask.Subject, func(t *check.T, x reportedTask) {
			key := x.id()
			if t.Site() == nil {
				key = x.Session.Name() + " " + key // ids are unique within a server only
			}
			t.Expect(!first[key]).To(check.BeTrue("an id of its own for each task", "%s once more", check.Show(x.id())))
			first[key] = true
		})
	}),

	"tasks/id-unguessable": check.WatchWithSetup(createTwoTasks, func(t *check.T, w check.Wire) {
		if t.Server.Protected || t.Credentials.Bearer != "" {
			t.Skip(check.NotOffered, "tasks may be bound to the token")
		}
		var ids []string
		var made []check.Message
		for _, x := range createdTasks(t, w) {
			ids, made = append(ids, x.id()), append(made, x.Message)
		}
		if len(ids) < 2 {
			skipNotObserved(t, "two tasks were made")
		}
		guessable := invalid.VaryingBits(ids) < minIDBits
		want := check.ReportedBy("tasks/id-unique", check.BeTrue("ids that nobody can guess", "%s", check.Show(ids)))
		if t.Site() == nil { // only the parent of the process can send requests
			t.DecidedBy(made).ExpectShould(!guessable).To(want)
			return
		}
		t.DecidedBy(made).Expect(!guessable).To(want)
	}),
}

// minIDBits is the number of random bits up to which somebody could try all ids.
const minIDBits = 48

// taskStatuses are the statuses of tasks.
var taskStatuses = append([]string{"working", "input_required"}, taskrun.TerminalStatuses...)

// createTwoTasks makes sure that one server has two tasks, over HTTP in two sessions.
func createTwoTasks(t *check.T) {
	r := runTasks(t)
	if len(r.Runs) == 0 || len(r.Runs) > 1 && t.Site() == nil {
		return
	}
	before := slowestRun(t)
	for range 2 {
		cancelRuns(t, startTask(t, t.Session(), before))
	}
}

// createdTasks returns the tasks with an id that were created by calls.
func createdTasks(t *check.T, w check.Wire) (made []reportedTask) {
	for _, x := range reportedTasks(t, w) {
		if x.source == "tools/call" && x.id() != "" {
			made = append(made, x)
		}
	}
	return made
}
