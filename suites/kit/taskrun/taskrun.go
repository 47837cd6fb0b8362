package taskrun

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// TaskRun is a task that a call was answered by, and what was heard of it until its end. Revision 2025-11-25 has tasks,
// and so has the extension of tasks: what members a task has there, and how it is given what it asks for, whoever makes
// a course says.
type TaskRun struct {
	ToolCall         toolcall.ToolCall
	CreateReply      driver.Reply // to the call, which was made at StartTime
	StartTime        time.Time
	Session          *driver.Session
	ID               string
	GetReplies       []driver.Reply // to tasks/get
	FinalStatus      string         // the status in which it ended; empty: it has not
	IncompleteReason string         // why not, once that is known

	// how long it has for what it does next; 0: as long as an answer may take
	Timeout                 time.Duration
	PollIntervalKey, TTLKey string                // the members that say when to ask again, and how long it is kept
	TaskIn                  func(check.M) check.M // the task in the result of the call; nil: that is the result
	Send                    func(method string, more check.M) driver.Reply
	ProvideInput            func() // gives it what it asks for in status input_required

	nextPoll time.Time // when it may be asked after again
	deadline time.Time // how long it has
}

// How long to wait before a task is asked after again, unless the server says so; and at the least.
const (
	defaultPollInterval = 100 * time.Millisecond
	minPollInterval     = 5 * time.Millisecond
	quickTaskTimeout    = 500 * time.Millisecond // for which a quick run waits for what a task does next
)

// RelatedTaskKey is the key by which messages of 2025-11-25 say what task they belong to.
const RelatedTaskKey = "io.modelcontextprotocol/related-task"

// UnknownTaskID is the id of a task that no server has.
const UnknownTaskID = "mcpcheck-unknown"

// TerminalStatuses are the statuses that a task ends in.
var TerminalStatuses = []string{"completed", "failed", "cancelled"}

// ExtendDeadline gives the task time for what it does next, and no more than that: a task may last for days.
func (c *TaskRun) ExtendDeadline() {
	c.deadline = time.Now().Add(cmp.Or(c.Timeout, c.Session.ReplyTimeout()))
}

// TaskTimeout is the patience with tasks: in a quick run that of a moment.
func TaskTimeout(t *check.T) time.Duration {
	if t.IsQuick() {
		return quickTaskTimeout
	}
	return 0
}

// HasTime reports whether there is some of that time left.
func (c *TaskRun) HasTime() bool { return time.Now().Before(c.deadline) }

// Poll asks after the task, as soon as the server wants to be asked, and returns what it tells; nil when that is
// nothing.
func (c *TaskRun) Poll() (state check.M) {
	r := c.PollUnrecorded()
	c.GetReplies = append(c.GetReplies, r)
	return r.Result()
}

// PollUnrecorded is Poll for an answer that is none of those heard.
func (c *TaskRun) PollUnrecorded() driver.Reply {
	c.Session.Sleep(time.Until(c.nextPoll))
	r := c.Send("tasks/get", nil)
	c.nextPoll = time.Now().Add(c.pollInterval(r.Result()))
	return r
}

// Last is the last answer to tasks/get; none came when the task was never asked after.
func (c *TaskRun) LastReply() driver.Reply {
	if len(c.GetReplies) == 0 {
		return driver.Reply{Err: errors.New("the task was not asked after")}
	}
	return c.GetReplies[len(c.GetReplies)-1]
}

// pollInterval is how long the server wants the client to wait, as far as there is time for that.
func (c *TaskRun) pollInterval(state check.M) time.Duration {
	pause := defaultPollInterval
	if n, isNumber := state[c.PollIntervalKey].(json.Number); isNumber {
		if ms, ok := driver.Integer(n); ok {
			pause = time.Duration(min(ms, time.Hour.Milliseconds())) * time.Millisecond
		}
	}
	return max(minPollInterval, min(pause, time.Until(c.deadline)))
}

// Took is how long the task took, as far as it was followed.
func (c *TaskRun) Duration() time.Duration {
	if at := c.LastReply().Frame; at != nil {
		return c.Session.TimeOf(at).Sub(c.StartTime)
	}
	return 0
}

