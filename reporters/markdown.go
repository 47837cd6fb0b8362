package reporters

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// These are limits of a page. GitHub accepts comments of 65,536 bytes and step summaries of 1 MiB. (GitHub Docs,
// "Workflow commands for GitHub Actions")
const (
	// markdownLimit is the size of the page in bytes.
	markdownLimit = 60_000
	// markdownTable is the size of each of its four tables in bytes. Evidence gets the rest.
	markdownTable = 10_000
	// markdownLines is the number of lines of a message, and of evidence.
	markdownLines = 20
	// markdownWidth is the width of these lines in characters.
	markdownWidth = 400
	// markdownCell is the width of a cell in characters.
	markdownCell = 120
)

// Markdown writes a page for a comment on a pull request or a step summary: the verdict, the blocking findings with
// folded evidence, stale entries of the baseline, and, folded, the known failures and those that do not block. It says
// what it leaves out. The first line is a comment, by which a workflow finds the page that it posted before.
//
// Text from a server is only in code spans and fenced blocks, in which it can be neither markup nor a mention. (GitHub
// Flavored Markdown Spec, sections 4.5 Fenced code blocks, 4.10 Tables, 6.3 Code spans)
func Markdown(w io.Writer, r report.Report) error {
	r = printableReport(r)
	gating := groupBy(WorstFirst(filter(r.Results, isFailure)), findingKey)
	minor := groupBy(WorstFirst(filter(r.Results, isMinor)), findingKey)
	head := "<!-- mcpcheck -->\n" + markdownHead(r) + markdownFindings(r, gating)
	more := markdownStale(r) + markdownKnown(r) + markdownAdvice(r)
	last := markdownFindings(r, minor)

	left := markdownLimit - len(head) - len(more) - len(last) - 1000 // for the words between
	evidence, left := markdownEvidence(gating, left)
	lesser, _ := markdownEvidence(minor, left)
	if last != "" {
		last = detailsBlock(Plural(len(minor), "failure")+" that "+wordForm(len(minor), "does", "do")+" not block",
			last+lesser)
	}
	_, err := io.WriteString(w, head+evidence+more+last)
	return err
}

// isMinor reports whether a result is a failure that neither blocks nor is accepted, and not advice.
func isMinor(r report.Result) bool {
	return r.Verdict == catalogue.Fail && !r.Gates && acceptedText(r) == "" && !r.IsAdvice()
}

// markdownHead returns the verdict, the counts and the problem of the run.
func markdownHead(r report.Report) string {
	problem := r.Problem
	r.Problem = "" // not among the counts
	_, counts := outcomeText(r)
	head := "### " + verdictEmoji(r) + " mcpcheck: " + shortLiteral(conclusion(r)) + "\n\n" + shortLiteral(counts) +
		"\n\n"
	if server := serverText(r.Server); server != "" {
		head += codeSpan(server) + " over " + shortLiteral(r.Target.Transport) + "\n\n"
	}
	for _, c := range r.Coverage {
		head += shortLiteral(coverageText(c)) + "\n\n"
	}
	for _, note := range nonEmpty(unexercisedText(r.Coverage), optionsText(r.Options)) {
		head += codeSpan(shorten(note, markdownWidth)) + "\n\n"
	}
	if calls, notes := callsText(r.Coverage, r.Results); calls != "" {
		head += codeBlock(shorten(calls+":\n"+strings.Join(notes, "\n"), markdownTable)) + "\n"
	}
	if problem != "" {
		head += codeBlock(shortenLines(problem, markdownLines/2, markdownWidth/2)) + "\n"
	}
	return head
}

// markdownFindings returns a table of findings: requirement, level, expected, received.
func markdownFindings(r report.Report, groups []group) string {
	rows := make([]string, len(groups))
	for i, g := range groups {
		x := g.newest()
		want, got := wantGot(x)
		id := idLink(x.ID, x.Spec)
		if names := subjects(x); len(names) > 0 {
			id += " on " + codeSpan(joinSome(names, 3))
		}
		rows[i] = row(id, shortLiteral(joinParts(markdownLevel(x), revisionsText(r, g))), codeSpan(want), codeSpan(got))
	}
	return table(row("Requirement", "Level", "Expected", "Got"), rows)
}

// markdownLevel returns the level of a finding and, if it blocks for another reason, the reason.
func markdownLevel(r report.Result) string {
	switch {
	case r.Verdict == catalogue.Error:
		return shortGate(r)
	case gateNote(r) == "":
		return levelText(r)
	}
	return joinParts(levelText(r), shortGate(r))
}

// markdownStale returns a table of the stale entries of the baseline.
func markdownStale(r report.Report) string {
	var rows []string
	for _, s := range staleBaseline(r) {
		rows = append(rows, row(codeSpan(stalePosition(r, s)), codeSpan(s.Entry), codeSpan(s.Reason)))
	}
	if len(rows) == 0 {
		return ""
	}
	head := "**" + staleText(r) + " in the baseline**: " + staleFix + ".\n\n"
	return head + table(row("Where", "Entry", "Why"), rows)
}

// markdownKnown returns a folded table of the accepted failures: the baseline lists them, or they come from an SDK.
func markdownKnown(r report.Report) string {
	var rows []string
	for _, x := range filter(r.Results, func(x report.Result) bool { return acceptedText(x) != "" }) {
		rows = append(rows, row(idLink(x.ID, x.Spec), shortLiteral(x.Revision), codeSpan(acceptedText(x))))
	}
	if len(rows) == 0 {
		return ""
	}
	head := strings.Join(nonEmpty(count(r.Results).knownText(), sdkDeviations(r.Results)), "; ")
	return detailsBlock(head, table(row("Requirement", "Revision", "Why it is accepted"), rows))
}

// markdownEvidence returns a folded block for each finding, within a number of bytes in all. It returns the number of
// bytes left.
func markdownEvidence(groups []group, bytes int) (blocks string, left int) {
	for i, g := range groups {
		r := g.newest()
		block := detailsBlock("<code>"+shortLiteral(r.ID)+"</code> "+shortLiteral(r.RequirementText()),
			codeBlock(markdownDetail(r)))
		if len(blocks)+len(block) > bytes {
			rest := Plural(len(groups)-i, "failure")
			return blocks + fmt.Sprintf("The evidence of %s is left out here; other reports have it.\n\n", rest), 0
		}
		blocks += block
	}
	return blocks, bytes - len(blocks)
}

// markdownDetail returns the details of a finding.
func markdownDetail(r report.Result) string {
	parts := nonEmpty(
		shortenLines(r.Message, markdownLines, markdownWidth),
		strings.Join(wireLines(r.Evidence, markdownLines, markdownWidth), "\n"),
		gateNote(r),
		labelled("on: ", joinSome(subjects(r), 20)),
		strings.Join(text.Wrap(labelled("fix: ", r.Fix), 100), "\n"),
	)
	return strings.Join(parts, "\n\n")
}

// table returns a table with as many rows as fit.
func table(head string, rows []string) string {
	if len(rows) == 0 {
		return ""
	}
	t := head + strings.Repeat("|---", strings.Count(head, "|")-1) + "|\n"
	for i, r := range rows {
		if len(t)+len(r) > markdownTable {
			return t + fmt.Sprintf("\n… and %d more of %d.\n\n", len(rows)-i, len(rows))
		}
		t += r
	}
	return t + "\n"
}

// row returns a row of a table. Its cells must not contain pipes or line feeds.
func row(cells ...string) string { return "| " + strings.Join(cells, " | ") + " |\n" }

// detailsBlock returns Markdown that is folded under a summary. The summary is HTML.
func detailsBlock(summary, body string) string {
	return "<details>\n<summary>" + summary + "</summary>\n\n" + strings.TrimRight(body, "\n") + "\n\n</details>\n\n"
}

// shortLiteral is escapeLiteral of a shortened text.
func shortLiteral(s string) string { return escapeLiteral(shorten(s, 2*markdownCell)) }

// escapeLiteral returns a text that both Markdown and HTML show literally: with character references for all special
// characters, and with a zero-width space where GitHub would recognize a mention or an issue.
func escapeLiteral(s string) string { return characterReferences.Replace(s) }

var characterReferences = strings.NewReplacer(
	"&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", `\`, "&#92;", "`", "&#96;", "*", "&#42;", "_", "&#95;",
	"[", "&#91;", "]", "&#93;", "|", "&#124;", "~", "&#126;", "$", "&#36;", "://", "&#58;//", "::", "&#58;&#58;",
	"www.", "www&#46;", "@", "@&#8203;", "#", "#&#8203;",
)

// codeSpan returns a text of one line as a code span for table cells, in which a pipe would end the cell. An empty text
// stays empty.
func codeSpan(s string) string {
	if s == "" {
		return ""
	}
	s = withoutCommands(strings.ReplaceAll(shorten(s, markdownCell), "|", "¦"))
	ticks := fence(s, 1)
	if strings.Trim(s, "` ") != s {
		s = " " + s + " "
	}
	return ticks + s + ticks
}

// codeBlock returns a text as a block of code.
func codeBlock(s string) string {
	ticks := fence(s, 3)
	return ticks + "text\n" + withoutCommands(s) + "\n" + ticks + "\n"
}

// fence returns a run of backticks that is longer than any in a text and not shorter than least.
func fence(s string, least int) string {
	for _, run := range backticks.FindAllString(s, -1) {
		least = max(least, len(run)+1)
	}
	return strings.Repeat("`", least)
}

var backticks = regexp.MustCompile("`+")

// idLink returns an id that links to its sentence of the specification.
func idLink(id, url string) string {
	if len(url) > 300 || !urlPattern.MatchString(url) {
		return codeSpan(id)
	}
	return "[" + codeSpan(id) + "](" + url + ")"
}

// urlPattern matches a URL without characters that have a meaning in Markdown.
var urlPattern = regexp.MustCompile(`^https?://[A-Za-z0-9./_~#?=&%+-]+$`)
