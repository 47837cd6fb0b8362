package harness

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// Subject is one thing of several that a check is tried on: a tool, a resource. When it fails, its frames are shown as
// evidence or, without any, its value: a part of what the server sent or, if it was Sent, of what mcpcheck did.
type Subject struct {
	Name   string
	Value  M
	Sent   bool
	Frames []*driver.Frame
	Behind []*driver.Frame // are not shown: those that brought the value
}

// shown is what shows the subject.
func (s Subject) shown() (all shown) {
	all.frames = slices.DeleteFunc(slices.Clone(s.Frames), func(f *driver.Frame) bool { return f == nil })
	if len(all.frames) > 0 || s.Value == nil {
		return all
	}
	way := Received
	if s.Sent {
		way = Sent
	}
	line := newLine(way, Compact(s.Value))
	line.Part = true
	return shown{parts: []Line{line}}
}

// excess is what mcpcheck itself cut off of what the subject shows; nil when that is whole.
func (s Subject) excess() *driver.Excess {
	for _, f := range s.Frames {
		if f != nil && f.HTTP != nil {
			if excess := f.HTTP.Answer().Excess(); excess != nil {
				return excess
			}
		}
	}
	return nil
}

// Named is a subject of which there is nothing to show but its name.
func Named(name string) Subject { return Subject{Name: name} }

// Each tries a check on every value and puts what it comes to together: any fail is a fail, and names the subjects that
// failed; one pass is a pass, and tells how many values could not be tried. subject says what a value is to be called,
// and shown by, once it was tried.
func Each[V any](t *T, all []V, subject func(V) Subject, run func(*T, V)) {
	var c collection
	for _, v := range all {
		o := t.sub(func(t *T) { run(t, v) })
		c.add(subject(v), o)
	}
	c.finish(t)
}

// Judge is Each for what the server sent. Without any of it the check does not apply: it never passes on nothing
// observed. what names the values in the reason.
func Judge[V any](t *T, what string, all []V, subject func(V) Subject, run func(*T, V)) {
	if len(all) == 0 {
		t.Because(NotObserved).Skip("the server sent no %s", what)
	}
	Each(t, all, subject, run)
}

// Each tries a check on every subject.
func (t *T) Each(subjects []Subject, run func(*T, Subject)) {
	Each(t, subjects, func(s Subject) Subject { return s }, run)
}

// mostJudged is how many messages a check looks at: more than any run has of a server that does not flood it.
const mostJudged = 5000

// Bounded are those of what the server sent that a check looks at: of a flood the first ones, and it says so.
func Bounded[V any](t *T, all []V) []V {
	if left := len(all) - mostJudged; left > 0 {
		t.Partly("%d of %d were not judged: it is a flood", left, len(all))
		all = all[:mostJudged]
	}
	return all
}

// Judge tries a check on every message; of a flood, on the first ones, and says so.
func (t *T) Judge(messages Messages, run func(*T, Message)) {
	Judge(t, messages.What, Bounded(t, messages.List), Message.Subject, run)
}

// sub runs a part of a check and returns what it came to.
func (t *T) sub(run func(*T)) (o outcome) {
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
	return outcome{verdict: Pass}
}

// collection puts the outcomes of several subjects together.
type collection struct {
	passed int
	fails  []finding
	told   map[[2]string]bool // names and messages of fails
	open   []finding
	wrong  []mistake // of all fails
	yields []finding // to other checks
	skip   *outcome
}

// finding is what one subject came to.
type finding struct {
	subject Subject
	outcome
}

func (c *collection) add(s Subject, o outcome) {
	if o.isPutOff() {
		panic(stop{o})
	}
	switch o.verdict {
	case Pass:
		c.passed++
	case Fail:
		if excess := s.excess(); excess != nil {
			c.add(s, outcome{verdict: Inconclusive, reason: Limit, message: excess.Error()})
			return
		}
		c.fail(s, o)
	case Inconclusive:
		c.open = append(c.open, finding{s, o})
	case Skip:
		if o.reason == OtherCheck {
			c.yields = append(c.yields, finding{s, o})
		}
		if c.skip == nil || c.skip.reason != OtherCheck && o.reason == OtherCheck {
			c.skip = &o
		}
	}
}

// fail keeps a finding, unless the same was made on another message. Where no exchange is known to have decided, the
// subject did.
func (c *collection) fail(s Subject, o outcome) {
	own := s.shown()
	switch {
	case o.wrong != nil:
		c.wrong = append(c.wrong, o.wrong...)
	case len(o.decided) > 0:
		c.wrong = append(c.wrong, mistakeIn(o.decided, o.mistakeOf))
	case own.any():
		c.wrong = append(c.wrong, mistakeIn(own.frames, o.mistakeOf))
	default:
		c.wrong = append(c.wrong, mistakeIn(o.decisive(), o.mistakeOf))
	}
	key := [2]string{s.Name, o.message}
	if c.told[key] {
		return
	}
	if c.told == nil {
		c.told = map[[2]string]bool{}
	}
	c.told[key] = true
	if s.Name != "" {
		o.subjects = []string{s.Name}
	}
	if own.any() {
		for i := range own.parts {
			own.parts[i].Decisive = len(o.decided) == 0
		}
		if len(o.decided) == 0 {
			o.decided = own.frames
		}
		o.shown = own
	} else if o.decided = o.decisive(); o.shown.any() {
		o.shown.frames = append(o.shown.frames, o.decided...)
	}
	c.fails = append(c.fails, finding{s, o})
}

func (c *collection) finish(t *T) {
	switch {
	case len(c.fails) > 0:
		panic(stop{c.failure()})
	case c.passed > 0:
		if c.open != nil {
			t.Partly("%s (%s)", untested(len(c.open), c.passed), reasons(c.open))
		}
		if c.yields != nil {
			t.scope.unjudged = append(t.scope.unjudged, fmt.Sprintf("%s (%s), and no other check reports why",
				untested(len(c.yields), c.passed), reasons(c.yields)))
		}
	case c.open != nil:
		panic(stop{c.open[0].outcome})
	case c.skip != nil:
		panic(stop{*c.skip})
	default:
		t.Because(NotObserved).Skip("there is nothing to try it on")
	}
}

// findings are those of the subject, which may be a part of another one.
func (f finding) findings() (named []Finding) {
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

// untested says how many of some subjects could not be tried.
func untested(n, passed int) string {
	return fmt.Sprintf("%d of %d variants could not be tested", n, n+passed)
}

// reasons are why subjects could not be tried: each reason once, with the first subject that it holds for.
func reasons(open []finding) string {
	var told, texts []string
	for _, f := range open {
		if slices.Contains(told, f.message) {
			continue
		}
		if told = append(told, f.message); len(texts) == most {
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

// most is how many findings, and reasons, are told.
const most = 5

// failure is the worst of the fails, with the message and the evidence of the first few.
func (c *collection) failure() outcome {
	all := outcome{verdict: Fail, wrong: c.wrong}
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
		all.where = append(all.where, f.where...)
		all.users = append(all.users, f.subject.users())
		if len(texts) == most {
			all.truncated = true
			all.untold = append(all.untold, slices.Concat(f.findings(), f.untold)...)
			continue
		}
		texts = append(texts, text)
		all.findings = append(all.findings, f.findings()...)
		all.untold = append(all.untold, f.untold...)
		all.shown.add(f.shown)
		all.decided = append(all.decided, f.decided...)
	}
	all.subjects = slices.Compact(all.subjects)
	all.message = strings.Join(texts, "\n")
	return all
}

func indent(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }
