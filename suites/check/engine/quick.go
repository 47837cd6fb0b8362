package engine

import (
	"cmp"
	"slices"

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

// quickPlan returns the plan of a quick run over stdio: without the checks that take another session, and without the
// setups of watches that do. In revisions with a handshake, the checks of a feature of the client take one that
// declares it. A watch without its setup still fails when it sees a violation.
func quickPlan(plan []Case) []Case {
	plan = slices.Clone(plan)
	for i := range plan {
		c := &plan[i]
		declares := c.AssignedArea.ClientDeclares && !catalogue.IsModern(c.Revision)
		switch {
		case c.predetermined.Verdict != "" || !declares && !c.script.InOwnSession:
		case c.script.Kind == attempt.Watch:
			c.withoutSetup, c.script.Setup = c.script.Setup != nil, nil
		default:
			c.predetermined = leftOut(attempt.NeedsSecondSession)
		}
	}
	return plan
}

// leftOut returns the outcome of a check that a quick run leaves out.
func leftOut(why string) attempt.Outcome {
	return attempt.Outcome{Verdict: catalogue.Skip, Reason: report.NotTried, Message: why}
}

// notTried returns the outcome as a skip if a quick run does not try or does not confirm it.
func (e *Execution) notTried(c Case, o attempt.Outcome) attempt.Outcome {
	switch {
	case !e.run.HasSingleSession:
	case c.withoutSetup && o.Verdict == catalogue.Pass:
		o.Message = cmp.Or(o.Message, "of what the session of a quick run brought")
	case c.withoutSetup && o.Verdict != catalogue.Fail, o.Verdict == catalogue.Skip && o.Reason == report.NotObserved:
		return leftOut(attempt.NeedsSecondSession)
	case o.Verdict == catalogue.Inconclusive && o.Reason == report.NotTried:
		return leftOut(o.Message)
	case c.script.Kind != attempt.Watch && !o.IsFinal() && e.skipsConfirmation(c, o):
		return leftOut(notConfirmed)
	}
	return o
}
