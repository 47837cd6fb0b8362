package check

import (
	"fmt"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// A check that finds its server dead or silent blames what it tried last. Whether that is fair, a control shows: a
// session in which nothing is asked but harmless requests, as many as there were messages in the sessions that ended
// so. A server that does not serve even that to its end has one fault, and not one in each check that is too long for
// it.

// maxHealthCheckRequests is how many harmless requests a control makes at most. It makes no more of them once it has
// taken twice the time of one answer.
const maxHealthCheckRequests = 100

// control tries a control and, if it fails, another one. If both fail the run is stopped.
func (e *Execution) checkHealth() {
	n := e.longestFaultedSession()
	var failed *driver.Session
	var err error
	for range 2 {
		if failed, err = e.pingUntilFailure(n); err == nil || e.ctx.Err() != nil {
			return
		}
	}
	e.health.failCheck(failed, err)
}

// pingUntilFailure makes n harmless requests in a session of its own. err is what went wrong; the session is nil when
// none could be opened.
func (e *Execution) pingUntilFailure(n int) (s *driver.Session, err error) {
	s, err = e.pool.GetUnused()
	if e.health.recordSession(s, err); err != nil {
		return nil, err
	}
	defer func() {
		e.pool.CloseSession(s)
		e.awaitSessionEnds()
	}()
	s.SetUser(healthCheckUser)
	begin := time.Now()
	for i := 0; i < min(n, maxHealthCheckRequests) && time.Since(begin) < 2*s.ReplyTimeout(); i++ {
		r := s.AwaitNoOp()
		switch {
		case driver.AsLimitError(r.Err) != nil:
			return s, nil // our own bound has ended it
		case !r.Answered():
			method, _ := s.NoOp()
			return s, fmt.Errorf("the server serves no session to its end: where nothing but %s is asked, "+
				"it ends after %d answers: %w", method, i+1, Explain(r.Err)) // the first of them was to ProcessProbe
		}
	}
	return s, nil
}

// longestFaultedSession is how many messages were sent in the longest session that died or fell silent. At a site all
// sessions have the same server: as many as there may be.
func (e *Execution) longestFaultedSession() (most int) {
	for _, s := range e.pool.Sessions() {
		switch {
		case !s.HasFault():
		case e.target.Site != nil:
			return maxHealthCheckRequests
		default:
			sent := 0
			for _, f := range s.FramesSince(0) {
				if f.Side == driver.FromClient {
					sent++
				}
			}
			most = max(most, sent)
		}
	}
	return most
}
