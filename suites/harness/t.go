package harness

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// T is what a check sees: the server that was discovered, sessions with it, and assertions. The first assertion that
// does not hold ends the check.
type T struct {
	Server   *Server
	Revision string // the one the server is judged by
	Seed     int64

	Credentials Credentials

	run      *Execution
	entry    *Requirement
	by       string // the revision whose text judges
	alone    bool   // a confirmation: every session is the check's own
	promises bool   // others are lent its process
	scope    *scope

	told   []any  // that decides, as By was told
	reason Reason // for what it ends with, as Because has it; empty: none was given
	step   string // that is being held; empty: none
}

// scope is the sessions and the evidence of one attempt; Ts of the same attempt share it.
type scope struct {
	outer    *scope
	alone    bool           // of a confirmation
	together *confirmations // of one that shares sessions with others; nil: it does not
	apart    bool           // the sessions of outer are in use elsewhere
	fault    sessionFault   // besides those of its sessions
	strange  *outcome       // why nothing in a step can be held against the server; nil: all can
	uses     []use
	lent     bool      // some verdict may rest on a session that others have used
	doubtful bool      // or on more than well-formed messages in such a session
	extra    []passage // of steps
	steps    []*step   // that were read
	partly   []string  // what a pass does not cover, and why
	unjudged []string  // what it does not cover unless other checks report why
	notes    []string  // what was measured
}

type use struct {
	session *driver.Session
	how     how
	mark    int    // where this use begins in the record
	before  string // who used it before
}

// how a session was had, which decides where it goes afterwards.
type how int

const (
	own      how = iota // opened for this attempt
	lent                // of the pool
	borrowed            // of the attempt around this one, which gives it back
	kept                // for a step inside this attempt, which has borrowed it
	left                // to itself, until the run ends it
	spared              // for who wants one that nobody has used
)

// Modern reports whether the server is judged by a revision without a handshake.
func (t *T) Modern() bool { return IsModern(t.Revision) }

// Session is an established session that other checks may have used before.
func (t *T) Session() *driver.Session { return t.lend(false) }

// Hostile is an established session for input that no conforming client sends.
func (t *T) Hostile() *driver.Session {
	s := t.lend(true)
	s.Hostile()
	return s
}

// lend is the session that this attempt has already, or one of the pool.
func (t *T) lend(hostile bool) *driver.Session {
	RequireServer(t)
	hostile = t.inItsTurn(hostile)
	if s := t.scope.held(t.Revision, hostile); s != nil {
		return t.keep(s, nil, borrowed)
	}
	if t.Alone() {
		return t.sole(hostile)
	}
	if p := t.run.promise; hostile && p != nil && !p.isOver() && !t.promises {
		panic(p.pending())
	}
	if t.scope.holds(kindOf(hostile)) {
		return t.Own()
	}
	s, err := t.run.pool.Lend(hostile)
	if s != nil {
		t.scope.rests(s.Used > 0, s.Used > 0 && hostile)
	}
	return t.keep(s, err, lent)
}

// Unconfirmed is for a request that tells what the server is like: what it brought others is good enough for a
// confirmation.
func Unconfirmed(t *T) *T {
	other := *t
	other.alone = false
	return &other
}

// sole is the one session of its kind that a confirmation uses, for everything that it tries.
func (t *T) sole(hostile bool) *driver.Session {
	t.wantTurn()
	root := t.scope.root()
	if root.together != nil {
		s, err := root.together.session(hostile)
		return t.keep(s, err, borrowed)
	}
	s, err := t.run.pool.Fresh()
	if s != nil && root != t.scope {
		root.uses = append(root.uses, use{session: s, how: kept})
		return t.keep(s, err, borrowed)
	}
	return t.keep(s, err, own)
}

// Own is an established session that only this check uses.
func (t *T) Own() *driver.Session {
	RequireSecondSession(t)
	t.wantTurn()
	s, err := t.run.pool.Fresh()
	return t.keep(s, err, own)
}

// OtherConnection is an established session on another connection than Session. Without a handshake nothing that was
// said on a connection before matters to what is said on it now: over stdio, where a connection is a process, it is
// Hostile.
func OtherConnection(t *T) *driver.Session {
	if !SharesProcess(t) {
		return t.Own()
	}
	return t.Hostile()
}

// SharesProcess reports whether one process shows several things at a time: where there is no handshake, over stdio.
// What does not pass there is confirmed alone.
func SharesProcess(t *T) bool { return t.Modern() && t.Site() == nil && !t.Alone() }

// Start is a process to which nothing was said yet.
func (t *T) Start() *driver.Session { return StartWith(t, driver.Options{}) }

// StartWith is like Start with options.
func StartWith(t *T, o driver.Options) *driver.Session {
	RequireSecondSession(t)
	t.wantTurn()
	s, err := t.run.pool.Launch(o)
	return t.keep(s, err, own)
}

