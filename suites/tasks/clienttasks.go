package tasks

import (
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/kit/client"
	"github.com/mcpcheck/mcpcheck/suites/kit/taskrun"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// clientTaskChecks are the checks of servers that have their clients run requests as tasks.
var clientTaskChecks = check.Suite{
	"tasks/server-augments-only-declared": check.WatchWithSetup(client.CollectServerRequests,
		func(t *check.T, w check.Wire) {
			var asked []client.ServerRequest
			for _, method := range []string{"sampling/createMessage", "elicitation/create"} {
				for _, q := range client.ServerRequests(t, w, method) {
					if q.ClientCapabilities()["tasks"] == nil {
						asked = append(asked, q)
					}
				}
			}
			client.JudgeServerRequests(t, "client without tasks was asked for something", asked,
				func(t *check.T, q client.ServerRequest) {
					t.Expect(check.Member(q.Params, "task")).To(check.BeOneOf[any](check.Absent{}), "task")
				})
		}).InOwnSession(),

	"tasks/server-polls-politely": check.Probe(func(t *check.T) {
		polled := slices.DeleteFunc(taskrun.ClientTasks(t),
			func(c *taskrun.ClientTask) bool { return len(c.Polls) < 2 })
		if len(polled) == 0 {
			t.Skip(check.NotObserved, "no task of the client was asked after twice")
		}
		check.Each(t, polled, (*taskrun.ClientTask).Subject, func(t *check.T, c *taskrun.ClientTask) {
			last := c.Polls[0].At
			for _, f := range c.Polls[1:] {
				const early = timing.ClientTaskPoll / 10
				t.ExpectShould(f.At-last >= timing.ClientTaskPoll-early).
					To(check.BeTrue("a pause of pollInterval, "+timing.ClientTaskPoll.String(),
						"one of %v", (f.At - last).Round(time.Millisecond)))
				last = f.At
			}
		})
	}).InOwnSession(),

	"tasks/server-cancels-with-tasks-cancel": check.WatchWithSetup(taskrun.CollectClientTasks,
		func(t *check.T, w check.Wire) {
			taken := slices.DeleteFunc(taskrun.ClientTasks(t),
				func(c *taskrun.ClientTask) bool { return !c.Cancelled && c.CancelNotification() == nil })
			if len(taken) == 0 {
				t.Skip(check.NotObserved, "the server has cancelled no task of the client")
			}
			check.Each(t, taken, (*taskrun.ClientTask).Subject, func(t *check.T, c *taskrun.ClientTask) {
				t.Expect(c.CancelNotification() == nil).To(check.BeTrue("tasks/cancel alone",
					"notifications/cancelled for the request"))
			})
		}).InOwnSession(),
}
