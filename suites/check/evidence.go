package check

import (
	"fmt"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// recordRange is a part of the record of a session: the frames from one mark to another.
type recordRange struct {
	session  *driver.Session
	from, to int
}

func (p recordRange) frames() []*driver.Frame { return p.session.FramesBetween(p.from, p.to) }

// recordRanges returns the parts of records that belong to an attempt: those of the steps that it reads, and of its
// sessions.
func (c *scope) recordRanges() []recordRange {
	all := slices.Clone(c.stepRanges)
	for _, u := range c.uses {
		if u.ownership != sharedWithSteps {
			all = append(all, recordRange{u.session, u.mark, u.session.Mark()})
		}
	}
	return all
}

// evidence is what proves an outcome: frames, and lines that stand for a part of a frame.
type evidence struct {
	frames []*driver.Frame
	parts  []report.Line
}

func (s evidence) hasAny() bool { return len(s.frames)+len(s.parts) > 0 }

func (s *evidence) add(more evidence) {
	s.frames, s.parts = append(s.frames, more.frames...), append(s.parts, more.parts...)
}

// evidenceLines returns the evidence of an attempt as reports show it: of a fail, only the sessions in which it was
// seen.
func (c *scope) evidenceLines(o outcome) []report.Line {
	if o.verdict == catalogue.Fail {
		o.decidedBy = o.decisiveFrames()
	}
	if o.evidence.hasAny() {
		o.evidence.frames = append(o.evidence.frames, o.decidedBy...)
		return o.evidence.lines(o.decidedBy)
	}
	all := evidence{frames: slices.Clone(o.decidedBy)}
	for _, p := range c.recordRanges() {
		all.frames = append(all.frames, p.frames()...)
	}
	decides := func(f *driver.Frame) bool {
		return slices.ContainsFunc(o.decidedBy, func(d *driver.Frame) bool { return d.Position.SameRecord(f.Position) })
	}
	if o.verdict == catalogue.Fail && len(o.decidedBy) > 0 {
		all.frames = slices.DeleteFunc(all.frames, func(f *driver.Frame) bool { return !decides(f) })
	}
	return all.lines(o.decidedBy)
}

// lines returns the parts and then the frames, session by session. If there are several sessions, each has a number.
func (s evidence) lines(decided []*driver.Frame) []report.Line {
	type item struct {
		line    *report.Line // nil for a frame, of which only what is kept becomes a line
		frame   *driver.Frame
		session string
	}
	var all []item
	for i := range s.parts {
		all = append(all, item{line: &s.parts[i]})
	}
	sessions := bySession(s.frames)
	for i, frames := range sessions {
		session := ""
		if len(sessions) > 1 {
			session = fmt.Sprint(i + 1)
		}
		for _, f := range frames {
			all = append(all, item{frame: f, session: session})
		}
	}
	known := map[frameKey]bool{}
	for _, f := range decided {
		known[frameKeyOf(f)] = true
	}
	decisive := func(x item) bool {
		if x.line != nil {
			return x.line.Decisive
		}
		return known[frameKeyOf(x.frame)]
	}
	return report.KeepEnds(all, report.MaxEvidenceLines, decisive, func(x item) report.Line {
		if x.line != nil {
			return *x.line
		}
		line := lineOf(x.session, x.frame)
		line.Decisive = decisive(x)
		return line
	})
}

func frameKeyOf(f *driver.Frame) frameKey {
	key := frameKey{f.Position, f.Side, f.InBatch, f.Raw.Len(), nil}
	if f.Position == (driver.Position{}) {
		key.frame = f
	}
	return key
}

// bySession returns the frames of each session in the order of its record, without duplicates.
func bySession(all []*driver.Frame) (sessions [][]*driver.Frame) {
	known := map[frameKey]bool{}
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

// frameKey identifies a line of evidence. Several frames may stand for the same line, such as those of a batch, or of
// the headers of a stream.
type frameKey struct {
	place driver.Position
	side  driver.Side
	part  bool
	bytes int
	frame *driver.Frame // set only for frames that are in no record
}
