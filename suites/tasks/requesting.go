package tasks

import (
	"slices"
	"time"

	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// requesting are the checks of servers that have their clients run something as a task.
var requesting = Suite{
	"tasks/server-augments-only-declared": WatchAfter(kit.LetInquire, func(t *T, w Wire) {
		var asked []kit.Question
		for _, method := range []string{"sampling/createMessage", "elicitation/create"} {
			for _, q := range kit.Questions(t, w, method) {
				if q.Client()["tasks"] == nil {
					asked = append(asked, q)
				}
			}
		}
		kit.JudgeQuestions(t, "client without tasks was asked for something", asked, func(t *T, q kit.Question) {
			t.Expect(Member(q.Params, "task")).To(BeOneOf[any](Absent{}), "task")
		})
	}),

	"tasks/server-polls-politely": Probe(func(t *T) {
		polled := slices.DeleteFunc(kit.Chores(t), func(c *kit.Chore) bool { return len(c.Polls) < 2 })
		if len(polled) == 0 {
			t.Because(NotObserved).Skip("no task of the client was asked after twice")
		}
		Each(t, polled, (*kit.Chore).Subject, func(t *T, c *kit.Chore) {
			last := c.Polls[0].At
			for _, f := range c.Polls[1:] {
				const early = kit.ChorePause / 10
				t.Warn(f.At-last >= kit.ChorePause-early).To(Hold("a pause of pollInterval, "+kit.ChorePause.String(),
					"one of %v", (f.At - last).Round(time.Millisecond)))
				last = f.At
			}
		})
	}),

	"tasks/server-cancels-with-tasks-cancel": WatchAfter(kit.LetDelegate, func(t *T, w Wire) {
		taken := slices.DeleteFunc(kit.Chores(t), func(c *kit.Chore) bool { return !c.Cancelled && c.Note() == nil })
		if len(taken) == 0 {
			t.Because(NotObserved).Skip("the server has cancelled no task of the client")
		}
		Each(t, taken, (*kit.Chore).Subject, func(t *T, c *kit.Chore) {
			t.Expect(c.Note() == nil).To(Hold("tasks/cancel alone", "notifications/cancelled for the request"))
		})
	}),
}
