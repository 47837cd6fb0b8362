package harness

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// T is what a check sees: the server that was discovered, sessions with it, and
// assertions. The first assertion that does not hold ends the check.
type T struct {
	Server   *Server
	Revision string // the one the server is judged by
	Seed     int64

	Credentials Credentials

	run   *Execution
	entry *Requirement
	by    string // the revision whose text judges
	alone bool   // a confirmation: every session is the check's own
	scope *scope
}

// scope is the sessions and the evidence of one attempt; Ts of the same attempt
// share it.
type scope struct {
	outer    *scope
	apart    bool // the sessions of outer are in use elsewhere
	alone    bool // of a confirmation
	troubled bool // a session died or was silent
	uses     []use
	lent     bool   // some verdict may rest on a session that others have used
	extra    []Line // evidence of shared stimuli
	shared   []*stimulus
}

type use struct {
	session *driver.Session
	how     how
	mark    int // where this use begins in the record
}

// how a session was had, which decides where it goes afterwards.
type how int

const (
	own      how = iota // opened for this attempt
	lent                // of the pool
	borrowed            // of the attempt around this one, which gives it back
	kept                // for a stimulus inside this attempt, which has borrowed it
)

// stop ends a check from inside.
type stop struct{ outcome }

// outcome is what an attempt came to.
type outcome struct {
	verdict  Verdict
	level    Level // of a fail
	message  string
	where    []string
	subjects []string
	lines    []Line
	again    bool // an inconclusive that a session of its own may resolve
}

// confirmed reports whether the outcome needs no confirmation alone.
func (o outcome) confirmed() bool {
	return o.verdict == Pass || o.verdict == Skip || o.verdict == Inconclusive && !o.again
}

// Expect asserts at the level of the requirement.
func (t *T) Expect(actual any) types.Assertion { return t.assert(t.entry.Level.In(t.by), actual) }

// Warn asserts what is a lesser deviation when it does not hold: a fail at level
// SHOULD.
func (t *T) Warn(actual any) types.Assertion {
	return t.assert(min(Should, t.entry.Level.In(t.by)), actual)
}

// Inform asserts what is a mere note when it does not hold: a fail at level
// ADVICE.
func (t *T) Inform(actual any) types.Assertion { return t.assert(Advice, actual) }

func (t *T) assert(level Level, actual any) types.Assertion {
	return gomega.NewGomega(func(message string, skip ...int) {
		depth := 1
		if len(skip) > 0 {
			depth += skip[0]
		}
		_, file, line, _ := runtime.Caller(depth)
		panic(stop{outcome{
			verdict: Fail, level: level, message: strings.TrimSpace(message),
			where: []string{fmt.Sprintf("%s:%d", filepath.Base(file), line)},
		}})
	}).Expect(actual)
}

// Skip ends the check: it does not apply to this server.
func (t *T) Skip(format string, a ...any) {
	panic(stop{outcome{verdict: Skip, message: fmt.Sprintf(format, a...)}})
}

// Inconclusive ends the check: it applies and could not be tried.
func (t *T) Inconclusive(format string, a ...any) {
	panic(stop{outcome{verdict: Inconclusive, message: fmt.Sprintf(format, a...)}})
}

// Again ends the check as inconclusive because of the state of a session,
// not of what the check is about: in a session of its own it may end otherwise.
func (t *T) Again(format string, a ...any) {
	panic(stop{outcome{verdict: Inconclusive, message: fmt.Sprintf(format, a...), again: true}})
}

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
	if s := t.scope.held(t.Revision, hostile); s != nil {
		return t.keep(s, nil, borrowed)
	}
	if t.Alone() {
		return t.sole()
	}
	if t.scope.holds(hostile) {
		return t.Own()
	}
	s, err := t.run.pool.Lend(hostile)
	if s != nil {
		t.scope.lent = t.scope.lent || s.Used > 0
	}
	return t.keep(s, err, lent)
}

// sole is the one session of its kind that a confirmation uses, for everything
// that it tries.
func (t *T) sole() *driver.Session {
	s, err := t.run.pool.Fresh()
	root := t.scope.root()
	if s != nil && root != t.scope {
		root.uses = append(root.uses, use{session: s, how: kept})
		return t.keep(s, err, borrowed)
	}
	return t.keep(s, err, own)
}

