package attempt

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check/internal/health"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// Run is what all attempts of a run share: the server's sessions, what was learnt from it, and the phase that the run
// is in.
type Run struct {
	Target driver.Target
	// Pool has the sessions; it is nil when recorded sessions are judged, without a server.
	Pool   *driver.Pool
	Health health.Health

	// Jobs is how many checks are tried at a time.
	Jobs int
	// Isolate gives every check a session of its own.
	Isolate bool
	// HasSingleSession says that the run has one session: a quick one over stdio, where each session is a process.
	HasSingleSession bool
	// Calls says which tools checks may call.
	Calls report.CallPolicy
	// Examples are arguments by tool that the operator says are valid and harmless.
	Examples map[string]driver.M
	// Declarations are what the operator says of the server.
	Declarations Declarations
	// DiscoverySession is the session of discovery; may be nil.
	DiscoverySession *driver.Session
	// InvalidInputStep ends when a case has offered its process as the session for invalid input; nil when none does.
	InvalidInputStep *Step
	// IsReplay says that recorded sessions are judged, without a server.
	IsReplay bool
	// RecordedSessions are the recorded sessions in which what checks send is looked up.
	RecordedSessions []*driver.Session

	// Serial says that one case runs at a time and nothing else.
	Serial atomic.Bool
	// InvalidPhase says that the session of a quick run has become one for invalid input.
	InvalidPhase atomic.Bool
	// WatchPhase is set once all sessions have ended, so that the watches can judge them.
	WatchPhase atomic.Bool
	// WatchedSessions are the sessions that the watches judge; they are set before WatchPhase.
	WatchedSessions []*driver.Session

	// Memos are values by key that are computed once.
	Memos sync.Map
	// TooLongLists are errors, by method, of lists that are not read again because they have too many pages.
	TooLongLists sync.Map
	// UncalledTools are the tools that were not called with valid arguments; nil when no check was to call tools.
	UncalledTools atomic.Pointer[[]report.UncalledTool]
	// InvalidCalls says how many tools were called with invalid arguments; nil when no check was to make such calls.
	InvalidCalls atomic.Pointer[report.InvalidCallCounts]

	mu    sync.Mutex
	steps map[string]*Step
	// observeUntil is until when sessions are kept open for late messages.
	observeUntil time.Time
	// idleSessions are the sessions in which nothing is sent until observeUntil.
	idleSessions []*driver.Session
	// observed says that the run has waited for late messages.
	observed bool
}

// Declarations are what the operator says of the server, since nothing that it sends tells. What is empty was not said.
type Declarations struct {
	// ProtectedState names the tools, prompts and resources whose requestState is protected against changes.
	ProtectedState []string
	// StateOnce names the tools, prompts and resources that accept a requestState once.
	StateOnce []string
	// Scopes are those that the narrow token lacks for tools.
	Scopes map[string][]string
	// StateTTL is how long the server accepts a requestState after it has made it.
	StateTTL time.Duration
	// OpenAIChallenge is the token with which OpenAI verifies who a submitted server belongs to.
	OpenAIChallenge string
	// ServerRequestTimeout is how long the server waits for the response to a request of its own, and ServerRequestMax
	// how long in spite of progress.
	ServerRequestTimeout, ServerRequestMax time.Duration
}

// AwaitSessionEnds waits until all closed sessions have ended, if only one may be open at a time. It does nothing in
// the watch phase, where cases run in parallel and hardly any needs a session.
func (r *Run) AwaitSessionEnds() {
	if r.Serial.Load() && !r.WatchPhase.Load() {
		r.Pool.Wait()
	}
}

// findStep returns the step of a name that serves an attempt, and whether the caller has to run it. It ends the attempt
// if another check is running the step.
func (r *Run) findStep(a *Attempt, name string) (s *Step, ours bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if first := r.steps[name]; first != nil && (a.HasOwnSessions || r.Serial.Load()) {
		if !first.IsDone() {
			first.EndUntilDone()
		}
		isJudged := !a.HasOwnSessions && r.WatchPhase.Load() && first.outcome.Verdict == catalogue.Pass
		if first.isClean() || isJudged {
			return first.addCheck(a), false
		}
	}
	switch {
	case r.Serial.Load():
		name += " (quiet)"
	case a.HasOwnSessions:
		name += " (alone)"
	}
	switch s = r.steps[name]; {
	case s == nil:
		s = NewStep(name)
		s.heldBy = a.Requirement.ID
		if r.steps == nil {
			r.steps = map[string]*Step{}
		}
		r.steps[name] = s
		return s.addCheck(a), true
	case !s.IsDone():
		s.EndUntilDone()
	}
	return s.addCheck(a), false
}

// dropStep forgets a step, so that it is run again.
func (r *Run) dropStep(s *Step) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.steps, s.name)
}

// StepChecks returns the ids of the checks that read a step; nil when there is no step of that name.
func (r *Run) StepChecks(name string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.steps[name]; s != nil {
		return slices.Clone(s.checks)
	}
	return nil
}

// ObserveUntil keeps the sessions of the run open at least until then.
func (r *Run) ObserveUntil(until time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if until.After(r.observeUntil) {
		r.observeUntil = until
	}
}

// KeepIdle makes the run close a session once it has waited for late messages. It returns false if the run has done so
// already.
func (r *Run) KeepIdle(s *driver.Session) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.observed {
		r.idleSessions = append(r.idleSessions, s)
	}
	return !r.observed
}

// BeginObservation returns until when the run waits for late messages, and the sessions that it closes then.
func (r *Run) BeginObservation() (until time.Time, idleSessions []*driver.Session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.observed = true
	return r.observeUntil, r.idleSessions
}
