package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check/internal/attempt"
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
func (s Subject) evidence() (all attempt.Evidence) {
	all.Frames = slices.DeleteFunc(slices.Clone(s.Frames), func(f *driver.Frame) bool { return f == nil })
	if len(all.Frames) > 0 || s.Value == nil {
		return all
	}
	direction := report.Received
	if s.FromClient {
		direction = report.Sent
	}
	line := report.NewLine(direction, text.CompactJSON(s.Value))
	line.Part = true
	return attempt.Evidence{Parts: []report.Line{line}}
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

// usedBy returns the checks and steps that may have triggered what the subject shows: those that sent its requests or,
// if it has none, those that used the session at that time and before it, since effects may be late.
func (s Subject) usedBy() (users []string) {
	frames := slices.Concat(s.Frames, s.SourceFrames)
	sent := func(f *driver.Frame) bool { return f != nil && f.Side == driver.FromClient }
	asked := slices.ContainsFunc(frames, sent)
	for _, f := range frames {
		switch {
		case sent(f):
			users = append(users, f.User)
		case f != nil && !asked:
			users = append(users, f.User, f.PreviousUser)
		}
	}
	return users
}

// NamedSubject returns a subject that consists only of its name.
func NamedSubject(name string) Subject { return Subject{Name: name} }

// Each tries a check on every value and combines the outcomes. Any fail is a fail, which names the subjects that
// failed; otherwise one pass is a pass, with a caveat that says how many values could not be tried. subject describes a
// value after it was tried.
func Each[V any](t *T, all []V, subject func(V) Subject, run func(*T, V)) {
	var c subjectResults
	for _, v := range all {
		inner := *t
		o := attempt.TryPart(func() { run(&inner, v) })
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

// subjectResults combines the outcomes of several subjects.
type subjectResults struct {
	passed int
	fails  []subjectOutcome
	// reported are the names and messages of the fails.
	reported  map[[2]string]bool
	undecided []subjectOutcome
	// violations are those of all fails, also of repeated ones.
	violations []attempt.Violation
	// yielding are the subjects that other checks judge.
	yielding []subjectOutcome
	skip     *attempt.Outcome
}

// subjectOutcome is the outcome of one subject.
type subjectOutcome struct {
	subject Subject
	attempt.Outcome
}

func (c *subjectResults) add(s Subject, o attempt.Outcome) {
	if o.IsPostponed() {
		attempt.End(o)
	}
	switch o.Verdict {
	case catalogue.Pass:
		c.passed++
	case catalogue.Fail:
		if limitErr := s.limitError(); limitErr != nil {
			c.add(s, attempt.Outcome{Verdict: catalogue.Inconclusive, Reason: report.Limit, Message: limitErr.Error()})
			return
		}
		c.fail(s, o)
	case catalogue.Inconclusive:
		c.undecided = append(c.undecided, subjectOutcome{s, o})
	case catalogue.Skip:
		if o.Reason == report.OtherCheck {
			c.yielding = append(c.yielding, subjectOutcome{s, o})
		}
		if c.skip == nil || c.skip.Reason != report.OtherCheck && o.Reason == report.OtherCheck {
			c.skip = &o
		}
	}
}

// fail keeps the fail of a subject, unless an equal one was found on another message. If no call is known to have
// decided it, the subject's own frames have.
func (c *subjectResults) fail(s Subject, o attempt.Outcome) {
	own := s.evidence()
	switch {
	case o.Violations != nil:
		c.violations = append(c.violations, o.Violations...)
	case len(o.DecidedBy) > 0:
		c.violations = append(c.violations, attempt.NewViolation(o.DecidedBy, o.ViolatedEntries))
	case own.HasAny():
		c.violations = append(c.violations, attempt.NewViolation(own.Frames, o.ViolatedEntries))
	default:
		c.violations = append(c.violations, attempt.NewViolation(o.DecisiveFrames(), o.ViolatedEntries))
	}
	key := [2]string{s.Name, o.Message}
	if c.reported[key] {
		return
	}
	if c.reported == nil {
		c.reported = map[[2]string]bool{}
	}
	c.reported[key] = true
	if s.Name != "" {
		o.Subjects = []string{s.Name}
	}
	if own.HasAny() {
		for i := range own.Parts {
			own.Parts[i].Decisive = len(o.DecidedBy) == 0
		}
		if len(o.DecidedBy) == 0 {
			o.DecidedBy = own.Frames
		}
		o.Evidence = own
	} else if o.DecidedBy = o.DecisiveFrames(); o.Evidence.HasAny() {
		o.Evidence.Frames = append(o.Evidence.Frames, o.DecidedBy...)
	}
	c.fails = append(c.fails, subjectOutcome{s, o})
}

func (c *subjectResults) finish(t *T) {
	switch {
	case len(c.fails) > 0:
		attempt.End(c.failure())
	case c.passed > 0:
		if c.undecided != nil {
			t.Caveat("%s (%s)", untestedText(len(c.undecided), c.passed), reasonsText(c.undecided))
		}
		if c.yielding != nil {
			used := t.attempt.Scope
			used.NotJudged = append(used.NotJudged, fmt.Sprintf("%s (%s), and no other check reports why",
				untestedText(len(c.yielding), c.passed), reasonsText(c.yielding)))
		}
	case c.undecided != nil:
		attempt.End(c.undecided[0].Outcome)
	case c.skip != nil:
		attempt.End(*c.skip)
	default:
		t.Skip(report.NotObserved, "there is nothing to try it on")
	}
}

// findings returns the findings with the name of the subject, which may be a part of another one.
func (f subjectOutcome) findings() (named []report.Finding) {
	for _, x := range f.Outcome.Findings {
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
		if slices.Contains(reported, f.Message) {
			continue
		}
		if reported = append(reported, f.Message); len(texts) == report.MaxFindings {
			return strings.Join(texts, "; ") + "; …"
		}
		message := f.Message
		if f.subject.Name != "" {
			message = f.subject.Name + ": " + message
		}
		texts = append(texts, message)
	}
	return strings.Join(texts, "; ")
}

// failure returns a fail at the highest level of all fails, with the messages and the evidence of the first few.
func (c *subjectResults) failure() attempt.Outcome {
	all := attempt.Outcome{Verdict: catalogue.Fail, Violations: c.violations}
	for _, f := range c.fails {
		all.Level = max(all.Level, f.Level)
	}
	var texts []string
	for _, f := range c.fails {
		if f.Level < all.Level {
			continue
		}
		message := f.Message
		if f.subject.Name != "" {
			message = f.subject.Name + ":\n" + indent(message)
		}
		all.Subjects = append(all.Subjects, f.Subjects...)
		all.Locations = append(all.Locations, f.Locations...)
		all.UsedBy = append(all.UsedBy, f.subject.usedBy())
		if len(texts) == report.MaxFindings {
			all.Truncated = true
			all.OmittedFindings = append(all.OmittedFindings, slices.Concat(f.findings(), f.OmittedFindings)...)
			continue
		}
		texts = append(texts, message)
		all.Findings = append(all.Findings, f.findings()...)
		all.OmittedFindings = append(all.OmittedFindings, f.OmittedFindings...)
		all.Evidence.Add(f.Evidence)
		all.DecidedBy = append(all.DecidedBy, f.DecidedBy...)
	}
	all.Subjects = slices.Compact(all.Subjects)
	all.Message = strings.Join(texts, "\n")
	return all
}

func indent(message string) string { return "  " + strings.ReplaceAll(message, "\n", "\n  ") }
