package harness

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// stop ends a check from inside.
type stop struct{ outcome }

// outcome is what an attempt came to.
type outcome struct {
	verdict   Verdict
	level     Level  // of a fail
	reason    Reason // of a skip or an inconclusive
	message   string
	note      string
	findings  []Finding // of a fail
	truncated bool      // there are more findings
	untold    []Finding // those
	where     []string
	subjects  []string
	shown     shown           // the evidence; nothing: what the attempt has said and heard
	lines     []Line          // these as reports have them
	decided   []*driver.Frame // of a fail: the exchange in which it was seen
	heard     []passage       // of a fail: what was said and heard until then
	wrong     []mistake       // of a fail: by finding
	mistakeOf string          // of a fail: the entry that is about it
	yieldsTo  []string        // of one for another check: ids besides those that the entry yields to
	unjudged  []string        // of a pass: subjects that yield
	users     [][]string      // of the sessions in which it was seen: of each fail, those that may have led to it
	again     bool            // an inconclusive that a session of its own may resolve
	lost      bool            // one that rests on a silent or dead server
	later     bool            // one of a quick run whose turn has not come
	until     *step           // that is being held for another check, and is read; nil: none
}

// isPutOff reports whether the attempt was put off.
func (o outcome) isPutOff() bool { return o.later || o.until != nil }

// confirmed reports whether the outcome needs no confirmation alone.
func (o outcome) confirmed() bool {
	return o.verdict == Pass || o.verdict == Skip || o.verdict == Inconclusive && !o.again
}

// By is a T whose fails were decided by what is named, beside what they quote: replies, answers over HTTP, frames,
// messages, subjects. It is for values that do not tell of the exchange that brought them.
func (t *T) By(values ...any) *T {
	inner := *t
	inner.told = append(slices.Clone(t.told), values...)
	return &inner
}

// Expect asserts at the level of the requirement.
func (t *T) Expect(actual any) *Assertion { return t.assert(Must, actual) }

// Warn asserts what is a lesser deviation when it does not hold: a fail at level SHOULD.
func (t *T) Warn(actual any) *Assertion { return t.assert(Should, actual) }

// Inform asserts what is a mere note when it does not hold: a fail at level ADVICE.
func (t *T) Inform(actual any) *Assertion { return t.assert(Advice, actual) }

func (t *T) assert(most Level, actual any) *Assertion {
	r, isReply := actual.(driver.Reply)
	a := &Assertion{actual: actual, told: append(slices.Clone(t.told), actual)}
	a.gomega = gomega.NewGomega(func(message string, skip ...int) {
		depth := 1
		if len(skip) > 0 {
			depth += skip[0]
		}
		if isReply {
			RequireNotLate(t, r)
		}
		failed := t.failed(most, message, framesIn(a.told...), depth+1)
		failed.mistakeOf = a.mistakeOf
		panic(failed)
	}).ExpectWithOffset(1, actual)
	return a
}

// Assertion asserts something of a value. The evidence of a fail marks the exchange that decided: that of the value, of
// what Hold quotes and of what T.By names. Where none of these tells, it is the subject of Each or, without one, the
// last exchange that has what the message quotes.
type Assertion struct {
	gomega types.Assertion
	actual any
	told   []any // that tells what decides

	mistakeOf string // the entry that is about it, if the assertion does not hold
}

// To asserts that the value matches, under circumstances that a format and its arguments may say.
func (a *Assertion) To(m types.GomegaMatcher, circumstances ...any) bool {
	a.add(m)
	return a.gomega.To(m, circumstances...)
}

// NotTo asserts that the value does not match, under such circumstances.
func (a *Assertion) NotTo(m types.GomegaMatcher, circumstances ...any) bool {
	a.add(m)
	return a.gomega.NotTo(m, circumstances...)
}

