package tasks

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
	"github.com/mcpcheck/mcpcheck/suites/kit/taskrun"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// pollingChecks are the checks of the states that a server reports of tasks.
var pollingChecks = check.Suite{
	"tasks/timestamps": check.WatchWithSetup(triggerTasks, func(t *check.T, w check.Wire) {
		eachReportedTask(t, w, func(t *check.T, x reportedTask) {
			times := map[string]time.Time{}
			for _, member := range []string{"createdAt", "lastUpdatedAt"} {
				if x.source == statusMethod && !check.HasMember(x.State, member) {
					t.Yield("there is no %s", member)
				}
				isTimestamp := check.Satisfy("a timestamp of ISO 8601", taskrun.TimestampPattern.MatchString)
				t.Expect(check.Member(x.State, member)).To(isTimestamp, member)
				text, _ := x.State[member].(string)
				if at, err := time.Parse(time.RFC3339, text); err == nil {
					times[member] = at
				}
			}
			created, updated := times["createdAt"], times["lastUpdatedAt"]
			t.Expect(len(times) < 2 || !updated.Before(created)).To(check.BeTrue("lastUpdatedAt not before createdAt, "+
				created.String(), "%s", updated))
		})
	}),

	"tasks/ttl-reported": check.Probe(func(t *check.T) {
		all := append(requireSnapshots(t), cancelledSnapshots(t)...)
		eachSnapshot(t, all, func(t *check.T, m taskrun.TaskSnapshot) {
			requireFlatTask(t, m.Reply)
			ttl := check.Member(m.State(), "ttl")
			t.Expect(ttl == nil || isNumber(ttl)).To(check.BeTrue("ttl, a number or null", "%s", check.Show(ttl)))
		})
	}),

	"tasks/get-result-schema": check.Probe(func(t *check.T) {
		all := append(requireSnapshots(t), cancelledSnapshots(t)...)
		eachSnapshot(t, all, func(t *check.T, m taskrun.TaskSnapshot) {
			t.Expect(taskIn(m.State()) == nil || check.HasMember(m.State(), "taskId")).To(check.BeTrue(
				"the members of the task in the result itself", "%s", check.Show(m.State())))
			broken := protocol.Violations(t, "tasks/get-result-schema", "GetTaskResult", m.State())
			t.Expect(broken).To(check.BeEmptyList[string]("a task"))
			t.Expect(m.State()["taskId"]).To(check.BeOneOf[any](m.ID), "taskId")
		})
	}),

	"tasks/status-values": check.WatchWithSetup(triggerTasks, func(t *check.T, w check.Wire) {
		eachReportedTask(t, w, func(t *check.T, x reportedTask) {
			if x.source == statusMethod && !check.HasMember(x.State, "status") {
				t.Yield("there is no status")
			}
			t.Expect(check.Member(x.State, "status")).To(check.Satisfy("one of "+strings.Join(taskStatuses, ", "),
				isStatus))
		})
	}),

	"tasks/terminal-is-final": check.Probe(func(t *check.T) {
		eachEnded(t, func(t *check.T, e endedTask) {
			for _, r := range e.LaterReplies {
				taskrun.RequireAnswer(t, r)
				if taskrun.IsUnknownTask(r) {
					e.SkipIfExpired(t, r)
					t.Skip(check.NotObserved, "there is no such task any more: %s", check.Got(r))
				}
				if r.Result() == nil {
					t.NoVerdict(check.Undecided, "tasks/get was answered with %s", check.Got(r))
				}
				requireFlatTask(t, r)
				t.Expect(r.Result()["status"]).To(check.BeOneOf[any](e.FinalStatus),
					"the status of a task that has ended")
			}
		})
	}),

	"tasks/unknown-id-get": check.Probe(func(t *check.T) {
		skipUnlessTaskCalls(t)
		t.Expect(invalid.RequestInvalid(t, t.Session(), "tasks/get",
			check.M{"taskId": taskrun.UnknownTaskID})).To(check.BeError(errcode.InvalidParams))
	}),

	"tasks/unknown-id-result": check.Probe(func(t *check.T) {
		skipUnlessTaskCalls(t)
		r := invalid.TryInvalid(t, t.Session(), "tasks/result", check.M{"taskId": taskrun.UnknownTaskID})
		invalid.SkipUnlessServerRejects(t, r)
		t.Expect(r).To(check.BeError(errcode.InvalidParams))
	}),

	"tasks/unknown-id-cancel": check.Probe(func(t *check.T) {
		if !declaresCancel(t) {
			t.Skip(check.NotDeclared, "the server does not declare tasks.cancel")
		}
		t.Expect(invalid.RequestInvalid(t, t.Session(), "tasks/cancel",
			check.M{"taskId": taskrun.UnknownTaskID})).To(check.BeError(errcode.InvalidParams))
	}),

	"tasks/param-beats-meta": check.Probe(func(t *check.T) {
		before := slowestRun(t)
		s := t.Session(check.ForInvalidInput)
		c, other := startTask(t, s, before), startTask(t, s, before)
		mute := false
		ids := map[string]string{"another task": other.ID, "no task": taskrun.UnknownTaskID}
		t.Each([]check.Subject{check.NamedSubject("another task"), check.NamedSubject("no task")},
			func(t *check.T, related check.Subject) {
				if mute {
					t.Skip(check.Silent, "it was not asked: the first of them is silence enough")
				}
				r := c.getWithMeta(t, check.M{taskrun.RelatedTaskKey: check.M{"taskId": ids[related.Name]}})
				mute = invalid.IsTimeout(r)
				c.expectOwnTask(t, r)
			})
		cancelRuns(t, c, other)
	}),

	"tasks/get-not-sse": check.Probe(func(t *check.T) {
		eachSnapshot(t, requireSnapshots(t), func(t *check.T, m taskrun.TaskSnapshot) {
			if transcript.IsOnGETStream(t, m.Frame) {
				t.Yield("it came on a GET stream")
			}
			stream := m.Frame.RoundTrip != nil && m.Frame.RoundTrip.Response().IsStream
			t.ExpectAdvice(!stream).To(check.BeTrue(roundtrip.JSONType, "an event stream"))
		})
	}),
}

// getWithMeta sends tasks/get with metadata. The first attempt waits for a short time only; a failure is confirmed with
// the full timeout.
func (c *taskRun) getWithMeta(t *check.T, meta check.M) driver.Reply {
	p := c.Session.Request("tasks/get", check.M{"taskId": c.ID, "_meta": meta})
	if t.IsConfirmation() {
		return c.Session.Await(p)
	}
	check.NeedsConfirmation(t)
	return c.Session.AwaitFor(p, max(timing.ShortWait, 2*t.Server.Latency))
}

// expectOwnTask requires the reply to tasks/get with the metadata of another task to be about the requested task, as it
// is without metadata.
func (c *taskRun) expectOwnTask(t *check.T, r driver.Reply) {
	if invalid.IsTimeout(r) {
		taskrun.RequireAnswer(t, c.send("tasks/get", nil)) // if that times out as well, another check reports it
		t.Expect(r).To(check.BeAnswered(), "tasks/get with related-task metadata, which has one without it")
	}
	taskrun.RequireAnswer(t, r)
	c.SkipIfExpired(t, r)
	if r.Result()["taskId"] != any(c.ID) {
		plain := c.send("tasks/get", nil)
		switch told := plain.Result(); {
		case told == nil && r.Result() == nil:
			t.Retry(check.Undecided, "tasks/get brought %s, and without _meta %s", check.Got(r), check.Got(plain))
		case told != nil && taskIn(told) == nil && told["taskId"] != any(c.ID):
			t.Yield("so it is without _meta")
		}
	}
	t.Expect(r).To(check.BeResult())
	requireFlatTask(t, r)
	t.Expect(r.Result()["taskId"]).To(check.BeOneOf[any](c.ID), "taskId")
}

// requireFlatTask ends a check of the members of a task if they are not in the result itself.
func requireFlatTask(t *check.T, told driver.Reply) {
	if taskIn(told.Result()) != nil && !check.HasMember(told.Result(), "taskId") {
		t.Yield("the task is a member of the result")
	}
}

func isStatus(status string) bool { return slices.Contains(taskStatuses, status) }

// isNumber reports whether a value is a number.
func isNumber(v any) bool {
	_, is := v.(json.Number)
	return is
}

// cancelRuns cancels tasks that are no longer needed.
func cancelRuns(t *check.T, runs ...*taskRun) {
	for _, c := range runs {
		if declaresCancel(t) && c.Session.IsUsable() {
			c.send("tasks/cancel", nil)
		}
	}
}

// eachEnded runs a check on the tasks that have ended.
func eachEnded(t *check.T, run func(*check.T, endedTask)) {
	all := runTasks(t).Ended
	if e := failedTask(t); e != nil {
		all = append(slices.Clip(all), *e)
	}
	if len(all) == 0 {
		requireRunsWhere(t, "task that has ended", func(*taskRun) bool { return false })
	}
	check.Each(t, all, func(e endedTask) check.Subject {
		s := e.Subject()
		for _, r := range append([]driver.Reply{e.CancelReply}, e.LaterReplies...) {
			s.Frames = append(s.Frames, r.Request, r.Frame)
		}
		return s
	}, run)
}
