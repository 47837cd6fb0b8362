package tasksext

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/taskrun"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// inputChecks are the checks of tasks that ask for input.
var inputChecks = check.Suite{
	"tasks-ext/update-ack": check.Probe(func(t *check.T) {
		all := requireRunsWhere(t, "task that was given input",
			func(c *taskRun) bool { return len(c.UpdateReplies) > 0 })
		eachRun(t, all, func(t *check.T, c *taskRun) {
			for _, r := range c.UpdateReplies {
				taskrun.RequireAnswer(t, r)
				if code, isError := r.Code(); isError && code != errcode.MethodNotFound {
					t.NoVerdict(check.Undecided, "the responses were refused: %s", check.Got(r))
				}
				t.Expect(r).To(check.BeResult())
				expectEmpty(t.DecidedBy(r), r.Result())
			}
		})
	}),

	"tasks-ext/update-resumes": check.Probe(func(t *check.T) {
		all := requireRunsWhere(t, "task that was given input",
			func(c *taskRun) bool { return len(c.providedKeys) > 0 })
		eachRun(t, all, func(t *check.T, c *taskRun) {
			left := slices.DeleteFunc(inputKeys(c.LastReply()), func(key string) bool { return !c.providedKeys[key] })
			if key := c.reusedKey(); key != "" {
				t.Yield("the key %q was used again", key)
			}
			if c.FinalStatus == "" && c.snapshotsAtUpdate == len(c.GetReplies) {
				t.NoVerdict(check.Undecided, "it was not asked after once it had its input: %s", c.IncompleteReason)
			}
			if c.TimedOut {
				t.Expect(left).To(check.BeEmptyList[string]("no request that was answered; " + c.IncompleteReason))
			}
			if c.FinalStatus == "" {
				t.NoVerdict(check.Undecided, "%s", c.IncompleteReason)
			}
		})
	}),

	"tasks-ext/input-keys-unique": check.Probe(func(t *check.T) {
		all := requireRunsWhere(t, "task that asked for input twice", func(c *taskRun) bool {
			return len(c.UpdateReplies) > 1 || c.reusedKey() != ""
		})
		eachRun(t, all, func(t *check.T, c *taskRun) {
			key := c.reusedKey()
			t.Expect(key).To(check.Satisfy("a key of its own for each request",
				func(key string) bool { return key == "" }))
		})
	}),

	"tasks-ext/update-unknown-keys": check.Probe(func(t *check.T) {
		tried := sendInvalidInput(t)
		taskrun.RequireAnswer(t, tried.UnknownReply)
		tried.SkipIfExpired(t, tried.UnknownReply)
		t.Expect(tried.UnknownReply).To(check.BeResult(), "a response to what was never asked for")
		taskrun.RequireAnswer(t, tried.GetAfterUnknown)
		tried.SkipIfExpired(t, tried.GetAfterUnknown)
		status := tried.GetAfterUnknown.Result()["status"]
		t.DecidedBy(tried.GetAfterUnknown).Expect(status).To(check.BeOneOf("input_required"), "the status after that")
		if tried.PartialReply.Result() != nil {
			taskrun.RequireAnswer(t, tried.RepeatedReply)
			tried.SkipIfExpired(t, tried.RepeatedReply)
			t.Expect(tried.RepeatedReply).To(check.BeResult(), "a response to what was answered before")
		}
	}),

	"tasks-ext/update-partial": check.Probe(func(t *check.T) {
		tried := sendInvalidInput(t)
		switch {
		case len(tried.firstKeys) < 2:
			t.Skip(check.NotOffered, "%s asks for one thing at a time", tried.ToolCall.Tool.Name)
		case tried.PartialReply.Result() == nil:
			t.Skip(check.NotObserved, "it takes no part of the responses, and need not: %s",
				check.Got(tried.PartialReply))
		case tried.GetAfterPartial.Result() == nil:
			t.NoVerdict(check.Undecided, "tasks/get was answered with %s", check.Got(tried.GetAfterPartial))
		}
		rest := inputKeys(tried.GetAfterPartial)
		t.DecidedBy(tried.GetAfterPartial).Expect(slices.Contains(rest, tried.firstKeys[1])).To(check.BeTrue(
			"a task that still asks for "+tried.firstKeys[1], "%s", check.Show(tried.GetAfterPartial.Result())))
	}),

	"tasks-ext/input-capabilities": check.Probe(func(t *check.T) {
		asking := requireRunsWhere(t, "task that asks for input", asksForInput)
		only := protocol.ExtensionCapabilities(extension)
		again := repeatCall(t, t.Session(), asking[0].ToolCall, only, nil)
		if !isTask(again.Reply) {
			if !isMissingCapability(again.Reply) {
				t.Skip(check.NotObserved, "no task was made: %s", check.Got(again.Reply))
			}
			return
		}
		c := newTaskRun(t, t.Session(), again)
		c.capabilities = only
		c.pollUntilInput()
		t.DecidedBy(c.LastReply()).Expect(inputKeys(c.LastReply())).
			To(check.BeEmptyList[string]("no request that the client cannot answer"))
	}),
}

// asksForInput reports whether a task has asked for input.
func asksForInput(c *taskRun) bool { return len(c.Snapshots("input_required")) > 0 }

// inputKeys returns the keys of the current input requests of a task, sorted.
func inputKeys(r driver.Reply) (keys []string) {
	requests, _ := r.Result()["inputRequests"].(check.M)
	for key := range requests {
		keys = append(keys, key)
	}
	return protocol.Sorted(keys)
}

// reusedKey returns a key that the task used again after its response, or for another request; empty if there is none.
func (c *taskRun) reusedKey() string {
	first, gone := map[string]uint64{}, map[string]bool{}
	for _, m := range c.Snapshots() {
		requests, _ := m.State()["inputRequests"].(check.M)
		for key, request := range requests {
			before, known := first[key]
			if first[key] = driver.Fingerprint(request); gone[key] || known && before != first[key] {
				return key
			}
		}
		for key := range first {
			gone[key] = c.providedKeys[key] && requests[key] == nil
		}
	}
	return ""
}

// invalidInputRun is a task that got a response that it had not asked for, and then its input in parts.
type invalidInputRun struct {
	*taskRun
	// firstKeys are the keys of its first input requests.
	firstKeys []string

	// UnknownReply is the reply to the response that was not asked for, and GetAfterUnknown the task after it.
	UnknownReply, GetAfterUnknown driver.Reply
	// PartialReply is the reply to one response of several, and GetAfterPartial the task after that response was
	// handled.
	PartialReply, GetAfterPartial driver.Reply
	// RepeatedReply is the reply to the same response again. It is not tried if there is only one input request.
	RepeatedReply driver.Reply
}

// sendInvalidInput creates such a task with a tool that asks for input, preferably with several requests at a time.
func sendInvalidInput(t *check.T) invalidInputRun {
	asking := requireRunsWhere(t, "task that asks for input", asksForInput)
	slices.SortStableFunc(asking, func(a, b *taskRun) int { return b.maxInputRequests() - a.maxInputRequests() })
	return check.Step(t, "task with invalid input", func(t *check.T) invalidInputRun {
		p := invalidInputRun{taskRun: startTask(t, t.Session(check.ForInvalidInput), asking[0].ToolCall, nil)}
		if p.pollUntilInput(); len(inputKeys(p.LastReply())) == 0 {
			t.NoVerdict(check.Undecided, "%s asked for input before, and now told %s", p.ToolCall.Tool.Name,
				check.Got(p.LastReply()))
		}
		responses, err := toolcall.InputResponses(t, p.LastReply())
		if err != nil {
			t.NoVerdict(check.Undecided, "%v", err)
		}
		p.firstKeys = inputKeys(p.LastReply())
		p.UnknownReply = p.send("tasks/update",
			check.M{"inputResponses": check.M{taskrun.UnknownTaskID: responses[p.firstKeys[0]]}})
		p.Poll()
		if p.GetAfterUnknown = p.LastReply(); len(p.firstKeys) > 1 {
			p.provideInParts(responses)
		}
		taskrun.FollowTasks(p.taskRun)
		return p
	})
}

// maxInputRequests returns the largest number of simultaneous input requests of the task.
func (c *taskRun) maxInputRequests() (most int) {
	for _, m := range c.Snapshots("input_required") {
		most = max(most, len(inputKeys(m.Reply)))
	}
	return most
}

// provideInParts sends one response of several, and sends it again after the task has handled it.
func (p *invalidInputRun) provideInParts(responses check.M) {
	first := p.firstKeys[0]
	part := check.M{first: responses[first]}
	if p.PartialReply = p.update(part); p.PartialReply.Result() == nil {
		return
	}
	for p.Poll(); slices.Contains(inputKeys(p.LastReply()), first) && p.HasTime(); {
		p.Poll()
	}
	p.GetAfterPartial = p.LastReply()
	p.RepeatedReply = p.send("tasks/update", check.M{"inputResponses": part})
}

// pollUntilInput polls a task until it asks for input or ends.
func (c *taskRun) pollUntilInput() {
	working := true
	for working && c.HasTime() {
		state := c.Poll()
		working = state["status"] == "working" || state == nil && !taskrun.IsUnknownTask(c.LastReply()) &&
			c.LastReply().Err == nil
	}
}
