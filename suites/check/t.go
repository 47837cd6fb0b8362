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

// T is what the script of a check works with: a description of the server, sessions with it, and assertions. The first
// assertion that does not hold ends the check.
type T struct {
	Server *Server
	// Revision is the revision that was negotiated.
	Revision string
	// Seed determines the random choices of checks.
	Seed int64

	Credentials Credentials

	execution   *Execution
	requirement *catalogue.Requirement
	// judgedBy is the revision whose text the check is judged by.
	judgedBy string
	// isConfirmation says that every session is the check's own.
	isConfirmation bool
	// reusedForInvalidInput says that later checks use the process of this check.
	reusedForInvalidInput bool
	scope                 *scope

	// decidedBy are values that know the call which decides; see DecidedBy.
	decidedBy []any
	// stepName is the name of the step that is being run; empty outside a step.
	stepName string
}

// scope has the sessions and the evidence of one attempt, or of a step or a parallel part of it. All Ts of the attempt
// share it.
type scope struct {
	parent         *scope
	isConfirmation bool
	// confirmation has the sessions that the attempt shares with other confirmations; nil when it shares none.
	confirmation *confirmationSessions
	// isParallel says that the parent's sessions are in use by other parts.
	isParallel bool
	// fault is what went wrong outside the sessions of the scope.
	fault sessionFault
	// stepVoid says why nothing in a step that was read can be held against the server; nil otherwise.
	stepVoid *outcome
	uses     []sessionUse
	// reused says that a verdict may rest on a session that others have used.
	reused bool
	// needsConfirmation says that a verdict may rest on more than well-formed messages in such a session.
	needsConfirmation bool
	// stepRanges are the parts of records that belong to steps that were read.
	stepRanges []recordRange
	readSteps  []*step
	// caveats say what a pass does not cover, and why.
	caveats []string
	// notJudged says what a pass does not cover unless other checks report why.
	notJudged []string
	// notes are what was measured.
	notes []string
}

// sessionUse is the use of a session by an attempt.
type sessionUse struct {
	session   *driver.Session
	ownership ownership
	// mark is where the use begins in the session's record.
	mark int
	// previousUser is the check or step that used the session before.
	previousUser string
}

// ownership says where a session comes from, which decides where it goes afterwards.
type ownership int

const (
	exclusive       ownership = iota // opened for this attempt
	pooled                           // taken from the pool, to which it returns
	inherited                        // in use by the enclosing attempt, which releases it
	sharedWithSteps                  // opened for an attempt whose steps use it
	idle                             // kept open without use until the run closes it
	unused                           // returned to the pool for a check that wants a session nobody has used
)

// IsModern reports whether the server is judged by a revision without a handshake.
func (t *T) IsModern() bool { return catalogue.IsModern(t.Revision) }

// pooledSession returns the session that this attempt has already, or one of the pool.
func (t *T) pooledSession(invalidInput bool) *driver.Session {
	RequireLiveServer(t)
	invalidInput = t.scheduled(invalidInput)
	if s := t.scope.matchingSession(t.Revision, invalidInput); s != nil {
		return t.useSession(s, nil, inherited)
	}
	if t.IsConfirmation() {
		return t.confirmationSession(invalidInput)
	}
	if p := t.execution.invalidInputStep; invalidInput && p != nil && !p.isDone() && !t.reusedForInvalidInput {
		panic(p.waitStop())
	}
	if t.scope.hasPooled(sessionKind(invalidInput)) {
		return t.exclusiveSession()
	}
	s, err := t.execution.pool.Get(invalidInput)
	if s != nil {
		t.scope.markReused(s.UseCount > 0, s.UseCount > 0 && invalidInput)
	}
	return t.useSession(s, err, pooled)
}

// WithoutConfirmation returns a T whose sessions and steps are shared even in a confirmation. It is for requests that
// find out what the server is like, whose responses to other checks are good enough.
func WithoutConfirmation(t *T) *T {
	other := *t
	other.isConfirmation = false
	return &other
}

// confirmationSession returns the only session for valid or for invalid input that a confirmation uses.
func (t *T) confirmationSession(invalidInput bool) *driver.Session {
	t.requireOnlyProcess()
	root := t.scope.root()
	if root.confirmation != nil {
		s, err := root.confirmation.session(invalidInput)
		return t.useSession(s, err, inherited)
	}
	s, err := t.execution.pool.GetUnused()
	if s != nil && root != t.scope {
		root.uses = append(root.uses, sessionUse{session: s, ownership: sharedWithSteps})
		return t.useSession(s, err, inherited)
	}
	return t.useSession(s, err, exclusive)
}

