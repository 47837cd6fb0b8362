package reporters

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// hangingIndent is the indentation of the continuation lines of a wrapped line.
const hangingIndent = 4

// labelWidth is the width of the column of labels.
const labelWidth = 12

const issuesURL = "https://github.com/mcpcheck/mcpcheck/issues"

// wrappedLine returns a line of our own words after a mark, wrapped at the width of the terminal.
func (c *Console) wrappedLine(mark, said string) string {
	var b lineBuilder
	b.addIndented(mark, hangingIndent, text.Wrap(said, c.columns-hangingIndent))
	return b.String()
}

// entry returns an entry of the screen. With details, its evidence replaces its facts.
func (c *Console) entry(e entry) string {
	var b lineBuilder
	b.WriteString(c.heading(e))
	if e.requirement != "" {
		b.addIndented("  ", 2, text.Wrap(e.requirement, c.proseWidth()-2))
	}
	if e.result != nil && c.options.Verbosity > Normal {
		c.writeEvidence(&b, *e.result)
		return b.String()
	}
	for _, f := range e.facts {
		b.WriteString(c.fact("    ", f))
	}
	return b.String()
}

// heading returns the name of an entry, with its level at the right.
func (c *Console) heading(e entry) string {
	head := c.palette.sign(e.sign) + " "
	if e.summary != "" && len(e.facts) == 0 {
		return c.wrappedLine(head, c.palette.bold.Sprint(e.name)+"  "+e.level+": "+shorten(e.summary, 2*c.proseWidth()))
	}
	gap := c.proseWidth() - 2 - utf8.RuneCountInString(e.name) - utf8.RuneCountInString(e.level)
	if e.level == "" || gap < 2 {
		return c.wrappedLine(head, strings.TrimRight(c.palette.bold.Sprint(e.name)+"  "+e.level, " "))
	}
	return head + c.palette.bold.Sprint(e.name) + strings.Repeat(" ", gap) + e.level + "\n"
}

// fact returns a fact after its label, within its limit of lines; empty if the fact is empty.
func (c *Console) fact(indent string, f fact) string {
	if f.text == "" {
		return ""
	}
	width := c.proseWidth() - len(indent) - labelWidth
	most := 1 // lines of the quotation
	if !strings.Contains(f.text, "\n") {
		most = max(f.maxLines, 1)
	}
	var all []string
	for line := range strings.SplitSeq(f.text, "\n") {
		if f.quoted {
			all = append(all, shortenLinesJSON(line, most, c.limit(width))...)
		} else {
			all = append(all, text.Wrap(line, width)...)
		}
	}
	if f.maxLines > 0 && c.options.Verbosity == Normal {
		all = limitLines(all, f.maxLines)
	}
	label := fmt.Sprintf("%-*s", labelWidth, f.label)
	if ink := c.palette.labelColors[f.label]; ink != nil {
		label = ink.Sprint(label)
	} else {
		label = c.palette.faint.Sprint(label)
	}
	if strings.TrimSpace(f.label) == "" {
		label = strings.Repeat(" ", labelWidth)
	}
	var b lineBuilder
	b.addIndented(indent+label, len(indent)+labelWidth, all)
	return b.String()
}

// limitLines cuts lines. The last one then says that there is more.
func limitLines(all []string, most int) []string {
	if len(all) <= most {
		return all
	}
	shown := append([]string{}, all[:most]...)
	shown[most-1] += " …"
	return shown
}

// nextText returns the commands that help now. They can be copied even where they are wrapped.
func (c *Console) nextText(commands []string) string {
	if len(commands) == 0 {
		return ""
	}
	var all []string
	for _, command := range commands {
		all = append(all, text.WrapShell(printableLine(command), c.columns-2-labelWidth)...)
	}
	var b lineBuilder
	b.addIndented("  "+c.palette.faint.Sprintf("%-*s", labelWidth, "next"), 2+labelWidth, all)
	return b.String()
}

// writeEvidence writes all details of a failure.
func (c *Console) writeEvidence(b *lineBuilder, r report.Result) {
	if sent := sentText(r); sent != "" {
		b.add("    " + c.palette.faint.Sprint("sent    ") + " " + shortenJSON(sent, c.limit(c.options.Width-13)))
	}
	c.writeMessage(b, r.Message)
	c.writeWire(b, "  ", r.Evidence)
	c.writeLabel(b, "on", joinSome(subjects(r), c.limit(8)))
	c.writeLabel(b, "gate", countsText(r))
	c.writeLabel(b, "known", acceptedText(r))
	c.writeLabel(b, "spec", r.Spec)
	for _, ask := range r.DirectoryRules {
		c.writeLabel(b, "asked", "by "+ask.Directory+" ("+ask.ID+", "+ask.Date+"): "+ask.Rule+" "+ask.Source)
	}
	c.writeLabel(b, "fix", r.Fix)
	if c.options.RepeatCommand != nil {
		c.writeLabel(b, "rerun", printableLine(c.options.RepeatCommand(r)))
	}
}

