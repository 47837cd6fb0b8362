package kit

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

// Course is a task that a call was answered by, and what was heard of it until its end. Revision 2025-11-25 has tasks,
// and so has the extension of tasks: what members a task has there, and how it is given what it asks for, whoever makes
// a course says.
type Course struct {
	Call    ToolCall
	Made    driver.Reply // to the call, which was made at Begun
	Begun   time.Time
	Session *driver.Session
	ID      string
	Heard   []driver.Reply // to tasks/get
	End     string         // the status in which it ended; empty: it has not
	Why     string         // why not, once that is known

	Patience    time.Duration // how long it has for what it does next; 0: as long as an answer may take
	Pause, Life string        // the members that say when to ask again, and how long it is kept
	Task        func(M) M     // the task in the result of the call; nil: that is the result
	Ask         func(method string, more M) driver.Reply
	Give        func() // gives it what it asks for in status input_required

	due   time.Time // when it may be asked after again
	until time.Time // how long it has
}

// How long to wait before a task is asked after again, unless the server says so; and at the least.
const (
	usualPause = 100 * time.Millisecond
	leastPause = 5 * time.Millisecond
	quickTask  = 500 * time.Millisecond // for which a quick run waits for what a task does next
)

// RelatedTask is the key by which messages of 2025-11-25 say what task they belong to.
const RelatedTask = "io.modelcontextprotocol/related-task"

// NoTask is the id of a task that no server has.
const NoTask = "mcpcheck-unknown"

// Terminal are the statuses that a task ends in.
var Terminal = []string{"completed", "failed", "cancelled"}

// Extend gives the task time for what it does next, and no more than that: a task may last for days.
func (c *Course) Extend() { c.until = time.Now().Add(cmp.Or(c.Patience, c.Session.Patience())) }

// PatienceFor is the patience with tasks: in a quick run that of a moment.
func PatienceFor(t *T) time.Duration {
	if t.Quick() {
		return quickTask
	}
	return 0
}

// HasTime reports whether there is some of that time left.
func (c *Course) HasTime() bool { return time.Now().Before(c.until) }

// Get asks after the task, as soon as the server wants to be asked, and returns what it tells; nil when that is
// nothing.
func (c *Course) Get() (state M) {
	r := c.Look()
	c.Heard = append(c.Heard, r)
	return r.Result()
}

// Look is Get for an answer that is none of those heard.
func (c *Course) Look() driver.Reply {
	c.Session.Idle(time.Until(c.due))
	r := c.Ask("tasks/get", nil)
	c.due = time.Now().Add(c.pause(r.Result()))
	return r
}

// Last is the last answer to tasks/get; none came when the task was never asked after.
func (c *Course) Last() driver.Reply {
	if len(c.Heard) == 0 {
		return driver.Reply{Err: errors.New("the task was not asked after")}
	}
	return c.Heard[len(c.Heard)-1]
}

// pause is how long the server wants the client to wait, as far as there is time for that.
func (c *Course) pause(state M) time.Duration {
	pause := usualPause
	if n, isNumber := state[c.Pause].(json.Number); isNumber {
		if ms, ok := driver.Integer(n); ok {
			pause = time.Duration(min(ms, time.Hour.Milliseconds())) * time.Millisecond
		}
	}
	return max(leastPause, min(pause, time.Until(c.until)))
}

// Took is how long the task took, as far as it was followed.
func (c *Course) Took() time.Duration {
	if at := c.Last().Frame; at != nil {
		return c.Session.Moment(at).Sub(c.Begun)
	}
	return 0
}

// Over reports whether nothing more is to be heard.
func (c *Course) Over() bool { return c.End != "" || c.Why != "" }

// IsGone reports whether an answer says that there is no such task.
func IsGone(r driver.Reply) bool {
	code, _ := r.Code()
	return code == -32602
}

// step asks after the task, and gives it what it asks for.
func (c *Course) step() {
	state := c.Get()
	switch status, _ := state["status"].(string); {
	case c.Last().Err != nil:
		c.Why = Explain(c.Last().Err).Error()
	case IsGone(c.Last()):
		c.Why = "tasks/get was answered with " + Got(c.Last())
	case slices.Contains(Terminal, status):
		c.End = status
	case status == "input_required":
		c.Give()
	}
	if !c.Over() && !c.HasTime() {
		c.Why = fmt.Sprintf("nothing new came within %s, and at last %s", c.allowed(), Got(c.Last()))
	}
}

// allowed is how long it had, in words.
func (c *Course) allowed() string {
	if c.Patience > 0 {
		return c.Patience.String()
	}
	return c.Session.Patience().String() + " (--timeout)"
}

// Followed is a course, and what an area knows of the task beside that.
type Followed interface{ Plain() *Course }

// Another is a session for one more task like it: the usual one or, where tasks take long, one of its own, so that
// nobody waits for that.
func (c *Course) Another(t *T, usual func() *driver.Session) *driver.Session {
	const long = time.Second
	if c.Took() > long && !t.Alone() && !t.Quick() {
		return t.Own()
	}
	return usual()
}

// Plain is the course alone.
func (c *Course) Plain() *Course { return c }

// plain are the courses alone.
func plain[C Followed](courses []C) (all []*Course) {
	for _, c := range courses {
		all = append(all, c.Plain())
	}
	return all
}

