package check

import (
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check/internal/attempt"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// RequireTimeFor ends a check that has to wait for d, which the operator has declared under a key, if the run does not
// last that long.
func RequireTimeFor(t *T, s *driver.Session, key string, d time.Duration) {
	RequireTime(t)
	if left := s.TimeLeft(); left <= d {
		t.NoVerdict(report.Budget, "%s is %v, and the run ends before (--budget)", key, d)
	}
}

// ObserveLate keeps the sessions of the run open until LateWindow after since, when something was sent that may have
// late effects for watches to judge. The check does not wait; only the end of the run does.
func ObserveLate(t *T, since time.Time) {
	t.attempt.Run.ObserveUntil(since.Add(timing.LateWindow))
}

// KeepIdle sends nothing more in a session for at least LateWindow, so that watches can judge what the server sends in
// it. The check itself has to wait if the server serves one client at a time, or if the run has waited for late
// messages already.
func KeepIdle(t *T, s *driver.Session) {
	if t.Server.OneClient || !t.attempt.Run.KeepIdle(s) {
		s.Sleep(timing.LateWindow)
		return
	}
	ObserveLate(t, time.Now())
	t.setOwnership(s, attempt.Idle)
}
