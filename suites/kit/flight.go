package kit

import (
	"reflect"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

// flight is calls of tools that are made side by side in one session. Most tools are done in a moment, and have the
// server for themselves; those that take longer cost the run what the slowest of them takes, and not the sum. Each has
// the time of one answer, which begins anew with whatever the server answers in the session, so that one which serves
// them one after the other has time for each.
type flight struct {
	t         *T
	session   *driver.Session
	allowance *Allowance
	calls     []*ToolCall // in the order in which they were made
	silent    bool        // a ping had no answer while calls ran
}

const (
	headStart   = 20 * time.Millisecond  // for which a call has the server for itself
	long        = 300 * time.Millisecond // after which a ping is tried while it runs
	mostRunning = 10                     // calls side by side
)

// sound reports whether more calls can be made in the session.
func (f *flight) sound() bool { return f.session.Usable() && !f.silent }

// start makes a call.
func (f *flight) start(c *ToolCall) {
	for f.full() {
		f.makeRoom()
	}
	c.Session, c.begin = f.session, time.Now()
	c.Long, c.PingFirst, c.overdue = false, false, false // if it is made once more
	params := c.Params(f.session)
	c.Input = &Conversation{Method: "tools/call", Params: params}
	c.pending = f.session.Request("tools/call", params)
	f.calls = append(f.calls, c)
	f.await(c, func() driver.Reply { return f.session.AwaitFor(c.pending, headStart) })
	if c.Reply.Busy() { // with those that run
		f.land()
		if f.take(c, f.session.Exchange("tools/call", params)) {
			f.finish(c)
		}
	}
}

// await waits for what becomes of a call, and again as often as it asks for input.
func (f *flight) await(c *ToolCall, wait func() driver.Reply) {
	for again := true; again; {
		again = f.take(c, wait())
	}
}

// take notes what became of a call so far. When it asks for input, it is made again, and goes on to run.
func (f *flight) take(c *ToolCall, r driver.Reply) (again bool) {
	c.Reply, c.Took = r, time.Since(c.begin)
	if !r.Answered() {
		return false
	}
	c.Took = r.Frame.At - r.Request.At
	c.roomless = !f.allowance.Spend(r)
	params, again := c.hear(f.t, f.allowance)
	if again {
		c.Reply, c.pending = driver.Reply{}, f.session.Request("tools/call", params)
	}
	return again
}

// running are the calls without an answer.
func (f *flight) running() (calls []*ToolCall) {
	for _, c := range f.calls {
		if c.running() {
			calls = append(calls, c)
		}
	}
	return calls
}

// waiting are the calls that run and may be answered yet, the oldest first.
func (f *flight) waiting() []*ToolCall {
	return slices.DeleteFunc(f.running(), func(c *ToolCall) bool { return c.overdue })
}

// full reports whether no more calls may run.
func (f *flight) full() bool { return len(f.waiting()) >= mostRunning }

// makeRoom waits until one of the calls is answered, whichever that is, or else for the oldest ones as long as an
// answer may take.
func (f *flight) makeRoom() {
	waiting := f.waiting()
	f.watch(waiting[0])
	mark := f.session.Mark()
	f.look(waiting)
	if !f.full() {
		return
	}
	f.session.Wait(mark, f.session.Patience(), func(came *driver.Frame) bool {
		return slices.ContainsFunc(waiting, func(c *ToolCall) bool {
			return came.Side == driver.FromServer && came.IsResponse() && driver.SameID(came.Answers(), c.pending.ID)
		})
	})
	if f.look(waiting); !f.full() {
		return
	}
	for _, c := range waiting { // the oldest, and those that are hardly younger
		if c == waiting[0] || time.Since(c.begin) > f.session.Patience()/2 {
			f.finish(c)
		}
	}
}

// look takes the answers that have come to some calls.
func (f *flight) look(calls []*ToolCall) {
	for _, c := range calls {
		if c.running() {
			f.await(c, func() driver.Reply { return f.session.AwaitFor(c.pending, 0) })
		}
	}
}

// land waits for the calls that run.
func (f *flight) land() {
	for _, c := range f.running() {
		f.watch(c) // before any is waited for longer: what is answered meanwhile gives all of them more time
	}
	for _, c := range f.running() {
		f.finish(c)
	}
	f.outwait()
}

// outwait waits longer for the call while which nothing is answered. A server that serves one at a time may only be
// slow: its answer is then on the record before the call is given up, and nobody says that none comes.
func (f *flight) outwait() {
	running := f.running()
	if !f.silent || len(running) == 0 {
		return
	}
	if _, slow := running[0].Reply.Late(2 * f.session.Patience()); slow != nil {
		running[0].Reply.Err = slow
	}
}

// watch waits for the answer to a call. Once it has run for long, a ping is tried meanwhile.
func (f *flight) watch(c *ToolCall) {
	if !c.running() {
		return
	}
	f.await(c, func() driver.Reply {
		return f.session.AwaitFor(c.pending, max(0, long-time.Since(c.begin)))
	})
	if c.running() && !c.Long && f.sound() {
		f.ping(c)
	}
}

// finish waits for the answer to a call, as long as one may take.
func (f *flight) finish(c *ToolCall) {
	f.watch(c)
	if c.running() && !c.overdue {
		f.await(c, func() driver.Reply { return f.wait(c) })
		c.overdue = c.running()
	}
}

// wait is for the answer to a call that runs for long. A quick run does so for a moment only.
func (f *flight) wait(c *ToolCall) driver.Reply {
	if f.t.Quick() {
		return f.session.AwaitFor(c.pending, long)
	}
	return f.session.AwaitCall(c.pending)
}

// ping finds out whether the session is served while a call runs. It tells of all calls that are still running then:
// each ping that is answered gives them more time.
func (f *flight) ping(c *ToolCall) {
	while := max(2*time.Second, 2*f.t.Server.Pace)
	pong := f.session.Exchange(f.session.Harmless())
	f.silent = !pong.Answered()
	for _, other := range f.running() {
		f.await(other, func() driver.Reply { return f.session.AwaitFor(other.pending, 0) })
		switch {
		case f.silent:
		case other.running() || other.Reply.Frame.At > pong.Frame.At:
			other.Long, other.PingFirst = true, true
		case other == c: // other calls may have kept it waiting, too
			c.Long = c.Reply.Frame.At-pong.Request.At > while
		}
	}
}

// end gives up the calls that have no answer, and the session with them.
func (f *flight) end() {
	for _, c := range f.running() {
		f.session.Cancel(c.pending, "mcpcheck waits no longer")
		if !f.t.Quick() || f.silent {
			f.session.Abandon()
		}
	}
}

// unserved are the calls to be made in another session: where the server has died or serves nothing while a call runs,
// those that were made after the one that it hangs in, and that one itself once more.
func (f *flight) unserved() (calls []*ToolCall) {
	running := f.running()
	if len(running) == 0 || f.sound() {
		return nil
	}
	first := running[0]
	calls = running[1:]
	if f.silent && !first.again {
		first.again = true
		calls = append(calls, first)
	}
	return calls
}

// hasten reports whether a call that took too long is made once more, with the least numbers that its schema allows:
// they may say how long it runs, or how much it does. Nobody else has to wait for the tool as it was called first. Of a
// tool that changes something that would be twice as much.
func (f *flight) hasten(c *ToolCall) bool {
	if !c.overdue || c.Broken != nil || c.hastened || !IsReadOnly(c.Tool.Value) || !f.sound() || f.t.Quick() {
		return false
	}
	args := leastNumbers(f.t, c.Tool, c.Arguments)
	if args == nil || reflect.DeepEqual(args, c.Arguments) {
		return false
	}
	c.Arguments, c.hastened = args, true
	RememberArguments(f.t, c.Tool.Name, args)
	return true
}

// running reports whether a call has no answer.
func (c *ToolCall) running() bool { return !c.Reply.Answered() }

// isUnanswered reports whether a call has no answer, and is not waited for any more.
func (c *ToolCall) isUnanswered() bool { return c.running() && (c.overdue || !IsSilence(c.Reply)) }
