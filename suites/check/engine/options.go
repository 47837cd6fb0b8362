package engine

import (
	"time"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/check/internal/attempt"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// How many checks are tried at a time by default. The checks of a slow server spend most of their time waiting for its
// responses, so more of them run at a time. One does if it serves one request at a time: nothing would be sooner, and
// requests would wait for those of other checks until the timeout.
const (
	DefaultJobs    = 8
	slowServerJobs = 6 * DefaultJobs
	inTurnJobs     = 1
)

// Options say how a plan is run.
type Options struct {
	// OtherRecorded are recorded sessions that JudgeRecorded does not judge: of other revisions, or without a
	// handshake. What checks send is looked up in them, too.
	OtherRecorded []*driver.Session
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
	Examples map[string]check.M
	// Declarations are what the operator says of the server.
	Declarations check.Declarations
	Profile      catalogue.Profile
	// DiscoverySession is the session of discovery, which checks may use; may be nil.
	DiscoverySession *driver.Session
	// UnusedSession is an established session that nothing has used yet; may be nil.
	UnusedSession *driver.Session
	// GracePeriod is how long running checks may take to end once the context has ended; 0 is 5 s.
	GracePeriod time.Duration

	Credentials check.Credentials
	// Progress is kept up to date during the run; may be nil.
	Progress *RunProgress

	// SDKs are those that the run can recognise.
	SDKs []catalogue.SDK
	// GateSDKs makes known deviations of SDKs count against the exit code under every profile.
	GateSDKs bool
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

// ignoresKnownDeviations reports whether known deviations of SDKs do not count against the exit code.
func (o Options) ignoresKnownDeviations() bool {
	return o.Profile.IgnoresKnownDeviations() && !o.GateSDKs
}

// hasSingleSession reports whether a run has one session: a quick one over stdio, where each session is a process.
func (o Options) hasSingleSession(target driver.Target) bool { return o.Quick && target.Site == nil }

// jobsFor returns how many checks are tried at a time: as many as requested or, for 0, a number that suits the server.
func jobsFor(server *check.Server, asked int) int {
	switch {
	case asked > 0:
		return asked
	case server.OneRequestAtATime:
		return inTurnJobs
	case server.IsSlow():
		return slowServerJobs
	}
	return DefaultJobs
}

// newRun returns the run of a plan with these options, without a pool.
func newRun(o Options, target driver.Target) *attempt.Run {
	return &attempt.Run{
		Target: target, Jobs: o.Jobs, Isolate: o.Isolate, HasSingleSession: o.hasSingleSession(target),
		Calls: o.Calls, Examples: o.Examples, Declarations: o.Declarations, DiscoverySession: o.DiscoverySession,
	}
}
