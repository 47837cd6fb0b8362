package check

import (
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check/internal/attempt"
)

// What package engine uses to run checks; authors of checks need nothing of this file.

// Script is a check as the engine runs it in one revision.
type Script struct {
	Kind attempt.Kind
	Run  func(*T)
	// Setup is for a watch: it makes sure that what the watch judges is on the wire; nil when nothing has to be done.
	Setup func(*T)

	WhenConnectRefused, WhenProtected bool
	// ReusedForInvalidInput is set when the check's process becomes the session for invalid input of later checks.
	ReusedForInvalidInput bool
	// InOwnSession is set when Run, or the Setup of a watch, takes another session than the one of a quick run.
	InOwnSession bool
	StartsFirst  bool
}

// ScriptOf returns the script of a check for a revision.
func ScriptOf(c Check, revision string) Script {
	if c.modern != nil && catalogue.IsModern(revision) {
		return *c.modern
	}
	return c.script
}

// NewT returns what the script of a check works with in an attempt.
func NewT(server *Server, revision string, seed int64, credentials Credentials, a *attempt.Attempt) *T {
	return &T{Server: server, Revision: revision, Seed: seed, Credentials: credentials, attempt: a}
}

// watchedWire returns the sessions that were opened before the watch phase. Those that watches open for a confirmation
// are not judged, since their handshake may still be going on.
func (t *T) watchedWire() Wire { return Wire{Sessions: t.attempt.Run.WatchedSessions} }