// Own is an established session that only this check uses.
func (t *T) Own() *driver.Session {
	s, err := t.run.pool.Fresh()
	return t.keep(s, err, own)
}

// Start is a process to which nothing was said yet.
func (t *T) Start() *driver.Session { return t.Launch(driver.Options{}) }

// Launch is like Start with options.
func (t *T) Launch(o driver.Options) *driver.Session {
	s, err := t.run.pool.Launch(o)
	return t.keep(s, err, own)
}

// Last is an established session that this check may end; nobody needs it any
// more.
func (t *T) Last() *driver.Session {
	if s := t.run.pool.Take(); s != nil && !t.Alone() {
		t.scope.lent = true
		return t.keep(s, nil, own)
	}
	return t.Own()
}

func (t *T) keep(s *driver.Session, err error, how how) *driver.Session {
	t.run.breaker.session(err)
	if err != nil {
		t.Again("no session: %v", Explain(err))
	}
	t.scope.uses = append(t.scope.uses, use{session: s, how: how, mark: s.Mark()})
	return s
}

// holds reports whether this attempt has a session of the pool and so must not wait
// for another: two attempts might wait for each other. Who has a clean one may wait
// for a hostile one, since nobody waits the other way round.
func (c *scope) holds(hostile bool) bool {
	for ; c != nil; c = c.outer {
		for _, u := range c.uses {
			if u.how == lent && (!hostile || u.session.IsHostile()) {
				return true
			}
		}
	}
	return false
}

// root is the scope of the attempt, or of the part of it that runs apart.
func (c *scope) root() *scope {
	for c.outer != nil && !c.apart {
		c = c.outer
	}
	return c
}

// held is a session that this attempt has, established and of the kind that is
// wanted; nil when it has none.
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

// Site is the server at its URL; nil over stdio.
func (t *T) Site() *driver.Site { return t.run.target.Site }

// Alone reports whether this attempt confirms a verdict: then a check tries what
// it is about and nothing beside it.
func (t *T) Alone() bool { return t.alone || t.run.options.Isolate }

// Doubt says that a verdict of this attempt may rest on more than what the check
// is about. If it is not a pass, the check is tried once more alone.
func (t *T) Doubt() { t.scope.lent = true }

// Try sends a request and returns whatever comes, be it nothing.
func (t *T) Try(s *driver.Session, method string, params M) driver.Reply {
	r := s.Exchange(method, params)
	t.run.breaker.reply(s, r)
	return r
}

// Ask sends a request whose silence another check judges: it ends the check as
// inconclusive when no answer comes.
func (t *T) Ask(s *driver.Session, method string, params M) driver.Reply {
	r := t.Try(s, method, params)
	if r.Err != nil {
		t.Again("%v", Explain(r.Err))
	}
	return r
}

// Harmless sends a request that every server answers and that changes nothing, where
// any would do. Like Ask, it ends the check as inconclusive when no answer comes.
func (t *T) Harmless(s *driver.Session) driver.Reply {
	method, params := s.Harmless()
	return t.Ask(s, method, params)
}

// Pages follows a list to its end in a session and visits the results; it ends the
// check as inconclusive when that fails.
func (t *T) Pages(s *driver.Session, method, member string, visit func(result M)) {
	if err := EachPage(s, method, member, M{}, visit); err != nil {
		t.Again("%v", Explain(err))
	}
}

// Settle waits until the server has nothing more to say to what it was sent since
// the mark, and returns what it said; it ends the check as inconclusive when the
// session does not survive.
func (t *T) Settle(s *driver.Session, mark int) []*driver.Frame {
	came, err := s.Settle(mark)
	if err != nil {
		t.Again("%v", Explain(err))
	}
	return came
}

// Explain says why a server could not be talked to, with its last words.
func Explain(err error) string {
	if err == nil {
		return "nothing wrong"
	}
	var death *driver.Death
	if !errors.As(err, &death) || len(death.Stderr) == 0 {
		return err.Error()
	}
	return death.Cause + "; its last lines on stderr:\n  " + strings.Join(death.Stderr, "\n  ")
}

// Subject is one thing of several that a check is tried on: a tool, a resource.
// When it fails, its frames are shown as evidence or, without any, its value.
type Subject struct {
	Name   string
	Value  M
	Frames []*driver.Frame
}

