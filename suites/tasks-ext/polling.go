package tasksext

import (
	"bytes"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/taskrun"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// pollingChecks are the checks of the states that a server reports of tasks.
var pollingChecks = check.Suite{
	"tasks-ext/get-result-type": check.Probe(func(t *check.T) {
		eachSnapshot(t, requireSnapshots(t, "answer to tasks/get"),
			func(t *check.T, m snapshot) { expectComplete(t, m.State()) })
	}),

	"tasks-ext/get-working": check.Probe(func(t *check.T) {
		eachSnapshot(t, requireSnapshots(t, "answer to tasks/get"), func(t *check.T, m snapshot) {
			broken := protocol.Violations(t, "tasks-ext/get-working", "GetTaskResult", m.State())
			t.Expect(broken).To(check.BeEmptyList[string]("one of the five statuses"))
			t.Expect(m.State()["taskId"]).To(check.BeOneOf[any](m.ID), "taskId")
		})
	}),

	"tasks-ext/get-input-required": check.Probe(func(t *check.T) {
		eachSnapshot(t, requireSnapshots(t, "task that asks for input", "input_required"),
			func(t *check.T, m snapshot) {
				broken := protocol.Violations(t, "tasks-ext/get-input-required", "GetTaskResult", m.State())
				t.Expect(broken).
					To(check.BeEmptyList[string]("requests of the three kinds, as their schemas have them"))
				requests, _ := m.State()["inputRequests"].(check.M)
				t.Expect(len(requests) > 0).To(check.BeTrue("at least one request", "none: %s", check.Show(m.State())))
			})
	}),

	"tasks-ext/get-completed": check.Probe(func(t *check.T) {
		eachSnapshot(t, requireSnapshots(t, "completed task", "completed"), func(t *check.T, m snapshot) {
			broken := protocol.Violations(t, "tasks-ext/get-completed", "GetTaskResult", m.State())
			t.Expect(broken).To(check.BeEmptyList[string]("a result"))
			result := check.M{"resultType": "complete"} // the specification does not say whether it has one
			for name, v := range taskResult(m) {
				result[name] = v
			}
			var rules []string
			for _, v := range schemas.ValidateMessage(t.Revision, "CallToolResult", result) {
				rules = append(rules, v.String())
			}
			t.Expect(rules).To(check.BeEmptyList[string]("the result of a call"))
		})
	}),

	"tasks-ext/get-failed": check.Probe(func(t *check.T) {
		eachSnapshot(t, requireSnapshots(t, "failed task", "failed"), func(t *check.T, m snapshot) {
			broken := protocol.Violations(t, "tasks-ext/get-failed", "GetTaskResult", m.State())
			t.Expect(broken).To(check.BeEmptyList[string]("an error with a code and a message"))
		})
	}),

	"tasks-ext/failed-status-message": check.Probe(func(t *check.T) {
		eachSnapshot(t, requireSnapshots(t, "failed task", "failed"), func(t *check.T, m snapshot) {
			text, _ := m.State()["statusMessage"].(string)
			t.Expect(text != "").To(check.BeTrue("a statusMessage", "%s", check.Show(m.State())))
		})
	}),

	"tasks-ext/iserror-completed": check.Probe(func(t *check.T) {
		unhappy := requireRunsWhere(t, "task whose tool failed", func(c *taskRun) bool {
			return c.FinalStatus != "" && isToolError(taskResult(c.lastSnapshot())) || c.FinalStatus == "failed" &&
				failsImmediately(t, c) || c.FinalStatus == "completed" && hidesFailure(t, c)
		})
		eachRun(t, unhappy, func(t *check.T, c *taskRun) {
			t.Expect(c.FinalStatus).To(check.BeOneOf("completed"))
			result := taskResult(c.lastSnapshot())
			t.DecidedBy(c.LastReply()).Expect(isToolError(result)).To(check.BeTrue(
				"isError true, as in the result with the same content without a task", "%s", check.Show(result)))
		})
	}),

	"tasks-ext/terminal-immutable": check.Probe(func(t *check.T) {
		eachEnded(t, func(t *check.T, e endedTask) {
			end := finalState(e.LastReply().Result())
			for _, later := range []snapshot{{TaskRun: e.TaskRun, Reply: e.GetReply},
				{TaskRun: e.TaskRun, Reply: e.GetAfterCancel}} {
				e.SkipIfExpired(t, later.Reply)
				if taskrun.RequireAnswer(t, later.Reply); taskrun.IsUnknownTask(later.Reply) {
					t.Yield("there is no task any more")
				}
				if later.State() == nil {
					t.NoVerdict(check.Undecided, "tasks/get was answered with %s", check.Got(later.Reply))
				}
				t.Expect(string(text.CompactJSON(finalState(later.State())))).
					To(check.BeOneOf(string(text.CompactJSON(end))))
			}
		})
	}),

	"tasks-ext/ttl-honoured": check.Probe(func(t *check.T) {
		eachRun(t, requireRuns(t), func(t *check.T, c *taskRun) {
			asked := c.GetReplies
			for _, e := range runTasks(t).Ended {
				if e.taskRun == c {
					asked = slices.Concat(asked, []driver.Reply{e.GetReply, e.GetAfterCancel})
				}
			}
			gone := slices.IndexFunc(asked, taskrun.IsUnknownTask)
			switch {
			case c.ID == "":
				t.Yield("it has no id")
			case len(asked) == 0:
				t.Skip(check.NotObserved, "it was not asked after")
			case gone == 0:
				c.SkipIfExpired(t, asked[0])
				t.Yield("tasks/get was answered with %s", check.Got(asked[0]))
			case gone > 0:
				c.SkipIfExpired(t, asked[gone])
				t.Fail("the task, whose time is not over", "%s", asked[gone])
			}
		})
	}),

	"tasks-ext/no-related-task-meta": check.Probe(func(t *check.T) {
		eachSnapshot(t, requireSnapshots(t, "completed task", "completed"), func(t *check.T, m snapshot) {
			meta := protocol.MetaOf(taskResult(m))
			t.Expect(!check.HasMember(meta, taskrun.RelatedTaskKey)).
				To(check.BeTrue("no "+taskrun.RelatedTaskKey+" in _meta of the result", "%s", check.Show(meta)))
		})
	}),

	"tasks-ext/get-unknown": check.Probe(func(t *check.T) {
		r := invalid.RequestInvalid(t, t.Session(), "tasks/get",
			protocol.WithCapabilities(check.M{"taskId": taskrun.UnknownTaskID}, taskCapabilities))
		t.Expect(r).To(check.BeError(errcode.InvalidParams))
	}),

	"tasks-ext/update-cancel-unknown": check.Probe(func(t *check.T) {
		s := t.Session()
		t.Each([]check.Subject{check.NamedSubject("tasks/update"), check.NamedSubject("tasks/cancel")},
			func(t *check.T, method check.Subject) {
				r := invalid.RequestInvalid(t, s, method.Name,
					protocol.WithCapabilities(check.M{"taskId": taskrun.UnknownTaskID, "inputResponses": check.M{}},
						taskCapabilities))
				if method.Name == "tasks/cancel" {
					requireOwnRefusal(t, r)
				}
				t.Expect(r).To(check.BeError(errcode.InvalidParams))
			})
	}),

	"tasks-ext/removed-result": check.Probe(func(t *check.T) {
		r := invalid.RequestInvalid(t, t.Session(check.ForInvalidInput), "tasks/result",
			protocol.WithCapabilities(check.M{"taskId": taskrun.UnknownTaskID}, taskCapabilities))
		t.Expect(r).To(check.BeError(errcode.MethodNotFound))
	}),

	"tasks-ext/removed-list": check.Probe(func(t *check.T) {
		t.Expect(invalid.RequestInvalid(t, t.Session(check.ForInvalidInput), "tasks/list",
			protocol.WithCapabilities(nil, taskCapabilities))).To(check.BeError(errcode.MethodNotFound))
	}),
}

// lastSnapshot returns the last snapshot of the task.
func (c *taskRun) lastSnapshot() snapshot { return snapshot{TaskRun: c.TaskRun, Reply: c.LastReply()} }

// taskResult returns the result in the state of a task.
func taskResult(m snapshot) check.M {
	result, _ := m.State()["result"].(check.M)
	return result
}

func isToolError(result check.M) bool { return result["isError"] == true }

// failsImmediately reports whether the tool of a task returns isError when it is called without the extension.
func failsImmediately(t *check.T, c *taskRun) bool {
	return slices.ContainsFunc(toolcall.ValidCalls(t).List, func(call toolcall.ToolCall) bool {
		return call.Tool.Name == c.ToolCall.Tool.Name && isToolError(call.Reply.Result())
	})
}

// hidesFailure reports whether a task has the content that its tool returns with isError without the extension.
func hidesFailure(t *check.T, c *taskRun) bool {
	content := text.CompactJSON(taskResult(c.lastSnapshot())["content"])
	return slices.ContainsFunc(toolcall.ValidCalls(t).List, func(call toolcall.ToolCall) bool {
		plain := call.Reply.Result()
		return call.Tool.Name == c.ToolCall.Tool.Name && isToolError(plain) &&
			bytes.Equal(text.CompactJSON(plain["content"]), content)
	})
}

// expectComplete requires the type of a result that is not a task.
func expectComplete(t *check.T, result check.M) {
	kind, isString := result["resultType"].(string)
	switch {
	case !isString:
		t.Yield("there is no resultType")
	case kind == "task":
		t.Yield(`resultType is "task"`)
	}
	t.Expect(kind).To(check.BeOneOf("complete"))
}

// taskMembers are the members of tasks.
var taskMembers = strings.Fields("taskId status createdAt lastUpdatedAt ttlMs inputRequests result error")

// expectEmpty requires a result without members of a task.
func expectEmpty(t *check.T, result check.M) {
	expectComplete(t, result)
	var members []string
	for name := range result {
		if slices.Contains(taskMembers, name) {
			members = append(members, name)
		}
	}
	t.Expect(protocol.Sorted(members)).To(check.BeEmptyList[string]("an empty result"))
}

// eachEnded runs a check on the tasks that have ended.
func eachEnded(t *check.T, run func(*check.T, endedTask)) {
	all := runTasks(t).Ended
	if len(all) == 0 {
		requireRunsWhere(t, "task that has ended", func(*taskRun) bool { return false })
	}
	check.Each(t, all, func(e endedTask) check.Subject {
		s := e.Subject()
		s.Frames = append(s.Frames, e.CancelReply.Request, e.CancelReply.Frame, e.GetAfterCancel.Request,
			e.GetAfterCancel.Frame)
		return s
	}, run)
}

// finalState returns the members of a task that must not change after its end.
func finalState(state check.M) check.M {
	return check.M{"status": state["status"], "result": state["result"], "error": state["error"]}
}
