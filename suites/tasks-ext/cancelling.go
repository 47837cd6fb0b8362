package tasksext

import (
	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// cancelling are the checks of tasks that the client takes back.
var cancelling = Suite{
	"tasks-ext/cancel-ack": Probe(func(t *T) {
		c := cancelled(t)
		r := c.Ack
		c.WantTime(t, r)
		if kit.WantAnswer(t, r); kit.IsGone(r) {
			t.Yield("there is no such task")
		}
		t.Expect(r).To(BeResult())
		expectEmpty(t.By(r), r.Result())
	}),

	"tasks-ext/get-cancelled": Probe(func(t *T) {
		c := cancelled(t)
		c.WantTime(t, c.First)
		switch {
		case c.First.Result() == nil:
			t.Yield("tasks/get was answered with %s before", Got(c.First))
		case c.Ack.Result() == nil:
			t.Yield("tasks/cancel was answered with %s", Got(c.Ack))
		case c.End == "completed" || c.End == "failed":
			t.Because(NotObserved).Skip("the task was done before it could be cancelled: %s", c.End)
		case c.Last().Err != nil:
			t.Again("%v", Explain(c.Last().Err))
		}
		c.WantTime(t, c.Last())
		t.Expect(c.Last()).To(BeResult(), "a task that was cancelled")
		if status, _ := c.Last().Result()["status"].(string); status == "working" || status == "input_required" {
			t.Inconclusive("the server need not end the task, and did not within %v (--timeout)", c.Session.Patience())
		}
		t.By(c.Last()).Expect(c.Last().Result()["status"]).To(BeOneOf("cancelled"))
	}),

	"tasks-ext/cancel-terminal": Probe(func(t *T) {
		judgeEnded(t, func(t *T, e ended) {
			kit.WantAnswer(t, e.Cancelled)
			e.WantTime(t, e.Cancelled)
			wantOwnRefusal(t, e.Cancelled)
			t.Expect(e.Cancelled).To(BeResult())
		})
	}),

	"tasks-ext/cancelled-notification-no-effect": Probe(func(t *T) {
		before := longest(t)
		s := before.Another(t, t.Hostile)
		s.Hostile()
		c := begin(t, s, before.Call, nil)
		c.CancelCall(t)
		kit.Follow(c)
		if c.End == "" {
			t.Inconclusive("%s", c.Why)
		}
		t.Expect(c.End).To(BeOneOf("completed", "failed"))
	}),
}

// wantOwnRefusal ends a check of a refusal by tasks/cancel that other tasks meet with as well.
func wantOwnRefusal(t *T, r driver.Reply) {
	code, isRefused := r.Code()
	if !isRefused || kit.IsGone(r) || len(tell(t).Courses) == 0 {
		return
	}
	if usual, always := cancelled(t).Ack.Code(); always && usual == code {
		t.Yield("tasks/cancel is always answered with %s", Got(r))
	}
}

// cancellation is a task that was asked after at once, and then cancelled.
type cancellation struct {
	*course
	First driver.Reply // to tasks/get
	Ack   driver.Reply // to tasks/cancel
}

// cancelled makes such a task, and follows it to its end. Over HTTP it is asked after from another connection.
func cancelled(t *T) cancellation {
	before := longest(t)
	return Step(t, "cancelled task", func(t *T) cancellation {
		c := cancellation{course: begin(t, before.Another(t, t.Session), before.Call, nil)}
		if t.Site() != nil {
			c.Session = t.Own()
		}
		c.Get()
		c.First, c.Ack = c.Last(), c.ask("tasks/cancel", nil)
		c.Extend()
		kit.Follow(c.course)
		return c
	})
}
