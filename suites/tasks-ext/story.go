package tasksext

import (
	"math/bits"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// extension is the one that is judged.
const extension = "io.modelcontextprotocol/tasks"

// able is what a client declares that knows tasks, and can answer all that they ask for.
var able = knowing(kit.Able)

// knowing are the capabilities of a client that knows tasks beside what else it can do.
func knowing(others M) M {
	all := kit.Extending(extension)
	for name, capability := range others {
		all[name] = capability
	}
	return all
}

// story is what came of calls of tools for a client that knows tasks.
type story struct {
	kit.ToolCalls
	Courses []*course
	Ended   []ended
}

// ended is a task that has ended, asked after once more, cancelled, and asked after at last.
type ended struct {
	*course
	Again, Cancelled, After driver.Reply
}

// mostEnded is how many tasks are looked at after their end.
const mostEnded = 3

// tell calls the tools that may be called, each once, and follows the tasks that come of that to their end.
func tell(t *T) *story {
	return Step(t, "tasks", func(t *T) *story {
		s := t.Session()
		story := &story{ToolCalls: kit.CallsDeclaring(t, s, able, kit.Choice(t))}
		for _, call := range story.List {
			if isTask(call.Reply) {
				story.Courses = append(story.Courses, courseOf(t, s, call))
			}
		}
		kit.Follow(story.Courses...)
		for _, c := range story.Courses {
			if c.End != "" && len(story.Ended) < mostEnded {
				e := ended{course: c, Again: c.Look(), Cancelled: c.ask("tasks/cancel", nil)}
				e.After = c.Look()
				story.Ended = append(story.Ended, e)
			}
		}
		return story
	})
}

// tasks are those of the story; without any the check ends.
func tasks(t *T) []*course {
	told := tell(t)
	if len(told.Courses) == 0 {
		kit.NothingSeen(t, "call was answered by a task", told.Uncalled, kit.AnyTool)
	}
	return told.Courses
}

// those are the tasks of a kind, and what the kind is. Without any the check ends: it could not be tried where a task
// of the story was not followed to its end.
func those(t *T, kind string, is func(*course) bool) (all []*course) {
	everything := tasks(t)
	for _, c := range everything {
		if is(c) {
			all = append(all, c)
		}
	}
	if len(all) == 0 {
		none(t, kind)
	}
	kit.SayUnfinished(t, tell(t).Courses)
	return all
}

// heard are the moments of a status; without any the check ends.
func heard(t *T, kind string, status ...string) []moment {
	all := kit.Moments(tasks(t), status...)
	if len(all) == 0 {
		none(t, kind)
	}
	kit.SayUnfinished(t, tell(t).Courses)
	return all
}

// none ends a check for which there was nothing of a kind.
func none(t *T, kind string) {
	told := tell(t)
	kit.NothingFollowed(t, kind+" was seen", told.Courses, told.Uncalled)
}

// callAgain calls a tool once more as a client with other capabilities, and with more params.
func callAgain(t *T, s *driver.Session, call kit.ToolCall, capabilities, more M) kit.ToolCall {
	params := call.Params(s)
	for name, v := range more {
		params[name] = v
	}
	again := kit.ConverseAmiss(t, s, "tools/call", kit.Declaring(params, capabilities))
	if again.Last.Err != nil {
		kit.WantRefuser(t, again.Last)
		t.Again("%v", Explain(again.Last.Err))
	}
	call.Input, call.Reply = again, again.Last
	return call
}

// begin makes a task by a tool that has made one before, with more params.
func begin(t *T, s *driver.Session, call kit.ToolCall, more M) *course {
	again := callAgain(t, s, call, able, more)
	if !isTask(again.Reply) {
		t.Inconclusive("%s made a task before, and now was answered with %s", call.Tool.Name, Got(again.Reply))
	}
	return courseOf(t, s, again)
}

// longest is the task of the story that was seen to run for the longest, and asked for nothing if there is such a one.
func longest(t *T) *course {
	working := func(c *course) int {
		if len(c.Updates) > 0 {
			return -1
		}
		return bits.Len(uint(len(c.Moments("working")))) // about as long is as long: the first one is taken
	}
	c := slices.MaxFunc(tasks(t), func(a, b *course) int { return working(a) - working(b) })
	if c.End == "" {
		RequireTime(t)
	}
	return c
}
