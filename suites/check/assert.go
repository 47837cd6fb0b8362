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

// markDown ends a check from inside.
type stop struct{ outcome }

// runCheck is what an attempt came to.
type outcome struct {
	verdict         catalogue.Verdict
	level           catalogue.Level // of a fail
	reason          report.Reason   // of a skip or an inconclusive
	message         string
	note            string
	findings        []report.Finding // of a fail
	truncated       bool             // there are more findings
	omittedFindings []report.Finding // those
	locations       []string
	subjects        []string
	evidence        evidence        // the evidence; nothing: what the attempt has said and heard
	lines           []report.Line   // these as reports have them
	decidedBy       []*driver.Frame // of a fail: the exchange in which it was seen
	ranges          []recordRange   // of a fail: what was said and heard until then
	violations      []violation     // of a fail: by finding
	violatedEntry   string          // of a fail: the entry that is about it
	yieldsTo        []string        // of one for another check: ids besides those that the entry yields to
	notJudged       []string        // of a pass: subjects that yield
	usedBy          [][]string      // of the sessions in which it was seen: of each fail, those that may have led to it
	retryable       bool            // an inconclusive that a session of its own may resolve
	unresponsive    bool            // one that rests on a silent or dead server
	outOfTurn       bool            // one of a quick run whose turn has not come
	waitsFor        *step           // that is being held for another check, and is read; nil: none
}

// isPostponed reports whether the attempt was put off.
func (o outcome) isPostponed() bool { return o.outOfTurn || o.waitsFor != nil }

// isFinal reports whether the outcome needs no confirmation alone.
func (o outcome) isFinal() bool {
	return o.verdict == catalogue.Pass || o.verdict == catalogue.Skip || o.verdict == catalogue.Inconclusive &&
		!o.retryable
}

// By is a T whose fails were decided by what is named, beside what they quote: replies, answers over HTTP, frames,
// messages, subjects. It is for values that do not tell of the exchange that brought them.
func (t *T) DecidedBy(values ...any) *T {
	inner := *t
	inner.decidedBy = append(slices.Clone(t.decidedBy), values...)
	return &inner
}

// Expect asserts at the level of the requirement.
func (t *T) Expect(actual any) *Assertion { return t.assert(catalogue.Must, actual) }

// ExpectShould asserts what is a lesser deviation when it does not hold: a fail at level SHOULD.
func (t *T) ExpectShould(actual any) *Assertion { return t.assert(catalogue.Should, actual) }

// ExpectAdvice asserts what is a mere note when it does not hold: a fail at level ADVICE.
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

// Assertion asserts something of a value. The evidence of a fail marks the exchange that decided: that of the value, of
// what Hold quotes and of what T.By names. Where none of these tells, it is the subject of Each or, without one, the
// last exchange that has what the message quotes.
type Assertion struct {
	gomega    types.Assertion
	actual    any
	decidedBy []any // that tells what decides

	violatedEntry string // the entry that is about it, if the assertion does not hold
}

// To asserts that the value matches, under circumstances that a format and its arguments may say.
func (a *Assertion) To(m types.GomegaMatcher, circumstances ...any) bool {
	a.addMatcher(m)
	return a.gomega.To(m, circumstances...)
}

// NotTo asserts that the value does not match, under such circumstances.
func (a *Assertion) NotTo(m types.GomegaMatcher, circumstances ...any) bool {
	a.addMatcher(m)
	return a.gomega.NotTo(m, circumstances...)
}

// add adds what a matcher quotes to what tells, and which entry a mistake would be of.
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

// formatGot is Sprintf, with Got for the replies among the arguments, and the beginning of frames.
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

// RequireNotLate ends a check that would blame the server for a request without an answer which was on its way, or has
// one after all, in twice the time: it is slow, and not wrong. Every assertion about a reply does so; it is for who
// goes on in the session first.
func RequireNotLate(t *T, r driver.Reply) {
	silence := (*driver.TimeoutError)(nil)
	if !errors.As(r.Err, &silence) {
		return
	}
	given := t.execution.target.Limits.ReplyTimeoutOrDefault()
	if silence.Receiving {
		t.WithReason(report.Silent).Retry("the server was still answering %s after the --timeout of %v", r.Method,
			given)
	}
	if _, late := r.AwaitLate(2 * given); late != nil {
		t.execution.health.recordAnswer(r.Method)
		t.WithReason(report.Silent).Retry("the server answered %s, but after the --timeout of %v", r.Method, given)
	}
}

