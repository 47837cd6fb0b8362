package tasksext

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// input are the checks of tasks that ask for input.
var input = Suite{
	"tasks-ext/update-ack": Probe(func(t *T) {
		all := those(t, "task that was given input", func(c *course) bool { return len(c.Updates) > 0 })
		judgeAll(t, all, func(t *T, c *course) {
			for _, r := range c.Updates {
				kit.WantAnswer(t, r)
				if code, isError := r.Code(); isError && code != -32601 {
					t.Inconclusive("the responses were refused: %s", Got(r))
				}
				t.Expect(r).To(BeResult())
				expectEmpty(t.By(r), r.Result())
			}
		})
	}),

	"tasks-ext/update-resumes": Probe(func(t *T) {
		all := those(t, "task that was given input", func(c *course) bool { return len(c.answered) > 0 })
		judgeAll(t, all, func(t *T, c *course) {
			left := slices.DeleteFunc(outstanding(c.Last()), func(key string) bool { return !c.answered[key] })
			if key := c.reused(); key != "" {
				t.Yield("the key %q was used again", key)
			}
			if c.End == "" && c.told == len(c.Heard) {
				t.Inconclusive("it was not asked after once it had its input: %s", c.Why)
			}
			if c.End == "" {
				t.Expect(left).To(BeEmptyList[string]("no request that was answered; " + c.Why))
				t.Inconclusive("%s", c.Why)
			}
		})
	}),

	"tasks-ext/input-keys-unique": Probe(func(t *T) {
		all := those(t, "task that asked for input twice", func(c *course) bool {
			return len(c.Updates) > 1 || c.reused() != ""
		})
		judgeAll(t, all, func(t *T, c *course) {
			key := c.reused()
			t.Expect(key).To(That("a key of its own for each request", func(key string) bool { return key == "" }))
		})
	}),

	"tasks-ext/update-unknown-keys": Probe(func(t *T) {
		tried := provoked(t)
		kit.WantAnswer(t, tried.Unknown)
		tried.WantTime(t, tried.Unknown)
		t.Expect(tried.Unknown).To(BeResult(), "a response to what was never asked for")
		kit.WantAnswer(t, tried.AfterUnknown)
		tried.WantTime(t, tried.AfterUnknown)
		status := tried.AfterUnknown.Result()["status"]
		t.By(tried.AfterUnknown).Expect(status).To(BeOneOf("input_required"), "the status after that")
		if tried.Partial.Result() != nil {
			kit.WantAnswer(t, tried.Answered)
			tried.WantTime(t, tried.Answered)
			t.Expect(tried.Answered).To(BeResult(), "a response to what was answered before")
		}
	}),

	"tasks-ext/update-partial": Probe(func(t *T) {
		tried := provoked(t)
		switch {
		case len(tried.keys) < 2:
			t.Because(NotOffered).Skip("%s asks for one thing at a time", tried.Call.Tool.Name)
		case tried.Partial.Result() == nil:
			t.Because(NotObserved).Skip("it takes no part of the responses, and need not: %s", Got(tried.Partial))
		case tried.AfterPartial.Result() == nil:
			t.Inconclusive("tasks/get was answered with %s", Got(tried.AfterPartial))
		}
		rest := outstanding(tried.AfterPartial)
		t.By(tried.AfterPartial).Expect(slices.Contains(rest, tried.keys[1])).To(Hold(
			"a task that still asks for "+tried.keys[1], "%s", Show(tried.AfterPartial.Result())))
	}),

	"tasks-ext/input-capabilities": Probe(func(t *T) {
		asking := those(t, "task that asks for input", asks)
		only := kit.Extending(extension)
		again := callAgain(t, t.Session(), asking[0].Call, only, nil)
		if !isTask(again.Reply) {
			if !isLacking(again.Reply) {
				t.Because(NotObserved).Skip("no task was made: %s", Got(again.Reply))
			}
			return
		}
		c := courseOf(t, t.Session(), again)
		c.client = only
		c.untilAsked()
		t.By(c.Last()).Expect(outstanding(c.Last())).To(BeEmptyList[string]("no request that the client cannot answer"))
	}),
}

// asks reports whether a task has asked for input.
func asks(c *course) bool { return len(c.Moments("input_required")) > 0 }

// outstanding are the keys of what a task asks for now, in their order.
func outstanding(r driver.Reply) (keys []string) {
	requests, _ := r.Result()["inputRequests"].(M)
	for key := range requests {
		keys = append(keys, key)
	}
	return kit.Sorted(keys)
}

// reused is a key of the task that came again after it was gone, or with another request; empty when there is none.
func (c *course) reused() string {
	first, gone := map[string]uint64{}, map[string]bool{}
	for _, m := range c.Moments() {
		requests, _ := m.State()["inputRequests"].(M)
		for key, request := range requests {
			before, known := first[key]
			if first[key] = driver.Fingerprint(request); gone[key] || known && before != first[key] {
				return key
			}
		}
		for key := range first {
			gone[key] = c.answered[key] && requests[key] == nil
		}
	}
	return ""
}

// provocation is a task that was given what it did not ask for, and then its input in parts.
type provocation struct {
	*course
	keys []string // of what it asked for at first

	Unknown, AfterUnknown driver.Reply // a response to what was never asked for, and the task then
	Partial, AfterPartial driver.Reply // one response of several, and the task once it has that
	Answered              driver.Reply // that response again; not tried where there is only one
}

// provoked makes such a task, by a tool that is known to ask for input: best for several things at a time.
func provoked(t *T) provocation {
	asking := those(t, "task that asks for input", asks)
	slices.SortStableFunc(asking, func(a, b *course) int { return b.together() - a.together() })
	return Step(t, "task with strange input", func(t *T) provocation {
		p := provocation{course: begin(t, t.Hostile(), asking[0].Call, nil)}
		if p.untilAsked(); len(outstanding(p.Last())) == 0 {
			t.Inconclusive("%s asked for input before, and now told %s", p.Call.Tool.Name, Got(p.Last()))
		}
		responses, err := kit.Responses(t, p.Last())
		if err != nil {
			t.Inconclusive("%v", err)
		}
		p.keys = outstanding(p.Last())
		p.Unknown = p.ask("tasks/update", M{"inputResponses": M{kit.NoTask: responses[p.keys[0]]}})
		p.Get()
		if p.AfterUnknown = p.Last(); len(p.keys) > 1 {
			p.inParts(responses)
		}
		kit.Follow(p.course)
		return p
	})
}

// together is how many things the task has asked for at a time.
func (c *course) together() (most int) {
	for _, m := range c.Moments("input_required") {
		most = max(most, len(outstanding(m.Reply)))
	}
	return most
}

// inParts gives the task one response of several, and that one again once the task has it.
func (p *provocation) inParts(responses M) {
	first := p.keys[0]
	part := M{first: responses[first]}
	if p.Partial = p.update(part); p.Partial.Result() == nil {
		return
	}
	for p.Get(); slices.Contains(outstanding(p.Last()), first) && p.HasTime(); {
		p.Get()
	}
	p.AfterPartial = p.Last()
	p.Answered = p.ask("tasks/update", M{"inputResponses": part})
}

// untilAsked asks after a task until it asks for input or ends, and answers nothing.
func (c *course) untilAsked() {
	working := true
	for working && c.HasTime() {
		state := c.Get()
		working = state["status"] == "working" || state == nil && !kit.IsGone(c.Last()) && c.Last().Err == nil
	}
}
