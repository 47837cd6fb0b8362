package check

import (
	"errors"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check/internal/attempt"
	"github.com/mcpcheck/mcpcheck/suites/check/internal/health"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/timing"
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
	case r.client != nil && IsRecording(t):
		RequireLiveServer(t)
		return nil
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
	if IsRecording(t) {
		s := t.newProcess(driver.Options{})
		if s.Open(driver.ConnectParams(t.Revision)) != nil {
			RequireLiveServer(t)
		}
		return s
	}
	t.requireSecondSession()
	t.requireOnlyProcess()
	s, err := t.attempt.Run.Pool.GetUnused()
	return t.useSession(s, err, attempt.Exclusive)
}

func (t *T) newProcess(o driver.Options) *driver.Session {
	if IsRecording(t) {
		return replayedSession(t, recordedWhole)
	}
	t.requireSecondSession()
	t.requireOnlyProcess()
	s, err := t.attempt.Run.Pool.Launch(o)
	return t.useSession(s, err, attempt.Exclusive)
}

// clientSession returns a session of the pool in which the client has these params.
func (t *T) clientSession(c clientRequest) *driver.Session {
	var opened *driver.Session
	open := func() (*driver.Session, error) {
		opened = t.newClientSession(c)
		return opened, nil
	}
	if t.IsConfirmation() || t.attempt.Scope.Root().IsParallel || t.attempt.Scope.HasPooled(driver.WithCapabilities) {
		s, _ := open()
		return s
	}
	s, err := t.attempt.Run.Pool.GetForClient(c.params, open)
	if opened == nil {
		s = t.useSession(s, err, attempt.Pooled)
		t.attempt.Scope.MarkReused(s.UseCount > 0, s.UseCount > 0)
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
	if s := t.attempt.Run.Pool.Remove(t.attempt.Run.InvalidPhase.Load()); s != nil {
		NeedsConfirmation(t)
		return t.useSession(s, nil, attempt.Exclusive)
	}
	return t.exclusiveSession()
}

// quickSession returns the session of a quick run for what is not confirmed.
func (t *T) quickSession() *driver.Session {
	reused := t.attempt.Scope.Reused
	s := t.pooledSession(false)
	t.attempt.Scope.Reused = reused
	return s
}

// RestartServer restarts the process that serves the site. Every session is over then, and s, which the caller uses, is
// not ended by a request before. It reports false, and does nothing, where this run has not started the process.
func RestartServer(t *T, s *driver.Session) bool {
	RequireLiveServer(t)
	if site := t.Site(); site == nil || !site.OwnsProcess() {
		return false
	}
	if err := t.attempt.Run.Pool.Restart(s); err != nil {
		t.Retry(report.Died, "the server did not start again: %v", Explain(err))
	}
	return true
}

// TerminateServer sends SIGTERM to the process that serves s, and waits for its end. It returns false if the process
// still runs. Over HTTP it needs a RestartProbe and a process that this run has started; the next session starts it
// again.
func TerminateServer(t *T, s *driver.Session) (exit driver.Exit, gone bool) {
	switch {
	case !driver.HasSIGTERM:
		t.Skip(report.NotApplicable, "this system has no SIGTERM")
	case t.Site() == nil:
		s.Stdio().Terminate()
		return s.Stdio().AwaitExit(timing.Exit)
	case !t.Site().OwnsProcess():
		t.Skip(report.NotApplicable, "mcpcheck has not started the server, so it does not end it")
	}
	if exit, gone = t.attempt.Run.Pool.Terminate(s, timing.Exit); !gone {
		RestartServer(t, s)
	}
	return exit, gone
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

// pooledSession returns the session that this attempt has already, or one of the pool.
func (t *T) pooledSession(invalidInput bool) *driver.Session {
	if IsRecording(t) {
		return t.recordedSession(invalidInput)
	}
	invalidInput = t.scheduled(invalidInput)
	if s := t.attempt.Scope.MatchingSession(t.Revision, invalidInput); s != nil {
		return t.useSession(s, nil, attempt.Inherited)
	}
	if t.IsConfirmation() {
		return t.confirmationSession(invalidInput)
	}
	p := t.attempt.Run.InvalidInputStep
	if invalidInput && p != nil && !p.IsDone() && !t.attempt.ReusedForInvalidInput {
		p.EndUntilDone()
	}
	if t.attempt.Scope.HasPooled(sessionKind(invalidInput)) {
		return t.exclusiveSession()
	}
	s, err := t.attempt.Run.Pool.Get(invalidInput)
	if s != nil {
		t.attempt.Scope.MarkReused(s.UseCount > 0, s.UseCount > 0 && invalidInput)
	}
	return t.useSession(s, err, attempt.Pooled)
}

// confirmationSession returns the only session for valid or for invalid input that a confirmation uses.
func (t *T) confirmationSession(invalidInput bool) *driver.Session {
	t.requireOnlyProcess()
	root := t.attempt.Scope.Root()
	if root.Confirmation != nil {
		s, err := root.Confirmation.Session(invalidInput)
		return t.useSession(s, err, attempt.Inherited)
	}
	s, err := t.attempt.Run.Pool.GetUnused()
	if s != nil && root != t.attempt.Scope {
		root.Uses = append(root.Uses, attempt.SessionUse{Session: s, Ownership: attempt.SharedWithSteps})
		return t.useSession(s, err, attempt.Inherited)
	}
	return t.useSession(s, err, attempt.Exclusive)
}

// requireOnlyProcess ends a check that would start a second process of a server that runs one at a time.
func (t *T) requireOnlyProcess() {
	RequireLiveServer(t)
	if !t.Server.OneClient || t.Site() != nil {
		return
	}
	if slices.ContainsFunc(t.attempt.Run.Pool.Sessions(), (*driver.Session).IsAlive) {
		t.NoVerdict(report.Died, "it takes two processes at a time, and the server runs one")
	}
}

// useSession notes that the attempt uses a session, or ends the check if none could be opened.
func (t *T) useSession(s *driver.Session, err error, how attempt.Ownership) *driver.Session {
	if err != nil {
		t.attempt.Run.Health.RecordSession(nil, Explain(err))
		t.attempt.Scope.AddFault(attempt.SessionFault{Ended: true})
		if errors.As(err, new(*health.NoSessionError)) {
			t.Retry(Undecided, "%v", err)
		}
		t.Retry(Undecided, "no session: %v", Explain(err))
	}
	t.attempt.Run.Health.RecordSession(s, nil)
	t.attempt.Use(s, how)
	return s
}

func sessionKind(invalidInput bool) driver.SessionKind {
	if invalidInput {
		return driver.ForInvalidInput
	}
	return driver.Clean
}

// setOwnership sets where a session goes afterwards.
func (t *T) setOwnership(s *driver.Session, how attempt.Ownership) {
	i := slices.IndexFunc(t.attempt.Scope.Uses, func(u attempt.SessionUse) bool { return u.Session == s })
	if i >= 0 { // not where a recording is judged
		t.attempt.Scope.Uses[i].Ownership = how
	}
}
