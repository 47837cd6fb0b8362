package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// Subject is one of several things that a check is tried on, such as a tool or a resource. When it fails, the evidence
// shows its frames or, if there are none, its value.
type Subject struct {
	Name string
	// Value is the part of a message that the subject consists of.
	Value M
	// FromClient says that mcpcheck sent the value, not the server.
	FromClient bool
	// Frames are the messages that show the subject, in evidence.
	Frames []*driver.Frame
	// SourceFrames are the messages that the value comes from; they are not shown.
	SourceFrames []*driver.Frame
}

// evidence returns what shows the subject.
func (s Subject) evidence() (all evidence) {
	all.frames = slices.DeleteFunc(slices.Clone(s.Frames), func(f *driver.Frame) bool { return f == nil })
	if len(all.frames) > 0 || s.Value == nil {
		return all
	}
	direction := report.Received
	if s.FromClient {
		direction = report.Sent
	}
	line := report.NewLine(direction, text.CompactJSON(s.Value))
	line.Part = true
	return evidence{parts: []report.Line{line}}
}

// limitError returns the limit of mcpcheck that has cut off what the subject shows; nil when nothing is missing.
func (s Subject) limitError() *driver.LimitError {
	for _, f := range s.Frames {
		if f != nil && f.RoundTrip != nil {
			if limitErr := f.RoundTrip.Response().LimitErr(); limitErr != nil {
				return limitErr
			}
		}
	}
	return nil
}

// NamedSubject returns a subject that consists only of its name.
func NamedSubject(name string) Subject { return Subject{Name: name} }

// Each tries a check on every value and combines the outcomes. Any fail is a fail, which names the subjects that
// failed; otherwise one pass is a pass, with a caveat that says how many values could not be tried. subject describes a
// value after it was tried.
func Each[V any](t *T, all []V, subject func(V) Subject, run func(*T, V)) {
	var c subjectResults
	for _, v := range all {
		o := t.runPart(func(t *T) { run(t, v) })
		c.add(subject(v), o)
	}
	c.finish(t)
}

// Judge is Each for what the server sent. It skips the check when the server sent nothing to judge, so that a check
// never passes without having observed something. what names the values in the reason.
func Judge[V any](t *T, what string, all []V, subject func(V) Subject, run func(*T, V)) {
	if len(all) == 0 {
		t.Skip(report.NotObserved, "the server sent no %s", what)
	}
	Each(t, all, subject, run)
}

// Each tries a check on every subject; see the function Each.
func (t *T) Each(subjects []Subject, run func(*T, Subject)) {
	Each(t, subjects, func(s Subject) Subject { return s }, run)
}

// maxJudged limits how many messages a check judges. No run has so many unless the server floods the client.
const maxJudged = 5000

// Cap returns the first maxJudged of the values that the server sent; if there are more, it adds a caveat.
func Cap[V any](t *T, all []V) []V {
	if left := len(all) - maxJudged; left > 0 {
		t.Caveat("%d of %d were not judged: it is a flood", left, len(all))
		all = all[:maxJudged]
	}
	return all
}

// Judge tries a check on every message, or on the first maxJudged of them with a caveat.
func (t *T) Judge(messages Messages, run func(*T, Message)) {
	Judge(t, messages.Kind, Cap(t, messages.List), Message.Subject, run)
}

// runPart runs a part of a check and returns its outcome.
func (t *T) runPart(run func(*T)) (o outcome) {
	inner := *t
	defer func() {
		if e := recover(); e != nil {
			s, ok := e.(stop)
			if !ok {
				panic(e)
			}
			o = s.outcome
		}
	}()
	run(&inner)
	return outcome{verdict: catalogue.Pass}
}

// subjectResults combines the outcomes of several subjects.
type subjectResults struct {
	passed int
	fails  []subjectOutcome
	// reported are the names and messages of the fails.
	reported  map[[2]string]bool
	undecided []subjectOutcome
	// violations are those of all fails, also of repeated ones.
	violations []violation
	// yielding are the subjects that other checks judge.
	yielding []subjectOutcome
	skip     *outcome
}

// subjectOutcome is the outcome of one subject.
type subjectOutcome struct {
	subject Subject
	outcome
}

func (c *subjectResults) add(s Subject, o outcome) {
	if o.isPostponed() {
		panic(stop{o})
	}
	switch o.verdict {
	case catalogue.Pass:
		c.passed++
	case catalogue.Fail:
		if limitErr := s.limitError(); limitErr != nil {
			c.add(s, outcome{verdict: catalogue.Inconclusive, reason: report.Limit, message: limitErr.Error()})
			return
		}
		c.fail(s, o)
	case catalogue.Inconclusive:
		c.undecided = append(c.undecided, subjectOutcome{s, o})
	case catalogue.Skip:
		if o.reason == report.OtherCheck {
			c.yielding = append(c.yielding, subjectOutcome{s, o})
		}
		if c.skip == nil || c.skip.reason != report.OtherCheck && o.reason == report.OtherCheck {
			c.skip = &o
		}
	}
}

