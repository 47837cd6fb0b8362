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

// How many checks are tried at a time by default. The checks of a slow server spend most of their time waiting for its
// responses, so more of them run at a time.
const (
	DefaultJobs    = 8
	slowServerJobs = 4 * DefaultJobs
)

// Options say how a plan is run.
type Options struct {
	// Jobs is how many checks are tried at a time; 0 is a default that depends on the server.
	Jobs int
	// Isolate gives every check a session of its own.
	Isolate bool
	// Quick makes the run wait for nothing that comes late and, over stdio, use one session only.
	Quick bool
	// Seed determines the random choices of checks.
	Seed int64
	// Calls says which tools checks may call.
	Calls report.CallPolicy
	// Examples are arguments by tool that the operator says are valid and harmless.
	Examples map[string]M
	// ProtectedState names the tools, prompts and resources whose requestState is protected against changes.
	ProtectedState []string
	Profile        catalogue.Profile
	// DiscoverySession is the session of discovery, which checks may use; may be nil.
	DiscoverySession *driver.Session
	// UnusedSession is an established session that nothing has used yet; may be nil.
	UnusedSession *driver.Session
	// GracePeriod is how long running checks may take to end once the context has ended; 0 is 5 s.
	GracePeriod time.Duration

	Credentials Credentials
	// Progress is kept up to date during the run; may be nil.
	Progress *RunProgress

	// SDKs are those that the run can recognise.
	SDKs []catalogue.SDK
	// GateSDKs makes known deviations of SDKs count against the exit code under every profile.
	GateSDKs bool
}

// Execution is a plan that is being run by goroutines of its own. Result and Wait collect the results.
type Execution struct {
	ctx     context.Context
	target  driver.Target
	server  *Server
	plan    []Case
	options Options
	pool    *driver.Pool
	health  health

	caseDone []chan struct{} // closed when the result is known, by case
	results  []report.Result
	claims   []*causeClaim // of the results, by case
	// workDone is closed when the work has ended, and finished when it has ended or was abandoned.
	workDone chan struct{}
	finished chan struct{}

	// watchPhase is set once all sessions have ended, so that the watches can judge them.
	watchPhase atomic.Bool
	// watchedSessions are the sessions that the watches judge; they are set before watchPhase.
	watchedSessions []*driver.Session
	// invalidInputStep ends when a case has offered its process as the session for invalid input; nil when none does.
	invalidInputStep *step

	// mu guards results and claims, the fields from here to tooLongLists, and postponed, withoutSetup and
	// unconfirmedCases.
	mu             sync.Mutex
	steps          map[string]*step
	attemptClaims  map[string]*causeClaim // of the last attempts, by id
	pendingRetries []pendingRetry         // cases that are tried again when nothing else runs
	// observeUntil is until when sessions are kept open for late messages.
	observeUntil time.Time
	// idleSessions are the sessions in which nothing is sent until observeUntil.
	idleSessions []*driver.Session
	// observed says that the run has waited for late messages.
	observed       bool
	uncalledTools  []report.UncalledTool
	invalidCalls   *report.InvalidCallCounts // nil when no check was to make invalid calls
	knownArguments map[string]M              // arguments by tool; see RememberArguments
	tooLongLists   map[string]error          // errors by method, of lists that are not read again

	// serial says that one case runs at a time and nothing else.
	serial atomic.Bool
	// invalidPhase says that the session of a quick run has become one for invalid input.
	invalidPhase     atomic.Bool
	postponed        []int           // cases that wait for invalidPhase
	withoutSetup     map[string]bool // ids of the watches of a quick run whose setup did not run
	unconfirmedCases []unconfirmedCase
	confirming       sync.WaitGroup // counts the cases that are being confirmed alone
	// confirmationSlots bounds how many cases are confirmed alone at a time.
	confirmationSlots chan struct{}
	// isReplay says that recorded sessions are judged, without a server.
	isReplay bool

	memos sync.Map // the values of Memo

	// sdks returns the SDKs that the server is recognised to use; it is called once the run is over.
	sdks func() []catalogue.SDK
}

// Execute starts to run the plan in the background. Use Result, or EachResult, and Wait to
// collect the results.
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
		o.Jobs = 1 // two attempts could wait for each other's session
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
		e.invalidInputStep = &step{name: "a session for invalid input", done: make(chan struct{})}
	}
	go e.runAll()
	go e.watchdog()
	return e
}

// allocateResults makes room for the results of the plan.
func (e *Execution) allocateResults() {
	e.caseDone, e.results = make([]chan struct{}, len(e.plan)), make([]report.Result, len(e.plan))
	e.claims, e.attemptClaims = make([]*causeClaim, len(e.plan)), map[string]*causeClaim{}
	for i := range e.plan {
		e.caseDone[i] = make(chan struct{})
	}
}

// jobsFor returns how many checks are tried at a time: as many as requested or, for 0, a number that suits the server.
func jobsFor(server *Server, asked int) int {
	switch {
	case asked > 0:
		return asked
	case server.IsSlow():
		return slowServerJobs
	}
	return DefaultJobs
}

// addSession takes over a session of discovery, and gives it to the pool if checks can use it. The session may be nil.
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

// sessionLimit returns how many pooled sessions are in use at a time. Over stdio requests are fast and processes are
// slow to start, so jobs share few sessions; over HTTP a session is cheap and a request may be slow.
func (o Options) sessionLimit(target driver.Target) int {
	switch {
	case o.hasSingleSession(target):
		return 1
	case target.Site != nil:
		return o.Jobs
	}
	return max(1, o.Jobs/4)
}

// maxPrestarted limits how many processes are started before they are needed. Checks share them, so every run needs
// that many.
const maxPrestarted = 5

// prestartCount returns how many processes this run starts before they are needed.
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

// runAll runs all cases: first the probes, then the checks that end sessions, then the watches.
func (e *Execution) runAll() {
	defer close(e.workDone)
	if e.serial.Load() {
		e.pool.Wait() // until the session of discovery has ended
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

// resultOrder returns the indexes of the cases in the order in which they are likely to get their results.
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

// probeOrder returns the cases that send requests, in the order in which they start. Those that need a process of their
// own start early, first of all the one whose process others wait for. Most of those that call tools start late, since
// they wait until one of them has called all tools.
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

// watchesWithSetup returns the watches with a setup that can run. A server that refuses the handshake is judged by what
// it has sent then, since nothing more can be obtained.
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

// runCase runs the check of a case or, before the watch phase, the setup of a watch. It returns the step after which it
// has to be called again; nil when it is done.
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

// conclude sets the result of a case, or schedules a retry with nothing else running if the verdict rests on the
// server's health.
func (e *Execution) conclude(i int, r report.Result, fault sessionFault) {
	if !e.watchPhase.Load() && e.health.needsCheck() {
		e.checkHealth()
	}
	if fault.isSet() && e.ctx.Err() == nil {
		e.mu.Lock()
		e.pendingRetries = append(e.pendingRetries, pendingRetry{i, r, fault})
		e.mu.Unlock()
		return
	}
	e.setResult(i, r)
}

// runParallel runs cases in their order, as many at a time as there are jobs. Cases that wait for a step do not count.
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

// awaitSessionEnds waits until all closed sessions have ended, if only one may be open at a time. It does nothing in
// the watch phase, where cases run in parallel and hardly any needs a session.
func (e *Execution) awaitSessionEnds() {
	if e.serial.Load() && !e.watchPhase.Load() {
		e.pool.Wait()
	}
}

// Wait returns once every case has its result and every process has ended. Checks that have not ended when the context
// has, and GracePeriod after it, are abandoned.
func (e *Execution) Wait() { <-e.finished }

// Sessions returns all sessions of the run, in the order in which they were opened.
func (e *Execution) Sessions() []*driver.Session { return e.pool.Sessions() }

// UncalledTools returns the tools that were not called with valid arguments; nil when no check was to call tools.
func (e *Execution) UncalledTools() []report.UncalledTool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.uncalledTools
}

// InvalidCallCounts returns how many tools were called with invalid arguments; nil when no check was to make
// such calls.
func (e *Execution) InvalidCallCounts() *report.InvalidCallCounts {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.invalidCalls
}

// Problem says why the run could not go on; it is empty when it did.
func (e *Execution) Problem() string {
	reason, _ := e.health.downReason()
	return reason
}

// caseOutcome is what trying a case has resulted in.
type caseOutcome struct {
	result report.Result
	// fault is the session fault that the verdict may rest on.
	fault sessionFault
	// isPending says that there is no result yet: the case is confirmed or, in a quick run, tried later.
	isPending bool
	// waitsFor is the step after which the case is tried again; nil when it was tried.
	waitsFor *step
}

// judge tries a case. If it does not pass on sessions that others have used, it is confirmed, so that the effects of an
// earlier check are never held against the server. Outcomes that rest on the server's health are retried serially
// instead.
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

// decide returns the result of a case by its last attempt.
func (e *Execution) decide(i int, c Case, o outcome, used *scope, begin time.Time) (j caseOutcome) {
	j.fault = used.relevantFault(c.check.kind, o)
	used.release(e.pool, (o.isFinal() || e.skipsConfirmation(c, o)) && !used.isConfirmation)
	if o.outOfTurn {
		e.postpone(i)
	}
	j.result, j.isPending = e.newResult(c, e.notTried(c, o), begin), o.outOfTurn
	return j
}

// attempt runs the check of a case once. A confirmation (alone) uses fresh sessions, or those that it shares with other
// confirmations.
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
	switch void := used.voidOutcome(); {
	case e.ctx.Err() != nil && o.verdict != catalogue.Pass:
		o = interruptedOutcome(e.ctx)
	case o.verdict == catalogue.Fail && void != nil:
		failed := o
		o = *void
		o.evidence, o.decidedBy = failed.evidence, failed.decidedBy
	}
	if o.verdict == catalogue.Fail && o.violations == nil {
		o.violations = []violation{newViolation(o.decisiveFrames(), o.violatedEntry)}
	}
	o.lines = used.evidenceLines(o)
	o.unresponsive = o.unresponsive || o.retryable && used.faults().isSet()
	return o, used
}

// runRecovered runs a check and returns how it ended.
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

// runCheck runs the check of an attempt, and adds its notes and caveats to the outcome.
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

// release gives back the sessions of an attempt: to other checks if it ended well; otherwise they are closed.
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

// isRepeatable reports whether the requests of the attempt may be sent again in its sessions.
func (c *scope) isRepeatable() bool {
	return !slices.ContainsFunc(c.uses, func(u sessionUse) bool { return u.session.HasCustomIDs(u.mark) })
}

// hasInherited reports whether the attempt used a session of the attempt around it.
func (c *scope) hasInherited() bool {
	return slices.ContainsFunc(c.uses, func(u sessionUse) bool { return u.ownership == inherited })
}

// watchedWire returns the sessions that were opened before the watch phase. Those that watches open for a confirmation
// are not judged, since their handshake may still be going on.
func (t *T) watchedWire() Wire { return Wire{Sessions: t.execution.watchedSessions} }
