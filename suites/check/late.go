package check

import (
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// keepIdle makes the run close a session once it has waited for late messages. It returns false if the run has done so
// already.
func (e *Execution) keepIdle(s *driver.Session) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.observed {
		e.idleSessions = append(e.idleSessions, s)
	}
	return !e.observed
}

// observeLate keeps the sessions open for late messages, unless the run is a quick one, and then closes the idle ones.
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

// ObserveLate keeps the sessions of the run open until LateWindow after since, when something was sent that may have
// late effects for watches to judge. The check does not wait; only the end of the run does.
func ObserveLate(t *T, since time.Time) {
	t.execution.mu.Lock()
	defer t.execution.mu.Unlock()
	if until := since.Add(timing.LateWindow); until.After(t.execution.observeUntil) {
		t.execution.observeUntil = until
	}
}

// KeepIdle sends nothing more in a session for at least LateWindow, so that watches can judge what the server sends in
// it. The check itself has to wait if the server serves one client at a time, or if the run has waited for late
// messages already.
func KeepIdle(t *T, s *driver.Session) {
	if t.execution.server.OneClient || !t.execution.keepIdle(s) {
		s.Sleep(timing.LateWindow)
		return
	}
	ObserveLate(t, time.Now())
	t.setOwnership(s, idle)
}
