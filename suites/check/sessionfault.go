package check

import (
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// sessionFault is what went wrong with the sessions of an attempt, and may have been caused by a busy machine or by
// another check.
type sessionFault struct {
	// ended says that a session has ended, or could not be opened.
	ended bool
	// unanswered are the methods of requests that were not answered in time.
	unanswered []string
	// reused says that others may have used the sessions before.
	reused bool
}

func (f sessionFault) isSet() bool { return f.ended || len(f.unanswered) > 0 }

// addFault adds a fault outside the attempt's own sessions.
func (c *scope) addFault(f sessionFault) {
	c.fault.ended = c.fault.ended || f.ended
	c.fault.unanswered = append(c.fault.unanswered, f.unanswered...)
}

// faults returns what went wrong with the sessions of the attempt and of the steps that it reads.
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

// waitPastTimeout waits in sessions with an unanswered request until the last request has had twice the timeout. After
// that, RequireNotLate finds a late response in the record, although the session is closed.
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

// relevantFault returns the fault of an attempt if its outcome may rest on that. A pass, and the outcome of a watch,
// never do.
func (c *scope) relevantFault(k kind, o outcome) (none sessionFault) {
	if o.verdict == catalogue.Pass || k == watch {
		return none
	}
	return c.faults()
}

// KnownUnanswered returns the error of a method that is known to get no response, from repeated requests; nil when that
// is not known. A check that does not pass because of it is retried with nothing else running.
func KnownUnanswered(t *T, method string) error {
	err := t.execution.health.unansweredError(method)
	if err != nil {
		t.scope.addFault(sessionFault{unanswered: []string{method}})
	}
	return err
}

// requireAnswered ends the check as inconclusive when a method is known to get no response.
func (t *T) requireAnswered(method string) {
	if err := KnownUnanswered(t, method); err != nil {
		t.Retry(report.Silent, "%s was not asked again: %v", method, err)
	}
}

// RequireSerial ends an attempt in which a method got no response within a short time, unless nothing else runs. It is
// retried when nothing else runs, so that the server has all the time it needs.
func RequireSerial(t *T, method string) {
	if t.execution.serial.Load() {
		return
	}
	t.scope.addFault(sessionFault{unanswered: []string{method}})
	t.Retry(report.Silent, "%s was not waited for while others were tried", method)
}

// ServerDown reports whether the run was stopped because the server no longer serves. checked is the session of the
// health check, in which only no-ops were sent and which ended or got no response; nil when no session could be opened.
func ServerDown(t *T) (checked *driver.Session, down bool) {
	reason, checked := t.execution.health.downReason()
	return checked, reason != ""
}

// voidOutcome returns why nothing in the sessions of the attempt can be held against the server: a response was not its
// own or cannot be parsed, it has terminated the session, or mcpcheck has reached a limit; nil otherwise.
func (c *scope) voidOutcome() *outcome {
	void := func(r report.Reason, why string, causes ...string) *outcome {
		return &outcome{verdict: catalogue.Inconclusive, reason: r, message: why, yieldsTo: causes, retryable: true}
	}
	for _, u := range c.uses {
		if limitErr := u.session.LimitErr(u.mark); limitErr != nil {
			return void(report.Limit, limitErr.Error())
		}
		if u.session.HasUnreadableResponse(u.mark) {
			return void(report.OtherCheck, "in place of an answer came what cannot be read",
				"stdio/stdout-only-messages", "stdio/one-message-per-line")
		}
		for _, x := range u.session.HTTP().RoundTrips() {
			a := x.Response()
			if a.IsFromIntermediary() {
				return void(report.ForeignAnswer, "an answer was not the server's own: "+a.String())
			}
			if x.IsSessionTerminated() && !u.session.HasInvalidInput() {
				return void(report.Died, "the server has ended the session: "+a.String())
			}
			if limitErr := a.LimitErr(); limitErr != nil && x.IsManual() { // otherwise its messages are in the record
				return void(report.Limit, limitErr.Error())
			}
		}
	}
	return c.stepVoid
}

// pendingRetry is a case whose verdict rests on the server's health, and which is retried with nothing else running.
type pendingRetry struct {
	// index is the index of the case in the plan.
	index       int
	firstResult report.Result
	fault       sessionFault
}

// retrySerially retries the cases whose verdicts rest on the server's health, one at a time. No other process of the
// server is running then, so that a server that starts slowly, or that can run only once, is not blamed for the load of
// the run. Once a method is known to get no response even so, cases that rest only on that are not retried, except for
// failures that were never confirmed.
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

// isKnownSilence reports whether a fault would occur again: it consists only of methods that are known to get no
// response.
func (e *Execution) isKnownSilence(f sessionFault) bool {
	served := func(method string) bool { return e.health.unansweredError(method) == nil }
	reason, _ := e.health.downReason()
	return !f.ended && reason == "" && !slices.ContainsFunc(f.unanswered, served)
}
