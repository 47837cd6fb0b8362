package check

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

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// How many checks are tried at a time unless somebody says so. Those of a server that takes its time for each answer
// only wait most of it.
const (
	DefaultJobs    = 8
	slowServerJobs = 4 * DefaultJobs
)

// Options are how a plan is run.
type Options struct {
	Jobs             int  // checks at a time; 0: as many as seem good for the server
	Isolate          bool // a process of its own for every session
	Quick            bool // nothing is waited for, and over stdio there is one session
	Seed             int64
	Calls            report.CallPolicy
	Examples         map[string]M // arguments by tool, known to be valid and harmless
	ProtectedState   []string     // tools, prompts and resources whose requestState is to be protected
	Profile          catalogue.Profile
	DiscoverySession *driver.Session // the session of discovery, to be lent; may be nil
	UnusedSession    *driver.Session // another one, which nobody has used; may be nil
	GracePeriod      time.Duration   // what still runs has to come to its end once the context has ended; default 5 s

	Credentials Credentials
	Progress    *RunProgress // to be kept up to date; may be nil

	SDKs     []catalogue.SDK // that may be recognised
	GateSDKs bool            // their known deviations gate under every profile
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

	caseDone []chan struct{} // by case
	results  []report.Result
	claims   []*causeClaim // by case, of its result
	workDone chan struct{}
	finished chan struct{} // closed when it has ended, or was given up

	watchPhase       atomic.Bool       // the record is complete
	watchedSessions  []*driver.Session // the record; set before watching is
	invalidInputStep *step             // a case that gives others its process as a hostile session; nil: none does

	mu             sync.Mutex
	steps          map[string]*step
	attemptClaims  map[string]*causeClaim // by id, of the last attempt
	pendingRetries []pendingRetry         // to be decided again when nothing else runs
	observeUntil   time.Time              // until when sessions are kept open for what comes late
	idleSessions   []*driver.Session      // to themselves until then
	observed       bool                   // that has come; with mu
	uncalledTools  []report.UncalledTool
	invalidCalls   *report.InvalidCallCounts // nil: no check had any made
	knownArguments map[string]M              // arguments by tool; with mu
	tooLongLists   map[string]error          // by method, why a list is not followed once more; with mu

	serial            atomic.Bool       // nothing else runs
	invalidPhase      atomic.Bool       // the session of a quick run has been made a hostile one
	postponed         []int             // cases that wait for that; with mu
	withoutSetup      map[string]bool   // watches of a quick run for which nothing was tried; with mu
	unconfirmedCases  []unconfirmedCase // with mu
	confirming        sync.WaitGroup    // cases that are confirmed alone
	confirmationSlots chan struct{}     // holds an entry for each of these
	isReplay          bool              // there is no server, but a record of one

	memos sync.Map // of Memo

	sdks func() []catalogue.SDK // with which the server is written; once the run is over
}

// Execute starts to run the plan. What it came to is had from Result and Wait.
func Execute(ctx context.Context, target driver.Target, server *Server, plan []Case, o Options) *Execution {
	o.Jobs = jobsFor(server, o.Jobs)
	if o.GracePeriod <= 0 {
		o.GracePeriod = 5 * time.Second
	}
	if o.Progress == nil {
		o.Progress = &RunProgress{}
	}
	switch {
	case server.OneClient:
		o.Jobs, o.Isolate = 1, true
	case o.hasSingleSession(target):
		o.Jobs = 1 // nobody waits for the session with another's need of it
	}
	e := &Execution{
		ctx: ctx, target: target, server: server, plan: plan, options: o,
		workDone: make(chan struct{}), finished: make(chan struct{}), confirmationSlots: make(chan struct{}, o.Jobs),
		steps: map[string]*step{}, withoutSetup: map[string]bool{}, knownArguments: map[string]M{},
		tooLongLists: map[string]error{},
	}
	e.allocateResults()
	e.sdks = sync.OnceValue(func() []catalogue.SDK { return recognisedSDKs(o.SDKs, e.Sessions()) })
	e.target.Era, e.target.OnReply, e.target.Waits = server.Era, e.health.recordReply, o.Progress.observe(target.Waits)
	e.target.CheckOpen = e.health.noSessionError
	e.pool = driver.NewPool(ctx, e.target, server.Revision, o.sessionLimit(target), server.IsSlow())
	e.serial.Store(server.OneClient)
	e.health.begin(o.DiscoverySession)
	e.addSession(o.DiscoverySession, e.pool.Add)
	e.addSession(o.UnusedSession, e.pool.AddUnused)
	e.pool.Prestart(e.prestartCount())
	if slices.ContainsFunc(plan, Case.isReusedForInvalidInput) && !e.hasSingleSession() {
		e.invalidInputStep = &step{name: "a hostile session", done: make(chan struct{})}
	}
	go e.runAll()
	go e.watchdog()
	return e
}

