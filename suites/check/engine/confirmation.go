package engine

import (
	"cmp"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check/internal/attempt"
)

// unconfirmedCase is a case that did not pass and is confirmed together with others.
type unconfirmedCase struct {
	// index is the index of the case in the plan.
	index int
	// outcome is what the first attempt came to.
	outcome attempt.Outcome
	phase   confirmationPhase
}

// confirmationPhase orders the cases that are confirmed together: first those that need a fresh process, since others
// can use it afterwards, and invalid input last.
type confirmationPhase int

const (
	inNewProcess confirmationPhase = iota
	inValidInputSession
	inInvalidInputSession
)

// confirmationPhaseOf returns the phase of a case that has been tried once.
func confirmationPhaseOf(c Case, used *attempt.Scope) confirmationPhase {
	isInvalid := func(p attempt.RecordRange) bool { return p.Session.HasInvalidInput() }
	switch {
	case c.script.Kind == attempt.ProcessProbe:
		return inNewProcess
	case slices.ContainsFunc(used.RecordRanges(), isInvalid):
		return inInvalidInputSession
	}
	return inValidInputSession
}

// confirm tries a case again that did not pass on sessions which others have used: later together with other cases or,
// if it would block, now and alone, while other cases are tried.
func (e *Execution) confirm(i int, c Case, o attempt.Outcome, used *attempt.Scope, begin time.Time) caseOutcome {
	uses, turn := used.Uses, confirmationPhaseOf(c, used)
	used.Release(e.run.Pool, true) // before the second attempt, which must not wait for them
	if e.isConfirmedTogether(c, o) {
		e.mu.Lock()
		e.unconfirmedCases = append(e.unconfirmedCases, unconfirmedCase{i, o, turn})
		e.mu.Unlock()
		return caseOutcome{isPending: true}
	}
	return e.confirmAlone(i, o, uses, begin)
}

// confirmAlone tries a case again in sessions of its own, while other cases are tried. If the outcome is another one
// then, no other case uses the sessions of the first attempt.
func (e *Execution) confirmAlone(i int, first attempt.Outcome, uses []attempt.SessionUse, begin time.Time) caseOutcome {
	c := e.plan[i]
	alone := func() caseOutcome {
		again, second := e.confirmAttempt(c, nil)
		if again.Verdict != first.Verdict {
			discardSessions(uses)
		}
		e.keepForOthers(c, second)
		return e.decide(i, c, again, second, begin)
	}
	if e.options.Jobs == 1 || e.run.Serial.Load() || !c.isProbe() {
		return alone()
	}
	e.confirming.Go(func() {
		e.confirmationSlots <- struct{}{}
		j := alone()
		<-e.confirmationSlots
		e.conclude(i, j.result, j.fault)
	})
	return caseOutcome{isPending: true}
}

// keepForOthers keeps the sessions in which a case was confirmed alone for those that are confirmed together.
func (e *Execution) keepForOthers(c Case, used *attempt.Scope) {
	if c.isProbe() && e.confirmsTogether() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.confirmationSessions.Keep(used)
	}
}

// discardSessions marks sessions as unusable for others, since something in them differs from a fresh one.
func discardSessions(uses []attempt.SessionUse) {
	for _, u := range uses {
		u.Session.MarkUnusable()
	}
}

// confirmAttempt makes the confirming attempt, after the steps that it reads are done.
func (e *Execution) confirmAttempt(
	c Case, with *attempt.ConfirmationSessions,
) (o attempt.Outcome, used *attempt.Scope) {
	for o, used = e.attempt(c, with, true); o.WaitsFor != nil; o, used = e.attempt(c, with, true) {
		used.Release(e.run.Pool, false)
		o.WaitsFor.Await()
	}
	return o, used
}

// confirmsTogether reports whether the run confirms what does not block together. It does so only over stdio, where
// each session needs a process of its own.
func (e *Execution) confirmsTogether() bool {
	return e.run.Target.Site == nil && !e.run.HasSingleSession && !e.run.Serial.Load() && !e.options.Isolate
}

// isConfirmedTogether reports whether an outcome is confirmed together with others: it would not block, or it may be a
// known deviation of the server's SDK, which is known only later.
func (e *Execution) isConfirmedTogether(c Case, o attempt.Outcome) bool {
	return c.isProbe() && e.confirmsTogether() && (!e.wouldGate(c, o) ||
		e.options.ignoresKnownDeviations() && e.deviations(c, o) != nil)
}

// isProven reports whether a fail needs no confirmation: it does not block, and the attempt sent only well-formed
// messages, which a server has to answer correctly whatever well-formed messages came before. Advice for which a
// process would have to be started is not confirmed, either.
func (e *Execution) isProven(c Case, o attempt.Outcome, used *attempt.Scope) bool {
	if o.Verdict != catalogue.Fail || !e.isConfirmedTogether(c, o) || e.wouldGate(c, o) {
		return false
	}
	return !used.NeedsConfirmation || o.Level == catalogue.Advice && c.script.Kind == attempt.ProcessProbe
}

// pingSessions sends a no-op in the sessions of an attempt. A session in which it is not answered counts as a session
// fault of this attempt, and later attempts do not use it. Nothing is sent if the no-op is known to get no response.
func (e *Execution) pingSessions(used *attempt.Scope) {
	for _, u := range used.Uses {
		method, _ := u.Session.NoOp()
		if u.Session.IsOrdinary() && !u.Session.HasFault() && e.run.Health.UnansweredError(method) == nil {
			u.Session.AwaitNoOp()
		}
	}
}

// confirmTogether confirms the cases that wait for it, once what blocks was confirmed. Outcomes that rest on the
// server's health are retried serially later.
func (e *Execution) confirmTogether() {
	known := recognisedSDKs(e.options.SDKs, e.Sessions())
	blocks := func(c Case, o attempt.Outcome) bool {
		return e.wouldGate(c, o) && firstKnown(e.deviations(c, o), known) == nil
	}
	e.mu.Lock()
	unconfirmed := e.unconfirmedCases
	e.unconfirmedCases = nil
	e.mu.Unlock()
	unconfirmed = slices.DeleteFunc(unconfirmed, func(w unconfirmedCase) bool {
		alone := blocks(e.plan[w.index], w.outcome)
		if alone {
			e.concludeAlone(w)
		}
		return alone
	})
	e.confirming.Wait()
	g := e.confirmationSessions
	slices.SortFunc(unconfirmed, func(a, b unconfirmedCase) int {
		return cmp.Or(cmp.Compare(a.phase, b.phase), cmp.Compare(a.index, b.index))
	})
	for _, w := range unconfirmed {
		c, begin := e.plan[w.index], time.Now()
		g.InvalidInputOnly = w.phase == inInvalidInputSession
		decided := e.options.Progress.beginCase(c.Area())
		o, used := e.confirmAttempt(c, g)
		e.pingSessions(used)
		rests := relevantFault(c, used, o)
		g.Release(used)
		decided()
		if blocks(c, o) {
			e.concludeAlone(w)
		} else {
			e.conclude(w.index, e.newResult(c, e.notTried(c, o), begin), rests)
		}
	}
	e.confirming.Wait()
}

// concludeAlone confirms a case alone, although it was left to be confirmed together with others.
func (e *Execution) concludeAlone(w unconfirmedCase) {
	if j := e.confirmAlone(w.index, w.outcome, nil, time.Now()); !j.isPending {
		e.conclude(w.index, j.result, j.fault)
	}
}
