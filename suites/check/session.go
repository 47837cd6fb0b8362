package check

import (
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// SessionOption says which session T.Session returns.
type SessionOption func(*sessionRequest)

// sessionRequest is what the options of T.Session ask for.
type sessionRequest struct {
	exclusive    bool
	unlessQuick  bool
	invalidInput bool
	toEnd        bool
	process      *driver.Options // of a new process without a handshake; nil asks for an established session
	client       *clientRequest  // nil is a client without capabilities
}

// clientRequest is the client of a session that has capabilities.
type clientRequest struct {
	params  M
	prepare func(*driver.Session)
}

// Exclusive asks for a session that no other check has used or will use.
func Exclusive(r *sessionRequest) { r.exclusive = true }

// ExclusiveUnlessQuick is Exclusive but in a quick run, which has a single session. It is for checks that must not be
// tried twice, and therefore are not confirmed.
func ExclusiveUnlessQuick(r *sessionRequest) { r.exclusive, r.unlessQuick = true, true }

// ForInvalidInput asks for a session for input that no conforming client sends.
func ForInvalidInput(r *sessionRequest) { r.invalidInput = true }

// ToEnd asks for a session that the check may end, since no other check needs it.
func ToEnd(r *sessionRequest) { r.toEnd = true }

// Process asks for a session without a handshake; over stdio, it is a process to which nothing was sent yet.
func Process(r *sessionRequest) { r.process = &driver.Options{} }

// ProcessWith is Process with options of the driver.
func ProcessWith(o driver.Options) SessionOption {
	return func(r *sessionRequest) { r.process = &o }
}

// WithCapabilities asks for an established session of a client with the given connect params. prepare is called before
// the server can send a request in it. Unless the attempt is a confirmation or the session is Exclusive too, checks
// that want the same params may have used it before; others may use it afterwards.
func WithCapabilities(params M, prepare func(*driver.Session)) SessionOption {
	return func(r *sessionRequest) { r.client = &clientRequest{params, prepare} }
}

// Session returns a session: without options an established one that other checks may have used before, for input of a
// conforming client. It ends the check without a verdict where there is none.
func (t *T) Session(options ...SessionOption) *driver.Session {
	var r sessionRequest
	for _, o := range options {
		o(&r)
	}
	s := t.sessionFor(r)
	if r.invalidInput {
		s.MarkInvalidInput()
	}
	return s
}

func (t *T) sessionFor(r sessionRequest) *driver.Session {
	switch {
	case r.process != nil:
		return t.newProcess(*r.process)
	case r.client != nil && r.exclusive:
		return t.newClientSession(*r.client)
	case r.client != nil:
		return t.clientSession(*r.client)
	case r.toEnd:
		return t.sessionToEnd()
	case r.unlessQuick && t.IsQuick():
		return t.quickSession()
	case r.exclusive:
		return t.exclusiveSession()
	}
	return t.pooledSession(r.invalidInput)
}

func (t *T) exclusiveSession() *driver.Session {
	RequireSecondSession(t)
	t.requireOnlyProcess()
	s, err := t.execution.pool.GetUnused()
	return t.useSession(s, err, exclusive)
}

func (t *T) newProcess(o driver.Options) *driver.Session {
	RequireSecondSession(t)
	t.requireOnlyProcess()
	s, err := t.execution.pool.Launch(o)
	return t.useSession(s, err, exclusive)
}

// clientSession returns a session of the pool in which the client has these params.
func (t *T) clientSession(c clientRequest) *driver.Session {
	var opened *driver.Session
	open := func() (*driver.Session, error) {
		opened = t.newClientSession(c)
		return opened, nil
	}
	if t.IsConfirmation() || t.scope.root().isParallel || t.scope.hasPooled(driver.WithCapabilities) {
		s, _ := open()
		return s
	}
	s, err := t.execution.pool.GetForClient(c.params, open)
	if opened == nil {
		s = t.useSession(s, err, pooled)
		t.scope.markReused(s.UseCount > 0, s.UseCount > 0)
		c.prepare(s)
	}
	return s
}

func (t *T) newClientSession(c clientRequest) *driver.Session {
	s := t.newProcess(driver.Options{})
	c.prepare(s)
	if err := s.Open(c.params); err != nil {
		t.Retry(report.Undecided, "no session with a client that can be asked: %v", Explain(err))
	}
	s.ReusableAsClient = true
	return s
}

func (t *T) sessionToEnd() *driver.Session {
	RequireLiveServer(t)
	if t.IsConfirmation() {
		return t.exclusiveSession()
	}
	if s := t.execution.pool.Remove(t.execution.invalidPhase.Load()); s != nil {
		NeedsConfirmation(t)
		return t.useSession(s, nil, exclusive)
	}
	return t.exclusiveSession()
}

// quickSession returns the session of a quick run for what is not confirmed.
func (t *T) quickSession() *driver.Session {
	reused := t.scope.reused
	s := t.pooledSession(false)
	t.scope.reused = reused
	return s
}

// SendOption changes what T.Send makes of the response.
type SendOption int

// AllowSilence has T.Send return when no response arrives, for checks to which that is a finding.
const AllowSilence SendOption = iota

// Send sends a request and returns its response. When no response arrives it ends the check without a verdict, since
// another check judges that, unless AllowSilence is given; where it is known that the method is not answered, the
// request is not sent then. It always ends the check where what arrives is a response to too many requests, or is not
// the server's own.
func (t *T) Send(s *driver.Session, method string, params M, options ...SendOption) driver.Reply {
	if len(options) > 0 {
		return RequireServerReply(t, s.Call(method, params))
	}
	t.requireAnswered(method)
	r := RequireServerReply(t, s.Call(method, params))
	if r.Err != nil {
		t.Retry(report.Undecided, "%v", Explain(r.Err))
	}
	return r
}
