package harness

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// How many checks are tried at a time unless somebody says so. Those of a server that takes its time for each answer
// only wait most of it.
const (
	DefaultJobs = 8
	slowJobs    = 4 * DefaultJobs
)

// Options are how a plan is run.
type Options struct {
	Jobs     int  // checks at a time; 0: as many as seem good for the server
	Isolate  bool // a process of its own for every session
	Quick    bool // nothing is waited for, and over stdio there is one session
	Seed     int64
	Calls    Calls
	Examples map[string]M // arguments by tool, known to be valid and harmless
	Guarded  []string     // tools, prompts and resources whose requestState is to be protected
	Profile  Profile
	First    *driver.Session // the session of discovery, to be lent; may be nil
	Spare    *driver.Session // another one, which nobody has used; may be nil
	Grace    time.Duration   // what still runs has to come to its end once the context has ended; default 5 s

	Credentials Credentials
	Progress    *Progress // to be kept up to date; may be nil

	SDKs     []SDK // that may be recognised
	GateSDKs bool  // their known deviations gate under every profile
}

// Execution is a plan that is being run. The work is done by workers; Result collects it.
type Execution struct {
	ctx     context.Context
	target  driver.Target
	server  *Server
	plan    []Case
	options Options
	pool    *driver.Pool
	health  health

	done    []chan struct{} // by case
	results []Result
	ended   chan struct{}
	over    chan struct{} // closed when it has ended, or was given up

	watching atomic.Bool       // the record is complete
	said     []*driver.Session // the record; set before watching is
	promise  *step             // a case that gives others its process as a hostile session; nil: none does

	mu       sync.Mutex
	steps    map[string]*step
	pending  []pendingCase     // to be decided again when nothing else runs
	lasts    time.Time         // until when sessions are kept open for what comes late
	left     []*driver.Session // to themselves until then
	lingered bool              // that has come; with mu
	uncalled []UncalledTool
	invalid  *InvalidInput    // nil: no check had any made
	learnt   map[string]M     // arguments by tool; with mu
	long     map[string]error // by method, why a list is not followed once more; with mu

	quiet        atomic.Bool       // nothing else runs
	invalidPhase atomic.Bool       // the session of a quick run has been made a hostile one
	later        []int             // cases that wait for that; with mu
	without      map[string]bool   // watches of a quick run for which nothing was tried; with mu
	waiting      []unconfirmedCase // with mu
	confirming   sync.WaitGroup    // cases that are confirmed alone
	alone        chan struct{}     // holds an entry for each of these
	recorded     bool              // there is no server, but a record of one

	memos sync.Map // of Memo

	sdks func() []SDK // with which the server is written; once the run is over
}

// Execute starts to run the plan. What it came to is had from Result and Wait.
func Execute(ctx context.Context, target driver.Target, server *Server, plan []Case, o Options) *Execution {
	o.Jobs = jobsFor(server, o.Jobs)
	if o.Grace <= 0 {
		o.Grace = 5 * time.Second
	}
	if o.Progress == nil {
		o.Progress = &Progress{}
	}
	switch {
	case server.OneClient:
		o.Jobs, o.Isolate = 1, true
	case o.single(target):
		o.Jobs = 1 // nobody waits for the session with another's need of it
	}
	e := &Execution{
		ctx: ctx, target: target, server: server, plan: plan, options: o,
		ended: make(chan struct{}), over: make(chan struct{}), alone: make(chan struct{}, o.Jobs),
		steps: map[string]*step{}, without: map[string]bool{}, learnt: map[string]M{},
		long: map[string]error{},
	}
	e.prepare()
	e.sdks = sync.OnceValue(func() []SDK { return recognised(o.SDKs, e.Sessions()) })
	e.target.Era, e.target.Heard, e.target.Waits = server.Era, e.health.heard, o.Progress.watch(target.Waits)
	e.target.Stopped = e.health.noSession
	e.pool = driver.NewPool(ctx, e.target, server.Revision, o.sessions(target), server.Slow())
	e.quiet.Store(server.OneClient)
	e.health.begin(o.First)
	e.adopt(o.First, e.pool.Donate)
	e.adopt(o.Spare, e.pool.Offer)
	e.pool.Ahead(e.ahead())
	if slices.ContainsFunc(plan, Case.promises) && !e.single() {
		e.promise = &step{name: "a hostile session", over: make(chan struct{})}
	}
	go e.work()
	go e.watchdog()
	return e
}

