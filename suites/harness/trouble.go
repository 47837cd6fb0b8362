package harness

import (
	"slices"
	"time"
)

// trouble is what was amiss with the sessions of an attempt.
type trouble struct {
	upset    bool     // one died, or could not be had
	silences []string // methods of requests that had no answer in time
}

func (t trouble) any() bool { return t.upset || len(t.silences) > 0 }

// adopt adds what was amiss elsewhere.
func (c *scope) adopt(t trouble) {
	c.amiss.upset = c.amiss.upset || t.upset
	c.amiss.silences = append(c.amiss.silences, t.silences...)
}

// trouble is what was amiss with the sessions of the attempt, and with those of the steps that it reads.
func (c *scope) trouble() trouble {
	t := trouble{c.amiss.upset, slices.Clone(c.amiss.silences)}
	for _, u := range c.uses {
		if u.session.Troubled() {
			silences, only := u.session.Silences()
			t.upset = t.upset || !only
			t.silences = append(t.silences, silences...)
		}
	}
	return t
}

// WhenQuiet ends an attempt that has had no answer to a method for a moment, unless nothing else runs: it is made again
// when that is so, and the server has all its time.
func (t *T) WhenQuiet(method string) {
	if t.run.quiet.Load() {
		return
	}
	t.scope.adopt(trouble{silences: []string{method}})
	t.Because(Silent).Again("%s was not waited for while others were tried", method)
}

// doubt is a case that did not pass because a server died or was silent.
type doubt struct {
	place   int // in the plan
	first   Result
	trouble trouble
}

// decideAgain tries cases once more that did not pass because a server died or was silent. They have the machine for
// themselves: no other process of the server is left, and one at a time is started. A server that is slow to start, or
// that can run only once, is not blamed for the haste of the harness. Once a silence was found again in that way, it
// confirms all verdicts that rest on nothing else.
func (e *Execution) decideAgain() {
	if len(e.doubts) == 0 {
		return
	}
	e.pool.Wait()
	e.quiet.Store(true)
	e.breaker.reset()
	e.control()
	slices.SortFunc(e.doubts, func(a, b doubt) int { return a.place - b.place })
	for _, d := range e.doubts {
		if e.confirmed(d.trouble) {
			e.settle(d.place, d.first)
			continue
		}
		begin := time.Now()
		decided := e.options.Progress.begin(e.plan[d.place].Area())
		o, used := e.attempt(e.plan[d.place], nil, true)
		used.release(e.pool, false)
		e.pool.Wait()
		decided()
		e.settle(d.place, e.result(e.plan[d.place], o, begin))
	}
}

// confirmed reports whether there is a trouble that is known to come again: it is all silence of methods that are never
// answered.
func (e *Execution) confirmed(t trouble) bool {
	heard := func(method string) bool { return e.breaker.silenceOf(method) == nil }
	return t.any() && !t.upset && e.breaker.reason() == "" && !slices.ContainsFunc(t.silences, heard)
}
