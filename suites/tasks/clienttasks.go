package tasks

import (
	"slices"
	"time"

	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// clientTaskChecks are the checks of servers that have their clients run something as a task.
var clientTaskChecks = Suite{
	"tasks/server-augments-only-declared": WatchWithSetup(kit.CollectServerRequests, func(t *T, w Wire) {
		var asked []kit.ServerRequest
		for _, method := range []string{"sampling/createMessage", "elicitation/create"} {
			for _, q := range kit.ServerRequests(t, w, method) {
				if q.ClientCapabilities()["tasks"] == nil {
					asked = append(asked, q)
				}
			}
		}
		kit.JudgeServerRequests(t, "client without tasks was asked for something", asked,
			func(t *T, q kit.ServerRequest) {
				t.Expect(Member(q.Params, "task")).To(BeOneOf[any](Absent{}), "task")
			})
	}),

	"tasks/server-polls-politely": Probe(func(t *T) {
		polled := slices.DeleteFunc(kit.ClientTasks(t), func(c *kit.ClientTask) bool { return len(c.Polls) < 2 })
		if len(polled) == 0 {
			t.WithReason(NotObserved).Skip("no task of the client was asked after twice")
		}
		Each(t, polled, (*kit.ClientTask).Subject, func(t *T, c *kit.ClientTask) {
			last := c.Polls[0].At
			for _, f := range c.Polls[1:] {
				const early = kit.ClientTaskPollInterval / 10
				t.ExpectShould(f.At-last >= kit.ClientTaskPollInterval-early).
					To(BeTrue("a pause of pollInterval, "+kit.ClientTaskPollInterval.String(),
						"one of %v", (f.At - last).Round(time.Millisecond)))
				last = f.At
			}
		})
	}),

	"tasks/server-cancels-with-tasks-cancel": WatchWithSetup(kit.CollectClientTasks, func(t *T, w Wire) {
		taken := slices.DeleteFunc(kit.ClientTasks(t),
			func(c *kit.ClientTask) bool { return !c.Cancelled && c.CancelNotification() == nil })
		if len(taken) == 0 {
			t.WithReason(NotObserved).Skip("the server has cancelled no task of the client")
		}
		Each(t, taken, (*kit.ClientTask).Subject, func(t *T, c *kit.ClientTask) {
			t.Expect(c.CancelNotification() == nil).To(BeTrue("tasks/cancel alone",
				"notifications/cancelled for the request"))
		})
	}),
}