// prepare makes room for the results of the plan.
func (e *Execution) prepare() {
	e.done, e.results = make([]chan struct{}, len(e.plan)), make([]Result, len(e.plan))
	for i := range e.plan {
		e.done[i] = make(chan struct{})
	}
}

// jobsFor is how many checks are tried at a time: as many as were asked for or, if none were, as seem good.
func jobsFor(server *Server, asked int) int {
	switch {
	case asked > 0:
		return asked
	case server.Slow():
		return slowJobs
	}
	return DefaultJobs
}

// adopt takes over a session of discovery and gives it to the pool; nil is none.
func (e *Execution) adopt(s *driver.Session, give func(*driver.Session)) {
	if s == nil {
		return
	}
	e.pool.Adopt(s)
	if e.server.Failure == "" && !e.server.OneClient {
		give(s)
	} else {
		e.pool.Close(s)
	}
}

// sessions is how many sessions are lent at a time. Over stdio requests are fast and processes are slow to start, so
// jobs share few sessions; over HTTP a session is cheap and a request may be slow.
func (o Options) sessions(target driver.Target) int {
	switch {
	case o.single(target):
		return 1
	case target.Site != nil:
		return o.Jobs
	}
	return max(1, o.Jobs/4)
}

// mostAhead is how many processes are started before they are needed: checks share them, and a run takes no fewer.
const mostAhead = 5

// ahead is how many are in this run.
func (e *Execution) ahead() int {
	if e.options.Jobs == 1 {
		return 0
	}
	return min(e.count(fresh), mostAhead)
}

func (e *Execution) count(k kind) (n int) {
	for _, c := range e.plan {
		if c.check.kind == k && c.foreseen.verdict == "" {
			n++
		}
	}
	return n
}

// work runs all cases: those that talk, then those that end sessions, then those that judge the record.
func (e *Execution) work() {
	defer close(e.ended)
	if e.quiet.Load() {
		e.pool.Wait() // for the end of the session of discovery
	}
	e.parallel(e.talking())
	e.startInvalidPhase()
	e.confirmTogether()
	e.confirming.Wait()
	e.linger()
	e.parallel(e.of(ending))
	e.decideAgain()
	e.reveal()
	e.pool.Retire()
	e.said = e.pool.Sessions()
	e.watching.Store(true)
	e.parallel(e.of(watch))
	e.pool.Wait()
}

// order is the order in which cases come to their results.
func (e *Execution) order() []int {
	return slices.Concat(e.of(fresh), e.of(probe), e.of(ending), e.of(watch))
}

func (e *Execution) of(k kind) (cases []int) {
	for i, c := range e.plan {
		if c.check.kind == k {
			cases = append(cases, i)
		}
	}
	return cases
}

// talking are the cases that talk to the server, in the order in which they begin: those that need processes early,
// before them the one whose process others wait for, and most that call tools late, since they wait for one of them to
// have called them all.
func (e *Execution) talking() []int {
	early := e.of(fresh)
	if i := slices.IndexFunc(early, func(i int) bool { return e.plan[i].promises() }); i > 0 {
		early = slices.Concat(early[i:i+1], early[:i], early[i+1:])
	}
	var first, valid, invalid, others []int
	for _, i := range slices.Concat(e.stimulated(), e.of(probe)) {
		switch safety := e.plan[i].Safety; {
		case safety == "calls-tool-valid" && first == nil:
			first = []int{i}
		case safety == "calls-tool-valid":
			valid = append(valid, i)
		case safety == "calls-tool-invalid":
			invalid = append(invalid, i)
		default:
			others = append(others, i)
		}
	}
	return slices.Concat(interleave(early, slices.Concat(first, others)), invalid, valid)
}

// stimulated are the watches that want something on the wire. A server that refuses to shake hands is judged by what it
// says then: more cannot be had.
func (e *Execution) stimulated() (cases []int) {
	for _, i := range e.of(watch) {
		if e.plan[i].check.prepare != nil && e.server.Failure == "" {
			cases = append(cases, i)
		}
	}
	return cases
}

func interleave(a, b []int) (all []int) {
	for i := range max(len(a), len(b)) {
		if i < len(a) {
			all = append(all, a[i])
		}
		if i < len(b) {
			all = append(all, b[i])
		}
	}
	return all
}

// try carries a case out: its check or, before the time of a watch has come, what the watch wants on the wire. It is to
// be tried again when a step is over; nil: it was tried.
func (e *Execution) try(i int) (until *step) {
	c := e.plan[i]
	defer e.options.Progress.begin(c.Area())()
	stimulates := c.check.kind == watch && !e.watching.Load()
	if stimulates {
		c.check.run = c.check.prepare
	}
	j := e.judge(i, c)
	switch {
	case j.until != nil:
		return j.until
	case c.promises() && e.promise != nil && !e.promise.isOver():
		close(e.promise.over)
	}
	if !stimulates && !j.waits {
		e.conclude(i, j.result, j.rests)
	}
	return nil
}

// conclude settles a case, or has it decided again when nothing else runs, since its verdict rests on the server's
// health.
func (e *Execution) conclude(i int, r Result, rests sessionFault) {
	if !e.watching.Load() && e.health.suspect() {
		e.control()
	}
	if rests.any() && e.ctx.Err() == nil {
		e.mu.Lock()
		e.pending = append(e.pending, pendingCase{i, r, rests})
		e.mu.Unlock()
		return
	}
	e.settle(i, r)
}

// parallel tries cases in their order, as many at a time as there are jobs. Those that wait for a step do not count.
func (e *Execution) parallel(cases []int) {
	jobs := e.options.Jobs
	if e.quiet.Load() {
		jobs = 1
	}
	places := make(chan struct{}, jobs)
	var workers sync.WaitGroup
	for _, i := range cases {
		places <- struct{}{}
		workers.Go(func() {
			until := e.try(i)
			for ; until != nil; until = e.try(i) {
				<-places
				<-until.over
				places <- struct{}{}
			}
			e.clear()
			<-places
		})
	}
	workers.Wait()
}

// clear waits until the sessions that were given up have gone when one is to come after the other. Watches run at the
// same time, and most of them want no session.
func (e *Execution) clear() {
	if e.quiet.Load() && !e.watching.Load() {
		e.pool.Wait()
	}
}

// Wait returns once every case has its result and every process has gone. What has not come to its end when the context
// and the grace after it have is left behind.
func (e *Execution) Wait() { <-e.over }

// Sessions are all sessions of the run, in the order in which they were opened.
func (e *Execution) Sessions() []*driver.Session { return e.pool.Sessions() }

// Uncalled are the tools that were not called with valid arguments, when tools were to be called at all.
func (e *Execution) Uncalled() []UncalledTool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.uncalled
}

// InvalidInput is how many tools were called with invalid arguments; nil when none was to be.
func (e *Execution) InvalidInput() *InvalidInput {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.invalid
}

// Problem is why the run could not go on; empty when it did.
func (e *Execution) Problem() string {
	reason, _ := e.health.stopped()
	return reason
}

// judged is the outcome of a case.
type judged struct {
	result Result
	rests  sessionFault // on which the verdict rests
	waits  bool         // for its turn, without a result: to be confirmed, or in a quick run
	until  *step        // when that is over it is to be judged anew; nil: it is judged
}

// judge tries a case and, when it did not pass on sessions that others had used, once more alone: what an earlier check
// left behind is never held against the server. What does not block is confirmed later, together with others, unless it
// is proven. What rests on the server's health is decided again.
func (e *Execution) judge(i int, c Case) (j judged) {
	begin := time.Now()
	if c.foreseen.verdict != "" {
		return judged{result: e.result(c, c.foreseen, begin)}
	}
	o, used := e.attempt(c, nil, false)
	if o.until != nil {
		used.release(e.pool, used.isRepeatable())
		return judged{until: o.until}
	}
	rests := used.restsOn(c.check.kind, o).any()
	if used.lent && !o.confirmed() && !rests && !e.spares(c, o) && !e.proven(c, o, used) {
		return e.confirm(i, c, o, used, begin)
	}
	return e.decide(i, c, o, used, begin)
}

// decide judges a case by its last attempt.
func (e *Execution) decide(i int, c Case, o outcome, used *scope, begin time.Time) (j judged) {
	j.rests = used.restsOn(c.check.kind, o)
	used.release(e.pool, (o.confirmed() || e.spares(c, o)) && !used.alone)
	if o.later {
		e.putOff(i)
	}
	j.result, j.waits = e.result(c, e.untried(c, o), begin), o.later
	return j
}

// attempt runs the check of a case once: alone, which may be in sessions that it shares with other confirmations, or
// not.
func (e *Execution) attempt(c Case, with *confirmations, alone bool) (o outcome, used *scope) {
	used = &scope{alone: alone, together: with}
	switch {
	case e.ctx.Err() != nil:
		return interrupted(e.ctx), used
	case e.Problem() != "" && !e.watching.Load():
		used.add(sessionFault{ended: true})
		why := "not tried: " + e.Problem()
		return outcome{verdict: Inconclusive, reason: Stopped, message: why, again: true}, used
	}
	t := &T{
		Server: e.server, Revision: c.Revision, Seed: e.options.Seed, Credentials: e.options.Credentials,
		run: e, entry: c.Requirement, by: c.By, alone: alone, promises: c.promises(), scope: used,
	}
	o = used.outcome(func() { c.check.run(t) })
	switch strange := used.strangeness(); {
	case e.ctx.Err() != nil && o.verdict != Pass:
		o = interrupted(e.ctx)
	case o.verdict == Fail && strange != nil:
		failed := o
		o = *strange
		o.shown, o.decided = failed.shown, failed.decided
	}
	if o.verdict == Fail && o.wrong == nil {
		o.wrong = []mistake{mistakeIn(o.decisive(), o.mistakeOf)}
	}
	o.lines = used.evidence(o)
	o.lost = o.lost || o.again && used.faults().any()
	return o, used
}

// guard runs a check and turns the way in which it ended into an outcome.
func guard(run func()) (o outcome) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case stop:
			o = e.outcome
		default:
			o = outcome{verdict: Error, message: fmt.Sprintf("mcpcheck failed: %v\n%s", e, debug.Stack())}
		}
	}()
	run()
	return outcome{verdict: Pass}
}

// outcome is how a check ended that has the scope.
func (c *scope) outcome(run func()) outcome {
	o := guard(run)
	o.note = strings.Join(c.notes, "\n")
	if o.verdict == Pass {
		o.message, o.unjudged = strings.Join(c.partly, "\n"), c.unjudged
	}
	return o
}

func interrupted(ctx context.Context) outcome {
	o := outcome{verdict: Inconclusive, reason: Interrupted, message: "interrupted"}
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		o.message = cause.Error()
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		o.reason = Budget
	}
	return o
}

func (e *Execution) result(c Case, o outcome, begin time.Time) Result {
	entry := c.Level.In(c.By)
	r := Result{
		ID: c.ID, Title: c.Title, Revision: c.Revision, Level: entry, Entry: entry,
		Verdict: o.verdict, Reason: o.reason, Message: o.message, Note: o.note,
		Findings: o.findings, Truncated: o.truncated, Subjects: o.subjects, Spec: c.URL(c.By), Fix: c.Fix,
		Seconds: round(time.Since(begin).Seconds()), Wire: o.lines, Where: o.where,
		Lost: o.lost, Beside: c.beside, Deviations: e.deviations(c, o), Yields: o.yields(),
	}
	if o.verdict == Fail {
		r.Level = o.level
	}
	if c.check.kind == watch {
		r.ProvokedBy = e.provokers(c.ID, o.users)
	}
	e.gate(c, &r)
	return r
}

// round keeps milliseconds.
func round(seconds float64) float64 { return float64(int(seconds*1000+0.5)) / 1000 }

// release gives back the sessions of an attempt. After one that ended well they are lent to others, else they are
// ended.
func (c *scope) release(pool *driver.Pool, well bool) {
	for _, u := range c.uses {
		switch {
		case u.how == borrowed:
			u.session.UsedBy(u.before)
		case u.how == left:
		case u.how == spared && well:
			pool.Offer(u.session)
		case u.session.OnLoan(driver.AsClient) && well:
			pool.Return(u.session)
		case u.session.OnLoan(driver.AsClient):
			pool.Discard(u.session)
		case well:
			pool.Donate(u.session)
		default:
			pool.Close(u.session)
		}
	}
	c.uses = nil
}

// isRepeatable reports whether what the attempt has sent in its sessions may be sent again in them.
func (c *scope) isRepeatable() bool {
	return !slices.ContainsFunc(c.uses, func(u use) bool { return u.session.ChoseIDs(u.mark) })
}

// borrowed reports whether a session of the attempt around this one was used.
func (c *scope) borrowed() bool {
	return slices.ContainsFunc(c.uses, func(u use) bool { return u.how == borrowed })
}

// wire is what was said before the watches. Sessions that these open to confirm something are not judged: they may be
// greeting still.
func (t *T) wire() Wire { return Wire{Sessions: t.run.said} }
