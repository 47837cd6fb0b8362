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

// Limits of a page. GitHub takes comments of 65,536 bytes and step summaries of 1 MiB. (GitHub Docs, "Workflow commands
// for GitHub Actions")
const (
	markdownLimit = 60_000 // bytes of the page
	markdownTable = 10_000 // bytes of each of its four tables; evidence has the rest
	markdownLines = 20     // lines of a message, and of a wire
	markdownWidth = 400    // characters of such a line
	markdownCell  = 120    // characters of a cell
)

// Markdown writes a page for a comment on a pull request or a step summary: the verdict, what gates with its evidence
// folded, stale entries of the baseline, and folded the known fails and those that do not gate. It says what it leaves
// out. The first line, a comment, lets a workflow find the page that it posted before.
//
// What a server said stands in code spans and fenced blocks only, where it can be neither markup nor a mention. (GitHub
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

// isMinor reports whether a result is a fail that neither gates nor is accepted, and more than advice.
func isMinor(r report.Result) bool {
	return r.Verdict == catalogue.Fail && !r.Gates && acceptedText(r) == "" && !r.IsAdvice()
}

// markdownHead is the verdict, the counts and what kept the run from its end.
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

// markdownFindings is a table of findings: which, how strong, wanted, came.
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

// markdownLevel is the level of a finding, and why it gates if not by that.
func markdownLevel(r report.Result) string {
	switch {
	case r.Verdict == catalogue.Error:
		return shortGate(r)
	case gateNote(r) == "":
		return levelText(r)
	}
	return joinParts(levelText(r), shortGate(r))
}

// markdownStale is a table of the entries of the baseline that do not hold.
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

// markdownKnown is a folded table of the fails that are accepted: the baseline lists them, or they come from an SDK.
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

// markdownEvidence is a folded block for each finding, of at most so many bytes in all. It returns how many bytes are
// left.
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

// markdownDetail is what there is to say about a finding.
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

// writeTableLine is a table with as many rows as there is room for.
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

// row is a row of a table. Its cells hold no pipe and no line feed.
func row(cells ...string) string { return "| " + strings.Join(cells, " | ") + " |\n" }

// folded is Markdown behind a summary, which is HTML.
func detailsBlock(summary, body string) string {
	return "<details>\n<summary>" + summary + "</summary>\n\n" + strings.TrimRight(body, "\n") + "\n\n</details>\n\n"
}

// shortLiteral is literal, shortened.
func shortLiteral(s string) string { return escapeLiteral(shorten(s, 2*markdownCell)) }

// escapeLiteral is a text as Markdown and HTML both show it: with references for all that either gives a meaning, and
// with a space of no width where GitHub would see a mention or an issue.
func escapeLiteral(s string) string { return characterReferences.Replace(s) }

var characterReferences = strings.NewReplacer(
	"&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", `\`, "&#92;", "`", "&#96;", "*", "&#42;", "_", "&#95;",
	"[", "&#91;", "]", "&#93;", "|", "&#124;", "~", "&#126;", "$", "&#36;", "://", "&#58;//", "::", "&#58;&#58;",
	"www.", "www&#46;", "@", "@&#8203;", "#", "#&#8203;",
)

// codeSpan is a text of one line as a code span that may stand in a table, where a
// pipe would end the cell whatever stands before it. Nothing stays nothing.
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

// codeBlock is a text as a block of code.
func codeBlock(s string) string {
	ticks := fence(s, 3)
	return ticks + "text\n" + withoutCommands(s) + "\n" + ticks + "\n"
}

// fence is more backticks than stand together in a text, and at least so many.
func fence(s string, least int) string {
	for _, run := range backticks.FindAllString(s, -1) {
		least = max(least, len(run)+1)
	}
	return strings.Repeat("`", least)
}

var backticks = regexp.MustCompile("`+")

// idLink is an id that links to its sentence of the specification.
func idLink(id, url string) string {
	if len(url) > 300 || !urlPattern.MatchString(url) {
		return codeSpan(id)
	}
	return "[" + codeSpan(id) + "](" + url + ")"
}

// urlPattern is a URL without characters that mean something in Markdown.
var urlPattern = regexp.MustCompile(`^https?://[A-Za-z0-9./_~#?=&%+-]+$`)
