package check

import (
	"time"

	"github.com/mcpcheck/mcpcheck/suites/report"
)

// watchdog makes sure that every case has its result, and Wait returns, soon after the context has ended, even when a
// check never returns.
func (e *Execution) watchdog() {
	defer close(e.finished)
	select {
	case <-e.workDone:
		return
	case <-e.ctx.Done():
	}
	select {
	case <-e.workDone:
		return
	case <-time.After(e.options.GracePeriod):
	}
	for i, c := range e.plan {
		e.setResult(i, e.newResult(c, interruptedOutcome(e.ctx), time.Now()))
	}
}

// setResult sets the result of a case, unless the case was abandoned.
func (e *Execution) setResult(i int, r report.Result) {
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case <-e.caseDone[i]:
	default:
		e.results[i], e.claims[i] = r, e.attemptClaims[r.ID]
		e.options.Progress.completed.Add(1)
		close(e.caseDone[i])
	}
}
