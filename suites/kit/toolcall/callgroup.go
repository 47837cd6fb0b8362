package toolcall

import (
	"cmp"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// CallGroup are calls of tools that run concurrently in one session. A quick call has the server for itself; slow ones
// take the run as long as the slowest of them, and not their sum. Each has the timeout of a response, which begins anew
// with every response in the session, so that a server that serves one call after the other has time for each.
type CallGroup struct {
	T       *check.T
	Session *driver.Session
	Budget  *CallBudget
	// Calls are in the order in which they were made.
	Calls []*ToolCall
	// pingFailed reports whether a ping was left unanswered while calls ran.
	pingFailed bool
}

const (
	maxRunning = 10 // how many calls run concurrently
)

// isHealthy reports whether more calls can be made in the session.
func (f *CallGroup) isHealthy() bool { return f.Session.IsUsable() && !f.pingFailed }

// start makes a call. It waits first while too many run.
func (f *CallGroup) start(c *ToolCall) {
	for f.isFull() {
		f.waitForSlot()
	}
	c.Session, c.startTime = f.Session, time.Now()
	c.IsLong, c.PingAnsweredFirst, c.HeldPing, c.timedOut = false, false, false, false // for a call that is repeated
	params := c.Params(f.Session)
	c.InputLoop = &InputLoop{Method: "tools/call", Params: params}
	c.Pending = f.Session.Request("tools/call", params)
	f.Calls = append(f.Calls, c)
	f.await(c, func() driver.Reply { return f.Session.AwaitFor(c.Pending, timing.CallInterval) })
	if c.Reply.IsBusy() { // because of other calls that run
		f.waitAll()
		if f.recordReply(c, f.Session.Call("tools/call", params)) {
			f.finish(c)
		}
	}
}

// await waits for the reply to a call, and again after each input request in it.
func (f *CallGroup) await(c *ToolCall, wait func() driver.Reply) {
	for again := true; again; {
		again = f.recordReply(c, wait())
	}
}

// recordReply records the reply to a call so far. When it requires input, the call is made again with that and goes on.
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

// runningCalls are the calls without a response.
func (f *CallGroup) runningCalls() (calls []*ToolCall) {
	for _, c := range f.Calls {
		if c.isRunning() {
			calls = append(calls, c)
		}
	}
	return calls
}

// waitingCalls are the running calls whose time is not up, the oldest first.
func (f *CallGroup) waitingCalls() []*ToolCall {
	return slices.DeleteFunc(f.runningCalls(), func(c *ToolCall) bool { return c.timedOut })
}

// isFull reports whether no more calls may run.
func (f *CallGroup) isFull() bool { return len(f.waitingCalls()) >= maxRunning }

// waitForSlot waits until any of the calls is answered, or else until the time of the oldest ones is up.
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
	for _, c := range waiting { // the oldest, and those that are not much younger
		if c == waiting[0] || time.Since(c.startTime) > f.Session.ReplyTimeout()/2 {
			f.finish(c)
		}
	}
}

// poll collects the responses that have come for some calls.
func (f *CallGroup) poll(calls []*ToolCall) {
	for _, c := range calls {
		if c.isRunning() {
			f.await(c, func() driver.Reply { return f.Session.AwaitFor(c.Pending, 0) })
		}
	}
}

// waitAll waits for all running calls.
func (f *CallGroup) waitAll() {
	for _, c := range f.runningCalls() {
		f.awaitOrPing(c) // ping for each before waiting longer for any: each response extends the time of all
	}
	for _, c := range f.runningCalls() {
		f.finish(c)
	}
	f.waitPastTimeout()
}

// waitPastTimeout waits longer for the call during which nothing is answered. A server that serves one call at a time
// may only be slow: its response is then in the transcript before the call is cancelled, and no check reports it as
// missing.
func (f *CallGroup) waitPastTimeout() {
	running := f.runningCalls()
	if !f.pingFailed || len(running) == 0 {
		return
	}
	if _, slow := running[0].Reply.AwaitLate(2 * f.Session.ReplyTimeout()); slow != nil {
		running[0].Reply.Err = slow
	}
}

