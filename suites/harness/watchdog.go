package harness

import "time"

// watchdog sees to it that every case has its result, and Wait returns, soon after the context has ended: also when a
// check computes without end, and with it a worker never comes back.
func (e *Execution) watchdog() {
	defer close(e.over)
	select {
	case <-e.ended:
		return
	case <-e.ctx.Done():
	}
	select {
	case <-e.ended:
		return
	case <-time.After(e.options.Grace):
	}
	for i, c := range e.plan {
		e.settle(i, e.result(c, interrupted(e.ctx), time.Now()))
	}
}

// settle gives a case its result, unless it was given up.
func (e *Execution) settle(i int, r Result) {
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case <-e.done[i]:
	default:
		e.results[i] = r
		e.options.Progress.settled.Add(1)
		close(e.done[i])
	}
}
