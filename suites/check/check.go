package check

import "github.com/mcpcheck/mcpcheck/suites/check/internal/attempt"

// Check is the script that tries one requirement. Probe, ProcessProbe, ShutdownProbe and Watch create one.
type Check struct {
	script Script
	// modern is the script for revisions without a handshake; nil when script serves them as well.
	modern *Script
}

// Probe returns a check that sends requests in sessions which it may share with other checks.
func Probe(run func(*T)) Check { return Check{script: Script{Kind: attempt.Probe, Run: run}} }

// ProcessProbe returns a check that needs a process to which nothing was sent yet (Process). Others may use its
// sessions afterwards.
func ProcessProbe(run func(*T)) Check {
	return Check{script: Script{Kind: attempt.ProcessProbe, Run: run, InOwnSession: true}}
}

// ReusedForInvalidInput marks a check whose process suits others as their session for invalid input, because the check
// has sent such input itself. Over stdio, the checks that want such a session are tried after it.
func (c Check) ReusedForInvalidInput() Check {
	c.script.ReusedForInvalidInput = true
	return c
}

// InOwnSession marks a check, or the setup of a watch, that takes another session than the one of a quick run, which
// does not try it. A ProcessProbe always does.
func (c Check) InOwnSession() Check {
	c.script.InOwnSession = true
	if c.modern != nil {
		c.modern.InOwnSession = true
	}
	return c
}

// StartsFirst marks a check that waits for messages which may come late: it starts before the others, so that they are
// tried in the meantime.
func (c Check) StartsFirst() Check {
	c.script.StartsFirst = true
	return c
}

// ShutdownProbe returns a check of how a session ends (ToEnd). It runs after the probes.
func ShutdownProbe(run func(*T)) Check {
	return Check{script: Script{Kind: attempt.ShutdownProbe, Run: run}}
}

// RestartProbe returns a check that ends the process of a server over HTTP (RestartServer, TerminateServer). It runs
// after the probes, when nothing else does.
func RestartProbe(run func(*T)) Check {
	return Check{script: Script{Kind: attempt.RestartProbe, Run: run}}
}

// Watch returns a check that sends nothing: it judges what was on the wire during the whole run.
func Watch(judge func(*T, Wire)) Check { return WatchWithSetup(nil, judge) }

// WatchWithSetup returns a watch with a setup that makes sure something to judge is on the wire. The setup sends
// requests like a probe and judges nothing.
func WatchWithSetup(stimulate func(*T), judge func(*T, Wire)) Check {
	return Check{script: Script{Kind: attempt.Watch, Setup: stimulate, Run: func(t *T) { judge(t, t.watchedWire()) }}}
}

// WhenConnectRefused returns the check so that it is also tried on a server that refuses the handshake: it sends its
// requests by hand, or is about the handshake itself.
func (c Check) WhenConnectRefused() Check {
	c.script.WhenConnectRefused = true
	return c
}

// WhenProtected returns the check so that it is also tried when a server requires a token and there is no valid one: it
// is about the responses of such a server.
func (c Check) WhenProtected() Check {
	c.script.WhenProtected = true
	return c
}

// InModern returns the check with another script for revisions without a handshake.
func (c Check) InModern(other Check) Check {
	c.modern = &other.script
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
