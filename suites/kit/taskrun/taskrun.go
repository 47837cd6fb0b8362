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
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// TaskRun is a task that a call created, with what the server reported of it until its end. It serves the tasks of
// revision 2025-11-25 and of the extension: the creator of a TaskRun says which members a task has there and how it is
// given input.
type TaskRun struct {
	ToolCall toolcall.ToolCall
	// CreateReply is the reply to the call, which was sent at StartTime.
	CreateReply driver.Reply
	StartTime   time.Time
	Session     *driver.Session
	ID          string
	// GetReplies are the replies to tasks/get.
	GetReplies []driver.Reply
	// FinalStatus is the terminal status of the task; empty while it has none.
	FinalStatus string
	// IncompleteReason is why the task was not followed to its end; empty when it was, or while it is followed.
	IncompleteReason string
	// TimedOut reports whether it was followed until the time for its next step ended, rather than that of the run.
	TimedOut bool

	// Timeout is how long the task has until its next step; 0 is the timeout of a response.
	Timeout time.Duration
	// PollIntervalKey and TTLKey are the members with the poll interval and the lifetime.
	PollIntervalKey, TTLKey string
	// TaskIn returns the task in the result of the call; nil when the result is the task.
	TaskIn func(check.M) check.M
	// Send sends a request about the task, with more members in its params.
	Send func(method string, more check.M) driver.Reply
	// ProvideInput sends what the task requires in status input_required.
	ProvideInput func()

	// nextPoll is when the server may be polled again.
	nextPoll time.Time
	// deadline is when the time for the next step ends.
	deadline time.Time
}

// RelatedTaskKey is the key in _meta by which messages of 2025-11-25 name the task that they belong to.
const RelatedTaskKey = "io.modelcontextprotocol/related-task"

// UnknownTaskID is the id of a task that no server has.
const UnknownTaskID = "mcpcheck-unknown"

// TerminalStatuses are the statuses that a task ends in.
var TerminalStatuses = []string{"completed", "failed", "cancelled"}

// ExtendDeadline gives the task time for its next step. It is not more than that, since a task may last for days.
func (c *TaskRun) ExtendDeadline() {
	c.deadline = time.Now().Add(cmp.Or(c.Timeout, c.Session.ReplyTimeout()))
}

// TaskTimeout is the timeout of tasks: a short one in a quick run, otherwise 0 for the default.
func TaskTimeout(t *check.T) time.Duration {
	if t.IsQuick() {
		return timing.QuickTask
	}
	return 0
}

// HasTime reports whether the time for the next step has not ended.
func (c *TaskRun) HasTime() bool { return time.Now().Before(c.deadline) }

// Poll sends tasks/get as soon as the poll interval allows, and returns the result; nil when there is none.
func (c *TaskRun) Poll() (state check.M) {
	r := c.PollUnrecorded()
	c.GetReplies = append(c.GetReplies, r)
	return r.Result()
}

// PollUnrecorded is Poll for a reply that is not added to GetReplies.
func (c *TaskRun) PollUnrecorded() driver.Reply {
	c.Session.Sleep(time.Until(c.nextPoll))
	r := c.Send("tasks/get", nil)
	c.nextPoll = time.Now().Add(c.pollInterval(r.Result()))
	return r
}

// LastReply is the last reply to tasks/get; it is not answered when the task was never polled.
func (c *TaskRun) LastReply() driver.Reply {
	if len(c.GetReplies) == 0 {
		return driver.Reply{Err: errors.New("the task was not asked after")}
	}
	return c.GetReplies[len(c.GetReplies)-1]
}

// pollInterval is the poll interval that the server asks for, bounded by the deadline.
func (c *TaskRun) pollInterval(state check.M) time.Duration {
	pause := timing.TaskPoll
	if n, isNumber := state[c.PollIntervalKey].(json.Number); isNumber {
		if ms, ok := driver.Integer(n); ok {
			pause = time.Duration(min(ms, time.Hour.Milliseconds())) * time.Millisecond
		}
	}
	return max(timing.MinTaskPoll, min(pause, time.Until(c.deadline)))
}

