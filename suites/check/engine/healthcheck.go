package engine

import (
	"fmt"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// A check whose server exits or stops answering blames what it sent last. A health check finds out whether that is
// fair: in a session of its own it sends only no-ops, as many as there were messages in the longest session that ended
// so. A server that does not survive even that has one fault, not one in each check with a long session.

// maxHealthCheckRequests limits the no-ops of a health check. It also stops once it has taken twice the reply timeout.
const maxHealthCheckRequests = 100

// checkHealth makes a health check and, if that fails, a second one. If both fail, the run is stopped.
func (e *Execution) checkHealth() {
	n := e.longestFaultedSession()
	var failed *driver.Session
	var err error
	for range 2 {
		if failed, err = e.pingUntilFailure(n); err == nil || e.ctx.Err() != nil {
			return
		}
	}
	e.run.Health.FailCheck(failed, err)
}

// pingUntilFailure sends n no-ops in a session of its own. It returns what went wrong; the session is nil when none
// could be opened.
func (e *Execution) pingUntilFailure(n int) (s *driver.Session, err error) {
	s, err = e.run.Pool.GetUnused()
	if err != nil {
		e.run.Health.RecordSession(nil, check.Explain(err))
		return nil, check.Explain(err)
	}
	e.run.Health.RecordSession(s, nil)
	defer func() {
		e.run.Pool.CloseSession(s)
		e.run.AwaitSessionEnds()
	}()
	s.SetUser(healthCheckUser)
	begin := time.Now()
	for i := 0; i < min(n, maxHealthCheckRequests) && time.Since(begin) < 2*s.ReplyTimeout(); i++ {
		r := s.AwaitNoOp()
		switch {
		case driver.AsLimitError(r.Err) != nil:
			return s, nil // a limit of mcpcheck has ended it
		case !r.Answered():
			method, _ := s.NoOp()
			return s, fmt.Errorf("the server serves no session to its end: where nothing but %s is asked, "+
				"it ends after %d answers: %w", method, i+1, check.Explain(r.Err)) // initialize was answered first
		}
	}
	return s, nil
}

// longestFaultedSession returns how many messages were sent in the longest session with a fault. Over HTTP all sessions
// share one server, so it is the maximum.
func (e *Execution) longestFaultedSession() (most int) {
	for _, s := range e.run.Pool.Sessions() {
		switch {
		case !s.HasFault():
		case e.run.Target.Site != nil:
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
