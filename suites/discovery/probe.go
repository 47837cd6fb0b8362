package discovery

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
)

// revisionProbe requests one revision of a server, in a process or, over HTTP, in a session. Its results may be read
// when done is closed.
type revisionProbe struct {
	ctx      context.Context
	cancel   context.CancelFunc
	target   driver.Target
	revision string
	// startedAt is when the process was started or, over HTTP, the request was begun.
	startedAt time.Time
	// done is closed when the results are there; nil before the server is asked.
	done chan struct{}
	// isSupported reports whether the server is already known to support the revision.
	isSupported atomic.Bool

	server   *check.Server
	session  *driver.Session
	err      error
	duration time.Duration
	// hadSession reports whether there was a session in the requested era.
	hadSession bool

	// isRestarted reports whether the session is in another process than the one that was started for it.
	isRestarted bool
}

func (d *search) newProbe(revision string) *revisionProbe {
	ctx, cancel := context.WithCancel(d.ctx)
	a := &revisionProbe{ctx: ctx, cancel: cancel, target: d.target, revision: revision}
	d.probes = append(d.probes, a)
	return a
}

// startProcess starts a process over stdio and sends nothing to it. An error is ignored, since it will occur again.
func (a *revisionProbe) startProcess() {
	a.startedAt = time.Now()
	if a.target.Site == nil {
		a.session, _ = driver.Start(a.ctx, a.target, driver.Options{})
	}
}

// connect inspects the server, unless the probe has begun.
func (a *revisionProbe) connect() {
	a.run(func() (*check.Server, *driver.Session, error) {
		return inspect(a.ctx, a.target, a.revision, a.session, func() { a.isSupported.Store(true) })
	})
}

// reconnect opens a session of a server that is known, unless the probe has begun.
func (a *revisionProbe) reconnect(server *check.Server) {
	a.run(func() (_ *check.Server, s *driver.Session, err error) {
		if s = a.session; s != nil && s.IsAlive() {
			return server, s, openKnown(s, server, check.M{})
		}
		s, err = reopen(a.ctx, a.target, server)
		return server, s, err
	})
}

func (a *revisionProbe) run(ask func() (*check.Server, *driver.Session, error)) {
	if a.hasBegun() {
		return
	}
	if a.session == nil {
		a.startedAt = time.Now()
	}
	a.done = make(chan struct{})
	go func() {
		defer close(a.done)
		started := a.session
		a.server, a.session, a.err = ask()
		a.isRestarted = started != nil && a.session != started
		a.duration = time.Since(a.startedAt)
		a.hadSession = a.err == nil && a.server.Failure == "" && a.session.IsAlive()
	}()
}

// reuseProcess returns a probe of another revision in the same process.
func (a *revisionProbe) reuseProcess(revision string) *revisionProbe {
	next := &revisionProbe{
		ctx: a.ctx, cancel: a.cancel, target: a.target, revision: revision, startedAt: a.startedAt, session: a.session,
	}
	a.session, a.cancel = nil, func() {}
	return next
}

func (a *revisionProbe) hasBegun() bool { return a.done != nil }

// isUsable reports whether there is a session in the requested era.
func (a *revisionProbe) isUsable() bool { return a.hadSession && a.session.IsAlive() }

// isAnswered reports whether the server has answered the first request, validly or not.
func (a *revisionProbe) isAnswered() bool { return a.server != nil && a.server.ConnectReply.Answered() }

// isGranted reports whether the server intends to support the requested era, whether or not it does so correctly.
func (a *revisionProbe) isGranted() bool {
	return a.hadSession || a.server != nil && a.server.ConnectReply.Result() != nil
}

// supportedRevisions returns the revisions that the server has proved to support.
func (a *revisionProbe) supportedRevisions() []string {
	if !a.hadSession {
		return nil
	}
	return publishedRevisions(append(slices.Clone(a.server.Revisions), a.server.Revision))
}

// hasExited reports whether the session has ended by itself. It is false for a silent server, whose session mcpcheck
// ends itself to collect its output.
func (a *revisionProbe) hasExited() bool {
	var timeoutErr *driver.TimeoutError
	return a.server != nil && a.session != nil && !a.session.IsAlive() && !a.isRefused() &&
		!errors.As(a.server.ConnectReply.Err, &timeoutErr)
}

// isRefused reports whether the server has answered that it does not support the revision.
func (a *revisionProbe) isRefused() bool {
	var none *UnsupportedRevisionError
	return errors.As(a.err, &none)
}

// discoverError returns the response to server/discover if it is neither a result nor an error that servers of the
// legacy era send for unknown methods. Any error is such a one except -32603, that of a request which the server tried
// to handle.
func (a *revisionProbe) discoverError() string {
	if a.hadSession || !a.isAnswered() || a.server.Protected {
		return ""
	}
	r := a.server.ConnectReply
	code, coded := r.Code()
	refused := r.IsStatusOnly() || coded && code != errcode.InternalError
	if r.Result() != nil || refused && a.server.Failure == "" {
		return ""
	}
	return check.Got(r)
}

// isDoneWithin waits for the probe, at most for timeout, and reports whether it is done.
func (a *revisionProbe) isDoneWithin(timeout time.Duration) bool {
	select {
	case <-a.done:
		return true
	case <-time.After(timeout):
	}
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}

// waitOrCancel waits for the probe and cancels it after timeout. It does not cancel a probe that is known to decide the
// revision, because the server's lists would be incomplete.
func (a *revisionProbe) waitOrCancel(timeout time.Duration) {
	if !a.isDoneWithin(timeout) && !a.isSupported.Load() {
		a.cancel()
	}
	<-a.done
}

// close ends the process. It does so at once if the process has received nothing, or if nobody waits for a response.
func (a *revisionProbe) close() {
	switch {
	case a.hasBegun() && !a.isDoneWithin(0):
		a.cancel()
		<-a.done
	case !a.hasBegun() && a.session != nil:
		a.session.Kill()
	}
	if a.session != nil {
		a.session.Close()
	}
	a.cancel()
}
