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

// Subject is one thing of several that a check is tried on: a tool, a resource. When it fails, its frames are shown as
// evidence or, without any, its value: a part of what the server sent or, if it was FromClient, of what mcpcheck did.
type Subject struct {
	Name         string
	Value        M
	FromClient   bool
	Frames       []*driver.Frame
	SourceFrames []*driver.Frame // are not shown: those that brought the value
}

// evidence is what shows the subject.
func (s Subject) evidence() (all evidence) {
	all.frames = slices.DeleteFunc(slices.Clone(s.Frames), func(f *driver.Frame) bool { return f == nil })
	if len(all.frames) > 0 || s.Value == nil {
		return all
	}
	way := report.Received
	if s.FromClient {
		way = report.Sent
	}
	line := report.NewLine(way, text.CompactJSON(s.Value))
	line.Part = true
	return evidence{parts: []report.Line{line}}
}

// limitError is what mcpcheck itself cut off of what the subject shows; nil when that is whole.
func (s Subject) limitError() *driver.LimitError {
	for _, f := range s.Frames {
		if f != nil && f.RoundTrip != nil {
			if excess := f.RoundTrip.Response().LimitErr(); excess != nil {
				return excess
			}
		}
	}
	return nil
}

// NamedSubject is a subject of which there is nothing to show but its name.
func NamedSubject(name string) Subject { return Subject{Name: name} }

// Each tries a check on every value and puts what it comes to together: any fail is a fail, and names the subjects that
// failed; one pass is a pass, and tells how many values could not be tried. subject says what a value is to be called,
// and shown by, once it was tried.
func Each[V any](t *T, all []V, subject func(V) Subject, run func(*T, V)) {
	var c subjectResults
	for _, v := range all {
		o := t.runPart(func(t *T) { run(t, v) })
		c.add(subject(v), o)
	}
	c.finish(t)
}

// Judge is Each for what the server sent. Without any of it the check does not apply: it never passes on nothing
// observed. what names the values in the reason.
func Judge[V any](t *T, what string, all []V, subject func(V) Subject, run func(*T, V)) {
	if len(all) == 0 {
		t.WithReason(report.NotObserved).Skip("the server sent no %s", what)
	}
	Each(t, all, subject, run)
}

// Each tries a check on every subject.
func (t *T) Each(subjects []Subject, run func(*T, Subject)) {
	Each(t, subjects, func(s Subject) Subject { return s }, run)
}

// maxJudged is how many messages a check looks at: more than any run has of a server that does not flood it.
const maxJudged = 5000

// Cap are those of what the server sent that a check looks at: of a flood the first ones, and it says so.
func Cap[V any](t *T, all []V) []V {
	if left := len(all) - maxJudged; left > 0 {
		t.Caveat("%d of %d were not judged: it is a flood", left, len(all))
		all = all[:maxJudged]
	}
	return all
}

// Judge tries a check on every message; of a flood, on the first ones, and says so.
func (t *T) Judge(messages Messages, run func(*T, Message)) {
	Judge(t, messages.Kind, Cap(t, messages.List), Message.Subject, run)
}

// runPart runs a part of a check and returns what it came to.
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

// subjectResults puts the outcomes of several subjects together.
type subjectResults struct {
	passed     int
	fails      []subjectOutcome
	reported   map[[2]string]bool // names and messages of fails
	undecided  []subjectOutcome
	violations []violation      // of all fails
	yielding   []subjectOutcome // to other checks
	skip       *outcome
}

// subjectOutcome is what one subject came to.
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
		if excess := s.limitError(); excess != nil {
			c.add(s, outcome{verdict: catalogue.Inconclusive, reason: report.Limit, message: excess.Error()})
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

// failCheck keeps a finding, unless the same was made on another message. Where no exchange is known to have decided,
// the subject did.
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
		t.WithReason(report.NotObserved).Skip("there is nothing to try it on")
	}
}

// findings are those of the subject, which may be a part of another one.
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

// untestedText says how many of some subjects could not be tried.
func untestedText(n, passed int) string {
	return fmt.Sprintf("%d of %d variants could not be tested", n, n+passed)
}

// reasonsText are why subjects could not be tried: each reason once, with the first subject that it holds for.
func reasonsText(open []subjectOutcome) string {
	var told, texts []string
	for _, f := range open {
		if slices.Contains(told, f.message) {
			continue
		}
		if told = append(told, f.message); len(texts) == report.MaxFindings {
			return strings.Join(texts, "; ") + "; …"
		}
		text := f.message
		if f.subject.Name != "" {
			text = f.subject.Name + ": " + text
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "; ")
}

// failure is the worst of the fails, with the message and the evidence of the first few.
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
		text := f.message
		if f.subject.Name != "" {
			text = f.subject.Name + ":\n" + indent(text)
		}
		all.subjects = append(all.subjects, f.subjects...)
		all.locations = append(all.locations, f.locations...)
		all.usedBy = append(all.usedBy, f.subject.usedBy())
		if len(texts) == report.MaxFindings {
			all.truncated = true
			all.omittedFindings = append(all.omittedFindings, slices.Concat(f.findings(), f.omittedFindings)...)
			continue
		}
		texts = append(texts, text)
		all.findings = append(all.findings, f.findings()...)
		all.omittedFindings = append(all.omittedFindings, f.omittedFindings...)
		all.evidence.add(f.evidence)
		all.decidedBy = append(all.decidedBy, f.decidedBy...)
	}
	all.subjects = slices.Compact(all.subjects)
	all.message = strings.Join(texts, "\n")
	return all
}

func indent(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }
