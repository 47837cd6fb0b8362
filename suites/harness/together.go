package harness

import (
	"cmp"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// unconfirmedCase is a case that did not pass, which is confirmed together with others.
type unconfirmedCase struct {
	place int // in the plan
	turn  turn
}

// turn is when a case is confirmed among others: first those that need a process to which nothing was said, since it
// serves the others afterwards, and hostile input last.
type turn int

const (
	inNewProcess turn = iota
	inCleanSession
	inHostileSession
)

// turnOf is the turn of a case that has been tried once.
func turnOf(c Case, used *scope) turn {
	switch {
	case c.check.kind == fresh:
		return inNewProcess
	case slices.ContainsFunc(used.passages(), func(p passage) bool { return p.session.IsHostile() }):
		return inHostileSession
	}
	return inCleanSession
}

// confirmations are the sessions in which failures that do not block are confirmed, one after the other. A process for
// each failure would cost more than it is worth.
type confirmations struct {
	pool     *driver.Pool
	turn     turn
	sessions []*driver.Session // at most one for clean input, and one for hostile input
}

// session is the one for clean or for hostile input, which may be sent in a clean one when there is no other. Once it
// is the turn of hostile input, all goes into one session. One that is over, or in which a request had no answer, is
// replaced.
func (g *confirmations) session(hostile bool) (*driver.Session, error) {
	hostile = hostile || g.turn == inHostileSession
	g.sessions = slices.DeleteFunc(g.sessions, func(s *driver.Session) bool {
		over := !s.Ordinary() || s.Troubled()
		if over {
			g.pool.Close(s)
		}
		return over
	})
	if i := g.index(hostile); i >= 0 {
		return g.sessions[i], nil
	}
	if i := g.index(false); hostile && i >= 0 {
		return g.sessions[i], nil
	}
	s, err := g.pool.Fresh()
	if err == nil {
		g.sessions = append(g.sessions, s)
	}
	return s, err
}

// index is the index of the session for clean or for hostile input, -1 when there is no such session.
func (g *confirmations) index(hostile bool) int {
	return slices.IndexFunc(g.sessions, func(s *driver.Session) bool { return s.IsHostile() == hostile })
}

// release ends the sessions of an attempt, but for one that is as good as a new one to others.
func (g *confirmations) release(used *scope) {
	for i, u := range used.uses {
		if s := u.session; u.how == own && s.Ordinary() && !s.Troubled() && g.index(s.IsHostile()) < 0 {
			g.sessions = append(g.sessions, s)
			used.uses[i].how = borrowed
		}
	}
	used.release(g.pool, false)
}

// confirm tries a case once more that did not pass on sessions that others have used: together with others or, what
// blocks, alone, while others are tried.
func (e *Execution) confirm(i int, c Case, o outcome, used *scope, begin time.Time) judged {
	uses, turn := used.uses, turnOf(c, used)
	used.release(e.pool, true) // nobody waits for them
	if e.waits(c, o) {
		e.mu.Lock()
		e.waiting = append(e.waiting, unconfirmedCase{i, turn})
		e.mu.Unlock()
		return judged{waits: true}
	}
	alone := func() judged {
		again, second := e.again(c, nil)
		if again.verdict != o.verdict {
			abandon(uses)
		}
		return e.decide(i, c, again, second, begin)
	}
	if e.options.Jobs == 1 || e.quiet.Load() || c.check.kind != probe && c.check.kind != fresh {
		return alone()
	}
	e.confirming.Go(func() {
		e.alone <- struct{}{}
		j := alone()
		<-e.alone
		e.conclude(i, j.result, j.rests)
	})
	return judged{waits: true}
}

// abandon has sessions lent to nobody more, since something in them is not as it is in a new one.
func abandon(uses []use) {
	for _, u := range uses {
		u.session.Abandon()
	}
}

// again makes the attempt that confirms, once the steps are over that it reads.
func (e *Execution) again(c Case, with *confirmations) (o outcome, used *scope) {
	for o, used = e.attempt(c, with, true); o.until != nil; o, used = e.attempt(c, with, true) {
		used.release(e.pool, false)
		<-o.until.over
	}
	return o, used
}

// waits reports whether what a check came to is confirmed together with others: over stdio, where a session is a
// process.
func (e *Execution) waits(c Case, o outcome) bool {
	together := c.check.kind == probe || c.check.kind == fresh
	return together && e.target.Site == nil && !e.single() && !e.quiet.Load() && !e.options.Isolate && !e.gates(c, o)
}

// proven reports whether a failure that does not rest on the server's health needs no confirmation: the server is to
// answer well-formed messages well whatever well-formed messages came before.
func (e *Execution) proven(c Case, o outcome, used *scope) bool {
	return o.verdict == Fail && e.waits(c, o) && !used.doubtful
}

// controlEach makes a harmless request in the sessions of an attempt. One that no longer answers it is a session fault
// of this attempt, and serves no later one. Where such requests are known to have no answer, none is made.
func (e *Execution) controlEach(used *scope) {
	for _, u := range used.uses {
		method, _ := u.session.Harmless()
		if u.session.Ordinary() && !u.session.Troubled() && e.health.unanswered(method) == nil {
			u.session.Lives()
		}
	}
}

// confirmTogether confirms what has waited for it. What rests on the server's health is decided again, as always.
func (e *Execution) confirmTogether() {
	g := &confirmations{pool: e.pool}
	slices.SortFunc(e.waiting, func(a, b unconfirmedCase) int {
		return cmp.Or(cmp.Compare(a.turn, b.turn), cmp.Compare(a.place, b.place))
	})
	for _, w := range e.waiting {
		c, begin := e.plan[w.place], time.Now()
		g.turn = w.turn
		decided := e.options.Progress.begin(c.Area())
		o, used := e.again(c, g)
		e.controlEach(used)
		rests := used.restsOn(c.check.kind, o)
		g.release(used)
		decided()
		e.conclude(w.place, e.result(c, e.untried(c, o), begin), rests)
	}
	for _, s := range g.sessions {
		e.pool.Close(s)
	}
}
