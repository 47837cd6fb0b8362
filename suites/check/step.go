package check

import (
	"cmp"
	"slices"
	"sync"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// step is something that is done once and whose outcome several checks read.
type step struct {
	name    string
	done    chan struct{} // closed once it was run
	value   any
	outcome outcome
	// reused and needsConfirmation are those of the step's scope.
	reused            bool
	needsConfirmation bool
	fault             sessionFault
	voidOutcome       *outcome
	ranges            []recordRange
	// checks are the ids of the checks that read the step.
	checks []string
}

// isClean reports whether the step passed on sessions of its own and without any fault: to run it again would make no
// difference.
func (s *step) isClean() bool {
	return !s.reused && !s.fault.isSet() && s.voidOutcome == nil && s.outcome.verdict == catalogue.Pass
}

// isDone reports whether the step was run.
func (s *step) isDone() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// Step returns the value of a step: something that is run once for all checks that read it, in sessions of its own. It
// is run again for confirmations unless its first run was clean. No check waits for a step inside its script: one that
// reads a step which another check is running ends, and starts again when the step is done. So checks read their steps
// before they send anything themselves. A step that does not pass ends the checks that read it in the same way.
func Step[V any](t *T, name string, run func(*T) V) V {
	RequireLiveServer(t)
	s, ours := t.execution.findStep(t, name)
	if ours {
		t.runStep(s, func(inner *T) { s.value = run(inner) })
	}
	t.scope.markReused(s.reused, s.needsConfirmation)
	t.scope.addFault(s.fault)
	t.scope.stepVoid = cmp.Or(t.scope.stepVoid, s.voidOutcome)
	if !slices.Contains(t.scope.readSteps, s) {
		t.scope.readSteps, t.scope.stepRanges = append(t.scope.readSteps, s), append(t.scope.stepRanges, s.ranges...)
	}
	if s.outcome.verdict != catalogue.Pass {
		panic(stop{s.outcome})
	}
	return s.value.(V)
}

// runStep runs a step in a scope of its own.
func (t *T) runStep(s *step, run func(*T)) {
	inner := *t
	inner.scope, inner.stepName = &scope{parent: t.scope}, s.name
	s.outcome = runRecovered(func() { run(&inner) })
	s.reused = inner.scope.reused || inner.scope.hasInherited() && !t.IsConfirmation()
	s.needsConfirmation = inner.scope.needsConfirmation
	s.ranges = inner.scope.recordRanges()
	if t.execution.serial.Load() {
		inner.scope.waitPastTimeout()
	}
	s.fault, s.voidOutcome = inner.scope.faults(), inner.scope.voidOutcome()
	if g := t.scope.root().confirmation; g != nil {
		g.release(inner.scope)
	} else {
		well := s.outcome.verdict == catalogue.Pass || t.execution.hasSingleSession() || s.outcome.isPostponed() &&
			inner.scope.isRepeatable()
		inner.scope.release(t.execution.pool, well && !t.isConfirmation)
	}
	t.execution.awaitSessionEnds()
	if s.outcome.isPostponed() {
		t.execution.dropStep(s)
	}
	close(s.done)
}

// findStep returns the step of a name that serves an attempt, and whether the caller has to run it. It ends the attempt
// if another check is running the step.
func (e *Execution) findStep(t *T, name string) (s *step, ours bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if first := e.steps[name]; first != nil && (t.isConfirmation || e.serial.Load()) {
		if !first.isDone() {
			panic(first.waitStop())
		} else if first.isClean() || !t.isConfirmation && e.watchPhase.Load() &&
			first.outcome.verdict == catalogue.Pass {
			return first.addCheck(t), false
		}
	}
	switch {
	case e.serial.Load():
		name += " (quiet)"
	case t.isConfirmation:
		name += " (alone)"
	}
	switch s = e.steps[name]; {
	case s == nil:
		s = &step{name: name, done: make(chan struct{})}
		e.steps[name] = s
		return s.addCheck(t), true
	case !s.isDone():
		panic(s.waitStop())
	}
	return s.addCheck(t), false
}

// addCheck notes that the check of an attempt reads the step. The caller holds mu.
func (s *step) addCheck(t *T) *step {
	if !slices.Contains(s.checks, t.requirement.ID) {
		s.checks = append(s.checks, t.requirement.ID)
	}
	return s
}

// waitStop ends an attempt so that it is made again when the step is done.
func (s *step) waitStop() stop {
	return stop{outcome{verdict: catalogue.Inconclusive, reason: report.NotTried, waitsFor: s}}
}

// dropStep forgets a step, so that it is run again.
func (e *Execution) dropStep(s *step) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.steps, s.name)
}

// Memo returns what compute computes, once for each key in a run. The key is of a type of its own, or it is the part of
// the record that the value is computed from.
func Memo[K comparable, V any](t *T, key K, compute func() V) V {
	once, _ := t.execution.memos.LoadOrStore(memo[V]{key}, sync.OnceValue(compute))
	return once.(func() V)()
}

// memo is the key of a value in Execution.memos; its type parameter keeps values of different types apart.
type memo[V any] struct{ key any }