// Over reports whether nothing more is to be heard.
func (c *TaskRun) IsDone() bool { return c.FinalStatus != "" || c.IncompleteReason != "" }

// IsUnknownTask reports whether an answer says that there is no such task.
func IsUnknownTask(r driver.Reply) bool {
	code, _ := r.Code()
	return code == errcode.InvalidParams
}

// advance asks after the task, and gives it what it asks for.
func (c *TaskRun) advance() {
	state := c.Poll()
	switch status, _ := state["status"].(string); {
	case c.LastReply().Err != nil:
		c.IncompleteReason = check.Explain(c.LastReply().Err).Error()
	case IsUnknownTask(c.LastReply()):
		c.IncompleteReason = "tasks/get was answered with " + check.Got(c.LastReply())
	case slices.Contains(TerminalStatuses, status):
		c.FinalStatus = status
	case status == "input_required":
		c.ProvideInput()
	}
	if !c.IsDone() && !c.HasTime() {
		c.IncompleteReason = fmt.Sprintf("nothing new came within %s, and at last %s", c.timeoutText(),
			check.Got(c.LastReply()))
	}
}

// timeoutText is how long it had, in words.
func (c *TaskRun) timeoutText() string {
	if c.Timeout > 0 {
		return c.Timeout.String()
	}
	return c.Session.ReplyTimeout().String() + " (--timeout)"
}

// taskRunner is a course, and what an area knows of the task beside that.
type taskRunner interface{ Run() *TaskRun }

// NextSession is a session for one more task like it: the usual one or, where tasks take long, one of its own, so that
// nobody waits for that.
func (c *TaskRun) NextSession(t *check.T, usual func() *driver.Session) *driver.Session {
	const long = time.Second
	if c.Duration() > long && !t.IsConfirmation() && !t.IsQuick() {
		return t.ExclusiveSession()
	}
	return usual()
}

// Plain is the course alone.
func (c *TaskRun) Run() *TaskRun { return c }

// runsOf are the courses alone.
func runsOf[C taskRunner](courses []C) (all []*TaskRun) {
	for _, c := range courses {
		all = append(all, c.Run())
	}
	return all
}

// FollowTasks follows tasks to their end, each as often as the server wants it. What has not ended by the end of its
// time is cancelled: nobody waits for it any more.
func FollowTasks[C taskRunner](courses ...C) {
	all := runsOf(courses)
	open := slices.DeleteFunc(slices.Clone(all), func(c *TaskRun) bool { return c.ID == "" })
	for allowance := toolcall.NewCallBudget(); len(open) > 0; open = slices.DeleteFunc(open, (*TaskRun).IsDone) {
		next := slices.MinFunc(open, func(a, b *TaskRun) int { return a.nextPoll.Compare(b.nextPoll) })
		if next.IncompleteReason = allowance.ExhaustedReason(); next.IncompleteReason == "" {
			next.advance()
			allowance.Charge(next.LastReply())
		}
	}
	for _, c := range all {
		if c.IncompleteReason != "" && c.Session.IsUsable() {
			c.Send("tasks/cancel", nil)
		}
	}
}

// SkipNotObservedInTasks is SkipNotObserved where a task may have shown what was not seen.
func SkipNotObservedInTasks[C taskRunner](t *check.T, what string, courses []C, uncalled []toolcall.Uncalled) {
	for _, c := range runsOf(courses) {
		if c.FinalStatus == "" {
			check.RequireTime(t)
			t.Inconclusive("no %s, and the task of %s has not ended: %s", what, c.ToolCall.Tool.Name,
				c.IncompleteReason)
		}
	}
	toolcall.SkipNotObserved(t, what, uncalled, toolcall.AnyTool)
}

// CaveatUnfinished has the result of a check tell of tasks that were not followed to their end.
func CaveatUnfinished[C taskRunner](t *check.T, courses []C) {
	for _, c := range runsOf(courses) {
		if c.FinalStatus == "" {
			t.Caveat("the task of %s was not followed to its end: %s", c.ToolCall.Tool.Name, c.IncompleteReason)
		}
	}
}

