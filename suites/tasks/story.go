package tasks

import (
	"math/bits"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// story is what came of calls that were to run as tasks, in a session whose client can be asked for input.
type story struct {
	Calls    []kit.ToolCall
	Uncalled []kit.Uncalled
	Courses  []*course
	Ended    []ended
	Asked    *desk
	Session  *driver.Session
	Mark     int          // in the session, from which on all belongs to these calls
	Listed   driver.Reply // to tasks/list in the end, where the server declares it
}

// ended is a task that has ended, asked after some more, and cancelled meanwhile.
type ended struct {
	*course
	Later     []driver.Reply // to tasks/get
	Cancelled driver.Reply   // where the server declares tasks.cancel
}

const (
	mostEnded = 3 // how many tasks are looked at after their end
	mostLater = 3 // how often each
)

// tell calls the tools as tasks that run as such and may be called, each once, and follows the tasks to their end.
func tell(t *T) *story {
	return Step(t, "tasks", func(t *T) *story {
		story := &story{Asked: &desk{t: t, known: map[string]bool{}}}
		if !augments(t) {
			return story
		}
		s := askable(t)
		story.Asked.s, story.Asked.own = s, unprompted(t, s)
		s.AnswerBy(story.Asked.take)
		story.Session, story.Mark = s, s.Mark()
		story.call(t)
		follow(story.Courses...)
		for _, c := range story.Courses {
			if c.End == "" {
				continue
			}
			if c.Result = c.result(); c.Result.Error() != nil {
				c.Again = c.result()
			}
			if len(story.Ended) < mostEnded {
				story.Ended = append(story.Ended, afterwards(t, c))
			}
		}
		if declaresList(t) {
			story.Listed = s.Exchange("tasks/list", nil)
		}
		return story
	})
}

// askable is a session whose client can be asked for everything. A quick run has one session, whose client cannot.
func askable(t *T) *driver.Session {
	if t.Quick() {
		return OwnUnlessQuick(t)
	}
	return kit.NewClient(t, kit.AbleIn(t.Revision)).Session // side by side with all others, since tasks take their time
}

// unprompted are the methods of what a server asks its client for before any tool is called: without more, it is not a
// task that asks for that.
func unprompted(t *T, s *driver.Session) map[string]bool {
	TryHarmless(t, s)
	if t.Alone() {
		kit.LetAsk(t, s)
	}
	own := map[string]bool{}
	for _, f := range s.Record(0) {
		if f.Side == driver.FromClient && f.Method == "tools/call" {
			break // of another check that has used the session
		}
		own[f.Method] = own[f.Method] || f.Side == driver.FromServer && f.IsRequest()
	}
	return own
}

// afterwards asks after a task that has ended.
func afterwards(t *T, c *course) ended {
	e := ended{course: c, Cancelled: driver.Reply{Err: errNotAsked}}
	e.Later = append(e.Later, c.Look())
	if declaresCancel(t) {
		e.Cancelled = c.ask("tasks/cancel", nil)
	}
	for len(e.Later) < mostLater {
		e.Later = append(e.Later, c.Look())
	}
	return e
}

// call makes the calls, one after the other: each is to be answered before its task is done.
func (story *story) call(t *T) {
	allowance := kit.NewAllowance()
	for _, tool := range kit.Choice(t) {
		if support(tool.Value) != "optional" && support(tool.Value) != "required" {
			continue
		}
		args, not := kit.TaskArguments(t, tool)
		if why := allowance.Spent(); not == nil && why != "" {
			not = &kit.Uncalled{Tool: tool, Why: why}
		}
		if not == nil && !story.Session.Usable() {
			not = &kit.Uncalled{Tool: tool, Why: "the session did not last until it was called"}
		}
		if not != nil {
			story.Uncalled = append(story.Uncalled, *not)
			continue
		}
		call := kit.ToolCall{Tool: tool, Arguments: args}
		call = augment(t, story.Session, call, story.Asked)
		allowance.Spend(call.Reply)
		story.Calls = append(story.Calls, call)
		if !isTask(call.Reply) {
			why := "its call was answered with " + Got(call.Reply)
			story.Uncalled = append(story.Uncalled, kit.Uncalled{Tool: tool, Why: why, Mute: !call.Reply.Answered()})
			continue
		}
		c := courseOf(t, story.Session, call, story.Asked)
		story.Asked.known[c.ID] = true
		story.Courses = append(story.Courses, c)
	}
}

// augment calls a tool as a task. What the server asks while the call has no answer is answered before long.
func augment(t *T, s *driver.Session, call kit.ToolCall, asked *desk) kit.ToolCall {
	const pause = 100 * time.Millisecond
	begin := time.Now()
	p := s.Request("tools/call", augmented(call.Params(s)))
	for call.Reply = s.AwaitFor(p, pause); !call.Reply.Answered() && len(asked.waiting()) > 0; {
		for _, q := range asked.waiting() {
			asked.reply(q, "")
		}
		call.Reply = s.AwaitFor(p, pause)
	}
	if !call.Reply.Answered() {
		call.Reply = s.AwaitCall(p)
	}
	call.Took = time.Since(begin)
	if call.Reply.Answered() {
		call.Took = call.Reply.Frame.At - call.Reply.Request.At
	}
	return call
}

// support is what a tool says of tasks: forbidden, where it says nothing.
func support(tool M) string {
	execution, _ := tool["execution"].(M)
	if text, isString := execution["taskSupport"].(string); isString {
		return text
	}
	return "forbidden"
}

// tasks are those of the story; without any the check ends.
func tasks(t *T) []*course {
	told := tell(t)
	if len(told.Courses) == 0 {
		nothing(t, "call was answered by a task")
	}
	return told.Courses
}

// nothing ends a check that found nothing to judge.
func nothing(t *T, what string) {
	told := tell(t)
	kit.NothingFollowed(t, what, told.Courses, told.Uncalled)
}

// those are the tasks of a kind, and what the kind is. Without any the check ends.
func those(t *T, kind string, is func(*course) bool) (all []*course) {
	for _, c := range tasks(t) {
		if is(c) {
			all = append(all, c)
		}
	}
	if len(all) == 0 {
		nothing(t, kind+" was seen")
	}
	kit.SayUnfinished(t, tell(t).Courses)
	return all
}

// heard are what tasks/get has told; without any the check ends.
func heard(t *T, status ...string) []kit.Moment {
	all := kit.Moments(tasks(t), status...)
	if len(all) == 0 {
		nothing(t, "task was told of by tasks/get")
	}
	kit.SayUnfinished(t, tell(t).Courses)
	return all
}

// begin makes a task by a tool that has made one before.
func begin(t *T, s *driver.Session, before *course) *course {
	nothing := new(desk)
	call := augment(t, s, before.Call, nothing)
	kit.WantAnswer(t, call.Reply)
	if !isTask(call.Reply) {
		t.Inconclusive("%s made a task before, and now was answered with %s", call.Tool.Name, Got(call.Reply))
	}
	return courseOf(t, s, call, nothing)
}

// longest is the task of the story that was seen to run for the longest, and asked for nothing if there is such a one.
func longest(t *T) *course {
	working := func(c *course) int {
		switch {
		case c.ID == "":
			return -2
		case c.waiting.ID != nil:
			return -1
		}
		return bits.Len(uint(len(c.Moments("working")))) // about as long is as long: the first one is taken
	}
	c := slices.MaxFunc(tasks(Unconfirmed(t)), func(a, b *course) int { return working(a) - working(b) })
	if c.ID == "" {
		t.Yield("no task has an id")
	}
	if c.End == "" {
		RequireTime(t)
	}
	return c
}

// follows sees to it that there are tasks, and that it is known what the server says to whatever it does not know.
func follows(t *T) {
	if len(tell(t).Courses) > 0 {
		kit.UnknownMethod(t)
	}
}
