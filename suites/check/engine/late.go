package engine

import "time"

// observeLate keeps the sessions open for late messages, unless the run is a quick one, and then closes the idle ones.
func (e *Execution) observeLate() {
	until, idle := e.run.BeginObservation()
	if !e.options.Quick {
		timer := time.NewTimer(time.Until(until))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-e.ctx.Done():
		}
	}
	for _, s := range idle {
		e.run.Pool.CloseSession(s)
	}
}
