package reporters

import (
	"io"

	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// Advice is good practice that no sentence of the specification asks for: results of the area advice. JSON reports have
// all of them; others have those that block, and the rest in a section of its own where that is wanted.

// isUndone reports whether a result is advice that the server does not follow.
func isUndone(r harness.Result) bool {
	return r.IsAdvice() && r.Verdict == harness.Fail && acceptedText(r) == ""
}

// wantsAdvice reports whether advice is to be shown.
func wantsAdvice(r harness.Report) bool { return r.Options != nil && r.Options.Advice }

// spared is a report without advice that nobody wants to see, and without counts of a server that was not tested.
func spared(r harness.Report) harness.Report {
	if unmet(r) {
		r.Coverage = nil
	}
	if !wantsAdvice(r) {
		r.Results = only(r.Results, func(x harness.Result) bool { return !x.IsAdvice() })
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

// adviceHead says how much of what is advised is not followed.
func adviceHead(results []harness.Result) string {
	undone := grouped(only(results, isUndone), sameFinding)
	return Plural(len(undone), "recommendation") + " for servers used by models (never blocking)"
}

// markdownAdvice is the section of advice on a page.
func markdownAdvice(r harness.Report) string {
	all := only(r.Results, harness.Result.IsAdvice)
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
	body += table(row("Recommendation", "Revision", "On", "Got", "What to do"), rows)
	return folded(adviceHead(all), body)
}
