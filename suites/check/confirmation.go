package check

import (
	"cmp"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// unconfirmedCase is a case that did not pass and is confirmed together with others.
type unconfirmedCase struct {
	// index is the index of the case in the plan.
	index int
	phase confirmationPhase
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
func confirmationPhaseOf(c Case, used *scope) confirmationPhase {
	switch {
	case c.check.kind == processProbe:
		return inNewProcess
	case slices.ContainsFunc(used.recordRanges(), func(p recordRange) bool { return p.session.HasInvalidInput() }):
		return inInvalidInputSession
	}
	return inValidInputSession
}

// confirmationSessions are the sessions in which failures that do not block are confirmed, one after the other.
// Starting a process for each of these failures would take too long.
type confirmationSessions struct {
	pool  *driver.Pool
	phase confirmationPhase
	// sessions holds at most one session for valid input and one for invalid input.
	sessions []*driver.Session
}

// session returns the session for valid or for invalid input. Invalid input may be sent in the session for valid input
// if there is no other, and once its phase has begun, everything goes into one session. A session that has ended, or in
// which a request was not answered, is replaced.
func (g *confirmationSessions) session(invalidInput bool) (*driver.Session, error) {
	invalidInput = invalidInput || g.phase == inInvalidInputSession
	g.sessions = slices.DeleteFunc(g.sessions, func(s *driver.Session) bool {
		over := !s.IsOrdinary() || s.HasFault()
		if over {
			g.pool.CloseSession(s)
		}
		return over
	})
	if i := g.indexOf(invalidInput); i >= 0 {
		return g.sessions[i], nil
	}
	if i := g.indexOf(false); invalidInput && i >= 0 {
		return g.sessions[i], nil
	}
	s, err := g.pool.GetUnused()
	if err == nil {
		g.sessions = append(g.sessions, s)
	}
	return s, err
}

// indexOf returns the index of the session for valid or for invalid input, -1 when there is none.
func (g *confirmationSessions) indexOf(invalidInput bool) int {
	return slices.IndexFunc(g.sessions, func(s *driver.Session) bool { return s.HasInvalidInput() == invalidInput })
}

// release ends the sessions of an attempt, except for one that can serve later confirmations.
func (g *confirmationSessions) release(used *scope) {
	for i, u := range used.uses {
		if s := u.session; u.ownership == exclusive && s.IsOrdinary() && !s.HasFault() &&
			g.indexOf(s.HasInvalidInput()) < 0 {
			g.sessions = append(g.sessions, s)
			used.uses[i].ownership = inherited
		}
	}
	used.release(g.pool, false)
}

// confirm tries a case again that did not pass on sessions which others have used: later together with other cases or,
// if it would block, now and alone, while other cases are tried.
func (e *Execution) confirm(i int, c Case, o outcome, used *scope, begin time.Time) caseOutcome {
	uses, turn := used.uses, confirmationPhaseOf(c, used)
	used.release(e.pool, true) // before the second attempt, which must not wait for them
	if e.isConfirmedTogether(c, o) {
		e.mu.Lock()
		e.unconfirmedCases = append(e.unconfirmedCases, unconfirmedCase{i, turn})
		e.mu.Unlock()
		return caseOutcome{isPending: true}
	}
	alone := func() caseOutcome {
		again, second := e.confirmAttempt(c, nil)
		if again.verdict != o.verdict {
			discardSessions(uses)
		}
		return e.decide(i, c, again, second, begin)
	}
	if e.options.Jobs == 1 || e.serial.Load() || c.check.kind != probe && c.check.kind != processProbe {
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

// discardSessions marks sessions as unusable for others, since something in them differs from a fresh one.
func discardSessions(uses []sessionUse) {
	for _, u := range uses {
		u.session.MarkUnusable()
	}
}

// confirmAttempt makes the confirming attempt, after the steps that it reads are done.
func (e *Execution) confirmAttempt(c Case, with *confirmationSessions) (o outcome, used *scope) {
	for o, used = e.attempt(c, with, true); o.waitsFor != nil; o, used = e.attempt(c, with, true) {
		used.release(e.pool, false)
		<-o.waitsFor.done
	}
	return o, used
}

// isConfirmedTogether reports whether an outcome is confirmed together with others. That is so only over stdio, where
// each session needs a process of its own.
func (e *Execution) isConfirmedTogether(c Case, o outcome) bool {
	together := c.check.kind == probe || c.check.kind == processProbe
	return together && e.target.Site == nil && !e.hasSingleSession() && !e.serial.Load() && !e.options.Isolate &&
		!e.wouldGate(c, o)
}

// isProven reports whether a fail needs no confirmation: it does not block, and the attempt sent only well-formed
// messages, which a server has to answer correctly whatever well-formed messages came before.
func (e *Execution) isProven(c Case, o outcome, used *scope) bool {
	return o.verdict == catalogue.Fail && e.isConfirmedTogether(c, o) && !used.needsConfirmation
}

// pingSessions sends a no-op in the sessions of an attempt. A session in which it is not answered counts as a session
// fault of this attempt, and later attempts do not use it. Nothing is sent if the no-op is known to get no response.
func (e *Execution) pingSessions(used *scope) {
	for _, u := range used.uses {
		method, _ := u.session.NoOp()
		if u.session.IsOrdinary() && !u.session.HasFault() && e.health.unansweredError(method) == nil {
			u.session.AwaitNoOp()
		}
	}
}

// confirmTogether confirms the cases that wait for it. Outcomes that rest on the server's health are retried serially
// later.
func (e *Execution) confirmTogether() {
	g := &confirmationSessions{pool: e.pool}
	slices.SortFunc(e.unconfirmedCases, func(a, b unconfirmedCase) int {
		return cmp.Or(cmp.Compare(a.phase, b.phase), cmp.Compare(a.index, b.index))
	})
	for _, w := range e.unconfirmedCases {
		c, begin := e.plan[w.index], time.Now()
		g.phase = w.phase
		decided := e.options.Progress.beginCase(c.Area())
		o, used := e.confirmAttempt(c, g)
		e.pingSessions(used)
		rests := used.relevantFault(c.check.kind, o)
		g.release(used)
		decided()
		e.conclude(w.index, e.newResult(c, e.notTried(c, o), begin), rests)
	}
	for _, s := range g.sessions {
		e.pool.CloseSession(s)
	}
}
