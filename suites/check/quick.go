package check

import (
	"cmp"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// A quick run does not wait for late messages. Over stdio it has one session: what needs another session is not tried,
// and input that no conforming client sends comes last. If a check does not pass there, it is confirmed on a fresh
// session if it would block; otherwise it has no verdict.

// Messages of checks without a verdict in a quick run.
const (
	needsSecondSession = "it takes another session than the one of a quick run"
	needsTime          = "it takes longer than a quick run waits"
	notConfirmed       = "it did not pass, which does not block: a quick run does not confirm it"
)

// IsQuick reports whether the run is a quick one over stdio, and this attempt is not a confirmation.
func (t *T) IsQuick() bool { return t.execution.hasSingleSession() && !t.IsConfirmation() }

// hasSingleSession reports whether a run has one session: a quick one over stdio, where each session is a process.
func (o Options) hasSingleSession(target driver.Target) bool { return o.Quick && target.Site == nil }

func (e *Execution) hasSingleSession() bool { return e.options.hasSingleSession(e.target) }

// RequireSecondSession ends a check of a quick run that would open a second session, unless it is a confirmation.
func RequireSecondSession(t *T) {
	if t.IsQuick() {
		panic(stop{outcome{verdict: catalogue.Inconclusive, reason: report.NotTried, message: needsSecondSession}})
	}
}

// RequireTime ends a check of a quick run that would wait for a long time, unless it is a confirmation.
func RequireTime(t *T) {
	if t.IsQuick() {
		panic(stop{outcome{verdict: catalogue.Inconclusive, reason: report.NotTried, message: needsTime}})
	}
}

// scheduled returns whether the check gets the session for invalid input. In a quick run that session comes last, and
// is then the only one.
func (t *T) scheduled(invalidInput bool) bool {
	e := t.execution
	switch {
	case !t.IsQuick():
		return invalidInput
	case e.invalidPhase.Load():
		NeedsConfirmation(t)
		return true
	case invalidInput:
		panic(stop{outcome{verdict: catalogue.Inconclusive,
			reason: report.NotTried, message: needsSecondSession, outOfTurn: true}})
	}
	return false
}

// postpone schedules a case of a quick run for when the others are done.
func (e *Execution) postpone(i int) {
	e.mu.Lock()
	e.postponed = append(e.postponed, i)
	e.mu.Unlock()
}

// startInvalidPhase turns the session of a quick run into one for invalid input, and runs the cases that wait for that.
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

// skipsConfirmation reports whether a quick run does not confirm an outcome, because it would not block.
func (e *Execution) skipsConfirmation(c Case, o outcome) bool {
	return e.hasSingleSession() && !e.wouldGate(c, o)
}

// wouldGate reports whether an outcome would block, if it is confirmed.
func (e *Execution) wouldGate(c Case, o outcome) bool {
	return e.options.Profile.Gate(o.verdict, o.level, c.Level.In(c.JudgedBy), c.Checklist,
		len(c.DirectoryRules) > 0) != catalogue.NoGate
}

// notTried returns the outcome as a skip if a quick run does not try or does not confirm it. A watch whose setup did
// not run still fails when it sees a violation.
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
