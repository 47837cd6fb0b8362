package check

import "github.com/mcpcheck/mcpcheck/suites/catalogue"

// Check is the script that tries one requirement. Probe, ProcessProbe, ShutdownProbe and Watch create one.
type Check struct {
	kind kind
	run  func(*T)
	// setup is for a watch: it makes sure that what the watch judges is on the wire; nil when nothing has to be done.
	setup func(*T)

	whenConnectRefused, whenProtected bool
	// reusedForInvalidInput is set when the check's process becomes the session for invalid input of later checks.
	reusedForInvalidInput bool

	// modern is the script for revisions without a handshake; nil when this one serves them as well.
	modern *Check
}

// kind says what a check needs, which decides when it runs.
type kind int

const (
	probe         kind = iota // uses sessions that it shares with others
	processProbe              // needs a process of its own, which is started ahead
	shutdownProbe             // ends a session, so it runs after the probes
	watch                     // judges what was on the wire, so it runs last
)

// Probe returns a check that sends requests in sessions which it may share with other checks.
func Probe(run func(*T)) Check { return Check{kind: probe, run: run} }

// ProcessProbe returns a check that needs a process to which nothing was sent yet (Process). Others may use its
// sessions afterwards.
func ProcessProbe(run func(*T)) Check { return Check{kind: processProbe, run: run} }

// ReusedForInvalidInput marks a check whose process suits others as their session for invalid input, because the check
// has sent such input itself. Over stdio, the checks that want such a session are tried after it.
func (c Check) ReusedForInvalidInput() Check {
	c.reusedForInvalidInput = true
	return c
}

// ShutdownProbe returns a check of how a session ends (ToEnd). It runs after the probes.
func ShutdownProbe(run func(*T)) Check { return Check{kind: shutdownProbe, run: run} }

// Watch returns a check that sends nothing: it judges what was on the wire during the whole run.
func Watch(judge func(*T, Wire)) Check { return WatchWithSetup(nil, judge) }

// WatchWithSetup returns a watch with a setup that makes sure something to judge is on the wire. The setup sends
// requests like a probe and judges nothing.
func WatchWithSetup(stimulate func(*T), judge func(*T, Wire)) Check {
	return Check{kind: watch, setup: stimulate, run: func(t *T) { judge(t, t.watchedWire()) }}
}

// WhenConnectRefused returns the check so that it is also tried on a server that refuses the handshake: it sends its
// requests by hand, or is about the handshake itself.
func (c Check) WhenConnectRefused() Check {
	c.whenConnectRefused = true
	return c
}

// WhenProtected returns the check so that it is also tried when a server requires a token and there is no valid one: it
// is about the responses of such a server.
func (c Check) WhenProtected() Check {
	c.whenProtected = true
	return c
}

// InModern returns the check with another script for revisions without a handshake.
func (c Check) InModern(other Check) Check {
	c.modern = &other
	return c
}

// forRevision returns the script for a revision.
func (c Check) forRevision(revision string) Check {
	if c.modern != nil && catalogue.IsModern(revision) {
		return *c.modern
	}
	return c
}

// Suite holds checks by the id of the requirement that they try; usually those of one area.
type Suite map[string]Check

// MergeSuites returns the checks of all suites. It panics when two of them have a check for the same id.
func MergeSuites(suites ...Suite) Suite {
	all := Suite{}
	for _, suite := range suites {
		for id, check := range suite {
			if _, twice := all[id]; twice {
				panic("check: two checks of " + id)
			}
			all[id] = check
		}
	}
	return all
}

// WhenProtected returns the suite with Check.WhenProtected applied to all of its checks.
func (s Suite) WhenProtected() Suite {
	all := Suite{}
	for id, check := range s {
		all[id] = check.WhenProtected()
	}
	return all
}
