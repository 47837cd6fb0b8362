package harness

import (
	"cmp"
	"slices"
	"sync"
)

// step is a conversation that is held once, whose outcome several checks read.
type step struct {
	name     string
	over     chan struct{} // closed once it was held
	value    any
	o        outcome
	lent     bool // as of its scope
	doubtful bool
	fault    sessionFault
	strange  *outcome
	passages []passage
	users    []string // ids of the checks for which it was held
}

// sound reports whether the step had sessions to itself and found nothing wrong with them: to hold it once more would
// make no difference.
func (s *step) sound() bool {
	return !s.lent && !s.fault.any() && s.strange == nil && s.o.verdict == Pass
}

// isOver reports whether it was held.
func (s *step) isOver() bool {
	select {
	case <-s.over:
		return true
	default:
		return false
	}
}

// Step returns the outcome of a conversation that is held once for all checks that read it and, unless it was sound,
// once more for those that confirm a verdict alone. Nobody waits for it inside a check: one that reads a step which is
// being held for another one begins anew when that is over, and so reads its steps before it says anything itself.
func Step[V any](t *T, name string, hold func(*T) V) V {
	RequireServer(t)
	s, ours := t.run.step(t, name)
	if ours {
		t.hold(s, func(inner *T) { s.value = hold(inner) })
	}
	t.scope.rests(s.lent, s.doubtful)
	t.scope.add(s.fault)
	t.scope.strange = cmp.Or(t.scope.strange, s.strange)
	if !slices.Contains(t.scope.steps, s) {
		t.scope.steps, t.scope.extra = append(t.scope.steps, s), append(t.scope.extra, s.passages...)
	}
	if s.o.verdict != Pass {
		panic(stop{s.o})
	}
	return s.value.(V)
}

// hold holds the conversation of a step in a scope of its own.
func (t *T) hold(s *step, converse func(*T)) {
	inner := *t
	inner.scope, inner.step = &scope{outer: t.scope}, s.name
	s.o = guard(func() { converse(&inner) })
	s.lent = inner.scope.lent || inner.scope.borrowed() && !t.Alone()
	s.doubtful = inner.scope.doubtful
	s.passages = inner.scope.passages()
	if t.run.quiet.Load() {
		inner.scope.outwait()
	}
	s.fault, s.strange = inner.scope.faults(), inner.scope.strangeness()
	if g := t.scope.root().together; g != nil {
		g.release(inner.scope)
	} else {
		well := s.o.verdict == Pass || t.run.single() || s.o.isPutOff() && inner.scope.isRepeatable()
		inner.scope.release(t.run.pool, well && !t.alone)
	}
	t.run.clear()
	if s.o.isPutOff() {
		t.run.forget(s)
	}
	close(s.over)
}

// step is the one of a name that serves an attempt, and whether it is to be held now. It ends the attempt when the step
// is being held for another one.
func (e *Execution) step(t *T, name string) (s *step, ours bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if first := e.steps[name]; first != nil && (t.alone || e.quiet.Load()) {
		if !first.isOver() {
			panic(first.pending())
		} else if first.sound() || !t.alone && e.watching.Load() && first.o.verdict == Pass {
			return first.usedBy(t), false
		}
	}
	switch {
	case e.quiet.Load():
		name += " (quiet)"
	case t.alone:
		name += " (alone)"
	}
	switch s = e.steps[name]; {
	case s == nil:
		s = &step{name: name, over: make(chan struct{})}
		e.steps[name] = s
		return s.usedBy(t), true
	case !s.isOver():
		panic(s.pending())
	}
	return s.usedBy(t), false
}

// usedBy notes the check of an attempt. The caller holds mu.
func (s *step) usedBy(t *T) *step {
	if !slices.Contains(s.users, t.entry.ID) {
		s.users = append(s.users, t.entry.ID)
	}
	return s
}

// pending ends an attempt, to be made again when the step is over.
func (s *step) pending() stop {
	return stop{outcome{verdict: Inconclusive, reason: NotTried, until: s}}
}

// forget has a step held anew.
func (e *Execution) forget(s *step) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.steps, s.name)
}

// Memo is what is computed once from a part of the record, for all checks that read it. The key is of a type of its own
// or the part itself.
func Memo[K comparable, V any](t *T, key K, compute func() V) V {
	once, _ := t.run.memos.LoadOrStore(memo[V]{key}, sync.OnceValue(compute))
	return once.(func() V)()
}

// memo tells what is computed apart by its type.
type memo[V any] struct{ key any }
