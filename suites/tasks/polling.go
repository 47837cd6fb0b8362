package tasks

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// polling are the checks of what is told of tasks.
var polling = Suite{
	"tasks/timestamps": WatchAfter(follows, func(t *T, w Wire) {
		eachTold(t, w, func(t *T, x told) {
			times := map[string]time.Time{}
			for _, member := range []string{"createdAt", "lastUpdatedAt"} {
				if x.place == statusTold && !Has(x.State, member) {
					t.Yield("there is no %s", member)
				}
				isTimestamp := That("a timestamp of ISO 8601", kit.IsTimestamp.MatchString)
				t.Expect(Member(x.State, member)).To(isTimestamp, member)
				text, _ := x.State[member].(string)
				if at, err := time.Parse(time.RFC3339, text); err == nil {
					times[member] = at
				}
			}
			created, updated := times["createdAt"], times["lastUpdatedAt"]
			t.Expect(len(times) < 2 || !updated.Before(created)).To(Hold("lastUpdatedAt not before createdAt, "+
				created.String(), "%s", updated))
		})
	}),

	"tasks/ttl-reported": Probe(func(t *T) {
		judge(t, heard(t), func(t *T, m kit.Moment) {
			wantFlat(t, m.Reply)
			ttl := Member(m.State(), "ttl")
			t.Expect(ttl == nil || isNumber(ttl)).To(Hold("ttl, a number or null", "%s", Show(ttl)))
		})
	}),

	"tasks/get-result-schema": Probe(func(t *T) {
		judge(t, heard(t), func(t *T, m kit.Moment) {
			t.Expect(taskIn(m.State()) == nil || Has(m.State(), "taskId")).To(Hold(
				"the members of the task in the result itself", "%s", Show(m.State())))
			broken := kit.Broken(t, "tasks/get-result-schema", "GetTaskResult", m.State())
			t.Expect(broken).To(BeEmptyList[string]("a task"))
			t.Expect(m.State()["taskId"]).To(BeOneOf[any](m.ID), "taskId")
		})
	}),

	"tasks/status-values": WatchAfter(follows, func(t *T, w Wire) {
		eachTold(t, w, func(t *T, x told) {
			if x.place == statusTold && !Has(x.State, "status") {
				t.Yield("there is no status")
			}
			t.Expect(Member(x.State, "status")).To(That("one of "+strings.Join(statuses, ", "), isStatus))
		})
	}),

	"tasks/terminal-is-final": Probe(func(t *T) {
		judgeEnded(t, func(t *T, e ended) {
			for _, r := range e.Later {
				kit.WantAnswer(t, r)
				if kit.IsGone(r) {
					e.WantTime(t, r)
					t.Because(NotObserved).Skip("there is no such task any more: %s", Got(r))
				}
				if r.Result() == nil {
					t.Inconclusive("tasks/get was answered with %s", Got(r))
				}
				wantFlat(t, r)
				t.Expect(r.Result()["status"]).To(BeOneOf[any](e.End), "the status of a task that has ended")
			}
		})
	}),

	"tasks/unknown-id-get": Probe(func(t *T) {
		wantAugments(t)
		t.Expect(kit.AskAmiss(t, t.Session(), "tasks/get", M{"taskId": kit.NoTask})).To(BeError(-32602))
	}),

	"tasks/unknown-id-result": Probe(func(t *T) {
		wantAugments(t)
		r := kit.TryAmiss(t, t.Session(), "tasks/result", M{"taskId": kit.NoTask})
		kit.WantRefuser(t, r)
		t.Expect(r).To(BeError(-32602))
	}),

	"tasks/unknown-id-cancel": Probe(func(t *T) {
		if !declaresCancel(t) {
			t.Because(NotDeclared).Skip("the server does not declare tasks.cancel")
		}
		t.Expect(kit.AskAmiss(t, t.Session(), "tasks/cancel", M{"taskId": kit.NoTask})).To(BeError(-32602))
	}),

	"tasks/param-beats-meta": Probe(func(t *T) {
		before := longest(t)
		s := t.Hostile()
		c, other := begin(t, s, before), begin(t, s, before)
		mute := false
		ids := map[string]string{"another task": other.ID, "no task": kit.NoTask}
		t.Each([]Subject{Named("another task"), Named("no task")}, func(t *T, related Subject) {
			if mute {
				t.Because(Silent).Skip("it was not asked: the first of them is silence enough")
			}
			r := c.getWith(t, M{kit.RelatedTask: M{"taskId": ids[related.Name]}})
			mute = kit.IsSilence(r)
			c.expectOwn(t, r)
		})
		giveUp(t, c, other)
	}),

	"tasks/get-not-sse": Probe(func(t *T) {
		judge(t, heard(t), func(t *T, m kit.Moment) {
			if kit.Listening(t, m.Frame) {
				t.Yield("it came on a GET stream")
			}
			stream := m.Frame.HTTP != nil && m.Frame.HTTP.Answer().IsStream
			t.Inform(!stream).To(Hold(kit.JSONType, "an event stream"))
		})
	}),
}

// getWith asks after the task with metadata. What has no answer soon is asked without before it fails, and is waited
// for when that is confirmed.
func (c *course) getWith(t *T, meta M) driver.Reply {
	p := c.Session.Request("tasks/get", M{"taskId": c.ID, "_meta": meta})
	if t.Alone() {
		return c.Session.Await(p)
	}
	NeedsConfirmation(t)
	return c.Session.AwaitFor(p, max(kit.Shortly, 2*t.Server.Pace))
}

// expectOwn wants the answer to tasks/get with the metadata of another task to be that of the task, as it is without.
func (c *course) expectOwn(t *T, r driver.Reply) {
	if kit.IsSilence(r) {
		kit.WantAnswer(t, c.ask("tasks/get", nil)) // where that is silent as well, another check says so
		t.Expect(r).To(BeAnswered(), "tasks/get with related-task metadata, which has one without it")
	}
	kit.WantAnswer(t, r)
	c.WantTime(t, r)
	if r.Result()["taskId"] != any(c.ID) {
		plain := c.ask("tasks/get", nil)
		switch told := plain.Result(); {
		case told == nil && r.Result() == nil:
			t.Again("tasks/get brought %s, and without _meta %s", Got(r), Got(plain))
		case told != nil && taskIn(told) == nil && told["taskId"] != any(c.ID):
			t.Yield("so it is without _meta")
		}
	}
	t.Expect(r).To(BeResult())
	wantFlat(t, r)
	t.Expect(r.Result()["taskId"]).To(BeOneOf[any](c.ID), "taskId")
}

// wantFlat ends a check of the members of a task that are not in the result itself.
func wantFlat(t *T, told driver.Reply) {
	if taskIn(told.Result()) != nil && !Has(told.Result(), "taskId") {
		t.Yield("the task is a member of the result")
	}
}

func isStatus(status string) bool { return slices.Contains(statuses, status) }

// isNumber reports whether a value is a number.
func isNumber(v any) bool {
	_, is := v.(json.Number)
	return is
}

// giveUp takes tasks back that nobody waits for.
func giveUp(t *T, courses ...*course) {
	for _, c := range courses {
		if declaresCancel(t) && c.Session.Usable() {
			c.ask("tasks/cancel", nil)
		}
	}
}

// judgeEnded tries a check on tasks that have ended.
func judgeEnded(t *T, run func(*T, ended)) {
	all := tell(t).Ended
	if len(all) == 0 {
		those(t, "task that has ended", func(*course) bool { return false })
	}
	Each(t, all, func(e ended) Subject {
		s := e.Subject()
		for _, r := range append([]driver.Reply{e.Cancelled}, e.Later...) {
			s.Frames = append(s.Frames, r.Request, r.Frame)
		}
		return s
	}, run)
}
