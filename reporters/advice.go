package reporters

import (
	"io"

	"github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// Advice is good practice that no sentence of the specification asks for: results of the area advice. JSON reports have
// all of them; others have those that gate, and the rest in a section of its own where that is wanted.

// isAdvice reports whether a result is advice, and no more than that.
func isAdvice(r harness.Result) bool {
	return r.Area() == "advice" && !r.Gates && r.Verdict != harness.Error
}

// isUndone reports whether a result is advice that the server does not follow.
func isUndone(r harness.Result) bool {
	return isAdvice(r) && r.Verdict == harness.Fail && acceptedText(r) == ""
}

// wantsAdvice reports whether advice is to be shown.
func wantsAdvice(r harness.Report) bool { return r.Options != nil && r.Options.Advice }

// spared is a report without advice that nobody wants to see.
func spared(r harness.Report) harness.Report {
	if !wantsAdvice(r) {
		r.Results = only(r.Results, func(x harness.Result) bool { return !isAdvice(x) })
	}
	return r
}

// sparing is a format of reports without such advice.
func sparing(write func(io.Writer, harness.Report) error) func(io.Writer, harness.Report) error {
	return func(w io.Writer, r harness.Report) error { return write(w, spared(r)) }
}

// notes are what was measured, each once.
func notes(results []harness.Result) (lines []string) {
	for _, g := range grouped(results, func(r harness.Result) string { return r.Note }) {
		lines = append(lines, nonEmpty(printableLine(g[0].Note))...)
	}
	return lines
}

// adviceHead says how much of what is advised is left undone.
func adviceHead(results []harness.Result) string {
	undone := grouped(only(results, isUndone), sameFinding)
	return "Advice: " + Plural(len(undone), "practice") + " left undone"
}

// advice is the section of advice on the console: what was measured, what is left undone, and what to do about it.
func (c *Console) advice(results []harness.Result) string {
	var b lines
	head := c.paint.bold.Sprint(adviceHead(results)) + " (for servers whose user is a model; never gates by itself)"
	b.hang(c.paint.faint.Sprint("i "), 2, text.Wrap(head, c.prose()-2))
	for _, note := range notes(results) {
		b.hang("    ", 8, text.Wrap(note, c.prose()-8))
	}
	for _, g := range grouped(only(results, isUndone), sameFinding) {
		r := g.newest()
		said := r.ID + "  " + dotted(shorten(headline(r.Message), 4*c.prose()), some(subjects(r), c.limit(8)))
		if c.several() {
			said += " · " + c.revisionText(g)
		}
		b.hang("    ", 8, text.Wrap(said, c.prose()-8))
		b.hang("        "+c.paint.faint.Sprint("fix: "), 13, text.Wrap(r.Fix, c.prose()-13))
	}
	return b.String()
}

// adviceHint says that there is advice which is not shown; empty when there is none.
func adviceHint(r harness.Report) string {
	undone := grouped(only(r.Results, isUndone), sameFinding)
	switch {
	case wantsAdvice(r) || len(undone) == 0:
		return ""
	case len(undone) == 1:
		return "1 piece of advice; --advice shows it"
	}
	return Plural(len(undone), "piece") + " of advice; --advice shows them"
}

// markdownAdvice is the section of advice on a page.
func markdownAdvice(r harness.Report) string {
	all := only(r.Results, isAdvice)
	if len(all) == 0 {
		return ""
	}
	var body string
	for _, note := range notes(all) {
		body += brief(note) + "\n\n"
	}
	var rows []string
	for _, g := range grouped(only(all, isUndone), sameFinding) {
		x := g.newest()
		_, got := wantGot(x)
		on := code(some(x.Subjects, 5))
		rows = append(rows, row(code(x.ID), brief(revisionsText(r, g)), on, code(got), brief(x.Fix)))
	}
	body += table(row("Practice", "Revision", "On", "Came", "What to do"), rows)
	return folded(adviceHead(all), body)
}
