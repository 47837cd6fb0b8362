package attempt

import (
	"cmp"
	"sync"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// Attempt is one execution of the script of a check, or the part of it that is a step or runs in parallel.
type Attempt struct {
	Run         *Run
	Requirement *catalogue.Requirement
	// JudgedBy is the revision whose text the check is judged by.
	JudgedBy string
	// HasOwnSessions says that every session is the attempt's own, since it confirms a verdict.
	HasOwnSessions bool
	// ReusedForInvalidInput says that later checks use the process of this check.
	ReusedForInvalidInput bool
	Scope                 *Scope
	// stepName is the name of the step that is being run; empty outside a step.
	stepName string
}

// IsConfirmation reports whether the attempt confirms a verdict.
func (a *Attempt) IsConfirmation() bool { return a.HasOwnSessions || a.Run.Isolate }

// Use notes that the attempt uses a session.
func (a *Attempt) Use(s *driver.Session, how Ownership) {
	before := s.SetUser(cmp.Or(a.stepName, a.Requirement.ID))
	a.Scope.Uses = append(a.Scope.Uses, SessionUse{Session: s, Ownership: how, mark: s.Mark(), previousUser: before})
}

// Parallel runs n parts of an attempt, each with sessions of its own, at the same time unless only one case may run at
// a time. If parts do not pass, the attempt ends as the first of them did.
func (a *Attempt) Parallel(n int, run func(part *Attempt, i int)) {
	outcomes := make([]Outcome, n)
	scopes := make([]*Scope, n)
	var parts sync.WaitGroup
	for i := range n {
		scopes[i] = &Scope{parent: a.Scope, IsParallel: true}
		parts.Go(func() {
			part := *a
			part.Scope = scopes[i]
			outcomes[i] = Try(func() { run(&part, i) })
		})
		if a.Run.Serial.Load() || a.Run.Jobs == 1 {
			parts.Wait()
		}
	}
	parts.Wait()
	for _, c := range scopes {
		a.Scope.join(c)
	}
	for _, o := range outcomes {
		if o.Verdict != catalogue.Pass {
			End(o)
		}
	}
}
