package report

import (
	"fmt"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

func CapLines(lines []Line) []Line { return ShortenEvidence(lines, MaxEvidenceLines) }

// MaxEvidenceLines is how many lines of evidence a result keeps.
const MaxEvidenceLines = 80

// KeepEnds is ShortenEvidence for what becomes a line only if it is kept.
func KeepEnds[T any](all []T, most int, decisive func(T) bool, line func(T) Line) (kept []Line) {
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
			gap := NewLine(Event, fmt.Appendf(nil, "%d lines left out", left))
			gap.Truncated = true
			last := line(all[i-1])
			gap.Session, gap.Seconds = last.Session, last.Seconds
			kept = append(kept, gap)
		}
		kept, left = append(kept, line(x)), 0
	}
	return kept
}

// ShortenEvidence is evidence of not many more lines than most: the first quarter of these and the last three are kept,
// and the decisive ones. Where lines are left out, one says how many.
func ShortenEvidence(lines []Line, most int) []Line {
	return KeepEnds(lines, most, func(l Line) bool { return l.Decisive }, func(l Line) Line { return l })
}

func ClipLine(line []byte) string {
	const tail = 200
	gap := fmt.Sprintf(" … (%d bytes left out) … ", len(line)-MaxLineBytes)
	return text.ShortenBytes(line, MaxLineBytes-tail, tail, gap)
}

// MaxLineBytes is how many bytes of a line evidence keeps.
const MaxLineBytes = 2000

// IsTooLong reports whether clip leaves something out.
func IsTooLong(line []byte) bool { return len(line) > MaxLineBytes }

// arrows show which way a line went.
var arrows = map[Direction]string{Sent: "→", Received: "←", Event: "·"}

// NewLine is a line of evidence with a text.
func NewLine(d Direction, said []byte) Line {
	return Line{Arrow: arrows[d], Direction: d, Text: ClipLine(said), Truncated: IsTooLong(said)}
}