// OtherConnection returns an established session on another connection than Session. In revisions without a handshake,
// earlier messages on a connection have no effect on later ones: over stdio, where a connection is a process, it is
// then the session for invalid input.
func OtherConnection(t *T) *driver.Session {
	if !SharesProcess(t) {
		return t.Session(Exclusive)
	}
	return t.Session(ForInvalidInput)
}

// SharesProcess reports whether several things are tried in one process at a time: over stdio, in revisions without a
// handshake. What does not pass there is confirmed separately.
func SharesProcess(t *T) bool { return t.IsModern() && t.Site() == nil && !t.IsConfirmation() }

// requireOnlyProcess ends a check that would start a second process of a server that runs one at a time.
func (t *T) requireOnlyProcess() {
	RequireLiveServer(t)
	if t.Server.OneClient && t.Site() == nil && slices.ContainsFunc(t.execution.Sessions(), (*driver.Session).IsAlive) {
		t.NoVerdict(report.Died, "it takes two processes at a time, and the server runs one")
	}
}

// useSession notes that the attempt uses a session, or ends the check if none could be opened.
func (t *T) useSession(s *driver.Session, err error, how ownership) *driver.Session {
	t.execution.health.recordSession(s, err)
	if err != nil {
		t.scope.addFault(sessionFault{ended: true})
		if errors.As(err, new(*noSessionError)) {
			t.Retry(Undecided, "%v", err)
		}
		t.Retry(Undecided, "no session: %v", Explain(err))
	}
	before := s.SetUser(cmp.Or(t.stepName, t.requirement.ID))
	t.scope.uses = append(t.scope.uses, sessionUse{session: s, ownership: how, mark: s.Mark(), previousUser: before})
	return s
}

// hasPooled reports whether this attempt has a session of the pool of a kind, or of one that is taken later. Such an
// attempt must not wait for another session, since two attempts could wait for each other.
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

func sessionKind(invalidInput bool) driver.SessionKind {
	if invalidInput {
		return driver.ForInvalidInput
	}
	return driver.Clean
}

// root returns the scope of the whole attempt, or of the parallel part of it.
func (c *scope) root() *scope {
	for c.parent != nil && !c.isParallel {
		c = c.parent
	}
	return c
}

// matchingSession returns an established session of the attempt for valid or for invalid input; nil when it has none.
func (c *scope) matchingSession(revision string, invalidInput bool) *driver.Session {
	for ; c != nil; c = c.parent {
		for _, u := range c.uses {
			if s := u.session; s.IsOrdinary() && s.HasInvalidInput() == invalidInput && s.Revision == revision {
				return s
			}
		}
		if c.isParallel {
			return nil
		}
	}
	return nil
}

// KeepUnused releases a session that was opened for this attempt and was not used, for a check that wants such a
// session.
func KeepUnused(t *T, s *driver.Session) { t.setOwnership(s, unused) }

// setOwnership sets where a session goes afterwards.
func (t *T) setOwnership(s *driver.Session, how ownership) {
	i := slices.IndexFunc(t.scope.uses, func(u sessionUse) bool { return u.session == s })
	t.scope.uses[i].ownership = how
}

// Site returns the server at its URL; nil over stdio. It ends a check of a recording over HTTP.
func (t *T) Site() *driver.Site {
	if t.Server.Transport != "stdio" {
		RequireLiveServer(t)
	}
	return t.execution.target.Site
}

// IsConfirmation reports whether this attempt confirms a verdict. A check then tries only what its requirement is
// about.
func (t *T) IsConfirmation() bool { return t.isConfirmation || t.execution.options.Isolate }

// NeedsConfirmation notes that a verdict of this attempt may rest on more than what the check is about. Unless it is a
// pass, the check is tried again on a fresh session.
func NeedsConfirmation(t *T) { t.scope.markReused(true, true) }

// markReused notes that a verdict of the attempt may rest on reused sessions, or needs confirmation for another reason.
func (c *scope) markReused(reused, needsConfirmation bool) {
	c.reused, c.needsConfirmation = c.reused || reused, c.needsConfirmation || needsConfirmation
}

// Deferred runs a part of a step that not all checks need which read the step. Those that do call end, which ends them
// if the part did not pass.
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

