package check

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// T is what a check sees: the server that was discovered, sessions with it, and assertions. The first assertion that
// does not hold ends the check.
type T struct {
	Server   *Server
	Revision string // the one the server is judged by
	Seed     int64

	Credentials Credentials

	execution             *Execution
	requirement           *catalogue.Requirement
	judgedBy              string // the revision whose text judges
	isConfirmation        bool   // a confirmation: every session is the check's own
	reusedForInvalidInput bool   // others are lent its process
	scope                 *scope

	decidedBy []any         // that decides, as By was told
	reason    report.Reason // for what it ends with, as WithReason has it; empty: none was given
	stepName  string        // that is being held; empty: none
}

// scope is the sessions and the evidence of one attempt; Ts of the same attempt share it.
type scope struct {
	parent            *scope
	isConfirmation    bool                  // of a confirmation
	confirmation      *confirmationSessions // of one that shares sessions with others; nil: it does not
	isParallel        bool                  // the sessions of outer are in use elsewhere
	fault             sessionFault          // besides those of its sessions
	stepVoid          *outcome              // why nothing in a step can be held against the server; nil: all can
	uses              []sessionUse
	reused            bool          // some verdict may rest on a session that others have used
	needsConfirmation bool          // or on more than well-formed messages in such a session
	stepRanges        []recordRange // of steps
	readSteps         []*step       // that were read
	caveats           []string      // what a pass does not cover, and why
	notJudged         []string      // what it does not cover unless other checks report why
	notes             []string      // what was measured
}

type sessionUse struct {
	session      *driver.Session
	ownership    ownership
	mark         int    // where this use begins in the record
	previousUser string // who used it before
}

// ownership a session was had, which decides where it goes afterwards.
type ownership int

const (
	exclusive       ownership = iota // opened for this attempt
	pooled                           // of the pool
	inherited                        // of the attempt around this one, which gives it back
	sharedWithSteps                  // for a step inside this attempt, which has borrowed it
	idle                             // to itself, until the run ends it
	unused                           // for who wants one that nobody has used
)

// Modern reports whether the server is judged by a revision without a handshake.
func (t *T) IsModern() bool { return catalogue.IsModern(t.Revision) }

// Session is an established session that other checks may have used before.
func (t *T) Session() *driver.Session { return t.pooledSession(false) }

// SessionForInvalidInput is an established session for input that no conforming client sends.
func (t *T) SessionForInvalidInput() *driver.Session {
	s := t.pooledSession(true)
	s.MarkInvalidInput()
	return s
}

// pooledSession is the session that this attempt has already, or one of the pool.
func (t *T) pooledSession(hostile bool) *driver.Session {
	RequireLiveServer(t)
	hostile = t.scheduled(hostile)
	if s := t.scope.matchingSession(t.Revision, hostile); s != nil {
		return t.useSession(s, nil, inherited)
	}
	if t.IsConfirmation() {
		return t.confirmationSession(hostile)
	}
	if p := t.execution.invalidInputStep; hostile && p != nil && !p.isDone() && !t.reusedForInvalidInput {
		panic(p.waitStop())
	}
	if t.scope.hasPooled(sessionKind(hostile)) {
		return t.ExclusiveSession()
	}
	s, err := t.execution.pool.Get(hostile)
	if s != nil {
		t.scope.markReused(s.UseCount > 0, s.UseCount > 0 && hostile)
	}
	return t.useSession(s, err, pooled)
}

// WithoutConfirmation is for a request that tells what the server is like: what it brought others is good enough for a
// confirmation.
func WithoutConfirmation(t *T) *T {
	other := *t
	other.isConfirmation = false
	return &other
}

// confirmationSession is the one session of its kind that a confirmation uses, for everything that it tries.
func (t *T) confirmationSession(hostile bool) *driver.Session {
	t.requireOnlyProcess()
	root := t.scope.root()
	if root.confirmation != nil {
		s, err := root.confirmation.session(hostile)
		return t.useSession(s, err, inherited)
	}
	s, err := t.execution.pool.GetUnused()
	if s != nil && root != t.scope {
		root.uses = append(root.uses, sessionUse{session: s, ownership: sharedWithSteps})
		return t.useSession(s, err, inherited)
	}
	return t.useSession(s, err, exclusive)
}

// ExclusiveSession is an established session that only this check uses.
func (t *T) ExclusiveSession() *driver.Session {
	RequireSecondSession(t)
	t.requireOnlyProcess()
	s, err := t.execution.pool.GetUnused()
	return t.useSession(s, err, exclusive)
}

// OtherConnection is an established session on another connection than Session. Without a handshake nothing that was
// said on a connection before matters to what is said on it now: over stdio, where a connection is a process, it is
// Hostile.
func OtherConnection(t *T) *driver.Session {
	if !SharesProcess(t) {
		return t.ExclusiveSession()
	}
	return t.SessionForInvalidInput()
}

// SharesProcess reports whether one process shows several things at a time: where there is no handshake, over stdio.
// What does not pass there is confirmed alone.
func SharesProcess(t *T) bool { return t.IsModern() && t.Site() == nil && !t.IsConfirmation() }

// NewProcess is a process to which nothing was said yet.
func (t *T) NewProcess() *driver.Session { return NewProcessWith(t, driver.Options{}) }

// NewProcessWith is like NewProcess with options.
func NewProcessWith(t *T, o driver.Options) *driver.Session {
	RequireSecondSession(t)
	t.requireOnlyProcess()
	s, err := t.execution.pool.Launch(o)
	return t.useSession(s, err, exclusive)
}

// SessionWithCapabilities is an established session of a client that introduces itself so; prepare is told of it before
// the server can ask anything in it. Unless the check is tried alone, others may have used it before that want the same
// of a client.
func SessionWithCapabilities(t *T, hello M, prepare func(*driver.Session)) *driver.Session {
	var opened *driver.Session
	open := func() (*driver.Session, error) {
		opened = NewSessionWithCapabilities(t, hello, prepare)
		return opened, nil
	}
	if t.IsConfirmation() || t.scope.root().isParallel || t.scope.hasPooled(driver.WithCapabilities) {
		s, _ := open()
		return s
	}
	s, err := t.execution.pool.GetForClient(hello, open)
	if opened == nil {
		s = t.useSession(s, err, pooled)
		t.scope.markReused(s.UseCount > 0, s.UseCount > 0)
		prepare(s)
	}
	return s
}

// NewSessionWithCapabilities is SessionWithCapabilities that nobody has used before. Others may use it afterwards.
func NewSessionWithCapabilities(t *T, hello M, prepare func(*driver.Session)) *driver.Session {
	s := t.NewProcess()
	prepare(s)
	if err := s.Open(hello); err != nil {
		t.Retry("no session with a client that can be asked: %v", Explain(err))
	}
	s.ReusableAsClient = true
	return s
}

// SessionToEnd is an established session that this check may end; nobody needs it any more.
func SessionToEnd(t *T) *driver.Session {
	RequireLiveServer(t)
	if t.IsConfirmation() {
		return t.ExclusiveSession()
	}
	if s := t.execution.pool.Remove(t.execution.invalidPhase.Load()); s != nil {
		NeedsConfirmation(t)
		return t.useSession(s, nil, exclusive)
	}
	return t.ExclusiveSession()
}

// requireOnlyProcess ends the check where it would start a process of a server that runs one at a time, while there is
// another.
func (t *T) requireOnlyProcess() {
	RequireLiveServer(t)
	if t.Server.OneClient && t.Site() == nil && slices.ContainsFunc(t.execution.Sessions(), (*driver.Session).IsAlive) {
		t.WithReason(report.Died).Inconclusive("it takes two processes at a time, and the server runs one")
	}
}

func (t *T) useSession(s *driver.Session, err error, how ownership) *driver.Session {
	t.execution.health.recordSession(s, err)
	if err != nil {
		t.scope.addFault(sessionFault{ended: true})
		if errors.As(err, new(*noSessionError)) {
			t.Retry("%v", err)
		}
		t.Retry("no session: %v", Explain(err))
	}
	before := s.SetUser(cmp.Or(t.stepName, t.requirement.ID))
	t.scope.uses = append(t.scope.uses, sessionUse{session: s, ownership: how, mark: s.Mark(), previousUser: before})
	return s
}

// hasPooled reports whether this attempt has a session of the pool of a kind, or a later one, and so must not wait for
// another: two attempts might wait for each other.
func (c *scope) hasPooled(kind driver.SessionKind) bool {
	for ; c != nil; c = c.parent {
		for _, u := range c.uses {
			if u.ownership != inherited && u.session.IsInUse(kind) {
				return true
			}
		}
	}
	return false
}

func sessionKind(hostile bool) driver.SessionKind {
	if hostile {
		return driver.ForInvalidInput
	}
	return driver.Clean
}

// root is the scope of the attempt, or of the part of it that runs apart.
func (c *scope) root() *scope {
	for c.parent != nil && !c.isParallel {
		c = c.parent
	}
	return c
}

// matchingSession is a session that this attempt has, established and of the kind that is wanted; nil when it has none.
func (c *scope) matchingSession(revision string, hostile bool) *driver.Session {
	for ; c != nil; c = c.parent {
		for _, u := range c.uses {
			if s := u.session; s.IsOrdinary() && s.HasInvalidInput() == hostile && s.Revision == revision {
				return s
			}
		}
		if c.isParallel {
			return nil
		}
	}
	return nil
}

// KeepUnused gives a session away that was opened for this attempt, to who wants one that nobody has used.
func KeepUnused(t *T, s *driver.Session) { t.setOwnership(s, unused) }

// setOwnership says where a session goes afterwards.
func (t *T) setOwnership(s *driver.Session, how ownership) {
	i := slices.IndexFunc(t.scope.uses, func(u sessionUse) bool { return u.session == s })
	t.scope.uses[i].ownership = how
}

// Site is the server at its URL; nil over stdio. There is none of a record.
func (t *T) Site() *driver.Site {
	if t.Server.Transport != "stdio" {
		RequireLiveServer(t)
	}
	return t.execution.target.Site
}

// IsConfirmation reports whether this attempt confirms a verdict: then a check tries what it is about and nothing
// beside it.
func (t *T) IsConfirmation() bool { return t.isConfirmation || t.execution.options.Isolate }

// NeedsConfirmation says that a verdict of this attempt may rest on more than what the check is about. If it is not a
// pass, the check is tried once more alone.
func NeedsConfirmation(t *T) { t.scope.markReused(true, true) }

// rests notes what a verdict of the attempt may rest on.
func (c *scope) markReused(lent, doubtful bool) {
	c.reused, c.needsConfirmation = c.reused || lent, c.needsConfirmation || doubtful
}

// Deferred runs a part of a step that not all of the checks want that read it. end ends these as the part has ended.
func Deferred(t *T, run func()) (end func()) {
	o := runRecovered(run)
	if o.isPostponed() {
		panic(stop{o})
	}
	return func() {
		if o.verdict != catalogue.Pass {
			panic(stop{o})
		}
	}
}

// TryRequest sends a request and returns whatever comes, be it nothing. It ends the check as inconclusive when what
// comes is no answer to this request, but to their number.
func (t *T) TryRequest(s *driver.Session, method string, params M) driver.Reply {
	return RequireServerReply(t, s.Call(method, params))
}

// DiscoveryReplies are the answers to a method in the session of discovery.
func DiscoveryReplies(t *T, method string) (all []driver.Reply) {
	if t.execution.options.DiscoverySession == nil {
		return nil
	}
	for _, m := range (Wire{Sessions: []*driver.Session{t.execution.options.DiscoverySession}}).ResultsOf(method).List {
		all = append(all, driver.Reply{Method: method, Request: m.Request, Frame: m.Frame})
	}
	return all
}

// SendsConcurrently reports whether requests that need not come one after the other are sent together: the server takes
// its time for each answer, has refused none because of another, and nothing is being confirmed. What is not a pass
// then, is confirmed one by one.
func SendsConcurrently(t *T) bool {
	hurry := t.Server.IsSlow() && !t.IsConfirmation() && t.execution.options.Jobs > 1 && !t.Site().IsSerial()
	if hurry {
		NeedsConfirmation(t)
	}
	return hurry
}

// RequireServerReply is for who has sent the request in another way than TryRequest.
func RequireServerReply(t *T, r driver.Reply) driver.Reply {
	method := r.Method
	if excess := driver.AsLimitError(r.Err); excess != nil {
		t.Retry("%v", excess)
	}
	if r.IsStatusOnly() && r.Frame.RoundTrip.Response().IsFromIntermediary() {
		t.WithReason(report.ForeignAnswer).Retry("%s was answered with %s, which is not the server's own", method,
			Got(r))
	}
	if r.IsRateLimited() {
		t.WithReason(report.ForeignAnswer).
			Retry("%s was answered with %s, which is a proxy's or rate limiter's response",
				method, Got(r))
	}
	return r
}

