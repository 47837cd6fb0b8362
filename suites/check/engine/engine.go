package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/check/internal/attempt"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// Execution is a plan that is being run by goroutines of its own. Result and Wait collect the results.
type Execution struct {
	ctx     context.Context
	server  *check.Server
	plan    []Case
	options Options
	// run is what the attempts of all cases share.
	run *attempt.Run

	caseDone []chan struct{} // closed when the result is known, by case
	results  []report.Result
	claims   []*causeClaim // of the results, by case
	// workDone is closed when the work has ended, and finished when it has ended or was abandoned.
	workDone chan struct{}
	finished chan struct{}

	// mu guards the fields from here to unconfirmedCases, results and claims.
	mu               sync.Mutex
	attemptClaims    map[string]*causeClaim // of the last attempts, by id
	pendingRetries   []pendingRetry         // cases that are tried again when nothing else runs
	postponed        []int                  // cases that wait for the phase of invalid input
	unconfirmedCases []unconfirmedCase

	// crowdedTurn holds an entry while a case runs on a server that open streams have kept from serving requests.
	crowdedTurn chan struct{}

	confirming sync.WaitGroup // counts the cases that are being confirmed alone
	// confirmationSlots bounds how many cases are confirmed alone at a time.
	confirmationSlots chan struct{}
	// confirmationSessions are those in which cases are confirmed one after the other.
	confirmationSessions *attempt.ConfirmationSessions

	// sdks returns the SDKs that the server is recognised to use; it is called once the run is over.
	sdks func() []catalogue.SDK
}

// Execute starts to run the plan in the background. Use Result, or EachResult, and Wait to collect the results.
func Execute(ctx context.Context, target driver.Target, server *check.Server, plan []Case, o Options) *Execution {
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
	case target.Site != nil && target.Site.RateInfo().PerSecond > 0:
		o.Jobs = 1 // no request waits for those of other checks, and nothing could be sooner
	}
	if o.hasSingleSession(target) {
		plan = quickPlan(plan)
	}
	e := &Execution{
		ctx: ctx, server: server, plan: plan, options: o, run: newRun(o, target),
		workDone: make(chan struct{}), finished: make(chan struct{}), confirmationSlots: make(chan struct{}, o.Jobs),
		crowdedTurn: make(chan struct{}, 1),
	}
	e.allocateResults()
	e.sdks = sync.OnceValue(func() []catalogue.SDK { return recognisedSDKs(o.SDKs, e.Sessions()) })
	e.openPool()
	if slices.ContainsFunc(plan, Case.isReusedForInvalidInput) && !e.run.HasSingleSession {
		e.run.InvalidInputStep = attempt.NewStep("a session for invalid input")
	}
	go e.runAll()
	go e.watchdog()
	return e
}

// openPool opens the pool of the run's sessions, with those of discovery, and starts the first processes.
func (e *Execution) openPool() {
	r, o := e.run, e.options
	r.Health.Begin(o.DiscoverySession, answeredMethods(o.DiscoverySession))
	r.Target.Era, r.Target.OnReply, r.Target.CheckOpen = e.server.Era, r.Health.RecordReply, r.Health.NoSessionError
	r.Target.Patience = &driver.Patience{}
	r.Target.Waits = o.Progress.observe(r.Target.Waits)
	r.Pool = driver.NewPool(e.ctx, r.Target, e.server.Revision, o.sessionLimit(r.Target), e.server.IsSlow())
	e.confirmationSessions = attempt.NewConfirmationSessions(r.Pool)
	r.Serial.Store(e.server.OneClient)
	e.addSession(o.DiscoverySession, r.Pool.Add)
	e.addSession(o.UnusedSession, r.Pool.AddUnused)
	r.Pool.Prestart(e.prestartCount())
}

// answeredMethods returns the methods of the requests that were answered with a result in a session, which may be nil.
func answeredMethods(s *driver.Session) (methods []string) {
	if s == nil {
		return nil
	}
	for _, m := range (check.Wire{Sessions: []*driver.Session{s}}).Results().List {
		if m.Request != nil {
			methods = append(methods, m.Request.Method)
		}
	}
	return methods
}

// allocateResults makes room for the results of the plan.
func (e *Execution) allocateResults() {
	e.caseDone, e.results = make([]chan struct{}, len(e.plan)), make([]report.Result, len(e.plan))
	e.claims, e.attemptClaims = make([]*causeClaim, len(e.plan)), map[string]*causeClaim{}
	for i := range e.plan {
		e.caseDone[i] = make(chan struct{})
	}
}