func (s Subject) evidence() (lines []Line) {
	for _, f := range s.Frames {
		if f != nil {
			lines = append(lines, lineOf("", f))
		}
	}
	if lines == nil && s.Value != nil {
		lines = []Line{{Arrow: "←", Text: clip(string(Compact(s.Value)))}}
	}
	return lines
}

// Each tries a check on every subject and puts what it comes to together: any
// fail is a fail, and names the subjects that failed; one pass is a pass.
func (t *T) Each(subjects []Subject, run func(*T, Subject)) {
	var c collection
	for _, s := range subjects {
		c.add(s.Name, t.sub(func(t *T) { run(t, s) }), s.evidence)
	}
	c.finish(t)
}

// Judge tries a check on every message and puts what it comes to together. Without
// any message the check does not apply: it never passes on nothing observed.
func (t *T) Judge(messages Messages, run func(*T, Message)) {
	if len(messages.List) == 0 {
		t.Skip("the server sent no %s", messages.What)
	}
	var c collection
	for _, m := range messages.List {
		c.add("", t.sub(func(t *T) { run(t, m) }), m.evidence)
	}
	c.finish(t)
}

// sub runs a part of a check and returns what it came to.
func (t *T) sub(run func(*T)) (o outcome) {
	inner := *t
	defer func() {
		if e := recover(); e != nil {
			s, ok := e.(stop)
			if !ok {
				panic(e)
			}
			o = s.outcome
		}
	}()
	run(&inner)
	return outcome{verdict: Pass}
}

// Together runs n parts of a check, at the same time unless the check has to be
// quiet, each with sessions of its own. When parts stop, the check stops as the
// first of them did.
func (t *T) Together(n int, run func(t *T, i int)) {
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
		t.scope.lent = t.scope.lent || c.lent
		t.scope.troubled = t.scope.troubled || c.trouble()
		t.scope.extra = append(t.scope.extra, c.extra...)
	}
	for _, o := range outcomes {
		if o.verdict != Pass {
			panic(stop{o})
		}
	}
}

// collection puts the outcomes of several subjects together.
type collection struct {
	passed bool
	fails  []outcome
	open   *outcome // the first inconclusive
	skip   *outcome
	seen   map[string]bool // findings, by subject and message
}

// most is how many failing subjects are told in full.
const most = 5

func (c *collection) add(subject string, o outcome, evidence func() []Line) {
	switch o.verdict {
	case Pass:
		c.passed = true
	case Fail:
		if subject != "" {
			o.subjects = []string{subject}
		}
		key := subject + "\x00" + o.message
		if c.seen[key] {
			return // the same finding on another message
		}
		if c.seen == nil {
			c.seen = map[string]bool{}
		}
		c.seen[key] = true
		if len(c.fails) < most {
			o.lines = evidence()
		}
		c.fails = append(c.fails, o)
	case Inconclusive:
		if c.open == nil {
			c.open = &o
		}
	case Skip:
		if c.skip == nil {
			c.skip = &o
		}
	}
}

func (c *collection) finish(t *T) {
	switch {
	case len(c.fails) > 0:
		panic(stop{c.failure()})
	case c.passed:
	case c.open != nil:
		panic(stop{*c.open})
	case c.skip != nil:
		panic(stop{*c.skip})
	default:
		t.Skip("there is nothing to try it on")
	}
}

// failure is the worst of the fails, with the message and the evidence of the
// first few.
func (c *collection) failure() outcome {
	all := outcome{verdict: Fail}
	for _, f := range c.fails {
		all.level = max(all.level, f.level)
	}
	var texts []string
	for _, f := range c.fails {
		if f.level < all.level {
			continue
		}
		all.where = append(all.where, f.where...)
		all.subjects = append(all.subjects, f.subjects...)
		if len(texts) == most {
			continue
		}
		all.lines = append(all.lines, f.lines...)
		text := f.message
		if len(f.subjects) > 0 {
			text = f.subjects[0] + ":\n" + indent(text)
		}
		texts = append(texts, text)
	}
	all.subjects = slices.Compact(all.subjects)
	all.message = strings.Join(texts, "\n")
	return all
}

func indent(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }
