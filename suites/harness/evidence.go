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

// passages are the parts of records that show an attempt: of the stimuli that it shares, and of its own sessions.
func (c *scope) passages() []passage {
	all := slices.Clone(c.extra)
	for _, u := range c.uses {
		if u.how != kept {
			all = append(all, passage{u.session, u.mark, u.session.Mark()})
		}
	}
	return all
}

// evidence is what shows the attempt, a session after the other: each of several has its number.
func (c *scope) evidence(o outcome) []Line {
	type said struct {
		frame   *driver.Frame
		session string
	}
	var all []said
	sessions := bySession(c.passages())
	for i, passages := range sessions {
		session := ""
		if len(sessions) > 1 {
			session = fmt.Sprint(i + 1)
		}
		for _, x := range passages {
			for _, f := range x.session.Between(x.from, x.to) {
				all = append(all, said{f, session})
			}
		}
	}
	decided := func(x said) bool { return slices.Contains(o.decided, x.frame) }
	return ends(all, mostLines, decided, func(x said) Line { return o.line(x.session, x.frame) })
}

// bySession are the passages of each session, in the order of its record, without what two of them have in common.
func bySession(all []passage) (sessions [][]passage) {
	place := map[*driver.Session]int{}
	for _, x := range all {
		if _, known := place[x.session]; !known {
			place[x.session] = len(sessions)
			sessions = append(sessions, nil)
		}
		i := place[x.session]
		sessions[i] = append(sessions[i], x)
	}
	for i, passages := range sessions {
		slices.SortFunc(passages, func(a, b passage) int { return a.from - b.from })
		end := 0
		for j := range passages {
			passages[j].from = max(passages[j].from, end)
			end = max(end, passages[j].to)
			passages[j].to = end
		}
		sessions[i] = passages
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
			kept = append(kept, gap)
		}
		kept, left = append(kept, line(x)), 0
	}
	return kept
}
