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

// attempt is a server that is asked for a revision in a process, or over HTTP in a session. What came of it is there
// once it is done.
type revisionProbe struct {
	ctx         context.Context
	cancel      context.CancelFunc // ends the process
	target      driver.Target
	revision    string
	startedAt   time.Time
	done        chan struct{} // nil before the server is asked
	isSupported atomic.Bool   // it is known that the server speaks the revision

	server     *check.Server
	session    *driver.Session
	err        error
	duration   time.Duration
	hadSession bool // there was a session in the era that was asked for

	isRestarted bool // the session is that of another process than the one that was started for it
}

// attempt is a further one.
func (d *search) newProbe(revision string) *revisionProbe {
	ctx, cancel := context.WithCancel(d.ctx)
	a := &revisionProbe{ctx: ctx, cancel: cancel, target: d.target, revision: revision}
	d.probes = append(d.probes, a)
	return a
}

// startProcess starts a process over stdio, to which nothing is said. If there is an error, it will come again.
func (a *revisionProbe) startProcess() {
	a.startedAt = time.Now()
	if a.target.Site == nil {
		a.session, _ = driver.Start(a.ctx, a.target, driver.Options{})
	}
}

// ask asks the server, unless it was asked already.
func (a *revisionProbe) connect() {
	a.run(func() (*check.Server, *driver.Session, error) {
		return inspect(a.ctx, a.target, a.revision, a.session, func() { a.isSupported.Store(true) })
	})
}

// reconnect opens a session of a server that is known, unless it was asked already.
func (a *revisionProbe) reconnect(server *check.Server) {
	a.run(func() (_ *check.Server, s *driver.Session, err error) {
		if s = a.session; s != nil && s.IsAlive() {
			return server, s, openKnown(s, server)
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

// reuseProcess is an attempt at another revision in the same process.
func (a *revisionProbe) reuseProcess(revision string) *revisionProbe {
	next := &revisionProbe{
		ctx: a.ctx, cancel: a.cancel, target: a.target, revision: revision, startedAt: a.startedAt, session: a.session,
	}
	a.session, a.cancel = nil, func() {}
	return next
}

// asked reports whether the server has been asked.
func (a *revisionProbe) hasBegun() bool { return a.done != nil }

// isUsable reports whether there is a session in the era that was asked for.
func (a *revisionProbe) isUsable() bool { return a.hadSession && a.session.IsAlive() }

// isAnswered reports whether the server has answered the greeting, well or not.
func (a *revisionProbe) isAnswered() bool { return a.server != nil && a.server.ConnectReply.Answered() }

// isGranted reports whether the server means to speak the era that was asked for, be it well or not.
func (a *revisionProbe) isGranted() bool {
	return a.hadSession || a.server != nil && a.server.ConnectReply.Result() != nil
}

// speaks are the revisions that have been shown to be spoken.
func (a *revisionProbe) supportedRevisions() []string {
	if !a.hadSession {
		return nil
	}
	return publishedRevisions(append(slices.Clone(a.server.Revisions), a.server.Revision))
}

// hasExited reports whether the session has ended by itself. That of a silent server is ended to learn what it has to
// say.
func (a *revisionProbe) hasExited() bool {
	var silence *driver.TimeoutError
	return a.server != nil && a.session != nil && !a.session.IsAlive() && !a.isRefused() &&
		!errors.As(a.server.ConnectReply.Err, &silence)
}

// refused reports whether the server has said that it does not speak the revision.
func (a *revisionProbe) isRefused() bool {
	var none *UnsupportedRevisionError
	return errors.As(a.err, &none)
}

// discoverError is how server/discover was answered, if neither with a result nor with an error that servers of the
// handshake have for what they do not know: any but that of a request which they tried to serve, and failed to.
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

// isDoneWithin waits for the attempt as long as that, and reports whether it is done.
func (a *revisionProbe) isDoneWithin(patience time.Duration) bool {
	select {
	case <-a.done:
		return true
	case <-time.After(patience):
	}
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}

// waitOrCancel waits for the attempt, and gives it up after that time: but not once it is known that the server is
// judged by it, since what it lists would look like all that there is.
func (a *revisionProbe) waitOrCancel(patience time.Duration) {
	if !a.isDoneWithin(patience) && !a.isSupported.Load() {
		a.cancel()
	}
	<-a.done
}

// close ends the process: at once, if nothing was said to it or nobody waits for the answer.
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
