package tasks

import (
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// cancelling are the checks of tasks that the client takes back.
var cancelling = Suite{
	"tasks/cancel-result": Probe(func(t *T) {
		c := cancelled(t)
		c.wantInTime(t)
		t.Expect(c.Ack).To(BeResult())
		broken := kit.Broken(t, "tasks/cancel-result", "CancelTaskResult", c.Ack.Result())
		t.By(c.Ack).Expect(broken).To(BeEmptyList[string]("a task with all of its members"))
		t.By(c.Ack).Expect(c.Ack.Result()["status"]).To(BeOneOf[any]("cancelled"))
	}),

	"tasks/cancel-sticks": Probe(func(t *T) {
		c := cancelled(t)
		c.wantInTime(t)
		if c.Ack.Result() == nil {
			t.Yield("tasks/cancel was answered with %s", Got(c.Ack))
		}
		if c.Short != "" {
			t.Partly("%s", c.Short)
		}
		for _, r := range c.Later {
			kit.WantAnswer(t, r)
			if !kit.IsGone(r) {
				t.Expect(r).To(BeResult())
				wantFlat(t, r)
				t.Expect(r.Result()["status"]).To(BeOneOf[any]("cancelled"), "the status after tasks/cancel")
			}
		}
	}),

	"tasks/cancel-terminal-rejected": Probe(func(t *T) {
		if !declaresCancel(t) {
			t.Because(NotDeclared).Skip("the server does not declare tasks.cancel")
		}
		judgeEnded(t, func(t *T, e ended) {
			kit.WantAnswer(t, e.Cancelled)
			t.Expect(e.Cancelled).To(BeError(-32602))
		})
		if c := cancelled(t); c.Ack.Result() != nil {
			kit.WantAnswer(t, c.Again)
			t.Expect(c.Again).To(BeError(-32602), "tasks/cancel of a task that was cancelled before")
		}
	}),

	"tasks/notifications-cancelled-does-not-cancel": Probe(func(t *T) {
		before := lasting(t)
		s := before.Another(t, t.Hostile)
		s.Hostile()
		c := begin(t, s, before)
		c.CancelCall(t)
		follow(c)
		if c.End == "" {
			t.Inconclusive("%s", c.Why)
		}
		t.Inform(c.End).To(BeOneOf("completed", "failed"))
	}),
}

// cancellation is a task that was cancelled while it was at work, as far as the client could tell.
type cancellation struct {
	*course
	Ack   driver.Reply   // to tasks/cancel
	Again driver.Reply   // to another
	Later []driver.Reply // to tasks/get, until its work would have been done
	Short string         // why not until then
}

// cancelled makes such a task of the tool that was seen to work for the longest.
func cancelled(t *T) cancellation {
	if !declaresCancel(t) {
		t.Because(NotDeclared).Skip("the server does not declare tasks.cancel")
	}
	before := lasting(t)
	return Step(t, "cancelled task", func(t *T) cancellation {
		c := cancellation{course: begin(t, before.Another(t, t.Session), before)}
		c.Ack = c.ask("tasks/cancel", nil)
		c.Again = c.ask("tasks/cancel", nil)
		c.Extend()
		done := before.Took() + before.Took()/2
		if before.End == "" || done > c.Session.Patience() {
			done = c.Session.Patience()
			c.Short = "the task was watched for " + done.String() + " only (--timeout)"
		}
		for over := false; !over; {
			over = time.Since(c.Begun) > done
			r := c.Look()
			c.Later = append(c.Later, r)
			over = over || !r.Answered() || kit.IsGone(r)
		}
		return c
	})
}

// lasting is the longest task; the check ends when the server cancels it by itself.
func lasting(t *T) *course {
	c := longest(t)
	if c.End == "cancelled" {
		t.Inconclusive("the task of %s is cancelled without being asked to: %s", c.Call.Tool.Name, Got(c.Last()))
	}
	return c
}

// wantInTime ends a check of a task that may have been done before it was cancelled.
func (c cancellation) wantInTime(t *T) {
	kit.WantAnswer(t, c.Ack)
	c.WantTime(t, c.Ack)
	status := c.Later[0].Result()["status"]
	if kit.IsGone(c.Ack) && (status == "completed" || status == "failed") {
		t.Inconclusive("the task was done before it could be cancelled: %s", Show(status))
	}
}
