package check

import (
	"cmp"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// A quick run waits for nothing that may come late. Over stdio it has one session: what needs another one is not tried,
// and what a conforming client never sends comes at its end. Of what is not a pass it confirms there, as ever alone,
// what gates; anything else has no verdict.

// Why a check has no verdict in a quick run.
const (
	needsSecondSession = "it takes another session than the one of a quick run"
	needsTime          = "it takes longer than a quick run waits"
	notConfirmed       = "it did not pass, which does not block: a quick run does not confirm it"
)

// IsQuick reports whether the run is a quick one, and nothing is being confirmed.
func (t *T) IsQuick() bool { return t.execution.hasSingleSession() && !t.IsConfirmation() }

// hasSingleSession reports whether a run has one session: a quick one over stdio, where a session is a process.
func (o Options) hasSingleSession(target driver.Target) bool { return o.Quick && target.Site == nil }

func (e *Execution) hasSingleSession() bool { return e.options.hasSingleSession(e.target) }

// RequireSecondSession ends a check that would open a session beside the one of a quick run, unless it confirms
// something.
func RequireSecondSession(t *T) {
	if t.IsQuick() {
		panic(stop{outcome{verdict: catalogue.Inconclusive, reason: report.NotTried, message: needsSecondSession}})
	}
}

// RequireTime ends a check that would wait for long, unless it confirms something.
func RequireTime(t *T) {
	if t.IsQuick() {
		panic(stop{outcome{verdict: catalogue.Inconclusive, reason: report.NotTried, message: needsTime}})
	}
}

// scheduled settles which kind of session a check is lent in a quick run: a hostile one comes last, and there is no
// other then.
func (t *T) scheduled(hostile bool) bool {
	e := t.execution
	switch {
	case !t.IsQuick():
		return hostile
	case e.invalidPhase.Load():
		NeedsConfirmation(t)
		return true
	case hostile:
		panic(stop{outcome{verdict: catalogue.Inconclusive, reason: report.NotTried, message: needsSecondSession,
			outOfTurn: true}})
	}
	return false
}

// ExclusiveUnlessQuick is ExclusiveSession for what must not be tried twice, and so is not confirmed alone: a quick run
// tries it in its session.
func ExclusiveUnlessQuick(t *T) *driver.Session {
	if !t.IsQuick() {
		return t.ExclusiveSession()
	}
	lent := t.scope.reused
	s := t.Session()
	t.scope.reused = lent
	return s
}

// postpone has a case of a quick run tried when the others are done.
func (e *Execution) postpone(i int) {
	e.mu.Lock()
	e.postponed = append(e.postponed, i)
	e.mu.Unlock()
}

// startInvalidPhase makes the session of a quick run a hostile one, and tries the cases that have waited for that.
func (e *Execution) startInvalidPhase() {
	if !e.hasSingleSession() {
		return
	}
	if s := e.pool.Remove(false); s != nil {
		s.MarkInvalidInput()
		e.pool.Add(s)
	}
	e.invalidPhase.Store(true)
	e.runParallel(e.postponed)
}

// skipsConfirmation reports whether a quick run does not confirm what a check came to: it does not gate.
func (e *Execution) skipsConfirmation(c Case, o outcome) bool {
	return e.hasSingleSession() && !e.wouldGate(c, o)
}

// wouldGate reports whether what a check came to blocks, if it is confirmed.
func (e *Execution) wouldGate(c Case, o outcome) bool {
	return e.options.Profile.Gate(o.verdict, o.level, c.Level.In(c.JudgedBy), c.Checklist,
		len(c.DirectoryRules) > 0) != catalogue.NoGate
}

// NotTried is what a check came to that a quick run does not try, or does not confirm: it does not count as one that
// went wrong. A watch for which nothing was tried fails all the same when something wrong was seen.
func (e *Execution) notTried(c Case, o outcome) outcome {
	left := outcome{verdict: catalogue.Skip, reason: report.NotTried, message: needsSecondSession}
	missing := o.verdict == catalogue.Inconclusive && o.reason == report.NotTried
	if missing {
		left.message = o.message
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case !e.hasSingleSession():
	case missing && !e.watchPhase.Load() && c.check.kind == watch:
		e.withoutSetup[c.ID] = true
	case o.verdict == catalogue.Pass && e.withoutSetup[c.ID]:
		o.message = cmp.Or(o.message, "of what the session of a quick run brought")
	case missing, e.withoutSetup[c.ID] && o.verdict != catalogue.Fail, o.verdict == catalogue.Skip &&
		o.reason == report.NotObserved:
		return left
	case c.check.kind != watch && !o.isFinal() && e.skipsConfirmation(c, o):
		left.message = notConfirmed
		return left
	}
	return o
}