// Duration is how long the task took, as far as it was followed.
func (c *TaskRun) Duration() time.Duration {
	if at := c.LastReply().Frame; at != nil {
		return c.Session.TimeOf(at).Sub(c.StartTime)
	}
	return 0
}

// IsDone reports whether the task is not followed any further.
func (c *TaskRun) IsDone() bool { return c.FinalStatus != "" || c.IncompleteReason != "" }

// IsUnknownTask reports whether a reply is the error for an unknown task.
func IsUnknownTask(r driver.Reply) bool {
	code, _ := r.Code()
	return code == errcode.InvalidParams
}

// advance polls the task, and provides the input that it requires.
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
		c.TimedOut = true
		c.IncompleteReason = fmt.Sprintf("nothing new came within %s, and at last %s", c.timeoutText(),
			check.Got(c.LastReply()))
	}
}

// timeoutText is the timeout for messages.
func (c *TaskRun) timeoutText() string {
	if c.Timeout > 0 {
		return c.Timeout.String()
	}
	return c.Session.ReplyTimeout().String() + " (--timeout)"
}

// taskRunner is a TaskRun, or a type of an area that has one.
type taskRunner interface{ Run() *TaskRun }

// NextSession returns a session for another task of the kind. Where tasks take long it is exclusive, so that no other
// check has to wait.
func (c *TaskRun) NextSession(t *check.T, options ...check.SessionOption) *driver.Session {
	if c.Duration() > timing.LongTask && !t.IsConfirmation() && !t.IsQuick() {
		options = append(options, check.Exclusive)
	}
	return t.Session(options...)
}

// Run returns the receiver; it implements taskRunner.
func (c *TaskRun) Run() *TaskRun { return c }

// runsOf are the runs of task runners.
func runsOf[C taskRunner](runs []C) (all []*TaskRun) {
	for _, c := range runs {
		all = append(all, c.Run())
	}
	return all
}

// FollowTasks polls tasks until they end, each at its own interval. It cancels those that do not end in time, since
// nobody waits for them any more.
func FollowTasks[C taskRunner](runs ...C) {
	all := runsOf(runs)
	open := slices.DeleteFunc(slices.Clone(all), func(c *TaskRun) bool { return c.ID == "" })
	for budget := toolcall.NewCallBudget(); len(open) > 0; open = slices.DeleteFunc(open, (*TaskRun).IsDone) {
		next := slices.MinFunc(open, func(a, b *TaskRun) int { return a.nextPoll.Compare(b.nextPoll) })
		if next.IncompleteReason = budget.ExhaustedReason(); next.IncompleteReason == "" {
			next.advance()
			budget.Charge(next.LastReply())
		}
	}
	for _, c := range all {
		if c.IncompleteReason != "" && c.Session.IsUsable() {
			c.Send("tasks/cancel", nil)
		}
	}
}

// SkipNotObservedInTasks is SkipNotObserved for checks whose subject might still have come from a task that did not
// end.
func SkipNotObservedInTasks[C taskRunner](t *check.T, what string, runs []C, uncalled []toolcall.Uncalled) {
	for _, c := range runsOf(runs) {
		if c.FinalStatus == "" {
			check.RequireTime(t)
			t.NoVerdict(check.Undecided, "no %s, and the task of %s has not ended: %s", what, c.ToolCall.Tool.Name,
				c.IncompleteReason)
		}
	}
	toolcall.SkipNotObserved(t, what, uncalled, toolcall.AnyTool)
}

// CaveatUnfinished adds a caveat for each task that was not followed to its end.
func CaveatUnfinished[C taskRunner](t *check.T, runs []C) {
	for _, c := range runsOf(runs) {
		if c.FinalStatus == "" {
			t.Caveat("the task of %s was not followed to its end: %s", c.ToolCall.Tool.Name, c.IncompleteReason)
		}
	}
}

