package attempt

import (
	"cmp"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// Step is something that is done once and whose outcome several checks read.
type Step struct {
	name string
	// heldBy is the id of the check whose attempt runs the step.
	heldBy  string
	done    chan struct{} // closed once it was run
	value   any
	outcome Outcome
	// reused, needsConfirmation and savedRequests are those of the step's scope.
	reused            bool
	needsConfirmation bool
	savedRequests     bool
	fault             SessionFault
	voidOutcome       *Outcome
	ranges            []RecordRange
	// checks are the ids of the checks that read the step.
	checks []string
}

// NewStep returns a step that has not been run.
func NewStep(name string) *Step { return &Step{name: name, done: make(chan struct{})} }

// Finish marks the step as run.
func (s *Step) Finish() { close(s.done) }

// IsDone reports whether the step was run.
func (s *Step) IsDone() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// HeldBy is the id of the check whose attempt runs the step.
func (s *Step) HeldBy() string { return s.heldBy }

// Await waits until the step was run.
func (s *Step) Await() { <-s.done }

// EndUntilDone ends an attempt so that it is made again when the step is done.
func (s *Step) EndUntilDone() {
	End(Outcome{Verdict: catalogue.Inconclusive, Reason: report.NotTried, WaitsFor: s})
}

// isClean reports whether the step passed on sessions of its own and without any fault: to run it again would make no
// difference.
func (s *Step) isClean() bool {
	return !s.reused && !s.fault.IsSet() && s.voidOutcome == nil && s.outcome.Verdict == catalogue.Pass
}

// addCheck notes that the check of an attempt reads the step. The caller holds the mutex of the run.
func (s *Step) addCheck(a *Attempt) *Step {
	if !slices.Contains(s.checks, a.Requirement.ID) {
		s.checks = append(s.checks, a.Requirement.ID)
	}
	return s
}

// Step returns the value of the step of a name, which hold determines in sessions of its own if no attempt has yet, or
// if this one confirms a verdict and the step was not clean. It ends the attempt as the step ended, unless that passed.
func (a *Attempt) Step(name string, hold func(*Attempt) any) any {
	s, ours := a.Run.findStep(a, name)
	if ours {
		a.runStep(s, hold)
	}
	a.Scope.MarkReused(s.reused, s.needsConfirmation)
	a.Scope.SavedRequests = a.Scope.SavedRequests || s.savedRequests
	a.Scope.AddFault(s.fault)
	a.Scope.stepVoid = cmp.Or(a.Scope.stepVoid, s.voidOutcome)
	if !slices.Contains(a.Scope.readSteps, s) {
		a.Scope.readSteps, a.Scope.stepRanges = append(a.Scope.readSteps, s), append(a.Scope.stepRanges, s.ranges...)
	}
	if s.outcome.Verdict != catalogue.Pass {
		End(s.outcome)
	}
	return s.value
}

// runStep runs a step in a scope of its own.
func (a *Attempt) runStep(s *Step, hold func(*Attempt) any) {
	inner := *a
	inner.Scope, inner.stepName = &Scope{parent: a.Scope}, s.name
	s.outcome = Try(func() { s.value = hold(&inner) })
	s.reused = inner.Scope.Reused || inner.Scope.hasInherited() && !a.IsConfirmation()
	s.needsConfirmation, s.savedRequests = inner.Scope.NeedsConfirmation, inner.Scope.SavedRequests
	s.ranges = inner.Scope.RecordRanges()
	if a.Run.Serial.Load() {
		inner.Scope.waitPastTimeout()
	}
	s.fault, s.voidOutcome = inner.Scope.Faults(), inner.Scope.voidOutcome()
	if g := a.Scope.Root().Confirmation; g != nil {
		g.Release(inner.Scope)
	} else {
		well := s.outcome.Verdict == catalogue.Pass || a.Run.HasSingleSession || s.outcome.IsPostponed() &&
			inner.Scope.IsRepeatable()
		inner.Scope.Release(a.Run.Pool, well && !a.HasOwnSessions)
	}
	a.Run.AwaitSessionEnds()
	if s.outcome.IsPostponed() {
		a.Run.dropStep(s)
	}
	s.Finish()
}