// CancelCall takes back the call that has made the task, which was answered with that.
func (c *TaskRun) CancelCall(t *check.T) {
	mark := c.Session.Mark()
	c.Session.Notify("notifications/cancelled",
		check.M{"requestId": check.FrameID(c.CreateReply.Request), "reason": "it was answered"})
	check.Barrier(t, c.Session, mark)
}

// SkipIfExpired ends a check with an answer that there is no such task when the time of the task may have been over.
func (c *TaskRun) SkipIfExpired(t *check.T, told driver.Reply) {
	if IsUnknownTask(told) && c.MayBeExpired(told) {
		t.WithReason(check.NotObserved).Skip("its time was over")
	}
}

// MayBeExpired reports whether the time of the task, as it was told last, may have been over when something was told of
// it. A little less than the server says is sure.
func (c *TaskRun) MayBeExpired(told driver.Reply) bool {
	life, limited := 0.0, false // milliseconds
	for _, state := range c.states() {
		if n, ok := state[c.TTLKey].(json.Number); check.HasMember(state, c.TTLKey) {
			life, _ = n.Float64()
			limited = ok
		}
	}
	lasted := c.Session.TimeOf(told.Frame).Sub(c.StartTime)
	return limited && float64(lasted.Milliseconds()) >= life*0.9
}

// states are the task as it was told of, first by the answer to the call.
func (c *TaskRun) states() []check.M {
	made := c.CreateReply.Result()
	if c.TaskIn != nil {
		made = c.TaskIn(made)
	}
	all := []check.M{made}
	for _, r := range c.GetReplies {
		all = append(all, r.Result())
	}
	return all
}

// Subject is the task as one of several, named by its tool.
func (c *TaskRun) Subject() check.Subject {
	frames := []*driver.Frame{c.CreateReply.Request, c.CreateReply.Frame}
	if len(c.GetReplies) > 0 {
		frames = append(frames, c.LastReply().Request, c.LastReply().Frame)
	}
	return check.Subject{Name: c.ToolCall.Tool.Name, Frames: frames}
}

// TaskSnapshot is what was told of a task at one time.
type TaskSnapshot struct {
	*TaskRun
	driver.Reply
}

// State is the task as it was then.
func (m TaskSnapshot) State() check.M { return m.Result() }

// Subject shows the question and the answer.
func (m TaskSnapshot) Subject() check.Subject {
	return check.Subject{Name: m.ToolCall.Tool.Name, Frames: []*driver.Frame{m.Request, m.Frame}}
}

// Snapshots are all that tasks/get has told of the task, with a certain status.
func (c *TaskRun) Snapshots(status ...string) (all []TaskSnapshot) {
	for _, r := range c.GetReplies {
		is, _ := r.Result()["status"].(string)
		if r.Result() != nil && (len(status) == 0 || slices.Contains(status, is)) {
			all = append(all, TaskSnapshot{c, r})
		}
	}
	return all
}

// Snapshots are all that tasks/get has told of tasks, with a certain status.
func Snapshots[C taskRunner](courses []C, status ...string) (all []TaskSnapshot) {
	for _, c := range runsOf(courses) {
		all = append(all, c.Snapshots(status...)...)
	}
	return all
}

// TimestampPattern matches the forms that ISO 8601 has for a date with a time.
var TimestampPattern = regexp.MustCompile(
	`^\d{4}(-?)\d{2}(-?)\d{2}T\d{2}(:?\d{2}){0,2}([.,]\d+)?(Z|[+-]\d{2}(:?\d{2})?)?$`,
)

// RequireAnswer ends a check that has no answer to judge: none came, or one that says nothing of what was asked, since
// the session was over, or the server busy or such that it answers anything so.
func RequireAnswer(t *check.T, r driver.Reply) {
	if r.Err != nil {
		t.Retry("%v", check.Explain(r.Err))
	}
	if r.IsSessionTerminated() || r.IsBusy() {
		t.Retry("%s was answered with %s, which does not depend on the request", r.Method, check.Got(r))
	}
	check.RequireServerReply(t, r)
	protocol.SkipUnlessObject(t, r)
	invalid.SkipUnlessServerRejects(t, r)
}
