package report

import (
	"fmt"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// CapLines shortens evidence to about MaxEvidenceLines.
func CapLines(lines []Line) []Line { return ShortenEvidence(lines, MaxEvidenceLines) }

// MaxEvidenceLines is about how many lines of evidence a result keeps that has been decided.
const MaxEvidenceLines = 80

// MaxEvidence is about how many lines of evidence a result with a verdict keeps. What could not be decided would make
// up half of a report.
func MaxEvidence(v catalogue.Verdict) int {
	if v == catalogue.Skip || v == catalogue.Inconclusive {
		return MaxEvidenceLines / 4
	}
	return MaxEvidenceLines
}

// KeepEnds is ShortenEvidence for values that line converts to lines, which it does only for those that are kept.
func KeepEnds[T any](all []T, most int, decisive func(T) bool, line func(T) Line) (kept []Line) {
	left := 0
	for i, x := range all {
		if len(all) > most && i >= most/4 && i < len(all)-most*3/4 && !decisive(x) {
			left++
			continue
		}
		switch {
		case left == 1: // a gap would take as much space
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

// ShortenEvidence returns the lines without the middle if there are more than most: it keeps the first quarter of most,
// the last three quarters, and all decisive lines. A line in place of each gap says how many were left out.
func ShortenEvidence(lines []Line, most int) []Line {
	return KeepEnds(lines, most, func(l Line) bool { return l.Decisive }, func(l Line) Line { return l })
}

// ClipLine returns the text of a line, without its middle if it is longer than MaxLineBytes.
func ClipLine(line []byte) string {
	const tail = 200
	gap := fmt.Sprintf(" … (%d bytes left out) … ", len(line)-MaxLineBytes)
	return text.ShortenBytes(line, MaxLineBytes-tail, tail, gap)
}

// MaxLineBytes is how many bytes of a line are kept as evidence.
const MaxLineBytes = 2000

// IsTooLong reports whether ClipLine leaves something out.
func IsTooLong(line []byte) bool { return len(line) > MaxLineBytes }

// arrows show the direction of a line.
var arrows = map[Direction]string{Sent: "→", Received: "←", Event: "·"}

// NewLine returns a line of evidence with the given text.
func NewLine(d Direction, raw []byte) Line {
	return Line{Arrow: arrows[d], Direction: d, Text: ClipLine(raw), Truncated: IsTooLong(raw)}
}
