package harness

import (
	"cmp"
	"slices"
	"sync"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// stimulus is something that was tried once for several checks.
type stimulus struct {
	name     string
	done     chan struct{}
	hurry    chan struct{} // closed once it must not wait for a session that is lent
	hurried  sync.Once
	value    any
	o        outcome
	lent     bool // as of its scope
	doubtful bool
	trouble  trouble
	strange  *outcome
	passages []passage
	users    []string // ids of the checks that it was tried for
}

// sound reports whether the stimulus had sessions to itself and found nothing wrong with them: that it was tried alone
// would make no difference.
func (s *stimulus) sound() bool { return !s.lent && s.smooth() }

// smooth reports whether nothing was wrong with the sessions of the stimulus, others' or not.
func (s *stimulus) smooth() bool { return !s.trouble.any() && s.strange == nil && s.o.verdict == Pass }

// await waits until the stimulus was tried. Meanwhile another case may be. Who waits with a session of the pool, or is
// waited for by someone who has one, has it tried without that session: otherwise each would wait for the other. The
// sessions of an attempt are kept until it is confirmed.
func (s *stimulus) await(t *T) {
	select {
	case <-s.done:
		return
	default:
	}
	if t.yield != nil {
		t.yield()
	}
	if t.alone || t.scope.holds(driver.AsClient) {
		s.hasten()
	}
	select {
	case <-s.done:
	case <-t.hurry:
		s.hasten()
		<-s.done
	}
}

func (s *stimulus) hasten() { s.hurried.Do(func() { close(s.hurry) }) }

// Shared tries a stimulus once for all checks that judge what comes of it and, unless it was sound, once more for those
// that confirm a verdict alone.
func Shared[V any](t *T, name string, try func(*T) V) V {
	t.wantServer()
	e := t.run
	s, known := e.stimulus(t, name)
	if !known {
		inner := *t
		inner.scope, inner.stimulus, inner.hurry = &scope{outer: t.scope}, s.name, s.hurry
		s.o = guard(func() { s.value = try(&inner) })
		s.lent = inner.scope.lent || inner.scope.borrowed() && !t.Alone()
		s.doubtful = inner.scope.doubtful
		s.passages = inner.scope.passages()
		s.trouble, s.strange = inner.scope.trouble(), inner.scope.strangeness()
		if g := t.scope.root().together; g != nil {
			g.release(inner.scope)
		} else {
			inner.scope.release(e.pool, (s.o.verdict == Pass || e.single()) && !t.alone)
		}
		e.clear()
		if s.o.later {
			e.forget(s)
		}
		close(s.done)
	}
	s.await(t)
	t.scope.rests(s.lent, s.doubtful)
	t.scope.adopt(s.trouble)
	t.scope.strange = cmp.Or(t.scope.strange, s.strange)
	if !slices.Contains(t.scope.shared, s) {
		t.scope.shared, t.scope.extra = append(t.scope.shared, s), append(t.scope.extra, s.passages...)
	}
	if s.o.verdict != Pass {
		panic(stop{s.o})
	}
	return s.value.(V)
}

// stimulus is the one of a name that serves an attempt, and whether somebody else tries it or has done so.
func (e *Execution) stimulus(t *T, name string) (s *stimulus, known bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if first := e.shared[name]; first != nil && (t.alone || e.quiet.Load()) {
		e.mu.Unlock()
		first.await(t)
		e.mu.Lock()
		if first.sound() || !t.alone && e.watching.Load() && first.o.verdict == Pass {
			first.users = append(first.users, t.entry.ID)
			return first, true
		}
	}
	switch {
	case e.quiet.Load():
		name += " (quiet)"
	case t.alone:
		name += " (alone)"
	}
	s, known = e.shared[name]
	if !known {
		s = &stimulus{name: name, done: make(chan struct{}), hurry: make(chan struct{})}
		e.shared[name] = s
	}
	s.users = append(s.users, t.entry.ID)
	return s, known
}

// forget has a stimulus tried anew.
func (e *Execution) forget(s *stimulus) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.shared, s.name)
}
