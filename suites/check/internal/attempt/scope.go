package attempt

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// Scope has the sessions and the evidence of one attempt, or of a step or a parallel part of it. All Ts of the attempt
// share it.
type Scope struct {
	parent         *Scope
	IsConfirmation bool
	// Confirmation has the sessions that the attempt shares with other confirmations; nil when it shares none.
	Confirmation *ConfirmationSessions
	// IsParallel says that the parent's sessions are in use by other parts.
	IsParallel bool
	// fault is what went wrong outside the sessions of the scope.
	fault SessionFault
	// EntryID is the id of the check, which may be the one that reports why nothing else can be judged.
	EntryID string
	// stepVoid says why nothing in a step that was read can be held against the server; nil otherwise.
	stepVoid *Outcome
	Uses     []SessionUse
	// Recorded has the established sessions without a server where a recording is judged, for valid input (false) and
	// for invalid input (true).
	Recorded map[bool]*driver.Session
	// Reused says that a verdict may rest on a session that others have used.
	Reused bool
	// NeedsConfirmation says that a verdict may rest on more than well-formed messages in such a session.
	NeedsConfirmation bool
	// SavedRequests says that the attempt, or a step that it read, tried less than of a quicker server.
	SavedRequests bool
	// stepRanges are the parts of records that belong to steps that were read.
	stepRanges []RecordRange
	readSteps  []*Step
	// Caveats say what a pass does not cover, and why.
	Caveats []string
	// NotJudged says what a pass does not cover unless other checks report why.
	NotJudged []string
	// Notes are what was measured.
	Notes []string
}

// SessionUse is the use of a session by an attempt.
type SessionUse struct {
	Session   *driver.Session
	Ownership Ownership
	// mark is where the use begins in the session's record.
	mark int
	// previousUser is the check or step that used the session before.
	previousUser string
}

// Ownership says where a session comes from, which decides where it goes afterwards.
type Ownership int

const (
	Exclusive       Ownership = iota // opened for this attempt
	Pooled                           // taken from the pool, to which it returns
	Inherited                        // in use by the enclosing attempt, which releases it
	SharedWithSteps                  // opened for an attempt whose steps use it
	Idle                             // kept open without use until the run closes it
	Unused                           // returned to the pool for a check that wants a session nobody has used
)

// HasPooled reports whether this attempt has a session of the pool of a kind, or of one that is taken later. Such an
// attempt must not wait for another session, since two attempts could wait for each other.
func (c *Scope) HasPooled(kind driver.SessionKind) bool {
	for ; c != nil; c = c.parent {
		for _, u := range c.Uses {
			if u.Ownership != Inherited && u.Session.IsInUse(kind) {
				return true
			}
		}
	}
	return false
}

// Root returns the scope of the whole attempt, or of the parallel part of it.
func (c *Scope) Root() *Scope {
	for c.parent != nil && !c.IsParallel {
		c = c.parent
	}
	return c
}

// MatchingSession returns an established session of the attempt for valid or for invalid input; nil when it has none.
func (c *Scope) MatchingSession(revision string, invalidInput bool) *driver.Session {
	for ; c != nil; c = c.parent {
		for _, u := range c.Uses {
			if s := u.Session; s.IsOrdinary() && s.HasInvalidInput() == invalidInput && s.Revision == revision {
				return s
			}
		}
		if c.IsParallel {
			return nil
		}
	}
	return nil
}

// MarkReused notes that a verdict of the attempt may rest on reused sessions, or needs confirmation for another reason.
func (c *Scope) MarkReused(reused, needsConfirmation bool) {
	c.Reused, c.NeedsConfirmation = c.Reused || reused, c.NeedsConfirmation || needsConfirmation
}

// join adds what a parallel part has used and noted.
func (c *Scope) join(part *Scope) {
	c.Uses = append(c.Uses, part.Uses...)
	c.MarkReused(part.Reused, part.NeedsConfirmation)
	c.SavedRequests = c.SavedRequests || part.SavedRequests
	c.AddFault(part.Faults())
	c.stepVoid = cmp.Or(c.stepVoid, part.stepVoid)
	c.stepRanges = append(c.stepRanges, part.stepRanges...)
	c.Caveats = append(c.Caveats, part.Caveats...)
	c.NotJudged = append(c.NotJudged, part.NotJudged...)
	c.Notes = append(c.Notes, part.Notes...)
}

// savedRequests is the caveat of a pass for which a slow server was asked less.
const savedRequests = "fewer variants were tried: the server takes its time for each request"

// Try runs the script of an attempt and returns its outcome, with what proves it.
func (c *Scope) Try(ctx context.Context, script func()) Outcome {
	o := Try(script)
	o.Note = strings.Join(c.Notes, "\n")
	if c.SavedRequests {
		c.Caveats = append(c.Caveats, savedRequests)
	}
	if o.Verdict == catalogue.Pass {
		o.Message, o.NotJudged = strings.Join(c.Caveats, "\n"), c.NotJudged
	}
	switch void := c.voidOutcome(); {
	case ctx.Err() != nil && o.Verdict != catalogue.Pass:
		o = Interrupted(ctx)
	case o.Verdict == catalogue.Fail && void != nil && !slices.Contains(void.YieldsTo, c.EntryID):
		failed := o
		o = *void
		o.Evidence, o.DecidedBy = failed.Evidence, failed.DecidedBy
	}
	if o.Verdict == catalogue.Fail && o.Violations == nil {
		o.Violations = []Violation{NewViolation(o.DecisiveFrames(), o.ViolatedEntries)}
	}
	o.Lines = c.evidenceLines(o)
	o.Unresponsive = o.Unresponsive || o.Retryable && c.Faults().IsSet()
	return o
}

// Release gives back the sessions of an attempt: to other checks if it ended well; otherwise they are closed.
func (c *Scope) Release(pool *driver.Pool, well bool) {
	for _, u := range c.Uses {
		switch {
		case u.Ownership == Inherited:
			u.Session.SetUser(u.previousUser)
		case u.Ownership == Idle:
		case u.Ownership == Unused && well:
			pool.AddUnused(u.Session)
		case u.Session.IsInUse(driver.WithCapabilities) && well:
			pool.Put(u.Session)
		case u.Session.IsInUse(driver.WithCapabilities):
			pool.Discard(u.Session)
		case well:
			pool.Add(u.Session)
		default:
			pool.CloseSession(u.Session)
		}
	}
	c.Uses = nil
}

// IsRepeatable reports whether the requests of the attempt may be sent again in its sessions.
func (c *Scope) IsRepeatable() bool {
	return !slices.ContainsFunc(c.Uses, func(u SessionUse) bool { return u.Session.HasCustomIDs(u.mark) })
}

// hasInherited reports whether the attempt used a session of the attempt around it.
func (c *Scope) hasInherited() bool {
	return slices.ContainsFunc(c.Uses, func(u SessionUse) bool { return u.Ownership == Inherited })
}
