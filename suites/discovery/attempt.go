package discovery

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// attempt is a server that is asked for a revision in a process, or over HTTP in a session. What came of it is there
// once it is done.
type attempt struct {
	ctx      context.Context
	cancel   context.CancelFunc // ends the process
	target   driver.Target
	revision string
	began    time.Time
	done     chan struct{} // nil before the server is asked
	spoken   atomic.Bool   // it is known that the server speaks the revision

	server  *harness.Server
	session *driver.Session
	err     error
	took    time.Duration
	served  bool // there was a session in the era that was asked for

	restarted bool // the session is that of another process than the one that was started for it
}

// attempt is a further one.
func (d *search) attempt(revision string) *attempt {
	ctx, cancel := context.WithCancel(d.ctx)
	a := &attempt{ctx: ctx, cancel: cancel, target: d.target, revision: revision}
	d.made = append(d.made, a)
	return a
}

// start starts a process over stdio, to which nothing is said. If there is an error, it will come again.
func (a *attempt) start() {
	a.began = time.Now()
	if a.target.Site == nil {
		a.session, _ = driver.Start(a.ctx, a.target, driver.Options{})
	}
}

// ask asks the server, unless it was asked already.
func (a *attempt) ask() {
	a.begin(func() (*harness.Server, *driver.Session, error) {
		return ask(a.ctx, a.target, a.revision, a.session, func() { a.spoken.Store(true) })
	})
}

// join opens a session of a server that is known, unless it was asked already.
func (a *attempt) join(server *harness.Server) {
	a.begin(func() (_ *harness.Server, s *driver.Session, err error) {
		if s = a.session; s != nil && s.Alive() {
			return server, s, asBefore(s, server)
		}
		s, err = again(a.ctx, a.target, server)
		return server, s, err
	})
}

func (a *attempt) begin(ask func() (*harness.Server, *driver.Session, error)) {
	if a.asked() {
		return
	}
	if a.session == nil {
		a.began = time.Now()
	}
	a.done = make(chan struct{})
	go func() {
		defer close(a.done)
		started := a.session
		a.server, a.session, a.err = ask()
		a.restarted = started != nil && a.session != started
		a.took = time.Since(a.began)
		a.served = a.err == nil && a.server.Failure == "" && a.session.Alive()
	}()
}

// handOver is an attempt at another revision in the same process.
func (a *attempt) handOver(revision string) *attempt {
	next := &attempt{
		ctx: a.ctx, cancel: a.cancel, target: a.target, revision: revision, began: a.began, session: a.session,
	}
	a.session, a.cancel = nil, func() {}
	return next
}

// asked reports whether the server has been asked.
func (a *attempt) asked() bool { return a.done != nil }

// good reports whether there is a session in the era that was asked for.
func (a *attempt) good() bool { return a.served && a.session.Alive() }

// answered reports whether the server has answered the greeting, well or not.
func (a *attempt) answered() bool { return a.server != nil && a.server.First.Answered() }

// granted reports whether the server means to speak the era that was asked for, be it well or not.
func (a *attempt) granted() bool {
	return a.served || a.server != nil && a.server.First.Result() != nil
}

// speaks are the revisions that have been shown to be spoken.
func (a *attempt) speaks() []string {
	if !a.served {
		return nil
	}
	return known(append(slices.Clone(a.server.Speaks), a.server.Revision))
}

// died reports whether the session has ended by itself. That of a silent server is ended to learn what it has to say.
func (a *attempt) died() bool {
	var silence *driver.Silence
	return a.server != nil && a.session != nil && !a.session.Alive() && !a.refused() &&
		!errors.As(a.server.First.Err, &silence)
}

// refused reports whether the server has said that it does not speak the revision.
func (a *attempt) refused() bool {
	var none *NotSpoken
	return errors.As(a.err, &none)
}

// undiscovered is how server/discover was answered, if neither with a result nor with an error that servers of the
// handshake have for what they do not know: any but that of a request which they tried to serve, and failed to.
func (a *attempt) undiscovered() string {
	const internal = -32603
	if a.served || !a.answered() || a.server.Protected {
		return ""
	}
	r := a.server.First
	code, coded := r.Code()
	refused := r.Bare() || coded && code != internal
	if r.Result() != nil || refused && a.server.Failure == "" {
		return ""
	}
	return harness.Got(r)
}

// isDone waits for the attempt as long as that, and reports whether it is done.
func (a *attempt) isDone(patience time.Duration) bool {
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

// within waits for the attempt, and gives it up after that time: but not once it is known that the server is judged by
// it, since what it lists would look like all that there is.
func (a *attempt) within(patience time.Duration) {
	if !a.isDone(patience) && !a.spoken.Load() {
		a.cancel()
	}
	<-a.done
}

// close ends the process: at once, if nothing was said to it or nobody waits for the answer.
func (a *attempt) close() {
	switch {
	case a.asked() && !a.isDone(0):
		a.cancel()
		<-a.done
	case !a.asked() && a.session != nil:
		a.session.Kill()
	}
	if a.session != nil {
		a.session.Close()
	}
	a.cancel()
}
