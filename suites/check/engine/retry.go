package engine

import (
	"cmp"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check/internal/attempt"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// relevantFault returns the fault of an attempt if its outcome may rest on that. A pass, and the outcome of a watch,
// never do.
func relevantFault(c Case, used *attempt.Scope, o attempt.Outcome) (none attempt.SessionFault) {
	if o.Verdict == catalogue.Pass || c.script.Kind == attempt.Watch {
		return none
	}
	return used.Faults()
}

// pendingRetry is a case whose verdict rests on the server's health, and which is retried with nothing else running.
type pendingRetry struct {
	// index is the index of the case in the plan.
	index       int
	firstResult report.Result
	fault       attempt.SessionFault
}

// retrySerially retries the cases whose verdicts rest on the server's health, one at a time. No other process of the
// server is running then, so that a server that starts slowly, or that can run only once, is not blamed for the load of
// the run. Failures come first. Once a method is known to get no response even so, cases that rest only on that are not
// retried, except for failures that were never confirmed. Neither are those that yield to an entry which has failed.
func (e *Execution) retrySerially() {
	if len(e.pendingRetries) == 0 {
		return
	}
	e.run.Pool.Wait()
	e.run.Serial.Store(true)
	e.run.Health.Reset()
	e.checkHealth()
	slices.SortFunc(e.pendingRetries, func(a, b pendingRetry) int {
		return cmp.Or(a.order()-b.order(), a.index-b.index)
	})
	for _, p := range e.pendingRetries {
		unconfirmed := p.fault.Reused && p.firstResult.Verdict == catalogue.Fail
		if !unconfirmed && (e.isKnownSilence(p.fault) || p.order() == yieldingRetry && e.hasFailedCause(p.index)) {
			e.setResult(p.index, p.firstResult)
			continue
		}
		c, begin := e.plan[p.index], time.Now()
		decided := e.options.Progress.beginCase(c.Area())
		o, used := e.attempt(c, nil, true)
		if o.Verdict == catalogue.Fail {
			e.run.Health.RecordSilences(used.Faults().Unanswered)
		}
		used.Release(e.run.Pool, false)
		e.run.Pool.Wait()
		decided()
		e.setResult(p.index, e.newResult(c, o, begin))
	}
}

// These are the places of retries in the order in which they are made.
const (
	failedRetry = iota
	otherRetry
	yieldingRetry
)

// order returns the place of the retry: failures show what gets no response, and may be the causes of what yields.
func (p pendingRetry) order() int {
	switch {
	case p.firstResult.Verdict == catalogue.Fail:
		return failedRetry
	case p.firstResult.Reason == report.OtherCheck:
		return yieldingRetry
	}
	return otherRetry
}

// hasFailedCause reports whether an entry that a case yields to has failed so far.
func (e *Execution) hasFailedCause(i int) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.ContainsFunc(e.plan[i].Causes(e.plan[i].applicableIDs), func(id string) bool {
		j := e.indexOf(id)
		return j >= 0 && e.results[j].Verdict == catalogue.Fail
	})
}

// isKnownSilence reports whether a fault would occur again: it consists only of methods that are known to get no
// response.
func (e *Execution) isKnownSilence(f attempt.SessionFault) bool {
	served := func(method string) bool { return e.run.Health.UnansweredError(method) == nil }
	reason, _ := e.run.Health.DownReason()
	return !f.Ended && reason == "" && !slices.ContainsFunc(f.Unanswered, served)
}
