package check

import (
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// LateWindow is for how long a run waits for what may come late. A server that takes longer for its answers is watched
// for longer, as long as others talk to it.
const LateWindow = 1250 * time.Millisecond

// leave has the run end a session once it has waited for what may come late; false when it has done so already.
func (e *Execution) keepIdle(s *driver.Session) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.observed {
		e.idleSessions = append(e.idleSessions, s)
	}
	return !e.observed
}

// observeLate keeps the sessions open for what may come late, unless the run is a quick one, and ends those that were
// left to themselves.
func (e *Execution) observeLate() {
	e.mu.Lock()
	lasts, left := e.observeUntil, e.idleSessions
	e.observed = true
	e.mu.Unlock()
	if !e.options.Quick {
		timer := time.NewTimer(time.Until(lasts))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-e.ctx.Done():
		}
	}
	for _, s := range left {
		e.pool.CloseSession(s)
	}
}

// ObserveLate keeps the sessions of the run open for LateWindow since something was sent: it may have an effect that
// comes late, for watches to judge. Nobody waits for it but the run in its end.
func ObserveLate(t *T, since time.Time) {
	t.execution.mu.Lock()
	defer t.execution.mu.Unlock()
	if until := since.Add(LateWindow); until.After(t.execution.observeUntil) {
		t.execution.observeUntil = until
	}
}

// KeepIdle leaves a session to itself for LateWindow at the least: nothing more is said in it, and watches judge what
// the server says. A server that takes one client at a time keeps everybody waiting for it, and so does a check that is
// tried after the run has waited.
func KeepIdle(t *T, s *driver.Session) {
	if t.execution.server.OneClient || !t.execution.keepIdle(s) {
		s.Sleep(LateWindow)
		return
	}
	ObserveLate(t, time.Now())
	t.setOwnership(s, idle)
}