// CancelCall cancels the call that created the task, although it was answered with the task.
func (c *TaskRun) CancelCall(t *check.T) {
	mark := c.Session.Mark()
	c.Session.Notify("notifications/cancelled",
		check.M{"requestId": check.FrameID(c.CreateReply.Request), "reason": "it was answered"})
	check.Barrier(t, c.Session, mark)
}

// SkipIfExpired ends a check with a reply that the task is unknown, when its lifetime may have ended.
func (c *TaskRun) SkipIfExpired(t *check.T, reply driver.Reply) {
	if IsUnknownTask(reply) && c.MayBeExpired(reply) {
		t.Skip(check.NotObserved, "its time was over")
	}
}

// MayBeExpired reports whether the lifetime of the task, as reported last, may have ended by the time of a reply. It
// allows for a tenth less than the server says.
func (c *TaskRun) MayBeExpired(reply driver.Reply) bool {
	life, limited := 0.0, false // milliseconds
	for _, state := range c.states() {
		if n, ok := state[c.TTLKey].(json.Number); check.HasMember(state, c.TTLKey) {
			life, _ = n.Float64()
			limited = ok
		}
	}
	lasted := c.Session.TimeOf(reply.Frame).Sub(c.StartTime)
	return limited && float64(lasted.Milliseconds()) >= life*0.9
}

// states are the reports of the task, beginning with the one in the reply to the call.
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

// Subject shows the task as one of several, named by its tool.
func (c *TaskRun) Subject() check.Subject {
	frames := []*driver.Frame{c.CreateReply.Request, c.CreateReply.Frame}
	if len(c.GetReplies) > 0 {
		frames = append(frames, c.LastReply().Request, c.LastReply().Frame)
	}
	return check.Subject{Name: c.ToolCall.Tool.Name, Frames: frames}
}

// TaskSnapshot is one reply to tasks/get with the run that it belongs to.
type TaskSnapshot struct {
	*TaskRun
	driver.Reply
}

// State is the task at that time.
func (m TaskSnapshot) State() check.M { return m.Result() }

// Subject shows the request and the reply.
func (m TaskSnapshot) Subject() check.Subject {
	return check.Subject{Name: m.ToolCall.Tool.Name, Frames: []*driver.Frame{m.Request, m.Frame}}
}

// Snapshots are the results of tasks/get with one of these statuses; without any, all of them.
func (c *TaskRun) Snapshots(status ...string) (all []TaskSnapshot) {
	for _, r := range c.GetReplies {
		is, _ := r.Result()["status"].(string)
		if r.Result() != nil && (len(status) == 0 || slices.Contains(status, is)) {
			all = append(all, TaskSnapshot{c, r})
		}
	}
	return all
}

// Snapshots are the results of tasks/get of several tasks with one of these statuses; without any, all of them.
func Snapshots[C taskRunner](runs []C, status ...string) (all []TaskSnapshot) {
	for _, c := range runsOf(runs) {
		all = append(all, c.Snapshots(status...)...)
	}
	return all
}

// TimestampPattern matches the forms that ISO 8601 has for a date with a time.
var TimestampPattern = regexp.MustCompile(
	`^\d{4}(-?)\d{2}(-?)\d{2}T\d{2}(:?\d{2}){0,2}([.,]\d+)?(Z|[+-]\d{2}(:?\d{2})?)?$`,
)

// RequireAnswer ends a check without a reply to judge: there is none, or one that does not depend on the request, since
// the session was terminated, or the server is busy or answers every request alike.
func RequireAnswer(t *check.T, r driver.Reply) {
	if r.Err != nil {
		t.Retry(check.Undecided, "%v", check.Explain(r.Err))
	}
	if r.IsSessionTerminated() || r.IsBusy() {
		t.Retry(check.Undecided, "%s was answered with %s, which does not depend on the request", r.Method,
			check.Got(r))
	}
	check.RequireServerReply(t, r)
	protocol.SkipUnlessObject(t, r)
	invalid.SkipUnlessServerRejects(t, r)
}