// add adds what a matcher quotes to what tells, and which entry a mistake would be of.
func (a *Assertion) add(of types.GomegaMatcher) {
	m, ok := of.(*matcher)
	if !ok {
		return
	}
	a.told = append(a.told, m.args...)
	if m.mistakeOf != nil {
		a.mistakeOf = m.mistakeOf(a.actual)
	}
}

// say is Sprintf, with Got for the replies among the arguments, and the beginning of frames.
func say(format string, args []any) string {
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
	silence := (*driver.Silence)(nil)
	if !errors.As(r.Err, &silence) {
		return
	}
	given := t.run.target.Limits.ForReply()
	if silence.Coming {
		t.Because(Silent).Again("the server was still answering %s after the --timeout of %v", r.Method, given)
	}
	if _, late := r.Late(2 * given); late != nil {
		t.run.health.answers(r.Method)
		t.Because(Silent).Again("the server answered %s, but after the --timeout of %v", r.Method, given)
	}
}

// Fail ends the check with a fail at the level of the requirement, where there is no value left to assert something of:
// it says what was expected and, by a format and its arguments, what came. A reply among these is said by Got. The
// exchanges of replies, answers and frames among them are marked in the evidence.
func (t *T) Fail(want, got string, args ...any) { t.failAt(Must, want, got, args) }

// FailAt is Fail for a lesser deviation: at that level or, if it is lower, at that of the requirement.
func (t *T) FailAt(most Level, want, got string, args ...any) { t.failAt(most, want, got, args) }

func (t *T) failAt(most Level, want, got string, args []any) {
	panic(t.failed(most, wantGot(want, say(got, args)), framesIn(append(slices.Clone(t.told), args...)...), 3))
}

// failed is a fail at the level of the requirement, but not above most. The line that has found it is depth calls up.
func (t *T) failed(most Level, message string, decided []*driver.Frame, depth int) stop {
	_, file, line, _ := runtime.Caller(depth)
	return stop{outcome{
		verdict: Fail, level: min(most, t.entry.Level.In(t.by)), message: strings.TrimSpace(message),
		findings: []Finding{findingOf(message)}, decided: decided, heard: t.scope.passages(),
		where: []string{fmt.Sprintf("%s/%s:%d", filepath.Base(filepath.Dir(file)), filepath.Base(file), line)},
	}}
}

// Partly says what a pass of the check does not cover, and why: its result tells. It does not end the check.
func (t *T) Partly(format string, a ...any) {
	t.scope.partly = append(t.scope.partly, fmt.Sprintf(format, a...))
}

// Note says what the check has measured, whatever it comes to: its result tells. It does not end the check.
func (t *T) Note(format string, a ...any) {
	t.scope.notes = append(t.scope.notes, fmt.Sprintf(format, a...))
}

// Yield ends the check: the server makes a mistake that keeps it from judging, and that entries report to which its own
// yields. The message says what the mistake is, and names no entry.
func (t *T) Yield(format string, a ...any) {
	panic(stop{t.Because(OtherCheck).open(Skip, OtherCheck, format, a)})
}

// Skip ends the check: it does not apply to this server.
func (t *T) Skip(format string, a ...any) {
	panic(stop{t.open(Skip, NotApplicable, format, a)})
}

// Inconclusive ends the check: it applies and could not be tried.
func (t *T) Inconclusive(format string, a ...any) {
	panic(stop{t.open(Inconclusive, Undecided, format, a)})
}

// Again ends the check as inconclusive because of the state of a session, not of what the check is about: in a session
// of its own it may end otherwise.
func (t *T) Again(format string, a ...any) {
	o := t.open(Inconclusive, Undecided, format, a)
	o.again = true
	panic(stop{o})
}

// NoAnswer ends the check as inconclusive because the server was silent whatever was tried: once more would bring
// nothing.
func NoAnswer(t *T, format string, a ...any) {
	o := t.open(Inconclusive, Silent, format, a)
	o.lost = true
	panic(stop{o})
}
