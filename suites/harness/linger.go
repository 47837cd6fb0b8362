package harness

import (
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// Late is for how long a run waits for what may come late. A server that takes longer for its answers is watched for
// longer, as long as others talk to it.
const Late = 1250 * time.Millisecond

// leave has the run end a session once it has waited for what may come late; false when it has done so already.
func (e *Execution) leave(s *driver.Session) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.lingered {
		e.left = append(e.left, s)
	}
	return !e.lingered
}

// linger keeps the sessions open for what may come late, unless the run is a quick one, and ends those that were left
// to themselves.
func (e *Execution) linger() {
	e.mu.Lock()
	lasts, left := e.lasts, e.left
	e.lingered = true
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
		e.pool.Close(s)
	}
}

// ObserveLate keeps the sessions of the run open for Late since something was sent: it may have an effect that comes
// late, for watches to judge. Nobody waits for it but the run in its end.
func ObserveLate(t *T, since time.Time) {
	t.run.mu.Lock()
	defer t.run.mu.Unlock()
	if until := since.Add(Late); until.After(t.run.lasts) {
		t.run.lasts = until
	}
}

// KeepIdle leaves a session to itself for Late at the least: nothing more is said in it, and watches judge what the
// server says. A server that takes one client at a time keeps everybody waiting for it, and so does a check that is
// tried after the run has waited.
func KeepIdle(t *T, s *driver.Session) {
	if t.run.server.OneClient || !t.run.leave(s) {
		s.Idle(Late)
		return
	}
	ObserveLate(t, time.Now())
	t.goes(s, left)
}
