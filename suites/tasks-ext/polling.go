package tasksext

import (
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// polling are the checks of what is told of tasks.
var polling = Suite{
	"tasks-ext/get-result-type": Probe(func(t *T) {
		judge(t, heard(t, "answer to tasks/get"), func(t *T, m moment) { expectComplete(t, m.State()) })
	}),

	"tasks-ext/get-working": Probe(func(t *T) {
		judge(t, heard(t, "answer to tasks/get"), func(t *T, m moment) {
			broken := kit.Broken(t, "tasks-ext/get-working", "GetTaskResult", m.State())
			t.Expect(broken).To(BeEmptyList[string]("one of the five statuses"))
			t.Expect(m.State()["taskId"]).To(BeOneOf[any](m.ID), "taskId")
		})
	}),

	"tasks-ext/get-input-required": Probe(func(t *T) {
		judge(t, heard(t, "task that asks for input", "input_required"), func(t *T, m moment) {
			broken := kit.Broken(t, "tasks-ext/get-input-required", "GetTaskResult", m.State())
			t.Expect(broken).To(BeEmptyList[string]("requests of the three kinds, as their schemas have them"))
			requests, _ := m.State()["inputRequests"].(M)
			t.Expect(len(requests) > 0).To(Hold("at least one request", "none: %s", Show(m.State())))
		})
	}),

	"tasks-ext/get-completed": Probe(func(t *T) {
		judge(t, heard(t, "completed task", "completed"), func(t *T, m moment) {
			broken := kit.Broken(t, "tasks-ext/get-completed", "GetTaskResult", m.State())
			t.Expect(broken).To(BeEmptyList[string]("a result"))
			result := M{"resultType": "complete"} // whether it says so is open
			for name, v := range resultIn(m) {
				result[name] = v
			}
			var rules []string
			for _, v := range schemas.ValidateMessage(t.Revision, "CallToolResult", result) {
				rules = append(rules, v.String())
			}
			t.Expect(rules).To(BeEmptyList[string]("the result of a call"))
		})
	}),

	"tasks-ext/get-failed": Probe(func(t *T) {
		judge(t, heard(t, "failed task", "failed"), func(t *T, m moment) {
			broken := kit.Broken(t, "tasks-ext/get-failed", "GetTaskResult", m.State())
			t.Expect(broken).To(BeEmptyList[string]("an error with a code and a message"))
		})
	}),

	"tasks-ext/failed-status-message": Probe(func(t *T) {
		judge(t, heard(t, "failed task", "failed"), func(t *T, m moment) {
			text, _ := m.State()["statusMessage"].(string)
			t.Expect(text != "").To(Hold("a statusMessage", "%s", Show(m.State())))
		})
	}),

	"tasks-ext/iserror-completed": Probe(func(t *T) {
		unhappy := those(t, "task whose tool failed", func(c *course) bool {
			return c.End != "" && isToolError(resultIn(c.atLast())) || c.End == "failed" && isErrorAtOnce(t, c)
		})
		judgeAll(t, unhappy, func(t *T, c *course) { t.Expect(c.End).To(BeOneOf("completed")) })
	}),

	"tasks-ext/terminal-immutable": Probe(func(t *T) {
		judgeEnded(t, func(t *T, e ended) {
			end := payload(e.Last().Result())
			for _, later := range []moment{{Course: e.Course, Reply: e.Again}, {Course: e.Course, Reply: e.After}} {
				e.WantTime(t, later.Reply)
				if kit.WantAnswer(t, later.Reply); kit.IsGone(later.Reply) {
					t.Yield("there is no task any more")
				}
				if later.State() == nil {
					t.Inconclusive("tasks/get was answered with %s", Got(later.Reply))
				}
				t.Expect(string(Compact(payload(later.State())))).To(BeOneOf(string(Compact(end))))
			}
		})
	}),

	"tasks-ext/ttl-honoured": Probe(func(t *T) {
		judgeAll(t, tasks(t), func(t *T, c *course) {
			asked := c.Heard
			for _, e := range tell(t).Ended {
				if e.course == c {
					asked = slices.Concat(asked, []driver.Reply{e.Again, e.After})
				}
			}
			gone := slices.IndexFunc(asked, kit.IsGone)
			switch {
			case c.ID == "":
				t.Yield("it has no id")
			case len(asked) == 0:
				t.Because(NotObserved).Skip("it was not asked after")
			case gone == 0:
				c.WantTime(t, asked[0])
				t.Yield("tasks/get was answered with %s", Got(asked[0]))
			case gone > 0:
				c.WantTime(t, asked[gone])
				t.Fail("the task, whose time is not over", "%s", asked[gone])
			}
		})
	}),

	"tasks-ext/no-related-task-meta": Probe(func(t *T) {
		judge(t, heard(t, "completed task", "completed"), func(t *T, m moment) {
			meta := kit.MetaOf(resultIn(m))
			t.Expect(!Has(meta, kit.RelatedTask)).To(Hold("no "+kit.RelatedTask+" in _meta of the result", "%s",
				Show(meta)))
		})
	}),

	"tasks-ext/get-unknown": Probe(func(t *T) {
		r := kit.AskAmiss(t, t.Session(), "tasks/get", kit.Declaring(M{"taskId": kit.NoTask}, able))
		t.Expect(r).To(BeError(-32602))
	}),

	"tasks-ext/update-cancel-unknown": Probe(func(t *T) {
		s := t.Session()
		t.Each([]Subject{Named("tasks/update"), Named("tasks/cancel")}, func(t *T, method Subject) {
			r := kit.AskAmiss(t, s, method.Name, kit.Declaring(M{"taskId": kit.NoTask, "inputResponses": M{}}, able))
			if method.Name == "tasks/cancel" {
				wantOwnRefusal(t, r)
			}
			t.Expect(r).To(BeError(-32602))
		})
	}),

	"tasks-ext/removed-result": Probe(func(t *T) {
		r := kit.AskAmiss(t, t.Hostile(), "tasks/result", kit.Declaring(M{"taskId": kit.NoTask}, able))
		t.Expect(r).To(BeError(-32601))
	}),

	"tasks-ext/removed-list": Probe(func(t *T) {
		t.Expect(kit.AskAmiss(t, t.Hostile(), "tasks/list", kit.Declaring(nil, able))).To(BeError(-32601))
	}),
}

// atLast is what was told of the task at last.
func (c *course) atLast() moment { return moment{Course: c.Course, Reply: c.Last()} }

// resultIn is the result that a task has.
func resultIn(m moment) M {
	result, _ := m.State()["result"].(M)
	return result
}

func isToolError(result M) bool { return result["isError"] == true }

// isErrorAtOnce reports whether the tool of a task says of a call that is served at once that it went wrong.
func isErrorAtOnce(t *T, c *course) bool {
	return slices.ContainsFunc(kit.ValidCalls(t).List, func(call kit.ToolCall) bool {
		return call.Tool.Name == c.Call.Tool.Name && isToolError(call.Reply.Result())
	})
}

// expectComplete wants the type of a result that is no task.
func expectComplete(t *T, result M) {
	kind, isString := result["resultType"].(string)
	switch {
	case !isString:
		t.Yield("there is no resultType")
	case kind == "task":
		t.Yield(`resultType is "task"`)
	}
	t.Expect(kind).To(BeOneOf("complete"))
}

// ofTasks are members that tasks have.
var ofTasks = strings.Fields("taskId status createdAt lastUpdatedAt ttlMs inputRequests result error")

// expectEmpty wants an answer that says no more than that a request was understood.
func expectEmpty(t *T, result M) {
	expectComplete(t, result)
	var members []string
	for name := range result {
		if slices.Contains(ofTasks, name) {
			members = append(members, name)
		}
	}
	t.Expect(kit.Sorted(members)).To(BeEmptyList[string]("an empty result"))
}

// judgeEnded tries a check on tasks that have ended.
func judgeEnded(t *T, run func(*T, ended)) {
	all := tell(t).Ended
	if len(all) == 0 {
		those(t, "task that has ended", func(*course) bool { return false })
	}
	Each(t, all, func(e ended) Subject {
		s := e.Subject()
		s.Frames = append(s.Frames, e.Cancelled.Request, e.Cancelled.Frame, e.After.Request, e.After.Frame)
		return s
	}, run)
}

// payload is what of a task does not change once it has ended.
func payload(state M) M {
	return M{"status": state["status"], "result": state["result"], "error": state["error"]}
}