// Fail ends the check with a fail at the level of the requirement, where there is no value left to assert something of:
// it says what was expected and, by a format and its arguments, what came. A reply among these is said by Got. The
// exchanges of replies, answers and frames among them are marked in the evidence.
func (t *T) Fail(want, got string, args ...any) { t.failAt(catalogue.Must, want, got, args) }

// FailAt is Fail for a lesser deviation: at that level or, if it is lower, at that of the requirement.
func (t *T) FailAt(most catalogue.Level, want, got string, args ...any) {
	t.failAt(most, want, got, args)
}

func (t *T) failAt(most catalogue.Level, want, got string, args []any) {
	panic(t.newFail(most, failMessage(want, formatGot(got, args)),
		framesIn(append(slices.Clone(t.decidedBy), args...)...), 3))
}

// failed is a fail at the level of the requirement, but not above most. The line that has found it is depth calls up.
func (t *T) newFail(most catalogue.Level, message string, decided []*driver.Frame, depth int) stop {
	_, file, line, _ := runtime.Caller(depth)
	return stop{outcome{
		verdict: catalogue.Fail, level: min(most, t.requirement.Level.In(t.judgedBy)),
		message:  strings.TrimSpace(message),
		findings: []report.Finding{findingOf(message)}, decidedBy: decided, ranges: t.scope.recordRanges(),
		locations: []string{fmt.Sprintf("%s/%s:%d", filepath.Base(filepath.Dir(file)), filepath.Base(file), line)},
	}}
}

// Caveat says what a pass of the check does not cover, and why: its result tells. It does not end the check.
func (t *T) Caveat(format string, a ...any) {
	t.scope.caveats = append(t.scope.caveats, fmt.Sprintf(format, a...))
}

// Note says what the check has measured, whatever it comes to: its result tells. It does not end the check.
func (t *T) Note(format string, a ...any) {
	t.scope.notes = append(t.scope.notes, fmt.Sprintf(format, a...))
}

// Yield ends the check: the server makes a mistake that keeps it from judging, and that entries report to which its own
// yields. The message says what the mistake is, and names no entry.
func (t *T) Yield(format string, a ...any) {
	panic(stop{t.WithReason(report.OtherCheck).noVerdict(catalogue.Skip, report.OtherCheck, format, a)})
}

// Skip ends the check: it does not apply to this server.
func (t *T) Skip(format string, a ...any) {
	panic(stop{t.noVerdict(catalogue.Skip, report.NotApplicable, format, a)})
}

// Inconclusive ends the check: it applies and could not be tried.
func (t *T) Inconclusive(format string, a ...any) {
	panic(stop{t.noVerdict(catalogue.Inconclusive, report.Undecided, format, a)})
}

// Retry ends the check as inconclusive because of the state of a session, not of what the check is about: in a session
// of its own it may end otherwise.
func (t *T) Retry(format string, a ...any) {
	o := t.noVerdict(catalogue.Inconclusive, report.Undecided, format, a)
	o.retryable = true
	panic(stop{o})
}

// NoAnswer ends the check as inconclusive because the server was silent whatever was tried: once more would bring
// nothing.
func NoAnswer(t *T, format string, a ...any) {
	o := t.noVerdict(catalogue.Inconclusive, report.Silent, format, a)
	o.unresponsive = true
	panic(stop{o})
}

// WithReason is the check with a reason for what it ends with: t.Because(NotOffered).Skip("the server lists no tool").
func (t *T) WithReason(r report.Reason) *T {
	inner := *t
	inner.reason = r
	return &inner
}

// open is an outcome without a verdict. Its reason is the one given, or that of a value that the message shows, or the
// general one.
func (t *T) noVerdict(v catalogue.Verdict, general report.Reason, format string, shown []any) outcome {
	o := outcome{verdict: v, reason: t.reason, message: fmt.Sprintf(format, shown...)}
	for _, value := range shown {
		o.reason = cmp.Or(o.reason, ReasonOf(value))
	}
	o.reason = cmp.Or(o.reason, general)
	return o
}
