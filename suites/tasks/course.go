package tasks

import (
	"errors"
	"maps"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// course is a task that a call was answered by, what was heard of it until its end, and what came of it.
type course struct {
	*kit.Course
	Token  any          // of its progress
	Result driver.Reply // to tasks/result; Err says why there is none
	Again  driver.Reply // to another, where that was an error

	Listening bool // until mcpcheck gave up, the server had a way to ask, or it has told the result

	asked   *desk          // what the server asks meanwhile; nothing where the session answers it at once
	waiting driver.Pending // tasks/result, which was sent before the end; without an id it was not
	waits   int            // how often
	looks   int
}

// life is how long tasks are wanted to be kept, in milliseconds.
const life = 60_000

// augmented are params of a call that is to run as a task.
func augmented(params M) M {
	params = maps.Clone(params)
	params["task"] = M{"ttl": life}
	return params
}

// taskIn is the task in the result of a call; nil when there is none.
func taskIn(result M) M {
	task, _ := result["task"].(M)
	return task
}

// isTask reports whether a call was answered by a task, be it one whose members are not where they belong.
func isTask(r driver.Reply) bool {
	result := r.Result()
	return taskIn(result) != nil || Has(result, "taskId") && !Has(result, "content")
}

// courseOf is the task that a call in a session was answered by.
func courseOf(t *T, s *driver.Session, call kit.ToolCall, asked *desk) *course {
	c := &course{asked: asked}
	task := taskIn(call.Reply.Result())
	id, _ := task["taskId"].(string)
	params, _ := call.Reply.Request.JSON()["params"].(M)
	c.Token = kit.MetaOf(params)["progressToken"]
	c.Course = &kit.Course{
		Call: call, Made: call.Reply, Begun: s.Moment(call.Reply.Request), Session: s, ID: id,
		Pause: "pollInterval", Life: "ttl", Task: taskIn, Ask: c.ask, Give: c.wait,
		Patience: kit.PatienceFor(t),
	}
	if id == "" {
		c.Why = "it has no id"
	}
	c.Extend()
	return c
}

// mostLooks is how often a task is asked after before its result is: a server may not say that it waits for input.
const mostLooks = 10

// ask sends a request about the task. What the server has asked before, and waits for, is answered after that; but at
// once where it serves nothing else meanwhile.
func (c *course) ask(method string, more M) driver.Reply {
	params := M{"taskId": c.ID}
	maps.Copy(params, more)
	open := c.asked.waiting()
	var r driver.Reply
	hurried := false
	c.Session.InTurn(func() (busy bool) {
		r = c.Session.Await(c.Session.Request(method, params))
		if busy = r.Busy(); busy && c.asked.hurry(r) {
			hurried = true
		}
		return busy
	})
	if method == "tasks/get" {
		if c.looks++; c.looks == mostLooks {
			c.wait()
		}
		if c.asked.told(open, c.ID, r) || hurried {
			c.Extend()
		}
	}
	return r
}

// wait asks for the result, which comes when the task has ended, and again when that was answered before. On the way to
// it the server asks for input.
func (c *course) wait() {
	if c.waiting.ID != nil && isSilent(c.Session.AwaitFor(c.waiting, 0)) || c.waits == kit.MostRounds {
		return
	}
	c.waits++
	c.waiting = c.Session.Request("tasks/result", M{"taskId": c.ID})
}

// isSilent reports whether an answer may come yet.
func isSilent(r driver.Reply) bool { return errors.As(r.Err, new(*driver.Silence)) }

// result is the result of a task that has ended.
func (c *course) result() driver.Reply {
	if c.waiting.ID != nil && !c.Result.Answered() {
		if r := c.Session.Await(c.waiting); !r.Busy() {
			return r
		}
	}
	return c.Session.Exchange("tasks/result", M{"taskId": c.ID})
}

// follow follows tasks to their end.
func follow(courses ...*course) {
	kit.Follow(courses...)
	for _, c := range courses {
		switch {
		case c.End == "" && c.waiting.ID != nil && c.Session.Usable():
			r := c.Session.AwaitFor(c.waiting, 0)
			c.Listening = isSilent(r) || r.Result() != nil
			c.Session.Cancel(c.waiting, "mcpcheck waits no longer")
		}
	}
}

// judge tries a check on moments.
func judge(t *T, moments []kit.Moment, run func(*T, kit.Moment)) {
	Each(t, moments, kit.Moment.Subject, run)
}

// judgeAll tries a check on tasks.
func judgeAll(t *T, courses []*course, run func(*T, *course)) {
	Each(t, courses, func(c *course) Subject {
		s := c.Subject()
		s.Frames = append(s.Frames, c.Result.Request, c.Result.Frame)
		return s
	}, run)
}
