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
	n := e.longestFaulted()
	var failed *driver.Session
	var err error
	for range 2 {
		if failed, err = e.endure(n); err == nil || e.ctx.Err() != nil {
			return
		}
	}
	e.health.fail(failed, err)
}

// endure makes n harmless requests in a session of its own. err is what went wrong; the session is nil when none could
// be opened.
func (e *Execution) endure(n int) (s *driver.Session, err error) {
	s, err = e.pool.Fresh()
	if e.health.session(s, err); err != nil {
		return nil, err
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
			return s, nil // our own bound has ended it
		case !r.Answered():
			method, _ := s.Harmless()
			return s, fmt.Errorf("the server serves no session to its end: where nothing but %s is asked, "+
				"it ends after %d answers: %w", method, i+1, Explain(r.Err)) // the first of them was to Fresh
		}
	}
	return s, nil
}

// longestFaulted is how many messages were sent in the longest session that died or fell silent. At a site all sessions
// have the same server: as many as there may be.
func (e *Execution) longestFaulted() (most int) {
	for _, s := range e.pool.Sessions() {
		switch {
		case !s.Troubled():
		case e.target.Site != nil:
			return mostControl
		default:
			sent := 0
			for _, f := range s.Record(0) {
				if f.Side == driver.FromClient {
					sent++
				}
			}
			most = max(most, sent)
		}
	}
	return most
}
