package reporters

import (
	"io"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// Advice is good practice that the specification does not require: the results of the area advice. JSON reports contain
// all of it. Other formats contain advice that blocks, and the rest in a separate section on request.

// isNotFollowed reports whether a result is a recommendation that the server does not follow.
func isNotFollowed(r report.Result) bool {
	return r.IsAdvice() && r.Verdict == catalogue.Fail && acceptedText(r) == ""
}

// showsAdvice reports whether the options ask for advice.
func showsAdvice(r report.Report) bool { return r.Options != nil && r.Options.Advice }

// withoutHiddenAdvice returns a report without advice if nobody asked for it, and without the counts of a server that
// was not tested.
func withoutHiddenAdvice(r report.Report) report.Report {
	if isUnreachable(r) {
		r.Coverage = nil
	}
	if !showsAdvice(r) {
		r.Results = filter(r.Results, func(x report.Result) bool { return !x.IsAdvice() })
	}
	return r
}

// withoutAdvice returns a format that writes withoutHiddenAdvice of a report.
func withoutAdvice(write func(io.Writer, report.Report) error) func(io.Writer, report.Report) error {
	return func(w io.Writer, r report.Report) error { return write(w, withoutHiddenAdvice(r)) }
}

// measuredNotes returns the measurements in some results, each once.
func measuredNotes(results []report.Result) (lines []string) {
	for _, g := range groupBy(results, func(r report.Result) string { return r.Note }) {
		lines = append(lines, nonEmpty(printableLine(g[0].Note))...)
	}
	return lines
}

// adviceHeading says how many recommendations are not followed.
func adviceHeading(results []report.Result) string {
	undone := groupBy(filter(results, isNotFollowed), findingKey)
	return Plural(len(undone), "recommendation") + " for servers used by models (never blocking)"
}

// markdownAdvice returns the section with recommendations of a Markdown page.
func markdownAdvice(r report.Report) string {
	all := filter(r.Results, report.Result.IsAdvice)
	if len(all) == 0 {
		return ""
	}
	var body string
	for _, note := range measuredNotes(all) {
		body += shortLiteral(note) + "\n\n"
	}
	var rows []string
	for _, g := range groupBy(filter(all, isNotFollowed), findingKey) {
		x := g.newest()
		_, got := wantGot(x)
		on := codeSpan(joinSome(x.Subjects, 5))
		rows = append(rows, row(codeSpan(x.ID), shortLiteral(revisionsText(r, g)), on, codeSpan(got),
			shortLiteral(x.Fix)))
	}
	body += table(row("Recommendation", "Revision", "On", "Got", "What to do"), rows)
	return detailsBlock(adviceHeading(all), body)
}
