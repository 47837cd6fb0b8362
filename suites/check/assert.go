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
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// stop is the panic value with which a check ends itself.
type stop struct{ outcome }

// outcome is what one attempt at a check resulted in.
type outcome struct {
	verdict catalogue.Verdict
	// level is that of a fail.
	level catalogue.Level
	// reason is why a skip or an inconclusive result has no verdict.
	reason  report.Reason
	message string
	note    string
	// findings are those of a fail that are shown.
	findings []report.Finding
	// truncated says that a fail has more findings than are shown.
	truncated bool
	// omittedFindings are the findings that are not shown.
	omittedFindings []report.Finding
	locations       []string
	subjects        []string
	// evidence is what proves the outcome; when it is empty, everything in the attempt's sessions does.
	evidence evidence
	// lines are the evidence as reports show it.
	lines []report.Line
	// decidedBy is, for a fail, the call or round trip in which it was seen.
	decidedBy []*driver.Frame
	// ranges are, for a fail, the parts of the records until it was found.
	ranges []recordRange
	// violations are, for a fail, what each finding rests on.
	violations []violation
	// violatedEntry is, for a fail, the id of the entry that is about exactly this violation.
	violatedEntry string
	// yieldsTo are ids of causes in addition to those that the entry yields to.
	yieldsTo []string
	// notJudged are, for a pass, the subjects that could not be judged because of another violation.
	notJudged []string
	// usedBy are, for each fail, the checks and steps that may have triggered it in the sessions where it was seen.
	usedBy [][]string
	// retryable says that a fresh session may decide what is inconclusive.
	retryable bool
	// unresponsive says that the outcome rests on a server that was silent or had exited.
	unresponsive bool
	// outOfTurn says that a quick run tries the case later.
	outOfTurn bool
	// waitsFor is a step that the attempt reads while another check runs it; nil when there is none.
	waitsFor *step
}

// isPostponed reports whether the case is to be tried later.
func (o outcome) isPostponed() bool { return o.outOfTurn || o.waitsFor != nil }

// isFinal reports whether the outcome needs no confirmation on a fresh session.
func (o outcome) isFinal() bool {
	return o.verdict == catalogue.Pass || o.verdict == catalogue.Skip || o.verdict == catalogue.Inconclusive &&
		!o.retryable
}

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
		failed.violatedEntry = a.violatedEntry
		panic(failed)
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

	// violatedEntry is the id of the entry that is about a failure of this assertion; empty when none is known.
	violatedEntry string
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

// addMatcher notes what a matcher quotes and which entry is about a failure of it.
func (a *Assertion) addMatcher(of types.GomegaMatcher) {
	m, ok := of.(*matcher)
	if !ok {
		return
	}
	a.decidedBy = append(a.decidedBy, m.args...)
	if m.violatedEntry != nil {
		a.violatedEntry = m.violatedEntry(a.actual)
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
	timeout := t.execution.target.Limits.ReplyTimeoutOrDefault()
	if silence.Receiving {
		t.Retry(report.Silent, "the server was still answering %s after the --timeout of %v", r.Method,
			timeout)
	}
	if _, late := r.AwaitLate(2 * timeout); late != nil {
		t.execution.health.recordAnswer(r.Method)
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
	panic(t.newFail(most, failMessage(want, formatGot(got, args)),
		framesIn(append(slices.Clone(t.decidedBy), args...)...), 3))
}

// newFail returns a fail at the level of the requirement, but at most at level most. The failing line is depth callers
// up.
func (t *T) newFail(most catalogue.Level, message string, decided []*driver.Frame, depth int) stop {
	_, file, line, _ := runtime.Caller(depth)
	return stop{outcome{
		verdict: catalogue.Fail, level: min(most, t.requirement.Level.In(t.judgedBy)),
		message:  strings.TrimSpace(message),
		findings: []report.Finding{findingOf(message)}, decidedBy: decided, ranges: t.scope.recordRanges(),
		locations: []string{fmt.Sprintf("%s/%s:%d", filepath.Base(filepath.Dir(file)), filepath.Base(file), line)},
	}}
}

// Caveat notes what a pass of the check does not cover, and why, for its result. It does not end the check.
func (t *T) Caveat(format string, a ...any) {
	t.scope.caveats = append(t.scope.caveats, fmt.Sprintf(format, a...))
}

// Note notes what the check has measured, for its result, whatever the verdict is. It does not end the check.
func (t *T) Note(format string, a ...any) {
	t.scope.notes = append(t.scope.notes, fmt.Sprintf(format, a...))
}

// Yield ends the check because of a violation that keeps it from judging and that entries report to which its own
// yields. The message says what the violation is, and names no entry.
func (t *T) Yield(format string, a ...any) {
	panic(stop{outcome{verdict: catalogue.Skip, reason: report.OtherCheck, message: fmt.Sprintf(format, a...)}})
}

// Skip ends the check because it does not apply to this server. The reason NotApplicable gives way to that of a value
// among the arguments, such as an error.
func (t *T) Skip(reason report.Reason, format string, a ...any) {
	panic(stop{noVerdict(catalogue.Skip, reason, format, a)})
}

// NoVerdict ends the check because it applies, but could not be tried. The reason Undecided gives way to that of a
// value among the arguments, such as an error.
func (t *T) NoVerdict(reason report.Reason, format string, a ...any) {
	panic(stop{noVerdict(catalogue.Inconclusive, reason, format, a)})
}

// Retry is NoVerdict because of the state of a session, not of what the check is about: a new session may decide it.
func (t *T) Retry(reason report.Reason, format string, a ...any) {
	o := noVerdict(catalogue.Inconclusive, reason, format, a)
	o.retryable = true
	panic(stop{o})
}

// NoAnswer ends the check without a verdict because the server answered nothing that was tried, so that another attempt
// would not help.
func NoAnswer(t *T, format string, a ...any) {
	o := noVerdict(catalogue.Inconclusive, report.Undecided, format, a)
	if o.reason == report.Undecided {
		o.reason = report.Silent
	}
	o.unresponsive = true
	panic(stop{o})
}

// noVerdict returns an outcome without a verdict on the server. A general reason gives way to that of a value that the
// message shows.
func noVerdict(v catalogue.Verdict, reason report.Reason, format string, shown []any) outcome {
	o := outcome{verdict: v, reason: reason, message: fmt.Sprintf(format, shown...)}
	if reason == report.NotApplicable || reason == report.Undecided {
		for _, value := range slices.Backward(shown) {
			o.reason = cmp.Or(ReasonOf(value), o.reason)
		}
	}
	return o
}
