package check

import (
	"cmp"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
	"slices"
	"sync"
)

// step is a conversation that is held once, whose outcome several checks read.
type step struct {
	name              string
	done              chan struct{} // closed once it was held
	value             any
	outcome           outcome
	reused            bool // as of its scope
	needsConfirmation bool
	fault             sessionFault
	voidOutcome       *outcome
	ranges            []recordRange
	checks            []string // ids of the checks for which it was held
}

// isClean reports whether the step had sessions to itself and found nothing wrong with them: to hold it once more would
// make no difference.
func (s *step) isClean() bool {
	return !s.reused && !s.fault.isSet() && s.voidOutcome == nil && s.outcome.verdict == catalogue.Pass
}

// isDone reports whether it was held.
func (s *step) isDone() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// Step returns the outcome of a conversation that is held once for all checks that read it and, unless it was sound,
// once more for those that confirm a verdict alone. Nobody waits for it inside a check: one that reads a step which is
// being held for another one begins anew when that is over, and so reads its steps before it says anything itself.
func Step[V any](t *T, name string, hold func(*T) V) V {
	RequireLiveServer(t)
	s, ours := t.execution.findStep(t, name)
	if ours {
		t.runStep(s, func(inner *T) { s.value = hold(inner) })
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

// runStep holds the conversation of a step in a scope of its own.
func (t *T) runStep(s *step, converse func(*T)) {
	inner := *t
	inner.scope, inner.stepName = &scope{parent: t.scope}, s.name
	s.outcome = runRecovered(func() { converse(&inner) })
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

// step is the one of a name that serves an attempt, and whether it is to be held now. It ends the attempt when the step
// is being held for another one.
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

// addCheck notes the check of an attempt. The caller holds mu.
func (s *step) addCheck(t *T) *step {
	if !slices.Contains(s.checks, t.requirement.ID) {
		s.checks = append(s.checks, t.requirement.ID)
	}
	return s
}

// pending ends an attempt, to be made again when the step is over.
func (s *step) waitStop() stop {
	return stop{outcome{verdict: catalogue.Inconclusive, reason: report.NotTried, waitsFor: s}}
}

// dropStep has a step held anew.
func (e *Execution) dropStep(s *step) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.steps, s.name)
}

// Memo is what is computed once from a part of the record, for all checks that read it. The key is of a type of its own
// or the part itself.
func Memo[K comparable, V any](t *T, key K, compute func() V) V {
	once, _ := t.execution.memos.LoadOrStore(memo[V]{key}, sync.OnceValue(compute))
	return once.(func() V)()
}

// memo tells what is computed apart by its type.
type memo[V any] struct{ key any }
