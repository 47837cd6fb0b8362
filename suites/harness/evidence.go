package harness

import (
	"fmt"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// passage is a part of the record of a session.
type passage struct {
	session  *driver.Session
	from, to int
}

func (p passage) frames() []*driver.Frame { return p.session.Between(p.from, p.to) }

// passages are the parts of records that show an attempt: of the steps that it reads, and of its own sessions.
func (c *scope) passages() []passage {
	all := slices.Clone(c.extra)
	for _, u := range c.uses {
		if u.how != kept {
			all = append(all, passage{u.session, u.mark, u.session.Mark()})
		}
	}
	return all
}

// shown is what evidence shows: frames, and lines that stand for a part of one.
type shown struct {
	frames []*driver.Frame
	parts  []Line
}

func (s shown) any() bool { return len(s.frames)+len(s.parts) > 0 }

func (s *shown) add(more shown) {
	s.frames, s.parts = append(s.frames, more.frames...), append(s.parts, more.parts...)
}

// evidence is what shows the attempt: of a fail, the sessions in which it was seen.
func (c *scope) evidence(o outcome) []Line {
	if o.verdict == Fail {
		o.decided = o.decisive()
	}
	if o.shown.any() {
		o.shown.frames = append(o.shown.frames, o.decided...)
		return o.shown.lines(o.decided)
	}
	all := shown{frames: slices.Clone(o.decided)}
	for _, p := range c.passages() {
		all.frames = append(all.frames, p.frames()...)
	}
	decides := func(f *driver.Frame) bool {
		return slices.ContainsFunc(o.decided, func(d *driver.Frame) bool { return d.Place.Shares(f.Place) })
	}
	if o.verdict == Fail && len(o.decided) > 0 {
		all.frames = slices.DeleteFunc(all.frames, func(f *driver.Frame) bool { return !decides(f) })
	}
	return all.lines(o.decided)
}

// lines are the parts, and then the frames, a session after the other: each of several has its number.
func (s shown) lines(decided []*driver.Frame) []Line {
	type said struct {
		line    Line
		frame   *driver.Frame
		session string
	}
	var all []said
	for _, line := range s.parts {
		all = append(all, said{line: line})
	}
	sessions := bySession(s.frames)
	for i, frames := range sessions {
		session := ""
		if len(sessions) > 1 {
			session = fmt.Sprint(i + 1)
		}
		for _, f := range frames {
			all = append(all, said{frame: f, session: session})
		}
	}
	known := map[frameKey]bool{}
	for _, f := range decided {
		known[keyOf(f)] = true
	}
	decisive := func(x said) bool { return x.line.Decisive || x.frame != nil && known[keyOf(x.frame)] }
	return ends(all, mostLines, decisive, func(x said) Line {
		if x.frame == nil {
			return x.line
		}
		line := lineOf(x.session, x.frame)
		line.Decisive = decisive(x)
		return line
	})
}

// frameKey tells what is one line of evidence: of a part of a frame, and of the headers of a stream, there may be
// several frames.
type frameKey struct {
	place driver.Place
	side  driver.Side
	part  bool
	bytes int
	frame *driver.Frame // that is in no record
}

func keyOf(f *driver.Frame) frameKey {
	key := frameKey{f.Place, f.Side, f.Part, f.Raw.Len(), nil}
	if f.Place == (driver.Place{}) {
		key.frame = f
	}
	return key
}

// bySession are the frames of each session as they were seen, each of them once.
func bySession(all []*driver.Frame) (sessions [][]*driver.Frame) {
	known := map[frameKey]bool{}
	for _, f := range all {
		if known[keyOf(f)] {
			continue
		}
		known[keyOf(f)] = true
		i := slices.IndexFunc(sessions, func(s []*driver.Frame) bool { return s[0].Place.Shares(f.Place) })
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

// mostLines is how many lines of evidence a result keeps.
const mostLines = 80

func bound(lines []Line) []Line { return Abridged(lines, mostLines) }

// Abridged is evidence of not many more lines than most: the first quarter of these and the last three are kept, and
// the decisive ones. Where lines are left out, one says how many.
func Abridged(lines []Line, most int) []Line {
	return ends(lines, most, func(l Line) bool { return l.Decisive }, func(l Line) Line { return l })
}

// ends is Abridged for what becomes a line only if it is kept.
func ends[T any](all []T, most int, decisive func(T) bool, line func(T) Line) (kept []Line) {
	left := 0
	for i, x := range all {
		if len(all) > most && i >= most/4 && i < len(all)-most*3/4 && !decisive(x) {
			left++
			continue
		}
		switch {
		case left == 1: // to say so takes as much space
			kept = append(kept, line(all[i-1]))
		case left > 1:
			gap := newLine(Happened, fmt.Appendf(nil, "%d lines left out", left))
			gap.Truncated = true
			last := line(all[i-1])
			gap.Session, gap.Seconds = last.Session, last.Seconds
			kept = append(kept, gap)
		}
		kept, left = append(kept, line(x)), 0
	}
	return kept
}
