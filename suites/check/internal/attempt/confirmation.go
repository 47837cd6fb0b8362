package attempt

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// ConfirmationSessions are the sessions in which failures that do not block are confirmed, one after the other.
// Starting a process for each of these failures would take too long.
type ConfirmationSessions struct {
	pool *driver.Pool
	// InvalidInputOnly says that everything goes into one session, for invalid input.
	InvalidInputOnly bool
	// sessions holds at most one session for valid input and one for invalid input.
	sessions []*driver.Session
}

// NewConfirmationSessions returns sessions that are opened in a pool when they are needed.
func NewConfirmationSessions(pool *driver.Pool) *ConfirmationSessions {
	return &ConfirmationSessions{pool: pool}
}

// Close closes the sessions.
func (g *ConfirmationSessions) Close() {
	for _, s := range g.sessions {
		g.pool.CloseSession(s)
	}
}

// Session returns the session for valid or for invalid input. Invalid input may be sent in the session for valid input
// if there is no other. A session that has ended, or in which a request was not answered, is replaced.
func (g *ConfirmationSessions) Session(invalidInput bool) (*driver.Session, error) {
	invalidInput = invalidInput || g.InvalidInputOnly
	g.sessions = slices.DeleteFunc(g.sessions, func(s *driver.Session) bool {
		over := !s.IsOrdinary() || s.HasFault()
		if over {
			g.pool.CloseSession(s)
		}
		return over
	})
	if i := g.indexOf(invalidInput); i >= 0 {
		return g.sessions[i], nil
	}
	if i := g.indexOf(false); invalidInput && i >= 0 {
		return g.sessions[i], nil
	}
	s, err := g.pool.GetUnused()
	if err == nil {
		g.sessions = append(g.sessions, s)
	}
	return s, err
}

// indexOf returns the index of the session for valid or for invalid input, -1 when there is none.
func (g *ConfirmationSessions) indexOf(invalidInput bool) int {
	return slices.IndexFunc(g.sessions, func(s *driver.Session) bool { return s.HasInvalidInput() == invalidInput })
}

// Release ends the sessions of an attempt, except for those that Keep keeps.
func (g *ConfirmationSessions) Release(used *Scope) {
	g.Keep(used)
	used.Release(g.pool, false)
}

// Keep keeps of the sessions of an attempt what can serve later confirmations: one for valid and one for invalid input.
func (g *ConfirmationSessions) Keep(used *Scope) {
	for i, u := range used.Uses {
		if s := u.Session; u.Ownership == Exclusive && s.IsOrdinary() && !s.HasFault() &&
			g.indexOf(s.HasInvalidInput()) < 0 {
			g.sessions = append(g.sessions, s)
			used.Uses[i].Ownership = Inherited
		}
	}
}
