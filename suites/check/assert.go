package check

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check/internal/attempt"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// DecidedBy returns a T whose failures mark the given values in their evidence, besides what they quote: replies, HTTP
// responses, frames, messages or subjects. It is for asserted values that do not know the call they come from.
func (t *T) DecidedBy(values ...any) *T {
	inner := *t
	inner.decidedBy = append(slices.Clone(t.decidedBy), values...)
	return &inner
}

// Expect asserts something of a value, at the level of the requirement.
func (t *T) Expect(actual any) *Assertion { return t.assert(catalogue.Must, actual) }

// ExpectShould asserts something whose violation is minor: the fail has at most the level SHOULD.
func (t *T) ExpectShould(actual any) *Assertion { return t.assert(catalogue.Should, actual) }

// ExpectAdvice asserts something whose violation is only worth a note: the fail has the level ADVICE.
func (t *T) ExpectAdvice(actual any) *Assertion { return t.assert(catalogue.Advice, actual) }

func (t *T) assert(most catalogue.Level, actual any) *Assertion {
	r, isReply := actual.(driver.Reply)
	a := &Assertion{actual: actual, decidedBy: append(slices.Clone(t.decidedBy), actual)}
	a.gomega = gomega.NewGomega(func(message string, skip ...int) {
		depth := 1
		if len(skip) > 0 {
			depth += skip[0]
		}
		if isReply {
			RequireNotLate(t, r)
		}
		failed := t.newFail(most, message, framesIn(a.decidedBy...), depth+1)
		failed.ViolatedEntries = a.violatedEntries
		attempt.End(failed)
	}).ExpectWithOffset(1, actual)
	return a
}

// Assertion asserts something of a value. The evidence of a fail marks the call that decided: that of the value, of
// what BeTrue quotes and of what DecidedBy names. If none of these knows its call, the subject of Each is marked or,
// outside Each, the last call that contains what the message quotes.
type Assertion struct {
	gomega types.Assertion
	actual any
	// decidedBy are values that know the call that decides.
	decidedBy []any

	// violatedEntries are the ids of entries each of which is about a failure of this assertion.
	violatedEntries []string
}

// To asserts that the value matches; circumstances are a format with its arguments, for the message of a fail.
func (a *Assertion) To(m types.GomegaMatcher, circumstances ...any) bool {
	a.addMatcher(m)
	return a.gomega.To(m, circumstances...)
}

// NotTo asserts that the value does not match; circumstances are those of To.
func (a *Assertion) NotTo(m types.GomegaMatcher, circumstances ...any) bool {
	a.addMatcher(m)
	return a.gomega.NotTo(m, circumstances...)
}

// addMatcher notes what a matcher quotes and which entries are about a failure of it.
func (a *Assertion) addMatcher(of types.GomegaMatcher) {
	m, ok := of.(*matcher)
	if !ok {
		return
	}
	a.decidedBy = append(a.decidedBy, m.args...)
	if m.violatedEntries != nil {
		a.violatedEntries = m.violatedEntries(a.actual)
	}
}

// formatGot is fmt.Sprintf that shows replies by Got, and frames by their beginning.
func formatGot(format string, args []any) string {
	args = slices.Clone(args)
	for i, arg := range args {
		switch arg := arg.(type) {
		case driver.Reply:
			args[i] = Got(arg)
		case *driver.Frame:
			if args[i] = ""; arg != nil {
				args[i] = arg.Raw.Brief()
			}
		}
	}
	return fmt.Sprintf(format, args...)
}

// RequireNotLate ends a check that would blame the server for an unanswered request if the response was arriving at the
// timeout, or arrives within twice the timeout: such a server is slow, not wrong. Every assertion about a reply does
// this. Checks call it themselves when they continue in the session before they assert.
func RequireNotLate(t *T, r driver.Reply) {
	silence := (*driver.TimeoutError)(nil)
	if !errors.As(r.Err, &silence) {
		return
	}
	timeout := t.attempt.Run.Target.Limits.ReplyTimeoutOrDefault()
	if silence.Receiving {
		t.Retry(report.Silent, "the server was still answering %s after the --timeout of %v", r.Method,
			timeout)
	}
	if _, late := r.AwaitLate(2 * timeout); late != nil {
		t.attempt.Run.Health.RecordAnswer(r.Method)
		t.Retry(report.Silent, "the server answered %s, but after the --timeout of %v", r.Method, timeout)
	}
}

// Fail ends the check with a fail at the level of the requirement, for when there is no single value to assert
// something of: want says what was expected, and got, a format with its arguments, what was received. Replies among the
// arguments are shown by Got. The evidence marks the calls of replies, HTTP responses and frames among them.
func (t *T) Fail(want, got string, args ...any) { t.failAt(catalogue.Must, want, got, args) }

// FailAt is Fail at the given level or, if it is lower, at that of the requirement.
func (t *T) FailAt(most catalogue.Level, want, got string, args ...any) {
	t.failAt(most, want, got, args)
}

func (t *T) failAt(most catalogue.Level, want, got string, args []any) {
	attempt.End(t.newFail(most, failMessage(want, formatGot(got, args)),
		framesIn(append(slices.Clone(t.decidedBy), args...)...), 3))
}

// newFail returns a fail at the level of the requirement, but at most at level most. The failing line is depth callers
// up.
func (t *T) newFail(most catalogue.Level, message string, decided []*driver.Frame, depth int) attempt.Outcome {
	_, file, line, _ := runtime.Caller(depth)
	return attempt.Outcome{
		Verdict: catalogue.Fail, Level: min(most, t.attempt.Requirement.Level.In(t.attempt.JudgedBy)),
		Message:  strings.TrimSpace(message),
		Findings: []report.Finding{findingOf(message)}, DecidedBy: decided, Ranges: t.attempt.Scope.RecordRanges(),
		Locations: []string{fmt.Sprintf("%s/%s:%d", filepath.Base(filepath.Dir(file)), filepath.Base(file), line)},
	}
}

// Caveat notes what a pass of the check does not cover, and why, for its result. It does not end the check.
func (t *T) Caveat(format string, a ...any) {
	t.attempt.Scope.Caveats = append(t.attempt.Scope.Caveats, fmt.Sprintf(format, a...))
}

// Note notes what the check has measured, for its result, whatever the verdict is. It does not end the check.
func (t *T) Note(format string, a ...any) {
	t.attempt.Scope.Notes = append(t.attempt.Scope.Notes, fmt.Sprintf(format, a...))
}

// Yield ends the check because of a violation that keeps it from judging and that entries report to which its own
// yields. The message says what the violation is, and names no entry.
func (t *T) Yield(format string, a ...any) {
	attempt.End(attempt.Outcome{Verdict: catalogue.Skip, Reason: report.OtherCheck, Message: fmt.Sprintf(format, a...)})
}

// Skip ends the check because it does not apply to this server. The reason NotApplicable gives way to that of a value
// among the arguments, such as an error.
func (t *T) Skip(reason report.Reason, format string, a ...any) {
	attempt.End(noVerdict(catalogue.Skip, reason, format, a))
}

// NoVerdict ends the check because it applies, but could not be tried. The reason Undecided gives way to that of a
// value among the arguments, such as an error.
func (t *T) NoVerdict(reason report.Reason, format string, a ...any) {
	attempt.End(noVerdict(catalogue.Inconclusive, reason, format, a))
}

// Retry is NoVerdict because of the state of a session, not of what the check is about: a new session may decide it.
func (t *T) Retry(reason report.Reason, format string, a ...any) {
	o := noVerdict(catalogue.Inconclusive, reason, format, a)
	o.Retryable = true
	attempt.End(o)
}

// NoAnswer ends the check without a verdict because the server answered nothing that was tried, so that another attempt
// would not help.
func NoAnswer(t *T, format string, a ...any) {
	o := noVerdict(catalogue.Inconclusive, report.Undecided, format, a)
	if o.Reason == report.Undecided {
		o.Reason = report.Silent
	}
	o.Unresponsive = true
	attempt.End(o)
}

// noVerdict returns an outcome without a verdict on the server. A general reason gives way to that of a value that the
// message shows.
func noVerdict(v catalogue.Verdict, reason report.Reason, format string, shown []any) attempt.Outcome {
	o := attempt.Outcome{Verdict: v, Reason: reason, Message: fmt.Sprintf(format, shown...)}
	if reason == report.NotApplicable || reason == report.Undecided {
		for _, value := range slices.Backward(shown) {
			o.Reason = cmp.Or(ReasonOf(value), o.Reason)
		}
	}
	return o
}
