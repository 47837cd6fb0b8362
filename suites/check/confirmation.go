package check

import (
	"cmp"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// unconfirmedCase is a case that did not pass, which is confirmed together with others.
type unconfirmedCase struct {
	index int // in the plan
	phase confirmationPhase
}

// turn is when a case is confirmed among others: first those that need a process to which nothing was said, since it
// serves the others afterwards, and hostile input last.
type confirmationPhase int

const (
	inNewProcess confirmationPhase = iota
	inValidInputSession
	inInvalidInputSession
)

// confirmationPhaseOf is the turn of a case that has been tried once.
func confirmationPhaseOf(c Case, used *scope) confirmationPhase {
	switch {
	case c.check.kind == processProbe:
		return inNewProcess
	case slices.ContainsFunc(used.recordRanges(), func(p recordRange) bool { return p.session.HasInvalidInput() }):
		return inInvalidInputSession
	}
	return inValidInputSession
}

// confirmationSessions are the sessions in which failures that do not block are confirmed, one after the other. A
// process for each failure would cost more than it is worth.
type confirmationSessions struct {
	pool     *driver.Pool
	phase    confirmationPhase
	sessions []*driver.Session // at most one for clean input, and one for hostile input
}

// recordSession is the one for clean or for hostile input, which may be sent in a clean one when there is no other.
// Once it is the turn of hostile input, all goes into one session. One that is over, or in which a request had no
// answer, is replaced.
func (g *confirmationSessions) session(hostile bool) (*driver.Session, error) {
	hostile = hostile || g.phase == inInvalidInputSession
	g.sessions = slices.DeleteFunc(g.sessions, func(s *driver.Session) bool {
		over := !s.IsOrdinary() || s.HasFault()
		if over {
			g.pool.CloseSession(s)
		}
		return over
	})
	if i := g.indexOf(hostile); i >= 0 {
		return g.sessions[i], nil
	}
	if i := g.indexOf(false); hostile && i >= 0 {
		return g.sessions[i], nil
	}
	s, err := g.pool.GetUnused()
	if err == nil {
		g.sessions = append(g.sessions, s)
	}
	return s, err
}

// indexOf is the index of the session for clean or for hostile input, -1 when there is no such session.
func (g *confirmationSessions) indexOf(hostile bool) int {
	return slices.IndexFunc(g.sessions, func(s *driver.Session) bool { return s.HasInvalidInput() == hostile })
}

// release ends the sessions of an attempt, but for one that is as good as a new one to others.
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

// confirm tries a case once more that did not pass on sessions that others have used: together with others or, what
// blocks, alone, while others are tried.
func (e *Execution) confirm(i int, c Case, o outcome, used *scope, begin time.Time) caseOutcome {
	uses, turn := used.uses, confirmationPhaseOf(c, used)
	used.release(e.pool, true) // nobody waits for them
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

// discardSessions has sessions lent to nobody more, since something in them is not as it is in a new one.
func discardSessions(uses []sessionUse) {
	for _, u := range uses {
		u.session.MarkUnusable()
	}
}

// again makes the attempt that confirms, once the steps are over that it reads.
func (e *Execution) confirmAttempt(c Case, with *confirmationSessions) (o outcome, used *scope) {
	for o, used = e.attempt(c, with, true); o.waitsFor != nil; o, used = e.attempt(c, with, true) {
		used.release(e.pool, false)
		<-o.waitsFor.done
	}
	return o, used
}

// waits reports whether what a check came to is confirmed together with others: over stdio, where a session is a
// process.
func (e *Execution) isConfirmedTogether(c Case, o outcome) bool {
	together := c.check.kind == probe || c.check.kind == processProbe
	return together && e.target.Site == nil && !e.hasSingleSession() && !e.serial.Load() && !e.options.Isolate &&
		!e.wouldGate(c, o)
}

// isProven reports whether a failure that does not rest on the server's health needs no confirmation: the server is to
// answer well-formed messages well whatever well-formed messages came before.
func (e *Execution) isProven(c Case, o outcome, used *scope) bool {
	return o.verdict == catalogue.Fail && e.isConfirmedTogether(c, o) && !used.needsConfirmation
}

// pingSessions makes a harmless request in the sessions of an attempt. One that no longer answers it is a session fault
// of this attempt, and serves no later one. Where such requests are known to have no answer, none is made.
func (e *Execution) pingSessions(used *scope) {
	for _, u := range used.uses {
		method, _ := u.session.NoOp()
		if u.session.IsOrdinary() && !u.session.HasFault() && e.health.unansweredError(method) == nil {
			u.session.AwaitNoOp()
		}
	}
}

// confirmTogether confirms what has waited for it. What rests on the server's health is decided again, as always.
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