// Follow follows tasks to their end, each as often as the server wants it. What has not ended by the end of its time is
// cancelled: nobody waits for it any more.
func Follow[C Followed](courses ...C) {
	all := plain(courses)
	open := slices.DeleteFunc(slices.Clone(all), func(c *Course) bool { return c.ID == "" })
	for allowance := NewAllowance(); len(open) > 0; open = slices.DeleteFunc(open, (*Course).Over) {
		next := slices.MinFunc(open, func(a, b *Course) int { return a.due.Compare(b.due) })
		if next.Why = allowance.Spent(); next.Why == "" {
			next.step()
			allowance.Spend(next.Last())
		}
	}
	for _, c := range all {
		if c.Why != "" && c.Session.Usable() {
			c.Ask("tasks/cancel", nil)
		}
	}
}

// NothingFollowed is NothingSeen where a task may have shown what was not seen.
func NothingFollowed[C Followed](t *T, what string, courses []C, uncalled []Uncalled) {
	for _, c := range plain(courses) {
		if c.End == "" {
			RequireTime(t)
			t.Inconclusive("no %s, and the task of %s has not ended: %s", what, c.Call.Tool.Name, c.Why)
		}
	}
	NothingSeen(t, what, uncalled, AnyTool)
}

// SayUnfinished has the result of a check tell of tasks that were not followed to their end.
func SayUnfinished[C Followed](t *T, courses []C) {
	for _, c := range plain(courses) {
		if c.End == "" {
			t.Partly("the task of %s was not followed to its end: %s", c.Call.Tool.Name, c.Why)
		}
	}
}

// CancelCall takes back the call that has made the task, which was answered with that.
func (c *Course) CancelCall(t *T) {
	mark := c.Session.Mark()
	c.Session.Notify("notifications/cancelled", M{"requestId": ID(c.Made.Request), "reason": "it was answered"})
	Settle(t, c.Session, mark)
}

// WantTime ends a check with an answer that there is no such task when the time of the task may have been over.
func (c *Course) WantTime(t *T, told driver.Reply) {
	if IsGone(told) && c.Expired(told) {
		t.Because(NotObserved).Skip("its time was over")
	}
}

// Expired reports whether the time of the task, as it was told last, may have been over when something was told of it.
// A little less than the server says is sure.
func (c *Course) Expired(told driver.Reply) bool {
	life, limited := 0.0, false // milliseconds
	for _, state := range c.states() {
		if n, ok := state[c.Life].(json.Number); Has(state, c.Life) {
			life, _ = n.Float64()
			limited = ok
		}
	}
	lasted := c.Session.Moment(told.Frame).Sub(c.Begun)
	return limited && float64(lasted.Milliseconds()) >= life*0.9
}

// states are the task as it was told of, first by the answer to the call.
func (c *Course) states() []M {
	made := c.Made.Result()
	if c.Task != nil {
		made = c.Task(made)
	}
	all := []M{made}
	for _, r := range c.Heard {
		all = append(all, r.Result())
	}
	return all
}

// Subject is the task as one of several, named by its tool.
func (c *Course) Subject() Subject {
	frames := []*driver.Frame{c.Made.Request, c.Made.Frame}
	if len(c.Heard) > 0 {
		frames = append(frames, c.Last().Request, c.Last().Frame)
	}
	return Subject{Name: c.Call.Tool.Name, Frames: frames}
}

// Moment is what was told of a task at one time.
type Moment struct {
	*Course
	driver.Reply
}

// State is the task as it was then.
func (m Moment) State() M { return m.Result() }

// Subject shows the question and the answer.
func (m Moment) Subject() Subject {
	return Subject{Name: m.Call.Tool.Name, Frames: []*driver.Frame{m.Request, m.Frame}}
}

// Moments are all that tasks/get has told of the task, with a certain status.
func (c *Course) Moments(status ...string) (all []Moment) {
	for _, r := range c.Heard {
		is, _ := r.Result()["status"].(string)
		if r.Result() != nil && (len(status) == 0 || slices.Contains(status, is)) {
			all = append(all, Moment{c, r})
		}
	}
	return all
}

// Moments are all that tasks/get has told of tasks, with a certain status.
func Moments[C Followed](courses []C, status ...string) (all []Moment) {
	for _, c := range plain(courses) {
		all = append(all, c.Moments(status...)...)
	}
	return all
}

// IsTimestamp matches the forms that ISO 8601 has for a date with a time.
var IsTimestamp = regexp.MustCompile(
	`^\d{4}(-?)\d{2}(-?)\d{2}T\d{2}(:?\d{2}){0,2}([.,]\d+)?(Z|[+-]\d{2}(:?\d{2})?)?$`,
)

// WantAnswer ends a check that has no answer to judge: none came, or one that says nothing of what was asked, since the
// session was over, or the server busy or such that it answers anything so.
func WantAnswer(t *T, r driver.Reply) {
	if r.Err != nil {
		t.Again("%v", Explain(r.Err))
	}
	if r.Expelled() || r.Busy() {
		t.Again("%s was answered with %s, which does not depend on the request", r.Method, Got(r))
	}
	Accept(t, r)
	WantObject(t, r)
	WantRefuser(t, r)
}