// DiscoveryReplies returns the results of a method in the session of discovery.
func DiscoveryReplies(t *T, method string) (all []driver.Reply) {
	if t.execution.options.DiscoverySession == nil {
		return nil
	}
	for _, m := range (Wire{Sessions: []*driver.Session{t.execution.options.DiscoverySession}}).ResultsOf(method).List {
		all = append(all, driver.Reply{Method: method, Request: m.Request, Frame: m.Frame})
	}
	return all
}

// SendsConcurrently reports whether independent requests are sent at the same time: if the server is slow, has not
// refused one because of another, and the attempt is not a confirmation. What does not pass then is confirmed one
// request at a time.
func SendsConcurrently(t *T) bool {
	concurrently := t.Server.IsSlow() && !t.IsConfirmation() && t.execution.options.Jobs > 1 && !t.Site().IsSerial()
	if concurrently {
		NeedsConfirmation(t)
	}
	return concurrently
}

// RequireServerReply returns a reply that was obtained by other means than T.Send, and ends the check as T.Send
// does.
func RequireServerReply(t *T, r driver.Reply) driver.Reply {
	method := r.Method
	if limitErr := driver.AsLimitError(r.Err); limitErr != nil {
		t.Retry(Undecided, "%v", limitErr)
	}
	if r.IsStatusOnly() && r.Frame.RoundTrip.Response().IsFromIntermediary() {
		t.Retry(report.ForeignAnswer, "%s was answered with %s, which is not the server's own", method,
			Got(r))
	}
	if r.IsRateLimited() {
		t.Retry(report.ForeignAnswer, "%s was answered with %s, which is a proxy's or rate limiter's response",
			method, Got(r))
	}
	return r
}

// RequestNoOp sends a request that every server answers and that changes nothing, for when any request will do. Like
// T.Send, it ends the check without a verdict when no response arrives.
func RequestNoOp(t *T, s *driver.Session) driver.Reply {
	method, params := s.NoOp()
	return t.Send(s, method, params)
}

// TryNoOp is RequestNoOp that allows silence.
func TryNoOp(t *T, s *driver.Session) driver.Reply {
	method, params := s.NoOp()
	return t.Send(s, method, params, AllowSilence)
}

// FollowPages reads all pages of a list in a session and calls visit with each result; see EachPage. It ends the check
// as inconclusive when that fails.
func FollowPages(t *T, s *driver.Session, method, member string, visit func(result M)) {
	FollowPagesWith(t, s, method, member, M{}, visit)
}

// FollowPagesWith is FollowPages with params besides the cursor. A list that had too many pages is not read again: that
// would take minutes and end in the same way.
func FollowPagesWith(t *T, s *driver.Session, method, member string, params M, visit func(result M)) {
	t.requireAnswered(method)
	err := t.execution.tooLongError(method)
	if err == nil {
		err = t.execution.eachPage(s, method, member, params, visit)
	}
	if err != nil {
		t.Retry(Undecided, "%v", Explain(err))
	}
}

// Barrier waits until the server has reacted to everything that it was sent since the mark, and returns the frames
// received since then. It ends the check as inconclusive when the session does not survive.
func Barrier(t *T, s *driver.Session, mark int) []*driver.Frame {
	frames, err := s.Barrier(mark)
	if err != nil {
		t.Retry(Undecided, "%v", Explain(err))
	}
	return frames
}

// Explain returns an error that says why a server could not be reached, with the last lines that it wrote before it
// exited.
func Explain(err error) error { return explainedError{err, explain(err, 10)} }

// ExplainAll is Explain with all of these lines that were kept.
func ExplainAll(err error) error { return explainedError{err, explain(err, math.MaxInt)} }

// explainedError is an error with a longer text.
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
	var ended *driver.SessionEndError
	if !errors.As(err, &ended) {
		return err.Error()
	}
	explanation := ended.Cause
	for _, words := range []struct {
		where string
		lines []string
	}{{"it wrote to stdout", ended.Stdout}, {"its last lines on stderr", ended.Stderr}} {
		if len(words.lines) > 0 {
			explanation += "; " + words.where + ":\n  " + strings.Join(text.Excerpt(words.lines, most), "\n  ")
		}
	}
	if ended.Hint != "" {
		explanation += "\n" + ended.Hint
	}
	return explanation
}

// Parallel runs n parts of a check, each with sessions of its own, at the same time unless only one case may run at a
// time. If parts do not pass, the check ends as the first of them did.
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