// ClientSession is an established session of a client that introduces itself so; prepare is told of it before the
// server can ask anything in it. Unless the check is tried alone, others may have used it before that want the same of
// a client.
func ClientSession(t *T, hello M, prepare func(*driver.Session)) *driver.Session {
	var opened *driver.Session
	open := func() (*driver.Session, error) {
		opened = InvitingSession(t, hello, prepare)
		return opened, nil
	}
	if t.Alone() || t.scope.root().apart || t.scope.holds(driver.AsClient) {
		s, _ := open()
		return s
	}
	s, err := t.run.pool.LendAs(hello, open)
	if opened == nil {
		s = t.keep(s, err, lent)
		t.scope.rests(s.Used > 0, s.Used > 0)
		prepare(s)
	}
	return s
}

// InvitingSession is ClientSession that nobody has used before. Others may use it afterwards.
func InvitingSession(t *T, hello M, prepare func(*driver.Session)) *driver.Session {
	s := t.Start()
	prepare(s)
	if err := s.Establish(hello); err != nil {
		t.Again("no session with a client that can be asked: %v", Explain(err))
	}
	s.Invites = true
	return s
}

// LastSession is an established session that this check may end; nobody needs it any more.
func LastSession(t *T) *driver.Session {
	RequireServer(t)
	if t.Alone() {
		return t.Own()
	}
	if s := t.run.pool.Take(t.run.invalidPhase.Load()); s != nil {
		NeedsConfirmation(t)
		return t.keep(s, nil, own)
	}
	return t.Own()
}

// wantTurn ends the check where it would start a process of a server that runs one at a time, while there is another.
func (t *T) wantTurn() {
	RequireServer(t)
	if t.Server.OneClient && t.Site() == nil && slices.ContainsFunc(t.run.Sessions(), (*driver.Session).Alive) {
		t.Because(Died).Inconclusive("it takes two processes at a time, and the server runs one")
	}
}

func (t *T) keep(s *driver.Session, err error, how how) *driver.Session {
	t.run.health.session(s, err)
	if err != nil {
		t.scope.add(sessionFault{ended: true})
		if errors.As(err, new(*noSession)) {
			t.Again("%v", err)
		}
		t.Again("no session: %v", Explain(err))
	}
	before := s.UsedBy(cmp.Or(t.step, t.entry.ID))
	t.scope.uses = append(t.scope.uses, use{session: s, how: how, mark: s.Mark(), before: before})
	return s
}

// holds reports whether this attempt has a session of the pool of a kind, or a later one, and so must not wait for
// another: two attempts might wait for each other.
func (c *scope) holds(kind driver.Kind) bool {
	for ; c != nil; c = c.outer {
		for _, u := range c.uses {
			if u.how != borrowed && u.session.OnLoan(kind) {
				return true
			}
		}
	}
	return false
}

func kindOf(hostile bool) driver.Kind {
	if hostile {
		return driver.Hostile
	}
	return driver.Clean
}

// root is the scope of the attempt, or of the part of it that runs apart.
func (c *scope) root() *scope {
	for c.outer != nil && !c.apart {
		c = c.outer
	}
	return c
}

// held is a session that this attempt has, established and of the kind that is wanted; nil when it has none.
func (c *scope) held(revision string, hostile bool) *driver.Session {
	for ; c != nil; c = c.outer {
		for _, u := range c.uses {
			if s := u.session; s.Ordinary() && s.IsHostile() == hostile && s.Revision == revision {
				return s
			}
		}
		if c.apart {
			return nil
		}
	}
	return nil
}

// KeepUnused gives a session away that was opened for this attempt, to who wants one that nobody has used.
func KeepUnused(t *T, s *driver.Session) { t.goes(s, spared) }

// goes says where a session goes afterwards.
func (t *T) goes(s *driver.Session, how how) {
	i := slices.IndexFunc(t.scope.uses, func(u use) bool { return u.session == s })
	t.scope.uses[i].how = how
}

// Site is the server at its URL; nil over stdio. There is none of a record.
func (t *T) Site() *driver.Site {
	if t.Server.Transport != "stdio" {
		RequireServer(t)
	}
	return t.run.target.Site
}

// Alone reports whether this attempt confirms a verdict: then a check tries what it is about and nothing beside it.
func (t *T) Alone() bool { return t.alone || t.run.options.Isolate }

// NeedsConfirmation says that a verdict of this attempt may rest on more than what the check is about. If it is not a
// pass, the check is tried once more alone.
func NeedsConfirmation(t *T) { t.scope.rests(true, true) }

// rests notes what a verdict of the attempt may rest on.
func (c *scope) rests(lent, doubtful bool) {
	c.lent, c.doubtful = c.lent || lent, c.doubtful || doubtful
}

// Deferred runs a part of a step that not all of the checks want that read it. end ends these as the part has ended.
func Deferred(t *T, run func()) (end func()) {
	o := guard(run)
	if o.isPutOff() {
		panic(stop{o})
	}
	return func() {
		if o.verdict != Pass {
			panic(stop{o})
		}
	}
}

// Try sends a request and returns whatever comes, be it nothing. It ends the check as inconclusive when what comes is
// no answer to this request, but to their number.
func (t *T) Try(s *driver.Session, method string, params M) driver.Reply {
	return Accept(t, s.Exchange(method, params))
}

// DiscoveryReplies are the answers to a method in the session of discovery.
func DiscoveryReplies(t *T, method string) (all []driver.Reply) {
	if t.run.options.First == nil {
		return nil
	}
	for _, m := range (Wire{Sessions: []*driver.Session{t.run.options.First}}).ResultsOf(method).List {
		all = append(all, driver.Reply{Method: method, Request: m.Request, Frame: m.Frame})
	}
	return all
}

// SendsAtOnce reports whether requests that need not come one after the other are sent together: the server takes its
// time for each answer, has refused none because of another, and nothing is being confirmed. What is not a pass then,
// is confirmed one by one.
func SendsAtOnce(t *T) bool {
	hurry := t.Server.Slow() && !t.Alone() && t.run.options.Jobs > 1 && !t.Site().Serial()
	if hurry {
		NeedsConfirmation(t)
	}
	return hurry
}

// Accept is for who has sent the request in another way than Try.
func Accept(t *T, r driver.Reply) driver.Reply {
	method := r.Method
	if excess := driver.ExcessOf(r.Err); excess != nil {
		t.Again("%v", excess)
	}
	if r.Bare() && r.Frame.HTTP.Answer().Foreign() {
		t.Because(ForeignAnswer).Again("%s was answered with %s, which is not the server's own", method, Got(r))
	}
	if r.Limited() {
		t.Because(ForeignAnswer).Again("%s was answered with %s, which is a proxy's or rate limiter's response",
			method, Got(r))
	}
	return r
}

// Ask sends a request whose silence another check judges: it ends the check as inconclusive when no answer comes, and
// does not wait for one where that is known.
func (t *T) Ask(s *driver.Session, method string, params M) driver.Reply {
	t.requireAnswered(method)
	r := t.Try(s, method, params)
	if r.Err != nil {
		t.Again("%v", Explain(r.Err))
	}
	return r
}

// AskHarmless sends a request that every server answers and that changes nothing, where any would do. Like Ask, it ends
// the check as inconclusive when no answer comes.
func AskHarmless(t *T, s *driver.Session) driver.Reply {
	method, params := s.Harmless()
	return t.Ask(s, method, params)
}

// TryHarmless is Try with the session's harmless request.
func TryHarmless(t *T, s *driver.Session) driver.Reply {
	method, params := s.Harmless()
	return t.Try(s, method, params)
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
	err := t.run.tooLong(method)
	if err == nil {
		err = t.run.follow(s, method, member, params, visit)
	}
	if err != nil {
		t.Again("%v", Explain(err))
	}
}

// Settle waits until the server has nothing more to say to what it was sent since the mark, and returns what it said;
// it ends the check as inconclusive when the session does not survive.
func Settle(t *T, s *driver.Session, mark int) []*driver.Frame {
	came, err := s.Settle(mark)
	if err != nil {
		t.Again("%v", Explain(err))
	}
	return came
}

// Explain is an error that says why a server could not be talked to, with some of its last words.
func Explain(err error) error { return explained{err, explain(err, 10)} }

// ExplainAll is Explain with all of its last words that are kept.
func ExplainAll(err error) error { return explained{err, explain(err, math.MaxInt)} }

// explained is an error that says more.
type explained struct {
	error
	text string
}

func (e explained) Error() string { return e.text }

func (e explained) Unwrap() error { return e.error }

func explain(err error, most int) string {
	if err == nil {
		return "nothing wrong"
	}
	var death *driver.Death
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
		scopes[i] = &scope{outer: t.scope, apart: true}
		parts.Go(func() {
			inner := *t
			inner.scope = scopes[i]
			outcomes[i] = guard(func() { run(&inner, i) })
		})
		if t.run.quiet.Load() || t.run.options.Jobs == 1 {
			parts.Wait()
		}
	}
	parts.Wait()
	for _, c := range scopes {
		t.scope.uses = append(t.scope.uses, c.uses...)
		t.scope.rests(c.lent, c.doubtful)
		t.scope.add(c.faults())
		t.scope.strange = cmp.Or(t.scope.strange, c.strange)
		t.scope.extra = append(t.scope.extra, c.extra...)
		t.scope.partly = append(t.scope.partly, c.partly...)
		t.scope.unjudged = append(t.scope.unjudged, c.unjudged...)
		t.scope.notes = append(t.scope.notes, c.notes...)
	}
	for _, o := range outcomes {
		if o.verdict != Pass {
			panic(stop{o})
		}
	}
}