// addSession takes over a session of discovery, and gives it to the pool if checks can use it. The session may be nil.
func (e *Execution) addSession(s *driver.Session, give func(*driver.Session)) {
	if s == nil {
		return
	}
	e.run.Pool.Track(s)
	if e.server.Failure == "" && !e.server.OneClient {
		give(s)
	} else {
		e.run.Pool.CloseSession(s)
	}
}

// maxPrestarted limits how many processes are started before they are needed. Checks share them, so every run needs
// that many.
const maxPrestarted = 5

// prestartCount returns how many processes this run starts before they are needed.
func (e *Execution) prestartCount() (n int) {
	for _, i := range e.casesOf(attempt.ProcessProbe) {
		if e.plan[i].predetermined.Verdict == "" && e.options.Jobs > 1 {
			n++
		}
	}
	return min(n, maxPrestarted)
}

// runAll runs all cases: first the probes, then the checks that end sessions, then those that restart the server, then
// the watches.
func (e *Execution) runAll() {
	defer close(e.workDone)
	if e.run.Serial.Load() {
		e.run.Pool.Wait() // until the session of discovery has ended
	}
	e.runProbes()
	e.startInvalidPhase()
	e.confirmTogether()
	e.confirmationSessions.Close()
	e.observeLate()
	e.runParallel(e.casesOf(attempt.ShutdownProbe))
	for _, i := range e.casesOf(attempt.RestartProbe) {
		e.runParallel([]int{i})
	}
	e.retrySerially()
	e.probeSDK()
	e.run.Pool.CloseIdle()
	e.run.WatchedSessions = e.run.Pool.Sessions()
	e.run.WatchPhase.Store(true)
	e.runParallel(e.casesOf(attempt.Watch))
	e.run.Pool.Wait()
}

// runProbes runs the cases that send requests. While some wait for late messages, the others run, and those that did
// not pass are confirmed; what reads a step that waits comes last. On a slow server all run at a time.
func (e *Execution) runProbes() {
	waiting, others := e.probeOrder()
	if e.options.Jobs == 1 || e.run.Serial.Load() || e.server.IsSlow() {
		e.runParallel(slices.Concat(waiting, others))
		return
	}
	var waits sync.WaitGroup
	waits.Go(func() { e.runParallel(waiting) })
	readers := e.runParallelBut(others, func(s *attempt.Step) bool { return e.startsFirst(s.HeldBy()) })
	e.confirmTogether()
	waits.Wait()
	e.runParallel(readers)
}

// runCase runs the check of a case or, before the watch phase, the setup of a watch. It returns the step after which it
// has to be called again; nil when it is done.
func (e *Execution) runCase(i int) (until *attempt.Step) {
	c := e.plan[i]
	defer e.options.Progress.beginCase(c.Area())()
	stimulates := c.script.Kind == attempt.Watch && !e.run.WatchPhase.Load()
	if stimulates {
		c.script.Run = c.script.Setup
	}
	j := e.judge(i, c)
	switch {
	case j.waitsFor != nil:
		return j.waitsFor
	case c.isReusedForInvalidInput() && e.run.InvalidInputStep != nil && !e.run.InvalidInputStep.IsDone():
		e.run.InvalidInputStep.Finish()
	}
	if !stimulates && !j.isPending {
		e.conclude(i, j.result, j.fault)
	}
	return nil
}

// conclude sets the result of a case, or schedules a retry with nothing else running if the verdict rests on the
// server's health.
func (e *Execution) conclude(i int, r report.Result, fault attempt.SessionFault) {
	if !e.run.WatchPhase.Load() && e.run.Health.NeedsCheck() {
		e.checkHealth()
	}
	if fault.IsSet() && e.ctx.Err() == nil {
		e.mu.Lock()
		e.pendingRetries = append(e.pendingRetries, pendingRetry{i, r, fault})
		e.mu.Unlock()
		return
	}
	e.setResult(i, r)
}

// runParallel runs cases in their order, as many at a time as there are jobs. Cases that wait for a step do not count.
func (e *Execution) runParallel(cases []int) {
	e.runParallelBut(cases, func(*attempt.Step) bool { return false })
}

// runParallelBut is runParallel without the cases that wait for a step which leaveOut holds for. It returns these.
func (e *Execution) runParallelBut(cases []int, leaveOut func(*attempt.Step) bool) (leftOut []int) {
	jobs := e.options.Jobs
	if e.run.Serial.Load() {
		jobs = 1
	}
	places := make(chan struct{}, jobs)
	var workers sync.WaitGroup
	for _, i := range cases {
		places <- struct{}{}
		workers.Go(func() {
			until := e.runCase(i)
			for ; until != nil && !leaveOut(until); until = e.runCase(i) {
				<-places
				until.Await()
				places <- struct{}{}
			}
			if until != nil {
				e.mu.Lock()
				leftOut = append(leftOut, i)
				e.mu.Unlock()
			}
			e.run.AwaitSessionEnds()
			<-places
		})
	}
	workers.Wait()
	slices.Sort(leftOut)
	return leftOut
}

