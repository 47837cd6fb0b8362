package tasksext

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// course is a task that a call was answered by, and what was heard of it until its end.
type course struct {
	Call    kit.ToolCall
	Made    driver.Reply   // to the call, which was made at begun
	Heard   []driver.Reply // to tasks/get
	Updates []driver.Reply // to tasks/update
	End     string         // the status in which it ended; empty: it has not
	Why     string         // why not, once that is known

	t        *T
	s        *driver.Session
	client   M // what requests about it declare
	id       string
	begun    time.Time
	told     int             // how many answers to tasks/get were heard when it was last given something
	answered map[string]bool // the keys of what it has asked for and got
	due      time.Time       // when it may be asked after again
	until    time.Time       // how long it has
}

// How long to wait before a task is asked after again, unless the server says so; and at the least.
const (
	usualPause = 100 * time.Millisecond
	leastPause = 5 * time.Millisecond
)

// terminal are the statuses that a task ends in.
var terminal = []string{"completed", "failed", "cancelled"}

// isTask reports whether a result is a task, by its type or, where that is wrong, by what it is made of.
func isTask(r driver.Reply) bool {
	result := r.Result()
	_, hasID := result["taskId"].(string)
	_, hasStatus := result["status"].(string)
	return result["resultType"] == "task" || hasID && hasStatus && !Has(result, "content")
}

// courseOf is the task that a call in a session was answered by.
func courseOf(t *T, s *driver.Session, call kit.ToolCall) *course {
	id, _ := call.Reply.Result()["taskId"].(string)
	c := &course{Call: call, Made: call.Reply, t: t, s: s, client: able, id: id, answered: map[string]bool{}}
	c.begun = s.Moment(c.Made.Request)
	c.extend()
	return c
}

// extend gives the task time for what it does next, and no more than that: a task may last for days.
func (c *course) extend() { c.until = time.Now().Add(c.s.Patience()) }

// ask sends a request about the task.
func (c *course) ask(method string, more M) driver.Reply {
	params := M{"taskId": c.id}
	maps.Copy(params, more)
	return c.s.Exchange(method, kit.Declaring(params, c.client))
}

// get asks after the task, as soon as the server wants to be asked, and returns what it tells; nil when that is
// nothing.
func (c *course) get() (state M) {
	r := c.look()
	c.Heard = append(c.Heard, r)
	return r.Result()
}

// look is get for an answer that is none of those heard.
func (c *course) look() driver.Reply {
	c.s.Idle(time.Until(c.due))
	r := c.ask("tasks/get", nil)
	c.due = time.Now().Add(c.pause(r.Result()))
	return r
}

// last is the last answer to tasks/get; none came when the task was never asked after.
func (c *course) last() driver.Reply {
	if len(c.Heard) == 0 {
		return driver.Reply{Err: errors.New("the task was not asked after")}
	}
	return c.Heard[len(c.Heard)-1]
}

// pause is how long the server wants the client to wait, as far as there is time for that.
func (c *course) pause(state M) time.Duration {
	pause := usualPause
	if n, isNumber := state["pollIntervalMs"].(json.Number); isNumber {
		if ms, ok := driver.Integer(n); ok {
			pause = time.Duration(min(ms, time.Hour.Milliseconds())) * time.Millisecond
		}
	}
	return max(leastPause, min(pause, time.Until(c.until)))
}

// over reports whether nothing more is to be heard.
func (c *course) over() bool { return c.End != "" || c.Why != "" }

// isGone reports whether an answer says that there is no such task.
func isGone(r driver.Reply) bool {
	code, _ := r.Code()
	return code == -32602
}

// step asks after the task, and gives it what it asks for.
func (c *course) step() {
	state := c.get()
	switch status, _ := state["status"].(string); {
	case c.last().Err != nil:
		c.Why = Explain(c.last().Err).Error()
	case isGone(c.last()):
		c.Why = "tasks/get was answered with " + Got(c.last())
	case slices.Contains(terminal, status):
		c.End = status
	case status == "input_required":
		c.answer()
	}
	if !c.over() && !time.Now().Before(c.until) {
		c.Why = fmt.Sprintf("nothing new came within %v (--timeout), and at last %s", c.s.Patience(), Got(c.last()))
	}
}

// answer gives the task what it asks for now and has not got before.
func (c *course) answer() {
	responses, err := kit.Responses(c.t, c.last())
	maps.DeleteFunc(responses, func(key string, _ any) bool { return c.answered[key] })
	switch {
	case err != nil:
		c.Why = err.Error()
	case len(responses) == 0: // the server may take its time
	case len(c.Updates) == kit.MostRounds:
		c.Why = fmt.Sprintf("it still asks for input after %d updates, mcpcheck's own limit", kit.MostRounds)
	default:
		if r := c.update(responses); r.Result() == nil {
			c.Why = "tasks/update was answered with " + Got(r)
		}
	}
}

// update gives the task responses.
func (c *course) update(responses M) driver.Reply {
	r := c.ask("tasks/update", M{"inputResponses": responses})
	c.Updates, c.told = append(c.Updates, r), len(c.Heard)
	if r.Result() != nil {
		for key := range responses {
			c.answered[key] = true
		}
	}
	c.extend()
	return r
}

// follow follows tasks to their end, each as often as the server wants it. What has not ended by the end of its time is
// cancelled: nobody waits for it any more.
func follow(courses ...*course) {
	open := slices.DeleteFunc(slices.Clone(courses), func(c *course) bool { return c.id == "" })
	for allowance := kit.NewAllowance(); len(open) > 0; open = slices.DeleteFunc(open, (*course).over) {
		next := slices.MinFunc(open, func(a, b *course) int { return a.due.Compare(b.due) })
		if next.Why = allowance.Spent(); next.Why == "" {
			next.step()
			allowance.Spend(next.last())
		}
	}
	for _, c := range courses {
		if c.Why != "" && c.s.Usable() {
			c.ask("tasks/cancel", nil)
		}
	}
}

// subject is the task as one of several, named by its tool.
func (c *course) subject() Subject {
	frames := []*driver.Frame{c.Made.Request, c.Made.Frame}
	if len(c.Heard) > 0 {
		frames = append(frames, c.last().Request, c.last().Frame)
	}
	return Subject{Name: c.Call.Tool.Name, Frames: frames}
}

// wantAnswer ends a check that has no answer to judge.
func wantAnswer(t *T, r driver.Reply) {
	if r.Err != nil {
		t.Again("%v", Explain(r.Err))
	}
}

// moment is what was told of a task at one time.
type moment struct {
	*course
	driver.Reply
}

// state is the task as it was then.
func (m moment) state() M { return m.Result() }

func (m moment) subject() Subject {
	return Subject{Name: m.Call.Tool.Name, Frames: []*driver.Frame{m.Request, m.Frame}}
}

// moments are all that tasks/get has told of tasks, with a certain status.
func moments(courses []*course, status ...string) (all []moment) {
	for _, c := range courses {
		for _, r := range c.Heard {
			is, _ := r.Result()["status"].(string)
			if r.Result() != nil && (len(status) == 0 || slices.Contains(status, is)) {
				all = append(all, moment{c, r})
			}
		}
	}
	return all
}

// judge tries a check on moments.
func judge(t *T, moments []moment, run func(*T, moment)) { Each(t, moments, moment.subject, run) }

// judgeAll tries a check on tasks.
func judgeAll(t *T, courses []*course, run func(*T, *course)) {
	Each(t, courses, (*course).subject, run)
}