// prepare makes room for the results of the plan.
func (e *Execution) allocateResults() {
	e.caseDone, e.results = make([]chan struct{}, len(e.plan)), make([]report.Result, len(e.plan))
	e.claims, e.attemptClaims = make([]*causeClaim, len(e.plan)), map[string]*causeClaim{}
	for i := range e.plan {
		e.caseDone[i] = make(chan struct{})
	}
}

// jobsFor is how many checks are tried at a time: as many as were asked for or, if none were, as seem good.
func jobsFor(server *Server, asked int) int {
	switch {
	case asked > 0:
		return asked
	case server.IsSlow():
		return slowServerJobs
	}
	return DefaultJobs
}

// addSession takes over a session of discovery and gives it to the pool; nil is none.
func (e *Execution) addSession(s *driver.Session, give func(*driver.Session)) {
	if s == nil {
		return
	}
	e.pool.Track(s)
	if e.server.Failure == "" && !e.server.OneClient {
		give(s)
	} else {
		e.pool.CloseSession(s)
	}
}

// sessionLimit is how many sessions are lent at a time. Over stdio requests are fast and processes are slow to start,
// so jobs share few sessions; over HTTP a session is cheap and a request may be slow.
func (o Options) sessionLimit(target driver.Target) int {
	switch {
	case o.hasSingleSession(target):
		return 1
	case target.Site != nil:
		return o.Jobs
	}
	return max(1, o.Jobs/4)
}

// maxPrestarted is how many processes are started before they are needed: checks share them, and a run takes no fewer.
const maxPrestarted = 5

// prestartCount is how many are in this run.
func (e *Execution) prestartCount() int {
	if e.options.Jobs == 1 {
		return 0
	}
	return min(e.count(processProbe), maxPrestarted)
}

func (e *Execution) count(k kind) (n int) {
	for _, c := range e.plan {
		if c.check.kind == k && c.predetermined.verdict == "" {
			n++
		}
	}
	return n
}

// runAll runs all cases: those that talk, then those that end sessions, then those that judge the record.
func (e *Execution) runAll() {
	defer close(e.workDone)
	if e.serial.Load() {
		e.pool.Wait() // for the end of the session of discovery
	}
	e.runParallel(e.probeOrder())
	e.startInvalidPhase()
	e.confirmTogether()
	e.confirming.Wait()
	e.observeLate()
	e.runParallel(e.casesOf(shutdownProbe))
	e.retrySerially()
	e.probeSDK()
	e.pool.CloseIdle()
	e.watchedSessions = e.pool.Sessions()
	e.watchPhase.Store(true)
	e.runParallel(e.casesOf(watch))
	e.pool.Wait()
}

// resultOrder is the order in which cases come to their results.
func (e *Execution) resultOrder() []int {
	return slices.Concat(e.casesOf(processProbe), e.casesOf(probe), e.casesOf(shutdownProbe), e.casesOf(watch))
}

func (e *Execution) casesOf(k kind) (cases []int) {
	for i, c := range e.plan {
		if c.check.kind == k {
			cases = append(cases, i)
		}
	}
	return cases
}