// Wait returns once every case has its result and every process has ended. Checks that have not ended when the context
// has, and GracePeriod after it, are abandoned.
func (e *Execution) Wait() { <-e.finished }

// Sessions returns all sessions of the run, in the order in which they were opened.
func (e *Execution) Sessions() []*driver.Session { return e.run.Pool.Sessions() }

// Problem says why the run could not go on; it is empty when it did.
func (e *Execution) Problem() string {
	reason, _ := e.run.Health.DownReason()
	return reason
}

// caseOutcome is what trying a case has resulted in.
type caseOutcome struct {
	result report.Result
	// fault is the session fault that the verdict may rest on.
	fault attempt.SessionFault
	// isPending says that there is no result yet: the case is confirmed or, in a quick run, tried later.
	isPending bool
	// waitsFor is the step after which the case is tried again; nil when it was tried.
	waitsFor *attempt.Step
}

// judge tries a case. If it does not pass on sessions that others have used, it is confirmed, so that the effects of an
// earlier check are never held against the server. Outcomes that rest on the server's health are retried serially
// instead.
func (e *Execution) judge(i int, c Case) (j caseOutcome) {
	begin := time.Now()
	if c.predetermined.Verdict != "" {
		return caseOutcome{result: e.newResult(c, c.predetermined, begin)}
	}
	o, used := e.attempt(c, nil, false)
	if o.WaitsFor != nil {
		used.Release(e.run.Pool, used.IsRepeatable())
		return caseOutcome{waitsFor: o.WaitsFor}
	}
	rests := relevantFault(c, used, o).IsSet()
	isSettled := o.IsFinal() || rests || e.run.IsReplay || e.skipsConfirmation(c, o)
	if used.Reused && !isSettled && !e.isProven(c, o, used) {
		return e.confirm(i, c, o, used, begin)
	}
	return e.decide(i, c, o, used, begin)
}

// decide returns the result of a case by its last attempt.
func (e *Execution) decide(i int, c Case, o attempt.Outcome, used *attempt.Scope, begin time.Time) (j caseOutcome) {
	j.fault = relevantFault(c, used, o)
	used.Release(e.run.Pool, (o.IsFinal() || e.skipsConfirmation(c, o)) && !used.IsConfirmation)
	if o.OutOfTurn {
		e.postpone(i)
	}
	j.result, j.isPending = e.newResult(c, e.notTried(c, o), begin), o.OutOfTurn
	return j
}

// attempt runs the check of a case once. A confirmation (alone) uses fresh sessions, or those that it shares with other
// confirmations.
func (e *Execution) attempt(
	c Case, with *attempt.ConfirmationSessions, alone bool,
) (o attempt.Outcome, used *attempt.Scope) {
	used = &attempt.Scope{EntryID: c.ID, IsConfirmation: alone, Confirmation: with}
	switch {
	case e.ctx.Err() != nil:
		return attempt.Interrupted(e.ctx), used
	case e.Problem() != "" && !e.run.WatchPhase.Load():
		used.AddFault(attempt.SessionFault{Ended: true})
		why := "not tried: " + e.Problem()
		o = attempt.Outcome{Verdict: catalogue.Inconclusive, Reason: report.Stopped, Message: why, Retryable: true}
		return o, used
	}
	t := check.NewT(e.server, c.Revision, e.options.Seed, e.options.Credentials, &attempt.Attempt{
		Run: e.run, Requirement: c.Requirement, JudgedBy: c.JudgedBy, HasOwnSessions: alone,
		ReusedForInvalidInput: c.isReusedForInvalidInput(), Scope: used,
	})
	if e.run.Target.Site.IsCrowded() && !e.run.WatchPhase.Load() {
		e.crowdedTurn <- struct{}{} // a check may hold a stream, and need another one while others do the same
		defer func() { <-e.crowdedTurn }()
	}
	return used.Try(e.ctx, func() { c.script.Run(t) }), used
}

// watchdog makes sure that every case has its result, and Wait returns, soon after the context has ended, even when a
// check never returns.
func (e *Execution) watchdog() {
	defer close(e.finished)
	select {
	case <-e.workDone:
		return
	case <-e.ctx.Done():
	}
	select {
	case <-e.workDone:
		return
	case <-time.After(e.options.GracePeriod):
	}
	for i, c := range e.plan {
		e.setResult(i, e.newResult(c, attempt.Interrupted(e.ctx), time.Now()))
	}
}
