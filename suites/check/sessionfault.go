package check

import (
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// sessionFault is what went wrong with the sessions of an attempt, for which a busy machine or another check may be the
// cause.
type sessionFault struct {
	ended      bool     // a session ended, or could not be opened
	unanswered []string // methods of requests that had no answer in time
	reused     bool     // others may have used the sessions before
}

func (f sessionFault) isSet() bool { return f.ended || len(f.unanswered) > 0 }

// add adds what went wrong elsewhere.
func (c *scope) addFault(f sessionFault) {
	c.fault.ended = c.fault.ended || f.ended
	c.fault.unanswered = append(c.fault.unanswered, f.unanswered...)
}

// faults is what went wrong with the sessions of the attempt, and with those of the stimuli that it shares.
func (c *scope) faults() sessionFault {
	all := sessionFault{c.fault.ended, slices.Clone(c.fault.unanswered), c.reused}
	for _, u := range c.uses {
		if u.session.HasFault() {
			unanswered, only := u.session.UnansweredMethods()
			all.ended = all.ended || !only
			all.unanswered = append(all.unanswered, unanswered...)
		}
	}
	return all
}

// waitPastTimeout waits in sessions in which a request had no answer in time until the last of them has had twice that
// time: RequireNotLate finds the answer in their records then, once they are ended.
func (c *scope) waitPastTimeout() {
	for _, u := range c.uses {
		if unanswered, _ := u.session.UnansweredMethods(); len(unanswered) == 0 {
			continue
		}
		var last time.Time
		for _, f := range u.session.FramesSince(u.mark) {
			if f.Side == driver.FromClient {
				last = u.session.TimeOf(f)
			}
		}
		u.session.Sleep(time.Until(last.Add(2 * u.session.ReplyTimeout())))
	}
}

// relevantFault is what went wrong with the sessions of an attempt if its outcome may rest on that: any may but a pass,
// and but what a watch makes of the wire.
func (c *scope) relevantFault(k kind, o outcome) (none sessionFault) {
	if o.verdict == catalogue.Pass || k == watch {
		return none
	}
	return c.faults()
}

// KnownUnanswered is the error of a method that was asked for more than once and has no answer, as far as is known; nil
// when that is not known. A check that does not pass then is decided again when nothing else runs.
func KnownUnanswered(t *T, method string) error {
	err := t.execution.health.unansweredError(method)
	if err != nil {
		t.scope.addFault(sessionFault{unanswered: []string{method}})
	}
	return err
}

// requireAnswered ends the check as inconclusive when a method has no answer, as far as is known.
func (t *T) requireAnswered(method string) {
	if err := KnownUnanswered(t, method); err != nil {
		t.WithReason(report.Silent).Retry("%s was not asked again: %v", method, err)
	}
}

// RequireSerial ends an attempt that has had no answer to a method for a moment, unless nothing else runs: it is made
// again when that is so, and the server has all its time.
func RequireSerial(t *T, method string) {
	if t.execution.serial.Load() {
		return
	}
	t.scope.addFault(sessionFault{unanswered: []string{method}})
	t.WithReason(report.Silent).Retry("%s was not waited for while others were tried", method)
}

// ServerDown reports whether the run was stopped because the server no longer serves. control is the session in which
// nothing was asked but harmless requests, and which ended or fell silent: the server's one fault then. It is nil when
// no session could be opened any more.
func ServerDown(t *T) (control *driver.Session, down bool) {
	reason, control := t.execution.health.downReason()
	return control, reason != ""
}

// voidOutcome is why nothing in the sessions of the attempt can be held against the server: an answer was not its own
// or cannot be read, it has ended a session, or mcpcheck did not take all that came. Nil when none of that is so.
func (c *scope) voidOutcome() *outcome {
	strange := func(r report.Reason, why string, causes ...string) *outcome {
		return &outcome{verdict: catalogue.Inconclusive, reason: r, message: why, yieldsTo: causes, retryable: true}
	}
	for _, u := range c.uses {
		if excess := u.session.LimitErr(u.mark); excess != nil {
			return strange(report.Limit, excess.Error())
		}
		if u.session.HasUnreadableResponse(u.mark) {
			return strange(report.OtherCheck, "in place of an answer came what cannot be read",
				"stdio/stdout-only-messages", "stdio/one-message-per-line")
		}
		for _, x := range u.session.HTTP().RoundTrips() {
			a := x.Response()
			if a.IsFromIntermediary() {
				return strange(report.ForeignAnswer, "an answer was not the server's own: "+a.String())
			}
			if x.IsSessionTerminated() && !u.session.HasInvalidInput() {
				return strange(report.Died, "the server has ended the session: "+a.String())
			}
			if excess := a.LimitErr(); excess != nil && x.IsManual() { // else its messages are in the record
				return strange(report.Limit, excess.Error())
			}
		}
	}
	return c.stepVoid
}

// pendingRetry is a case whose verdict rests on the server's health, and is decided again when nothing else runs.
type pendingRetry struct {
	index       int // in the plan
	firstResult report.Result
	fault       sessionFault
}

// retrySerially tries the cases again whose verdicts rest on the server's health. They have the machine for themselves:
// no other process of the server is left, and one at a time is started. A server that is slow to start, or that can run
// only once, is not blamed for the haste of the harness. Once it was found in that way that a method has no answer,
// what rests on nothing else is not tried again, but for a fail that was not confirmed.
func (e *Execution) retrySerially() {
	if len(e.pendingRetries) == 0 {
		return
	}
	e.pool.Wait()
	e.serial.Store(true)
	e.health.reset()
	e.checkHealth()
	slices.SortFunc(e.pendingRetries, func(a, b pendingRetry) int { return a.index - b.index })
	for _, p := range e.pendingRetries {
		if unconfirmed := p.fault.reused && p.firstResult.Verdict == catalogue.Fail; !unconfirmed &&
			e.isKnownSilence(p.fault) {
			e.setResult(p.index, p.firstResult)
			continue
		}
		c, begin := e.plan[p.index], time.Now()
		decided := e.options.Progress.beginCase(c.Area())
		o, used := e.attempt(c, nil, true)
		used.release(e.pool, false)
		e.pool.Wait()
		decided()
		e.setResult(p.index, e.newResult(c, o, begin))
	}
}

// isKnownSilence reports whether a fault is known to come again: it is all silence of methods that have no answer.
func (e *Execution) isKnownSilence(f sessionFault) bool {
	served := func(method string) bool { return e.health.unansweredError(method) == nil }
	reason, _ := e.health.downReason()
	return !f.ended && reason == "" && !slices.ContainsFunc(f.unanswered, served)
}
