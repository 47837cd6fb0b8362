package discovery

import (
	"context"
	"errors"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// process is one that was started before anything is said to it; without a session there is none.
type process struct {
	session *driver.Session
	turn    *time.Timer // ends it
}

// ahead starts a process over stdio. It may keep another one, which is asked first, from its turn: it is ended once
// that could have been answered long ago, in half of the time that a server has to start.
func ahead(ctx context.Context, t driver.Target) process {
	if t.Site != nil {
		return process{}
	}
	s, err := driver.Start(ctx, t, driver.Options{})
	if err != nil {
		return process{}
	}
	return process{s, time.AfterFunc(s.StartPatience()/2, s.Kill)}
}

// blamed reports whether the process may be why the other one has died.
func (p process) blamed(server *harness.Server, err error) bool {
	var silence *driver.Silence
	silent := server != nil && errors.As(server.First.Err, &silence)
	return p.session != nil && !silent && errors.As(err, new(*driver.Death))
}

// greeted reports whether the process answers the greeting of a revision.
func (p process) greeted(revision string) bool {
	return p.session.Greet(driver.Hello(revision)).Answered()
}

// take is the session of the process; nil when it has ended.
func (p process) take() *driver.Session {
	if p.session != nil && p.turn.Stop() && p.session.Alive() {
		return p.session
	}
	p.end()
	return nil
}

// end ends the process at once: nobody has spoken to it.
func (p process) end() {
	if p.session != nil {
		p.turn.Stop()
		p.session.Kill()
		p.session.Close()
	}
}
