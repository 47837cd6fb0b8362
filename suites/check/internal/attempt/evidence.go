package attempt

import (
	"fmt"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// RecordRange is a part of the record of a session: the frames from one mark to another.
type RecordRange struct {
	Session  *driver.Session
	from, to int
}

func (p RecordRange) frames() []*driver.Frame { return p.Session.FramesBetween(p.from, p.to) }

// RecordRanges returns the parts of records that belong to an attempt: those of the steps that it reads, and of its
// sessions.
func (c *Scope) RecordRanges() []RecordRange {
	all := slices.Clone(c.stepRanges)
	for _, u := range c.Uses {
		if u.Ownership != SharedWithSteps {
			all = append(all, RecordRange{u.Session, u.mark, u.Session.Mark()})
		}
	}
	return all
}

// Evidence is what proves an outcome: frames, and lines that stand for a part of a frame.
type Evidence struct {
	Frames []*driver.Frame
	Parts  []report.Line
}

func (s Evidence) HasAny() bool { return len(s.Frames)+len(s.Parts) > 0 }

func (s *Evidence) Add(more Evidence) {
	s.Frames, s.Parts = append(s.Frames, more.Frames...), append(s.Parts, more.Parts...)
}

// evidenceLines returns the evidence of an attempt as reports show it: of a fail, only the sessions in which it was
// seen.
func (c *Scope) evidenceLines(o Outcome) []report.Line {
	if o.Verdict == catalogue.Fail {
		o.DecidedBy = o.DecisiveFrames()
	}
	if o.Evidence.HasAny() {
		o.Evidence.Frames = append(o.Evidence.Frames, o.DecidedBy...)
		return o.Evidence.lines(o.Verdict, o.DecidedBy)
	}
	all := Evidence{Frames: slices.Clone(o.DecidedBy)}
	for _, p := range c.RecordRanges() {
		all.Frames = append(all.Frames, p.frames()...)
	}
	decides := func(f *driver.Frame) bool {
		return slices.ContainsFunc(o.DecidedBy, func(d *driver.Frame) bool { return d.Position.SameRecord(f.Position) })
	}
	if o.Verdict == catalogue.Fail && len(o.DecidedBy) > 0 {
		all.Frames = slices.DeleteFunc(all.Frames, func(f *driver.Frame) bool { return !decides(f) })
	}
	return all.lines(o.Verdict, o.DecidedBy)
}

// lines returns the parts and then the frames, session by session. If there are several sessions, each has a number.
func (s Evidence) lines(v catalogue.Verdict, decided []*driver.Frame) []report.Line {
	type item struct {
		line    *report.Line // nil for a frame, of which only what is kept becomes a line
		frame   *driver.Frame
		session string
	}
	var all []item
	for i := range s.Parts {
		all = append(all, item{line: &s.Parts[i]})
	}
	sessions := bySession(s.Frames)
	for i, frames := range sessions {
		session := ""
		if len(sessions) > 1 {
			session = fmt.Sprint(i + 1)
		}
		for _, f := range frames {
			all = append(all, item{frame: f, session: session})
		}
	}
	known := map[FrameKey]bool{}
	for _, f := range decided {
		known[frameKeyOf(f)] = true
	}
	decisive := func(x item) bool {
		if x.line != nil {
			return x.line.Decisive
		}
		return known[frameKeyOf(x.frame)]
	}
	return report.KeepEnds(all, report.MaxEvidence(v), decisive, func(x item) report.Line {
		if x.line != nil {
			return *x.line
		}
		line := lineOf(x.session, x.frame)
		line.Decisive = decisive(x)
		return line
	})
}

func frameKeyOf(f *driver.Frame) FrameKey {
	key := FrameKey{f.Position, f.Side, f.InBatch, f.Raw.Len(), nil}
	if f.Position == (driver.Position{}) {
		key.frame = f
	}
	return key
}

// bySession returns the frames of each session in the order of its record, without duplicates.
func bySession(all []*driver.Frame) (sessions [][]*driver.Frame) {
	known := map[FrameKey]bool{}
	for _, f := range all {
		if known[frameKeyOf(f)] {
			continue
		}
		known[frameKeyOf(f)] = true
		i := slices.IndexFunc(sessions, func(s []*driver.Frame) bool { return s[0].Position.SameRecord(f.Position) })
		if i < 0 {
			i, sessions = len(sessions), append(sessions, nil)
		}
		sessions[i] = append(sessions[i], f)
	}
	for _, frames := range sessions {
		slices.SortStableFunc(frames, (*driver.Frame).Compare)
	}
	return sessions
}

// FrameKey identifies a line of evidence. Several frames may stand for the same line, such as those of a batch, or of
// the headers of a stream.
type FrameKey struct {
	place driver.Position
	side  driver.Side
	part  bool
	bytes int
	frame *driver.Frame // set only for frames that are in no record
}

// directions are the directions of frames in reports.
var directions = map[driver.Side]report.Direction{
	driver.FromClient: report.Sent, driver.FromServer: report.Received, driver.StatusOnly: report.Received,
	driver.SessionEvent: report.Event,
}

func lineOf(session string, f *driver.Frame) report.Line {
	raw := f.Raw.Bytes()
	if f.RoundTrip != nil && f.Side == driver.StatusOnly {
		raw = f.RoundTrip.Response().Body.Bytes()
	}
	l := report.NewLine(directions[f.Side], raw)
	l.Session, l.Seconds, l.Part = session, report.RoundMillis(f.At.Seconds()), f.InBatch
	last := text.Excerpt(f.Stderr, report.MaxEvidenceLines)
	l.Truncated = l.Truncated || len(last) < len(f.Stderr)
	for _, stderr := range last {
		l.Stderr = append(l.Stderr, report.ClipLine([]byte(stderr)))
		l.Truncated = l.Truncated || report.IsTooLong([]byte(stderr))
	}
	switch {
	case f.RoundTrip == nil:
	case f.Side == driver.FromClient:
		l.HTTP = f.RoundTrip.RequestLine()
	case f.Side == driver.StatusOnly, f.Side == driver.FromServer && f.Event == nil:
		l.HTTP = f.RoundTrip.StatusLine()
	case f.Side == driver.FromServer:
		l.HTTP = "event"
		if f.Event.HasID {
			l.HTTP += "; id: " + f.Event.ID
		}
	}
	return l
}

// Violation is what a finding of a fail rests on.
type Violation struct {
	// Messages are the frames that show the violation.
	Messages []FrameKey
	// Entries are the ids of entries each of which is about it, whichever message shows it.
	Entries []string
}

// NewViolation returns what a finding rests on: of the frames that decided it, the server's messages or, if there are
// none, the requests that were not answered.
func NewViolation(decided []*driver.Frame, entries []string) Violation {
	m := Violation{Entries: entries}
	for _, side := range []driver.Side{driver.FromServer, driver.FromClient} {
		for _, f := range decided {
			if f != nil && f.Side == side {
				m.Messages = append(m.Messages, frameKeyOf(f))
			}
		}
		if m.Messages != nil {
			break
		}
	}
	return m
}