// fail keeps the fail of a subject, unless an equal one was found on another message. If no call is known to have
// decided it, the subject's own frames have.
func (c *subjectResults) fail(s Subject, o outcome) {
	own := s.evidence()
	switch {
	case o.violations != nil:
		c.violations = append(c.violations, o.violations...)
	case len(o.decidedBy) > 0:
		c.violations = append(c.violations, newViolation(o.decidedBy, o.violatedEntry))
	case own.hasAny():
		c.violations = append(c.violations, newViolation(own.frames, o.violatedEntry))
	default:
		c.violations = append(c.violations, newViolation(o.decisiveFrames(), o.violatedEntry))
	}
	key := [2]string{s.Name, o.message}
	if c.reported[key] {
		return
	}
	if c.reported == nil {
		c.reported = map[[2]string]bool{}
	}
	c.reported[key] = true
	if s.Name != "" {
		o.subjects = []string{s.Name}
	}
	if own.hasAny() {
		for i := range own.parts {
			own.parts[i].Decisive = len(o.decidedBy) == 0
		}
		if len(o.decidedBy) == 0 {
			o.decidedBy = own.frames
		}
		o.evidence = own
	} else if o.decidedBy = o.decisiveFrames(); o.evidence.hasAny() {
		o.evidence.frames = append(o.evidence.frames, o.decidedBy...)
	}
	c.fails = append(c.fails, subjectOutcome{s, o})
}

func (c *subjectResults) finish(t *T) {
	switch {
	case len(c.fails) > 0:
		panic(stop{c.failure()})
	case c.passed > 0:
		if c.undecided != nil {
			t.Caveat("%s (%s)", untestedText(len(c.undecided), c.passed), reasonsText(c.undecided))
		}
		if c.yielding != nil {
			t.scope.notJudged = append(t.scope.notJudged, fmt.Sprintf("%s (%s), and no other check reports why",
				untestedText(len(c.yielding), c.passed), reasonsText(c.yielding)))
		}
	case c.undecided != nil:
		panic(stop{c.undecided[0].outcome})
	case c.skip != nil:
		panic(stop{*c.skip})
	default:
		t.Skip(report.NotObserved, "there is nothing to try it on")
	}
}

// findings returns the findings with the name of the subject, which may be a part of another one.
func (f subjectOutcome) findings() (named []report.Finding) {
	for _, x := range f.outcome.findings {
		switch {
		case x.Subject == "":
			x.Subject = f.subject.Name
		case f.subject.Name != "":
			x.Subject = f.subject.Name + ": " + x.Subject
		}
		named = append(named, x)
	}
	return named
}

// untestedText says how many subjects could not be tried.
func untestedText(n, passed int) string {
	return fmt.Sprintf("%d of %d variants could not be tested", n, n+passed)
}

// reasonsText says why subjects could not be tried: each reason once, with the first subject it applies to.
func reasonsText(open []subjectOutcome) string {
	var reported, texts []string
	for _, f := range open {
		if slices.Contains(reported, f.message) {
			continue
		}
		if reported = append(reported, f.message); len(texts) == report.MaxFindings {
			return strings.Join(texts, "; ") + "; …"
		}
		message := f.message
		if f.subject.Name != "" {
			message = f.subject.Name + ": " + message
		}
		texts = append(texts, message)
	}
	return strings.Join(texts, "; ")
}

// failure returns a fail at the highest level of all fails, with the messages and the evidence of the first few.
func (c *subjectResults) failure() outcome {
	all := outcome{verdict: catalogue.Fail, violations: c.violations}
	for _, f := range c.fails {
		all.level = max(all.level, f.level)
	}
	var texts []string
	for _, f := range c.fails {
		if f.level < all.level {
			continue
		}
		message := f.message
		if f.subject.Name != "" {
			message = f.subject.Name + ":\n" + indent(message)
		}
		all.subjects = append(all.subjects, f.subjects...)
		all.locations = append(all.locations, f.locations...)
		all.usedBy = append(all.usedBy, f.subject.usedBy())
		if len(texts) == report.MaxFindings {
			all.truncated = true
			all.omittedFindings = append(all.omittedFindings, slices.Concat(f.findings(), f.omittedFindings)...)
			continue
		}
		texts = append(texts, message)
		all.findings = append(all.findings, f.findings()...)
		all.omittedFindings = append(all.omittedFindings, f.omittedFindings...)
		all.evidence.add(f.evidence)
		all.decidedBy = append(all.decidedBy, f.decidedBy...)
	}
	all.subjects = slices.Compact(all.subjects)
	all.message = strings.Join(texts, "\n")
	return all
}

func indent(message string) string { return "  " + strings.ReplaceAll(message, "\n", "\n  ") }