// writeMessage writes what was expected and what was received.
func (c *Console) writeMessage(b *lineBuilder, said string) {
	said = strings.TrimSpace(said)
	if said == "" {
		return
	}
	all := strings.Split(said, "\n")
	shown := all[:min(len(all), c.limit(16))]
	for _, line := range shown {
		value := strings.TrimLeft(line, " ")
		indent := "    " + line[:len(line)-len(value)]
		word, value, _ := strings.Cut(value, " ")
		if word == "expected" || word == "got" {
			value = shortenJSON(value, c.limit(c.options.Width-len(indent)-9))
			b.add(indent + c.palette.labelColors[word].Sprintf("%-8s", word) + " " + value)
			continue
		}
		line = shorten(strings.TrimSpace(line), c.limit(4*c.proseWidth()))
		b.addIndented(indent, len(indent), text.Wrap(line, c.proseWidth()-len(indent)))
	}
	if left := len(all) - len(shown); left > 0 {
		b.add(c.palette.faint.Sprintf("    … %s more (-vv)", Plural(left, "line")))
	}
}

// writeWire writes the evidence: time, direction, text. Decisive lines are wrapped, all others cut.
func (c *Console) writeWire(b *lineBuilder, indent string, wire []report.Line) {
	const most = 12
	decided := map[string]bool{}
	for _, l := range wire {
		decided[wireLine(l)] = l.Decisive
	}
	width := c.options.Width - len(indent) - 2
	var all []string
	for _, line := range wireLines(wire, c.limit(most), math.MaxInt) {
		if decided[line] {
			all = append(all, text.BreakLine(shortenJSON(line, c.limit(most*width)), width)...)
		} else {
			all = append(all, line)
		}
	}
	c.writeQuote(b, indent, all)
}

// writeQuote writes quoted lines, each cut to the width of the terminal.
func (c *Console) writeQuote(b *lineBuilder, indent string, quoted []string) {
	gutter := indent + c.palette.faint.Sprint("│ ")
	for _, line := range quoted {
		b.add(gutter + shortenJSON(line, c.limit(c.options.Width-len(indent)-2)))
	}
}

// writeLabel writes a labelled line if the text is not empty.
func (c *Console) writeLabel(b *lineBuilder, label, said string) {
	if said == "" {
		return
	}
	lead := "  " + c.palette.faint.Sprintf("%-7s", label+":")
	if label == "spec" || label == "rerun" { // These are for copying.
		b.add(lead + said)
		return
	}
	b.addIndented(lead, 9, text.Wrap(said, c.proseWidth()-9))
}

// problem returns why the run did not finish, with details.
func (c *Console) problem(problem string) string {
	var b lineBuilder
	b.add(c.palette.fail.Sprint("✗ ") + c.palette.bold.Sprint(headline(problem)))
	if _, rest := splitHeadline(problem); rest != "" {
		c.writeQuote(&b, "  ", text.Excerpt(strings.Split(rest, "\n"), c.limit(10)))
	}
	return b.String()
}

// limit returns n, or no limit with Wire.
func (c *Console) limit(n int) int {
	if c.options.Verbosity == Wire {
		return 1 << 30
	}
	return max(n, 1)
}

// proseWidth returns the width of sentences: that of the terminal, but not wider than is good to read.
func (c *Console) proseWidth() int { return min(c.options.Width, 100) }

// shortText returns a line for each blocking result, each fault of mcpcheck and each stale entry of the baseline; with
// Brief also for each other failure.
func (c *Console) shortText(r report.Report) string {
	shown := isFailure
	if c.options.Verbosity == Brief {
		shown = func(x report.Result) bool { return isFailure(x) || x.Verdict == catalogue.Fail }
	}
	var b lineBuilder
	for _, g := range groupBy(WorstFirst(filter(withoutHiddenAdvice(r).Results, shown)), findingKey) {
		b.WriteString(c.wrappedLine(c.palette.mark(count(g))+" ", c.shortLine(g)))
	}
	for _, s := range staleBaseline(r) {
		b.WriteString(c.wrappedLine(c.palette.fail.Sprint("✗")+" ",
			fmt.Sprintf("%s: %s (stale): %s", stalePosition(r, s), s.Entry, s.Reason)))
	}
	return b.String()
}

// shortLine returns a finding on one line; with Quiet also what to do about it.
func (c *Console) shortLine(g group) string {
	r := g.newest()
	why := shortGate(r)
	if !isFailure(r) {
		why = levelText(r) + ", " + resultGate(r)
	}
	if c.hasSeveralRevisions() {
		why += ", " + c.revisionText(g)
	}
	line := fmt.Sprintf("%s (%s): ", r.ID, why)
	if c.options.Verbosity == Brief {
		return line + headline(r.Message)
	}
	fix, _, _ := strings.Cut(r.Fix, ". ")
	fix = labelled(" · fix: ", strings.TrimSuffix(fix, "."))
	const most = 240 // three lines of most terminals
	width := max(40, most-utf8.RuneCountInString(line)-utf8.RuneCountInString(fix))
	return line + shortenJSON(headline(r.Message), width) + fix
}

// revisionText names the revisions of a group.
func (c *Console) revisionText(g group) string {
	revisions := g.revisions()
	if len(revisions) == len(revisionsOf(c.revisions)) {
		return "all revisions"
	}
	return strings.Join(revisions, ", ")
}

// verdict returns the verdict and what there is to say about it.
func (c *Console) verdict(r report.Report, word string, parts []string) string {
	ink := c.palette.fail
	if r.ExitCode == report.ExitConforms {
		ink = c.palette.pass
	}
	const noBreak = "\u00a0" // between a number and its unit
	said := joinParts(parts[:len(parts)-1]...)
	said = joinParts(said, strings.ReplaceAll(parts[len(parts)-1], " ", noBreak))
	return strings.ReplaceAll(c.wrappedLine("", ink.Sprint(word)+"  "+said), noBreak, " ")
}
