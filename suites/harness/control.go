package harness

import (
	"fmt"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// A check that finds its server dead or silent blames what it tried last. Whether that is fair, a control shows: a
// session in which nothing is asked but harmless requests, as many as there were messages in the sessions that ended
// so. A server that does not serve even that to its end has one fault, and not one in each check that is too long for
// it.

// mostControl is how many harmless requests a control makes at most. It makes no more of them once it has taken twice
// the time of one answer.
const mostControl = 100

// control tries a control and, if it fails, another one. If both fail the run is stopped.
func (e *Execution) control() {
	n := e.longestTrouble()
	var failed *driver.Session
	var why string
	for range 2 {
		if failed, why = e.endure(n); why == "" || e.ctx.Err() != nil {
			return
		}
	}
	e.breaker.trip(failed, why)
}

// endure makes n harmless requests in a session of its own. why is what went wrong, empty when nothing did; then the
// session is nil when none could be had.
func (e *Execution) endure(n int) (s *driver.Session, why string) {
	s, err := e.pool.Fresh()
	if e.breaker.session(s, err); err != nil {
		return nil, e.breaker.loss(err)
	}
	defer func() {
		e.pool.Close(s)
		e.clear()
	}()
	s.UsedBy(controlled)
	begin := time.Now()
	for i := 0; i < min(n, mostControl) && time.Since(begin) < 2*s.Patience(); i++ {
		r := s.Lives()
		switch {
		case driver.ExcessOf(r.Err) != nil:
			return s, "" // our own bound has ended it
		case !r.Answered():
			method, _ := s.Harmless()
			return s, fmt.Sprintf("the server serves no session to its end: where nothing but %s is asked, "+
				"it ends after %d answers: %s", method, i+1, Explain(r.Err)) // the first of them was to Fresh
		}
	}
	return s, ""
}

// longestTrouble is how many messages were sent in the longest session that died or fell silent. At a site all sessions
// have the same server: as many as there may be.
func (e *Execution) longestTrouble() (most int) {
	for _, s := range e.pool.Sessions() {
		switch {
		case !s.Troubled():
		case e.target.Site != nil:
			return mostControl
		default:
			most = max(most, sentIn(s))
		}
	}
	return most
}

// sentIn is how many messages were sent in a session.
func sentIn(s *driver.Session) (n int) {
	for _, f := range s.Record(0) {
		if f.Side == driver.FromClient {
			n++
		}
	}
	return n
}

// Gone reports whether the run was stopped because no session could be had any more.
func (t *T) Gone() bool { return t.run.breaker.lostServer() }

// Control is a session in which nothing was asked but harmless requests, and which died or fell silent; nil when there
// is none. Then that is the server's one fault.
func (t *T) Control() *driver.Session { return t.run.breaker.control() }
