package harness

import (
	"cmp"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// A quick run waits for nothing that may come late. Over stdio it has one session: what needs another one is not tried,
// and what a conforming client never sends comes at its end. Of what is not a pass it confirms there, as ever alone,
// what gates; anything else has no verdict.

// Why a check has no verdict in a quick run.
const (
	needsMore   = "it takes another session than the one of a quick run"
	needsTime   = "it takes longer than a quick run waits"
	unconfirmed = "it did not pass, which does not block: a quick run does not confirm it"
)

// Quick reports whether the run is a quick one, and nothing is being confirmed.
func (t *T) Quick() bool { return t.run.single() && !t.Alone() }

// single reports whether a run has one session: a quick one over stdio, where a session is a process.
func (o Options) single(target driver.Target) bool { return o.Quick && target.Site == nil }

func (e *Execution) single() bool { return e.options.single(e.target) }

// RequireSecondSession ends a check that would open a session beside the one of a quick run, unless it confirms
// something.
func RequireSecondSession(t *T) {
	if t.Quick() {
		panic(stop{outcome{verdict: Inconclusive, reason: NotTried, message: needsMore}})
	}
}

// RequireTime ends a check that would wait for long, unless it confirms something.
func RequireTime(t *T) {
	if t.Quick() {
		panic(stop{outcome{verdict: Inconclusive, reason: NotTried, message: needsTime}})
	}
}

// inItsTurn settles which kind of session a check is lent in a quick run: a hostile one comes last, and there is no
// other then.
func (t *T) inItsTurn(hostile bool) bool {
	e := t.run
	switch {
	case !t.Quick():
		return hostile
	case e.invalidPhase.Load():
		NeedsConfirmation(t)
		return true
	case hostile:
		panic(stop{outcome{verdict: Inconclusive, reason: NotTried, message: needsMore, later: true}})
	}
	return false
}

// OwnUnlessQuick is Own for what must not be tried twice, and so is not confirmed alone: a quick run tries it in its
// session.
func OwnUnlessQuick(t *T) *driver.Session {
	if !t.Quick() {
		return t.Own()
	}
	lent := t.scope.lent
	s := t.Session()
	t.scope.lent = lent
	return s
}

// putOff has a case of a quick run tried when the others are done.
func (e *Execution) putOff(i int) {
	e.mu.Lock()
	e.later = append(e.later, i)
	e.mu.Unlock()
}

// startInvalidPhase makes the session of a quick run a hostile one, and tries the cases that have waited for that.
func (e *Execution) startInvalidPhase() {
	if !e.single() {
		return
	}
	if s := e.pool.Take(false); s != nil {
		s.Hostile()
		e.pool.Donate(s)
	}
	e.invalidPhase.Store(true)
	e.parallel(e.later)
}

// spares reports whether a quick run does not confirm what a check came to: it does not gate.
func (e *Execution) spares(c Case, o outcome) bool { return e.single() && !e.gates(c, o) }

// gates reports whether what a check came to blocks, if it is confirmed.
func (e *Execution) gates(c Case, o outcome) bool {
	return e.options.Profile.Gate(o.verdict, o.level, c.Level.In(c.By), c.Checklist, len(c.Asked) > 0) != NoGate
}

// untried is what a check came to that a quick run does not try, or does not confirm: it does not count as one that
// went wrong. A watch for which nothing was tried fails all the same when something wrong was seen.
func (e *Execution) untried(c Case, o outcome) outcome {
	left := outcome{verdict: Skip, reason: NotTried, message: needsMore}
	missing := o.verdict == Inconclusive && o.reason == NotTried
	if missing {
		left.message = o.message
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case !e.single():
	case missing && !e.watching.Load() && c.check.kind == watch:
		e.without[c.ID] = true
	case o.verdict == Pass && e.without[c.ID]:
		o.message = cmp.Or(o.message, "of what the session of a quick run brought")
	case missing, e.without[c.ID] && o.verdict != Fail, o.verdict == Skip && o.reason == NotObserved:
		return left
	case c.check.kind != watch && !o.confirmed() && e.spares(c, o):
		left.message = unconfirmed
		return left
	}
	return o
}