// awaitOrPing waits for the response to a call. Once it has run for timing.LongCall, it sends a ping meanwhile.
func (f *CallGroup) awaitOrPing(c *ToolCall) {
	if !c.isRunning() {
		return
	}
	f.await(c, func() driver.Reply {
		return f.Session.AwaitFor(c.Pending, max(0, timing.LongCall-time.Since(c.startTime)))
	})
	if c.isRunning() && !c.IsLong && f.isHealthy() {
		f.ping()
	}
}

// finish waits for the response to a call until its time is up.
func (f *CallGroup) finish(c *ToolCall) {
	f.awaitOrPing(c)
	if c.isRunning() && !c.timedOut {
		f.await(c, func() driver.Reply { return f.awaitLong(c) })
		c.timedOut = c.isRunning()
	}
}

// awaitLong waits for the response to a call that takes long. A quick run waits only briefly.
func (f *CallGroup) awaitLong(c *ToolCall) driver.Reply {
	if f.T.IsQuick() {
		return f.Session.AwaitFor(c.Pending, timing.LongCall)
	}
	return f.Session.AwaitLongRunning(c.Pending)
}

// ping finds out whether the server answers while calls run; a response extends the time of those that still run then.
// Where it came after the answers of some, one of these may have delayed it.
func (f *CallGroup) ping() {
	running := f.runningCalls()
	pong := f.Session.Call(f.Session.NoOp())
	f.pingFailed = !pong.Answered()
	var answered []*ToolCall
	for _, c := range running {
		f.await(c, func() driver.Reply { return f.Session.AwaitFor(c.Pending, 0) })
		switch {
		case f.pingFailed:
		case c.isRunning() || c.Reply.Frame.At > pong.Frame.At:
			c.IsLong, c.PingAnsweredFirst, c.PingReply = true, true, pong
		default:
			answered = append(answered, c)
		}
	}
	markHeldPing(f.T, answered, pong)
}

// markHeldPing finds out which calls, all of them answered before a ping, have run for so long that the ping had time
// to be answered. A server that serves one request at a time begins with a call when it has answered the one before:
// what a call has waited for others of mcpcheck is not its own time.
func markHeldPing(t *check.T, calls []*ToolCall, pong driver.Reply) {
	held, long := max(timing.LongCall, 2*t.Server.Latency), max(2*time.Second, 2*t.Server.Latency)
	slices.SortStableFunc(calls, func(a, b *ToolCall) int { return cmp.Compare(a.Reply.Frame.At, b.Reply.Frame.At) })
	begin := pong.Request.At
	for _, c := range calls {
		if end := c.Reply.Frame.At; end > begin {
			c.HeldPing, c.IsLong = end-begin > held, end-begin > long
			begin = end
		}
	}
}

// HoldsPing reports whether a ping was answered after a call that went on for so long after the ping was sent that the
// ping had time to be answered.
func HoldsPing(t *check.T, call, pong driver.Reply) bool {
	return pong.Frame.At >= call.Frame.At &&
		call.Frame.At-pong.Request.At > max(timing.LongCall, 2*t.Server.Latency)
}

// CancelUnanswered cancels the calls without a response, and marks the session unusable.
func (f *CallGroup) CancelUnanswered() {
	for _, c := range f.runningCalls() {
		f.Session.Cancel(c.Pending, "mcpcheck waits no longer")
		if !f.T.IsQuick() || f.pingFailed {
			f.Session.MarkUnusable()
		}
	}
}

// callsToRepeat are the calls to make in another session after the server ended or stopped responding during a call:
// all that were made after that call, and that call itself once.
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

// isRunning reports whether a call has no response.
func (c *ToolCall) isRunning() bool { return !c.Reply.Answered() }

// isUnanswered reports whether a call has no response and is not waited for any more.
func (c *ToolCall) isUnanswered() bool {
	return c.isRunning() && (c.timedOut || !invalid.IsTimeout(c.Reply))
}
