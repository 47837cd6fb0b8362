package engine

import (
	"cmp"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check/internal/attempt"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// A quick run does not wait for late messages. Over stdio it has one session: what needs another session is not tried,
// and input that no conforming client sends comes last. If a check does not pass there, it is confirmed on a fresh
// session if it would block; otherwise it has no verdict.

// notConfirmed is the message of a check without a verdict in a quick run that did not pass.
const notConfirmed = "it did not pass, which does not block: a quick run does not confirm it"

// postpone schedules a case of a quick run for when the others are done.
func (e *Execution) postpone(i int) {
	e.mu.Lock()
	e.postponed = append(e.postponed, i)
	e.mu.Unlock()
}

// startInvalidPhase turns the session of a quick run into one for invalid input, and runs the cases that wait for that.
func (e *Execution) startInvalidPhase() {
	if !e.run.HasSingleSession {
		return
	}
	if s := e.run.Pool.Remove(false); s != nil {
		s.MarkInvalidInput()
		e.run.Pool.Add(s)
	}
	e.run.InvalidPhase.Store(true)
	e.runParallel(e.postponed)
}

// skipsConfirmation reports whether a quick run does not confirm an outcome, because it would not block.
func (e *Execution) skipsConfirmation(c Case, o attempt.Outcome) bool {
	return e.run.HasSingleSession && !e.wouldGate(c, o)
}

// wouldGate reports whether an outcome would block, if it is confirmed.
func (e *Execution) wouldGate(c Case, o attempt.Outcome) bool {
	return e.options.Profile.Gate(o.Verdict, o.Level, c.Level.In(c.JudgedBy), c.Checklist,
		c.DirectoryRules) != catalogue.NoGate
}

// notTried returns the outcome as a skip if a quick run does not try or does not confirm it. A watch whose setup did
// not run still fails when it sees a violation.
func (e *Execution) notTried(c Case, o attempt.Outcome) attempt.Outcome {
	left := attempt.Outcome{Verdict: catalogue.Skip, Reason: report.NotTried, Message: attempt.NeedsSecondSession}
	missing := o.Verdict == catalogue.Inconclusive && o.Reason == report.NotTried
	if missing {
		left.Message = o.Message
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case !e.run.HasSingleSession:
	case missing && !e.run.WatchPhase.Load() && c.script.Kind == attempt.Watch:
		e.withoutSetup[c.ID] = true
	case o.Verdict == catalogue.Pass && e.withoutSetup[c.ID]:
		o.Message = cmp.Or(o.Message, "of what the session of a quick run brought")
	case missing, e.withoutSetup[c.ID] && o.Verdict != catalogue.Fail, o.Verdict == catalogue.Skip &&
		o.Reason == report.NotObserved:
		return left
	case c.script.Kind != attempt.Watch && !o.IsFinal() && e.skipsConfirmation(c, o):
		left.Message = notConfirmed
		return left
	}
	return o
}
