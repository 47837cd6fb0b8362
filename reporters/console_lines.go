package reporters

import (
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// hanging is how far the further lines of a wrapped line are indented.
const hanging = 4

// folded is a line of our own words after a mark, wrapped at the width of the terminal.
func (c *Console) folded(mark, said string) string {
	var b lines
	b.hang(mark, hanging, text.Wrap(said, c.columns-hanging))
	return b.String()
}

// short is a line for each result that gates, each fault of mcpcheck, and each stale entry of the baseline; in brief
// also for each other fail.
func (c *Console) short(r harness.Report) string {
	shown := isFailure
	if c.o.Verbosity == Brief {
		shown = func(x harness.Result) bool { return isFailure(x) || x.Verdict == harness.Fail }
	}
	var b lines
	for _, g := range grouped(only(r.Results, shown), sameFinding) {
		b.add(c.shortLine(g))
	}
	for _, s := range stale(r) {
		b.add(fmt.Sprintf("%s %s: %s (stale): %s", c.paint.fail.Sprint("✗"), staleAt(r, s), s.Entry, s.Why))
	}
	return b.String()
}

// shortLine is a finding on one line.
func (c *Console) shortLine(g group) string {
	r := g.newest()
	why := shortGate(r)
	if !isFailure(r) {
		why = levelText(r) + ", " + resultGate(r)
	}
	if c.several() {
		why += ", " + c.revisionText(g)
	}
	line := fmt.Sprintf("%s %s (%s): ", c.paint.mark(count(g)), r.ID, why)
	width := max(40, c.o.Width-utf8.RuneCountInString(line))
	if c.o.Verbosity == Brief {
		width = math.MaxInt
	}
	return line + shorten(headline(r.Message), width)
}

// minor lists the fails that do not gate: which, how strong, what was wanted and what came.
func (c *Console) minor(results []harness.Result) string {
	groups := grouped(results, sameFinding)
	var b lines
	head := Plural(len(groups), "non-gating failure")
	b.add(c.paint.warn.Sprint("! ") + c.paint.bold.Sprint(head) + " (-v shows more)")
	for _, g := range groups {
		r := g.newest()
		said := r.ID + "  " + dotted(levelText(r), shorten(headline(r.Message), 4*c.prose()))
		if c.several() {
			said += " · " + c.revisionText(g)
		}
		b.hang("    ", 8, text.Wrap(said, c.prose()-8))
	}
	return b.String()
}

// verdict is the last line.
func (c *Console) verdict(r harness.Report) string {
	word, parts := verdict(r)
	ink := c.paint.fail
	if r.ExitCode == harness.ExitConforms {
		ink = c.paint.pass
	}
	return c.folded("", ink.Sprint(word)+"  "+dotted(parts...))
}
