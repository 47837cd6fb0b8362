package toolcall

import (
	"reflect"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// CallGroup is calls of tools that are made side by side in one session. Most tools are done in a moment, and have the
// server for themselves; those that take longer cost the run what the slowest of them takes, and not the sum. Each has
// the time of one answer, which begins anew with whatever the server answers in the session, so that one which serves
// them one after the other has time for each.
type CallGroup struct {
	T          *check.T
	Session    *driver.Session
	Budget     *CallBudget
	Calls      []*ToolCall // in the order in which they were made
	pingFailed bool        // a ping had no answer while calls ran
}

const (
	launchInterval = 20 * time.Millisecond  // for which a call has the server for itself
	longCallTime   = 300 * time.Millisecond // after which a ping is tried while it runs
	maxRunning     = 10                     // calls side by side
)

// isHealthy reports whether more calls can be made in the session.
func (f *CallGroup) isHealthy() bool { return f.Session.IsUsable() && !f.pingFailed }

// start makes a call.
func (f *CallGroup) start(c *ToolCall) {
	for f.isFull() {
		f.waitForSlot()
	}
	c.Session, c.startTime = f.Session, time.Now()
	c.IsLong, c.PingAnsweredFirst, c.timedOut = false, false, false // if it is made once more
	params := c.Params(f.Session)
	c.InputLoop = &InputLoop{Method: "tools/call", Params: params}
	c.Pending = f.Session.Request("tools/call", params)
	f.Calls = append(f.Calls, c)
	f.await(c, func() driver.Reply { return f.Session.AwaitFor(c.Pending, launchInterval) })
	if c.Reply.IsBusy() { // with those that run
		f.waitAll()
		if f.recordReply(c, f.Session.Call("tools/call", params)) {
			f.finish(c)
		}
	}
}

// await waits for what becomes of a call, and again as often as it asks for input.
func (f *CallGroup) await(c *ToolCall, wait func() driver.Reply) {
	for again := true; again; {
		again = f.recordReply(c, wait())
	}
}

// take notes what became of a call so far. When it asks for input, it is made again, and goes on to run.
func (f *CallGroup) recordReply(c *ToolCall, r driver.Reply) (again bool) {
	c.Reply, c.Duration = r, time.Since(c.startTime)
	if !r.Answered() {
		return false
	}
	c.Duration = r.Frame.At - r.Request.At
	c.overBudget = !f.Budget.Charge(r)
	params, again := c.nextParams(f.T, f.Budget)
	if again {
		c.Reply, c.Pending = driver.Reply{}, f.Session.Request("tools/call", params)
	}
	return again
}

// running are the calls without an answer.
func (f *CallGroup) runningCalls() (calls []*ToolCall) {
	for _, c := range f.Calls {
		if c.isRunning() {
			calls = append(calls, c)
		}
	}
	return calls
}

// waitingCalls are the calls that run and may be answered yet, the oldest first.
func (f *CallGroup) waitingCalls() []*ToolCall {
	return slices.DeleteFunc(f.runningCalls(), func(c *ToolCall) bool { return c.timedOut })
}

// isFull reports whether no more calls may run.
func (f *CallGroup) isFull() bool { return len(f.waitingCalls()) >= maxRunning }

// waitForSlot waits until one of the calls is answered, whichever that is, or else for the oldest ones as long as an
// answer may take.
func (f *CallGroup) waitForSlot() {
	waiting := f.waitingCalls()
	f.awaitOrPing(waiting[0])
	mark := f.Session.Mark()
	f.poll(waiting)
	if !f.isFull() {
		return
	}
	f.Session.Wait(mark, f.Session.ReplyTimeout(), func(came *driver.Frame) bool {
		return slices.ContainsFunc(waiting, func(c *ToolCall) bool {
			return came.Side == driver.FromServer && came.IsResponse() && driver.SameID(came.RequestID(), c.Pending.ID)
		})
	})
	if f.poll(waiting); !f.isFull() {
		return
	}
	for _, c := range waiting { // the oldest, and those that are hardly younger
		if c == waiting[0] || time.Since(c.startTime) > f.Session.ReplyTimeout()/2 {
			f.finish(c)
		}
	}
}

// poll takes the answers that have come to some calls.
func (f *CallGroup) poll(calls []*ToolCall) {
	for _, c := range calls {
		if c.isRunning() {
			f.await(c, func() driver.Reply { return f.Session.AwaitFor(c.Pending, 0) })
		}
	}
}

// waitAll waits for the calls that run.
func (f *CallGroup) waitAll() {
	for _, c := range f.runningCalls() {
		f.awaitOrPing(c) // before any is waited for longer: what is answered meanwhile gives all of them more time
	}
	for _, c := range f.runningCalls() {
		f.finish(c)
	}
	f.waitPastTimeout()
}

// waitPastTimeout waits longer for the call while which nothing is answered. A server that serves one at a time may
// only be slow: its answer is then on the record before the call is given up, and nobody says that none comes.
func (f *CallGroup) waitPastTimeout() {
	running := f.runningCalls()
	if !f.pingFailed || len(running) == 0 {
		return
	}
	if _, slow := running[0].Reply.AwaitLate(2 * f.Session.ReplyTimeout()); slow != nil {
		running[0].Reply.Err = slow
	}
}

// watch waits for the answer to a call. Once it has run for long, a ping is tried meanwhile.
func (f *CallGroup) awaitOrPing(c *ToolCall) {
	if !c.isRunning() {
		return
	}
	f.await(c, func() driver.Reply {
		return f.Session.AwaitFor(c.Pending, max(0, longCallTime-time.Since(c.startTime)))
	})
	if c.isRunning() && !c.IsLong && f.isHealthy() {
		f.ping(c)
	}
}

// finish waits for the answer to a call, as long as one may take.
func (f *CallGroup) finish(c *ToolCall) {
	f.awaitOrPing(c)
	if c.isRunning() && !c.timedOut {
		f.await(c, func() driver.Reply { return f.awaitLong(c) })
		c.timedOut = c.isRunning()
	}
}

// awaitLong is for the answer to a call that runs for long. A quick run does so for a moment only.
func (f *CallGroup) awaitLong(c *ToolCall) driver.Reply {
	if f.T.IsQuick() {
		return f.Session.AwaitFor(c.Pending, longCallTime)
	}
	return f.Session.AwaitLongRunning(c.Pending)
}

// firstPing finds out whether the session is served while a call runs. It tells of all calls that are still running
// then: each ping that is answered gives them more time.
func (f *CallGroup) ping(c *ToolCall) {
	while := max(2*time.Second, 2*f.T.Server.Latency)
	pong := f.Session.Call(f.Session.NoOp())
	f.pingFailed = !pong.Answered()
	for _, other := range f.runningCalls() {
		f.await(other, func() driver.Reply { return f.Session.AwaitFor(other.Pending, 0) })
		switch {
		case f.pingFailed:
		case other.isRunning() || other.Reply.Frame.At > pong.Frame.At:
			other.IsLong, other.PingAnsweredFirst = true, true
		case other == c: // other calls may have kept it waiting, too
			c.IsLong = c.Reply.Frame.At-pong.Request.At > while
		}
	}
}

// end gives up the calls that have no answer, and the session with them.
func (f *CallGroup) CancelUnanswered() {
	for _, c := range f.runningCalls() {
		f.Session.Cancel(c.Pending, "mcpcheck waits no longer")
		if !f.T.IsQuick() || f.pingFailed {
			f.Session.MarkUnusable()
		}
	}
}

// unserved are the calls to be made in another session: where the server has died or serves nothing while a call runs,
// those that were made after the one that it hangs in, and that one itself once more.
func (f *CallGroup) callsToRepeat() (calls []*ToolCall) {
	running := f.runningCalls()
	if len(running) == 0 || f.isHealthy() {
		return nil
	}
	first := running[0]
	calls = running[1:]
	if f.pingFailed && !first.isRetried {
		first.isRetried = true
		calls = append(calls, first)
	}
	return calls
}

// retrySmaller reports whether a call that took too long is made once more, with the least numbers that its schema
// allows: they may say how long it runs, or how much it does. Nobody else has to wait for the tool as it was called
// first. Of a tool that changes something that would be twice as much.
func (f *CallGroup) retrySmaller(c *ToolCall) bool {
	if !c.timedOut || c.Counterexample != nil || c.isMinimized || !report.IsReadOnly(c.Tool.Value) || !f.isHealthy() ||
		f.T.IsQuick() {
		return false
	}
	args := minimalNumbers(f.T, c.Tool, c.Arguments)
	if args == nil || reflect.DeepEqual(args, c.Arguments) {
		return false
	}
	c.Arguments, c.isMinimized = args, true
	check.RememberArguments(f.T, c.Tool.Name, args)
	return true
}

// running reports whether a call has no answer.
func (c *ToolCall) isRunning() bool { return !c.Reply.Answered() }

// isUnanswered reports whether a call has no answer, and is not waited for any more.
func (c *ToolCall) isUnanswered() bool {
	return c.isRunning() && (c.timedOut || !invalid.IsTimeout(c.Reply))
}
