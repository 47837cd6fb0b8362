package check

import (
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check/internal/attempt"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// needsTime is the message of a check that a quick run does not try.
const needsTime = "it takes longer than a quick run waits"

// RequireLiveServer ends a check that would send something to the server, or needs more than a recording contains, if
// there is only a recording.
func RequireLiveServer(t *T) {
	if t.attempt.Run.IsReplay {
		panic(driver.NoServer{})
	}
}

// IsQuick reports whether the run is a quick one over stdio, and this attempt is not a confirmation.
func (t *T) IsQuick() bool { return t.attempt.Run.HasSingleSession && !t.IsConfirmation() }

// requireSecondSession ends a check of a quick run that would open a second session, unless it is a confirmation. Those
// that always do are not in its plan.
func (t *T) requireSecondSession() {
	if t.IsQuick() {
		attempt.End(notTried("it came to need another session than the one of a quick run"))
	}
}

// notTried returns the outcome of a check that a quick run does not try.
func notTried(why string) attempt.Outcome {
	return attempt.Outcome{Verdict: catalogue.Inconclusive, Reason: report.NotTried, Message: why}
}

// RequireTime ends a check of a quick run that would wait for a long time, unless it is a confirmation.
func RequireTime(t *T) {
	if t.IsQuick() {
		attempt.End(notTried(needsTime))
	}
}

// scheduled returns whether the check gets the session for invalid input. In a quick run that session comes last, and
// is then the only one.
func (t *T) scheduled(invalidInput bool) bool {
	switch {
	case !t.IsQuick():
		return invalidInput
	case t.attempt.Run.InvalidPhase.Load():
		NeedsConfirmation(t)
		return true
	case invalidInput:
		o := notTried(attempt.NeedsSecondSession)
		o.OutOfTurn = true
		attempt.End(o)
	}
	return false
}

// KnownUnanswered returns the error of a method that is known to get no response, from repeated requests; nil when that
// is not known. A check that does not pass because of it is retried with nothing else running.
func KnownUnanswered(t *T, method string) error {
	err := t.attempt.Run.Health.UnansweredError(method)
	if err != nil {
		t.attempt.Scope.AddFault(attempt.SessionFault{Unanswered: []string{method}})
	}
	return err
}

// requireAnswered ends the check as inconclusive when a method is known to get no response.
func (t *T) requireAnswered(method string) {
	if err := KnownUnanswered(t, method); err != nil {
		t.Retry(report.Silent, "%s was not asked again: %v", method, err)
	}
}

// RequireSerial ends an attempt in which a method got no response within a short time, unless nothing else runs. It is
// retried when nothing else runs, so that the server has all the time it needs.
func RequireSerial(t *T, method string) {
	if t.attempt.Run.Serial.Load() {
		return
	}
	t.attempt.Scope.AddFault(attempt.SessionFault{Unanswered: []string{method}})
	t.Retry(report.Silent, "%s was not waited for while others were tried", method)
}

// ServerDown reports whether the run was stopped because the server no longer serves. checked is the session of the
// health check, in which only no-ops were sent and which ended or got no response; nil when no session could be opened.
func ServerDown(t *T) (checked *driver.Session, down bool) {
	reason, checked := t.attempt.Run.Health.DownReason()
	return checked, reason != ""
}