// probeOrder are the cases that talk to the server, in the order in which they begin: those that need processes early,
// before them the one whose process others wait for, and most that call tools late, since they wait for one of them to
// have called them all.
func (e *Execution) probeOrder() []int {
	early := e.casesOf(processProbe)
	if i := slices.IndexFunc(early, func(i int) bool { return e.plan[i].isReusedForInvalidInput() }); i > 0 {
		early = slices.Concat(early[i:i+1], early[:i], early[i+1:])
	}
	var first, valid, invalid, others []int
	for _, i := range slices.Concat(e.watchesWithSetup(), e.casesOf(probe)) {
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

// watchesWithSetup are the watches that want something on the wire. A server that refuses to shake hands is judged by
// what it says then: more cannot be had.
func (e *Execution) watchesWithSetup() (cases []int) {
	for _, i := range e.casesOf(watch) {
		if e.plan[i].check.setup != nil && e.server.Failure == "" {
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

// runCase carries a case out: its check or, before the time of a watch has come, what the watch wants on the wire. It
// is to be tried again when a step is over; nil: it was tried.
func (e *Execution) runCase(i int) (until *step) {
	c := e.plan[i]
	defer e.options.Progress.beginCase(c.Area())()
	stimulates := c.check.kind == watch && !e.watchPhase.Load()
	if stimulates {
		c.check.run = c.check.setup
	}
	j := e.judge(i, c)
	switch {
	case j.waitsFor != nil:
		return j.waitsFor
	case c.isReusedForInvalidInput() && e.invalidInputStep != nil && !e.invalidInputStep.isDone():
		close(e.invalidInputStep.done)
	}
	if !stimulates && !j.isPending {
		e.conclude(i, j.result, j.fault)
	}
	return nil
}

// conclude settles a case, or has it decided again when nothing else runs, since its verdict rests on the server's
// health.
func (e *Execution) conclude(i int, r report.Result, rests sessionFault) {
	if !e.watchPhase.Load() && e.health.needsCheck() {
		e.checkHealth()
	}
	if rests.isSet() && e.ctx.Err() == nil {
		e.mu.Lock()
		e.pendingRetries = append(e.pendingRetries, pendingRetry{i, r, rests})
		e.mu.Unlock()
		return
	}
	e.setResult(i, r)
}

// runParallel tries cases in their order, as many at a time as there are jobs. Those that wait for a step do not count.
func (e *Execution) runParallel(cases []int) {
	jobs := e.options.Jobs
	if e.serial.Load() {
		jobs = 1
	}
	places := make(chan struct{}, jobs)
	var workers sync.WaitGroup
	for _, i := range cases {
		places <- struct{}{}
		workers.Go(func() {
			until := e.runCase(i)
			for ; until != nil; until = e.runCase(i) {
				<-places
				<-until.done
				places <- struct{}{}
			}
			e.awaitSessionEnds()
			<-places
		})
	}
	workers.Wait()
}

// awaitSessionEnds waits until the sessions that were given up have gone when one is to come after the other. Watches
// run at the same time, and most of them want no session.
func (e *Execution) awaitSessionEnds() {
	if e.serial.Load() && !e.watchPhase.Load() {
		e.pool.Wait()
	}
}

// Wait returns once every case has its result and every process has gone. What has not come to its end when the context
// and the grace after it have is left behind.
func (e *Execution) Wait() { <-e.finished }

// Sessions are all sessions of the run, in the order in which they were opened.
func (e *Execution) Sessions() []*driver.Session { return e.pool.Sessions() }

// UncalledTools are the tools that were not called with valid arguments, when tools were to be called at all.
func (e *Execution) UncalledTools() []report.UncalledTool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.uncalledTools
}

// InvalidCallCounts is how many tools were called with invalid arguments; nil when none was to be.
func (e *Execution) InvalidCallCounts() *report.InvalidCallCounts {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.invalidCalls
}

// Problem is why the run could not go on; empty when it did.
func (e *Execution) Problem() string {
	reason, _ := e.health.downReason()
	return reason
}

// caseOutcome is the outcome of a case.
type caseOutcome struct {
	result    report.Result
	fault     sessionFault // on which the verdict rests
	isPending bool         // for its turn, without a result: to be confirmed, or in a quick run
	waitsFor  *step        // when that is over it is to be judged anew; nil: it is judged
}

// judge tries a case and, when it did not pass on sessions that others had used, once more alone: what an earlier check
// left behind is never held against the server. What does not block is confirmed later, together with others, unless it
// is proven. What rests on the server's health is decided again.
func (e *Execution) judge(i int, c Case) (j caseOutcome) {
	begin := time.Now()
	if c.predetermined.verdict != "" {
		return caseOutcome{result: e.newResult(c, c.predetermined, begin)}
	}
	o, used := e.attempt(c, nil, false)
	if o.waitsFor != nil {
		used.release(e.pool, used.isRepeatable())
		return caseOutcome{waitsFor: o.waitsFor}
	}
	rests := used.relevantFault(c.check.kind, o).isSet()
	if used.reused && !o.isFinal() && !rests && !e.skipsConfirmation(c, o) && !e.isProven(c, o, used) {
		return e.confirm(i, c, o, used, begin)
	}
	return e.decide(i, c, o, used, begin)
}

// decide judges a case by its last attempt.
func (e *Execution) decide(i int, c Case, o outcome, used *scope, begin time.Time) (j caseOutcome) {
	j.fault = used.relevantFault(c.check.kind, o)
	used.release(e.pool, (o.isFinal() || e.skipsConfirmation(c, o)) && !used.isConfirmation)
	if o.outOfTurn {
		e.postpone(i)
	}
	j.result, j.isPending = e.newResult(c, e.notTried(c, o), begin), o.outOfTurn
	return j
}

// attempt runs the check of a case once: alone, which may be in sessions that it shares with other confirmations, or
// not.
func (e *Execution) attempt(c Case, with *confirmationSessions, alone bool) (o outcome, used *scope) {
	used = &scope{isConfirmation: alone, confirmation: with}
	switch {
	case e.ctx.Err() != nil:
		return interruptedOutcome(e.ctx), used
	case e.Problem() != "" && !e.watchPhase.Load():
		used.addFault(sessionFault{ended: true})
		why := "not tried: " + e.Problem()
		return outcome{verdict: catalogue.Inconclusive, reason: report.Stopped, message: why, retryable: true}, used
	}
	t := &T{
		Server: e.server, Revision: c.Revision, Seed: e.options.Seed, Credentials: e.options.Credentials,
		execution: e, requirement: c.Requirement, judgedBy: c.JudgedBy, isConfirmation: alone,
		reusedForInvalidInput: c.isReusedForInvalidInput(), scope: used,
	}
	o = used.runCheck(func() { c.check.run(t) })
	switch strange := used.voidOutcome(); {
	case e.ctx.Err() != nil && o.verdict != catalogue.Pass:
		o = interruptedOutcome(e.ctx)
	case o.verdict == catalogue.Fail && strange != nil:
		failed := o
		o = *strange
		o.evidence, o.decidedBy = failed.evidence, failed.decidedBy
	}
	if o.verdict == catalogue.Fail && o.violations == nil {
		o.violations = []violation{newViolation(o.decisiveFrames(), o.violatedEntry)}
	}
	o.lines = used.evidenceLines(o)
	o.unresponsive = o.unresponsive || o.retryable && used.faults().isSet()
	return o, used
}

// runRecovered runs a check and turns the way in which it ended into an outcome.
func runRecovered(run func()) (o outcome) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case stop:
			o = e.outcome
		default:
			o = outcome{verdict: catalogue.Error, message: fmt.Sprintf("mcpcheck failed: %v\n%s", e, debug.Stack())}
		}
	}()
	run()
	return outcome{verdict: catalogue.Pass}
}

// runCheck is how a check ended that has the scope.
func (c *scope) runCheck(run func()) outcome {
	o := runRecovered(run)
	o.note = strings.Join(c.notes, "\n")
	if o.verdict == catalogue.Pass {
		o.message, o.notJudged = strings.Join(c.caveats, "\n"), c.notJudged
	}
	return o
}

func interruptedOutcome(ctx context.Context) outcome {
	o := outcome{verdict: catalogue.Inconclusive, reason: report.Interrupted, message: "interrupted"}
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		o.message = cause.Error()
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		o.reason = report.Budget
	}
	return o
}

