package check

import (
	"slices"
	"sync"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check/internal/attempt"
)

// Step returns the value of a step: something that is run once for all checks that read it, in sessions of its own. It
// is run again for confirmations unless its first run was clean. No check waits for a step inside its script: one that
// reads a step which another check is running ends, and starts again when the step is done. So checks read their steps
// before they send anything themselves. A step that does not pass ends the checks that read it in the same way. Where a
// recording is judged, the step has its replies from there.
func Step[V any](t *T, name string, run func(*T) V) V {
	if IsRecording(t) {
		return run(t)
	}
	value := t.attempt.Step(name, func(a *attempt.Attempt) any { return run(t.with(a)) })
	return value.(V)
}

// Parallel runs n parts of a check, each with sessions of its own, at the same time unless only one case may run at a
// time. If parts do not pass, the check ends as the first of them did.
func Parallel(t *T, n int, run func(t *T, i int)) {
	t.attempt.Parallel(n, func(part *attempt.Attempt, i int) { run(t.with(part), i) })
}

// Deferred runs a part of a step that not all checks need which read the step. Those that do call end, which ends them
// if the part did not pass.
func Deferred(t *T, run func()) (finish func()) {
	o := attempt.Try(run)
	if o.IsPostponed() {
		attempt.End(o)
	}
	return func() {
		if o.Verdict != catalogue.Pass {
			attempt.End(o)
		}
	}
}

// Memo returns what compute computes, once for each key in a run. The key is of a type of its own, or it is the part of
// the record that the value is computed from.
func Memo[K comparable, V any](t *T, key K, compute func() V) V {
	once, _ := t.attempt.Run.Memos.LoadOrStore(memo[V]{key}, sync.OnceValue(compute))
	return once.(func() V)()
}

// MemoOf is Memo for what watches compute from the wire, which is the same for all of them: long messages are decoded
// at each use.
func MemoOf[V any](t *T, w Wire, name string, compute func() V) V {
	if !t.attempt.Run.WatchPhase.Load() || !slices.Equal(w.Sessions, t.attempt.Run.WatchedSessions) {
		return compute()
	}
	return Memo(t, wireKey{name, t.Revision}, compute)
}

// wireKey is the key of MemoOf.
type wireKey struct{ name, revision string }

// memo is the key of a value in Run.Memos; its type parameter keeps values of different types apart.
type memo[V any] struct{ key any }