// Ask sends a request whose silence another check judges: it ends the check as inconclusive when no answer comes, and
// does not wait for one where that is known.
func (t *T) Request(s *driver.Session, method string, params M) driver.Reply {
	t.requireAnswered(method)
	r := t.TryRequest(s, method, params)
	if r.Err != nil {
		t.Retry("%v", Explain(r.Err))
	}
	return r
}

// RequestNoOp sends a request that every server answers and that changes nothing, where any would do. Like Ask, it ends
// the check as inconclusive when no answer comes.
func RequestNoOp(t *T, s *driver.Session) driver.Reply {
	method, params := s.NoOp()
	return t.Request(s, method, params)
}

// TryNoOp is TryRequest with the session's harmless request.
func TryNoOp(t *T, s *driver.Session) driver.Reply {
	method, params := s.NoOp()
	return t.TryRequest(s, method, params)
}

// FollowPages follows a list to its end in a session and visits the results; it ends the check as inconclusive when
// that fails.
func FollowPages(t *T, s *driver.Session, method, member string, visit func(result M)) {
	FollowPagesWith(t, s, method, member, M{}, visit)
}

// FollowPagesWith is FollowPages with params besides the cursor. A list that had more pages than are followed is not
// followed once more: that takes minutes, and would end no better.
func FollowPagesWith(t *T, s *driver.Session, method, member string, params M, visit func(result M)) {
	t.requireAnswered(method)
	err := t.execution.tooLongError(method)
	if err == nil {
		err = t.execution.eachPage(s, method, member, params, visit)
	}
	if err != nil {
		t.Retry("%v", Explain(err))
	}
}

// Barrier waits until the server has nothing more to say to what it was sent since the mark, and returns what it said;
// it ends the check as inconclusive when the session does not survive.
func Barrier(t *T, s *driver.Session, mark int) []*driver.Frame {
	came, err := s.Barrier(mark)
	if err != nil {
		t.Retry("%v", Explain(err))
	}
	return came
}

// Explain is an error that says why a server could not be talked to, with some of its last words.
func Explain(err error) error { return explainedError{err, explain(err, 10)} }

// ExplainAll is Explain with all of its last words that are kept.
func ExplainAll(err error) error { return explainedError{err, explain(err, math.MaxInt)} }

// explainedError is an error that says more.
type explainedError struct {
	error
	text string
}

func (e explainedError) Error() string { return e.text }

func (e explainedError) Unwrap() error { return e.error }

func explain(err error, most int) string {
	if err == nil {
		return "nothing wrong"
	}
	var death *driver.SessionEndError
	if !errors.As(err, &death) {
		return err.Error()
	}
	said := death.Cause
	for _, words := range []struct {
		where string
		lines []string
	}{{"it wrote to stdout", death.Stdout}, {"its last lines on stderr", death.Stderr}} {
		if len(words.lines) > 0 {
			said += "; " + words.where + ":\n  " + strings.Join(text.Excerpt(words.lines, most), "\n  ")
		}
	}
	if death.Hint != "" {
		said += "\n" + death.Hint
	}
	return said
}

// Parallel runs n parts of a check, at the same time unless the check has to be quiet, each with sessions of its own.
// When parts stop, the check stops as the first of them did.
func Parallel(t *T, n int, run func(t *T, i int)) {
	outcomes := make([]outcome, n)
	scopes := make([]*scope, n)
	var parts sync.WaitGroup
	for i := range n {
		scopes[i] = &scope{parent: t.scope, isParallel: true}
		parts.Go(func() {
			inner := *t
			inner.scope = scopes[i]
			outcomes[i] = runRecovered(func() { run(&inner, i) })
		})
		if t.execution.serial.Load() || t.execution.options.Jobs == 1 {
			parts.Wait()
		}
	}
	parts.Wait()
	for _, c := range scopes {
		t.scope.uses = append(t.scope.uses, c.uses...)
		t.scope.markReused(c.reused, c.needsConfirmation)
		t.scope.addFault(c.faults())
		t.scope.stepVoid = cmp.Or(t.scope.stepVoid, c.stepVoid)
		t.scope.stepRanges = append(t.scope.stepRanges, c.stepRanges...)
		t.scope.caveats = append(t.scope.caveats, c.caveats...)
		t.scope.notJudged = append(t.scope.notJudged, c.notJudged...)
		t.scope.notes = append(t.scope.notes, c.notes...)
	}
	for _, o := range outcomes {
		if o.verdict != catalogue.Pass {
			panic(stop{o})
		}
	}
}