func (e *Execution) newResult(c Case, o outcome, begin time.Time) report.Result {
	entry := c.Level.In(c.JudgedBy)
	r := report.Result{
		ID: c.ID, Title: c.Title, Revision: c.Revision, Level: entry, EntryLevel: entry,
		Verdict: o.verdict, Reason: o.reason, Message: o.message, Note: o.note,
		Findings: o.findings, Truncated: o.truncated, Subjects: o.subjects, Spec: c.URL(c.JudgedBy), Fix: c.Fix,
		Seconds: report.RoundMillis(time.Since(begin).Seconds()), Evidence: o.lines, Locations: o.locations,
		Unresponsive: o.unresponsive, Secondary: c.secondary, Deviations: e.deviations(c, o),
	}
	if o.verdict == catalogue.Fail {
		r.Level = o.level
	}
	if c.check.kind == watch {
		r.TriggeredBy = e.triggers(c.ID, o.usedBy)
	}
	e.mu.Lock()
	e.attemptClaims[c.ID] = o.causeClaim()
	e.mu.Unlock()
	e.setGate(c, &r)
	return r
}

// release gives back the sessions of an attempt. After one that ended well they are lent to others, else they are
// ended.
func (c *scope) release(pool *driver.Pool, well bool) {
	for _, u := range c.uses {
		switch {
		case u.ownership == inherited:
			u.session.SetUser(u.previousUser)
		case u.ownership == idle:
		case u.ownership == unused && well:
			pool.AddUnused(u.session)
		case u.session.IsInUse(driver.WithCapabilities) && well:
			pool.Put(u.session)
		case u.session.IsInUse(driver.WithCapabilities):
			pool.Discard(u.session)
		case well:
			pool.Add(u.session)
		default:
			pool.CloseSession(u.session)
		}
	}
	c.uses = nil
}

// isRepeatable reports whether what the attempt has sent in its sessions may be sent again in them.
func (c *scope) isRepeatable() bool {
	return !slices.ContainsFunc(c.uses, func(u sessionUse) bool { return u.session.HasCustomIDs(u.mark) })
}

// borrowed reports whether a session of the attempt around this one was used.
func (c *scope) hasInherited() bool {
	return slices.ContainsFunc(c.uses, func(u sessionUse) bool { return u.ownership == inherited })
}

// watchedWire is what was said before the watches. Sessions that these open to confirm something are not judged: they
// may be greeting still.
func (t *T) watchedWire() Wire { return Wire{Sessions: t.execution.watchedSessions} }
