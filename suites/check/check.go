package check

import "github.com/mcpcheck/mcpcheck/suites/catalogue"

// Check is the script that tries one requirement.
type Check struct {
	kind  kind
	run   func(*T)
	setup func(*T) // of a watch: what has to be on the wire first; may be nil

	whenConnectRefused, whenProtected bool
	reusedForInvalidInput             bool // its process is going to be lent to others, which are tried after it

	modern *Check // the script for revisions without a handshake; nil: it is this one
}

// kind says what a check needs, which decides when it runs.
type kind int

const (
	probe         kind = iota // talks in sessions that are lent to it
	processProbe              // needs a process of its own, started ahead
	shutdownProbe             // ends a session, so it runs when the others are done
	watch                     // judges what was on the wire, so it runs last
)

// Probe is a check that talks to the server in sessions that it is lent.
func Probe(run func(*T)) Check { return Check{kind: probe, run: run} }

// ProcessProbe is a check that needs a process to which nothing was said, T.Start. Its sessions may be lent to others
// afterwards.
func ProcessProbe(run func(*T)) Check { return Check{kind: processProbe, run: run} }

// ReusedForInvalidInput is for a check whose process is a good one to lend as a hostile session, since what it began
// with was of that kind. Over stdio, others that want such a session are tried after it.
func (c Check) ReusedForInvalidInput() Check {
	c.reusedForInvalidInput = true
	return c
}

// ShutdownProbe is a check of how a session ends, SessionToEnd. It runs after the probes.
func ShutdownProbe(run func(*T)) Check { return Check{kind: shutdownProbe, run: run} }

// Watch is a check that says nothing: it judges what was on the wire during the whole run.
func Watch(judge func(*T, Wire)) Check { return WatchWithSetup(nil, judge) }

// WatchWithSetup is a watch that sees to it that something certain is on the wire: stimulate talks to the server like a
// probe, and judges nothing.
func WatchWithSetup(stimulate func(*T), judge func(*T, Wire)) Check {
	return Check{kind: watch, setup: stimulate, run: func(t *T) { judge(t, t.watchedWire()) }}
}

// WhenConnectRefused has the check tried also on a server that refuses to shake hands: it needs no handshake, since it
// makes its requests by hand, or is about the handshake.
func (c Check) WhenConnectRefused() Check {
	c.whenConnectRefused = true
	return c
}

// WhenProtected has the check tried also on a server that serves nothing without a good token, when there is none: it
// is about what such a server says then.
func (c Check) WhenProtected() Check {
	c.whenProtected = true
	return c
}

// InModern has the requirement tried by another script in revisions without a handshake.
func (c Check) InModern(other Check) Check {
	c.modern = &other
	return c
}

// forRevision is the script for a revision.
func (c Check) forRevision(revision string) Check {
	if c.modern != nil && catalogue.IsModern(revision) {
		return *c.modern
	}
	return c
}

// Suite is the checks of one area, by the id of the requirement they try.
type Suite map[string]Check

// MergeSuites puts suites together. An id that two of them have is a mistake of ours: it panics.
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

// WhenProtected is the suite with all of its checks so.
func (s Suite) WhenProtected() Suite {
	all := Suite{}
	for id, check := range s {
		all[id] = check.WhenProtected()
	}
	return all
}
