package tasks

import (
	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// results are the checks of what comes of tasks.
var results = Suite{
	"tasks/result-blocks": Probe(func(t *T) {
		w := awaited(t)
		if len(w.While) == 0 {
			t.Because(NotObserved).Skip("tasks/get has not told of work while tasks/result waited")
		}
		kit.WantAnswer(t, w.Result)
		kit.WantAnswer(t, w.After)
		w.WantTime(t, w.Result)
		t.Expect(w.After).NotTo(That("a task that is still at work", func(r driver.Reply) bool {
			status := r.Result()["status"]
			return status == "working" || status == "input_required"
		}), "tasks/get after tasks/result was answered with %s", Got(w.Result))
	}),

	"tasks/result-equals-underlying": Probe(func(t *T) {
		judgeAll(t, finished(t), func(t *T, c *course) {
			kit.WantAnswer(t, c.Result)
			if c.End == "failed" && c.Result.Error() != nil {
				t.Skip("its call has failed")
			}
			t.Expect(c.Result).To(BeResult())
			var rules []string
			for _, v := range schemas.ValidateMessage(t.Revision, "CallToolResult", c.Result.Result()) {
				rules = append(rules, v.String())
			}
			t.Expect(rules).To(BeEmptyList[string]("the result of the call itself"))
		})
	}),

	"tasks/result-related-meta": Probe(func(t *T) {
		judgeAll(t, finished(t), func(t *T, c *course) {
			kit.WantAnswer(t, c.Result)
			if c.Result.Result() == nil {
				t.Because(NotObserved).Skip("tasks/result was answered with %s", Got(c.Result))
			}
			related := kit.MetaOf(c.Result.Result())[kit.RelatedTask]
			t.Expect(member(M{"": related}, "", "taskId")).To(BeOneOf[any](c.ID), kit.RelatedTask+" in _meta")
		})
	}),

	"tasks/error-passthrough": Probe(func(t *T) {
		failed := those(t, "task whose call has failed", func(c *course) bool {
			return c.End == "failed" && c.Result.Result()["isError"] != true
		})
		judgeAll(t, failed, func(t *T, c *course) {
			kit.WantAnswer(t, c.Result)
			c.WantTime(t, c.Result)
			t.Expect(c.Result).To(BeError())
			if c.Again.Answered() && !kit.IsGone(c.Again) {
				t.Expect(string(Compact(c.Again.Error()))).To(BeOneOf(string(Compact(c.Result.Error()))), "once more")
			}
		})
	}),

	"tasks/iserror-means-failed": Probe(func(t *T) {
		unhappy := those(t, "task whose tool failed", func(c *course) bool {
			return c.Result.Result()["isError"] == true
		})
		judgeAll(t, unhappy, func(t *T, c *course) {
			if c.End == "cancelled" {
				t.Because(NotObserved).Skip("it was cancelled")
			}
			t.Expect(c.End).To(BeOneOf("failed"))
		})
	}),

	"tasks/failed-status-message": Probe(func(t *T) {
		judge(t, heardOf(t, "failed"), func(t *T, m kit.Moment) {
			text, _ := m.State()["statusMessage"].(string)
			t.Expect(text != "").To(Hold("a statusMessage", "%s", Show(m.State())))
		})
	}),
}

// finished are the tasks that have ended by themselves, and were asked for their results.
func finished(t *T) []*course {
	return those(t, "task that has ended", func(c *course) bool {
		kept := !kit.IsGone(c.Result) || !c.Expired(c.Result)
		return (c.End == "completed" || c.End == "failed") && c.Result.Err == nil && kept
	})
}

// heardOf are the moments of a status; without any the check ends.
func heardOf(t *T, status string) []kit.Moment {
	all := kit.Moments(tasks(t), status)
	if len(all) == 0 {
		nothing(t, "task was "+status)
	}
	kit.SayUnfinished(t, tell(t).Courses)
	return all
}

// awaiting is a task whose result was asked for at once.
type awaiting struct {
	*course
	While []driver.Reply // to tasks/get, which told while tasks/result waited that it was at work
	After driver.Reply   // to tasks/get, which was sent once tasks/result was answered
}

// awaited makes such a task.
func awaited(t *T) awaiting {
	before := longest(t)
	return Step(t, "task whose result is awaited", func(t *T) awaiting {
		w := awaiting{course: begin(t, before.Another(t, t.Session), before)}
		w.wait()
		for r := w.Look(); r.Result() != nil && w.HasTime(); r = w.Look() {
			if status := r.Result()["status"]; status != "working" && status != "input_required" {
				break
			}
			w.While = append(w.While, r)
			if w.Result = w.Session.AwaitFor(w.waiting, 0); w.Result.Answered() {
				break
			}
		}
		if !w.Result.Answered() {
			w.Result = w.Session.AwaitFor(w.waiting, w.Session.Patience())
		}
		if w.After = w.Look(); !w.Result.Answered() {
			w.Session.Cancel(w.waiting, "mcpcheck waits no longer")
			giveUp(t, w.course)
		}
		return w
	})
}
