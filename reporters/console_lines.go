package reporters

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// hanging is how far the further lines of a wrapped line are indented.
const hanging = 4

// labels is the width of the column of labels.
const labels = 12

const issues = "https://github.com/mcpcheck/mcpcheck/issues"

// folded is a line of our own words after a mark, wrapped at the width of the terminal.
func (c *Console) folded(mark, said string) string {
	var b lines
	b.hang(mark, hanging, text.Wrap(said, c.columns-hanging))
	return b.String()
}

// entry is an entry of the screen. Its evidence, where details are wanted, stands in place of its facts.
func (c *Console) entry(e entry) string {
	var b lines
	b.WriteString(c.heading(e))
	if e.rule != "" {
		b.hang("  ", 2, text.Wrap(e.rule, c.prose()-2))
	}
	if e.result != nil && c.o.Verbosity > Normal {
		c.evidence(&b, *e.result)
		return b.String()
	}
	for _, f := range e.facts {
		b.WriteString(c.fact("    ", f))
	}
	return b.String()
}

// heading names an entry, and at the right what it is.
func (c *Console) heading(e entry) string {
	head := c.paint.sign(e.sign) + " "
	if e.short != "" && len(e.facts) == 0 {
		return c.folded(head, c.paint.bold.Sprint(e.name)+"  "+e.level+": "+shorten(e.short, 2*c.prose()))
	}
	gap := c.prose() - 2 - utf8.RuneCountInString(e.name) - utf8.RuneCountInString(e.level)
	if e.level == "" || gap < 2 {
		return c.folded(head, strings.TrimRight(c.paint.bold.Sprint(e.name)+"  "+e.level, " "))
	}
	return head + c.paint.bold.Sprint(e.name) + strings.Repeat(" ", gap) + e.level + "\n"
}

// fact is a fact after its label, with as many lines as it may have; nothing where it says nothing.
func (c *Console) fact(indent string, f fact) string {
	if f.text == "" {
		return ""
	}
	width := c.prose() - len(indent) - labels
	most := 1 // lines of what is quoted
	if !strings.Contains(f.text, "\n") {
		most = max(f.lines, 1)
	}
	var all []string
	for line := range strings.SplitSeq(f.text, "\n") {
		if f.quoted {
			all = append(all, cutTo(line, most, c.limit(width))...)
		} else {
			all = append(all, text.Wrap(line, width)...)
		}
	}
	if f.lines > 0 && c.o.Verbosity == Normal {
		all = atMostLines(all, f.lines)
	}
	label := fmt.Sprintf("%-*s", labels, f.label)
	if ink := c.paint.wants[f.label]; ink != nil {
		label = ink.Sprint(label)
	} else {
		label = c.paint.faint.Sprint(label)
	}
	if strings.TrimSpace(f.label) == "" {
		label = strings.Repeat(" ", labels)
	}
	var b lines
	b.hang(indent+label, len(indent)+labels, all)
	return b.String()
}

// atMostLines cuts lines; the last one then says that there is more.
func atMostLines(all []string, most int) []string {
	if len(all) <= most {
		return all
	}
	shown := append([]string{}, all[:most]...)
	shown[most-1] += " …"
	return shown
}

// next are the commands that help now. Where they are wrapped, they can be copied all the same.
func (c *Console) next(commands []string) string {
	if len(commands) == 0 {
		return ""
	}
	var all []string
	for _, command := range commands {
		all = append(all, text.WrapShell(printableLine(command), c.columns-2-labels)...)
	}
	var b lines
	b.hang("  "+c.paint.faint.Sprintf("%-*s", labels, "next"), 2+labels, all)
	return b.String()
}

// evidence is all there is to say of a failure.
func (c *Console) evidence(b *lines, r harness.Result) {
	if sent := sentFor(r); sent != "" {
		b.add("    " + c.paint.faint.Sprint("sent    ") + " " + cut(sent, c.limit(c.o.Width-13)))
	}
	c.message(b, r.Message)
	c.wire(b, "  ", r.Wire)
	c.label(b, "on", some(subjects(r), c.limit(8)))
	c.label(b, "gate", countsText(r))
	c.label(b, "known", acceptedText(r))
	c.label(b, "spec", r.Spec)
	for _, ask := range r.Asked {
		c.label(b, "asked", "by "+ask.By+": "+ask.Rule+" "+ask.Source)
	}
	c.label(b, "fix", r.Fix)
	if c.o.Repeat != nil {
		c.label(b, "rerun", printableLine(c.o.Repeat(r)))
	}
}

// message shows what was expected and what came.
func (c *Console) message(b *lines, said string) {
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
			value = cut(value, c.limit(c.o.Width-len(indent)-9))
			b.add(indent + c.paint.wants[word].Sprintf("%-8s", word) + " " + value)
			continue
		}
		line = shorten(strings.TrimSpace(line), c.limit(4*c.prose()))
		b.hang(indent, len(indent), text.Wrap(line, c.prose()-len(indent)))
	}
	if left := len(all) - len(shown); left > 0 {
		b.add(c.paint.faint.Sprintf("    … %s more (-vv)", Plural(left, "line")))
	}
}

// wire shows the evidence: when, which way, what. What decided is wrapped, everything else cut.
func (c *Console) wire(b *lines, indent string, wire []harness.Line) {
	const most = 12
	decided := map[string]bool{}
	for _, l := range wire {
		decided[wireLine(l)] = l.Decisive
	}
	width := c.o.Width - len(indent) - 2
	var all []string
	for _, line := range wireLines(wire, c.limit(most), math.MaxInt) {
		if decided[line] {
			all = append(all, text.Chop(cut(line, c.limit(most*width)), width)...)
		} else {
			all = append(all, line)
		}
	}
	c.quote(b, indent, all)
}

// quote shows lines that others wrote, each cut to the width of the terminal.
func (c *Console) quote(b *lines, indent string, quoted []string) {
	gutter := indent + c.paint.faint.Sprint("│ ")
	for _, line := range quoted {
		b.add(gutter + cut(line, c.limit(c.o.Width-len(indent)-2)))
	}
}

// label adds a labelled line if there is something to say.
func (c *Console) label(b *lines, label, said string) {
	if said == "" {
		return
	}
	lead := "  " + c.paint.faint.Sprintf("%-7s", label+":")
	if label == "spec" || label == "rerun" { // for copying
		b.add(lead + said)
		return
	}
	b.hang(lead, 9, text.Wrap(said, c.prose()-9))
}

// problem shows why the run did not come to its end, with its details.
func (c *Console) problem(problem string) string {
	var b lines
	b.add(c.paint.fail.Sprint("✗ ") + c.paint.bold.Sprint(headline(problem)))
	if _, rest := split(problem); rest != "" {
		c.quote(&b, "  ", text.Excerpt(strings.Split(rest, "\n"), c.limit(10)))
	}
	return b.String()
}

// limit is n, or no limit where everything is wanted.
func (c *Console) limit(n int) int {
	if c.o.Verbosity == Wire {
		return 1 << 30
	}
	return max(n, 1)
}

// prose is the width of sentences: the terminal's, but not wider than is good to read.
func (c *Console) prose() int { return min(c.o.Width, 100) }

// short is a line for each result that blocks, each fault of mcpcheck, and each stale entry of the baseline; in brief
// also for each other failure.
func (c *Console) short(r harness.Report) string {
	shown := isFailure
	if c.o.Verbosity == Brief {
		shown = func(x harness.Result) bool { return isFailure(x) || x.Verdict == harness.Fail }
	}
	var b lines
	for _, g := range grouped(Worst(only(spared(r).Results, shown)), sameFinding) {
		b.WriteString(c.folded(c.paint.mark(count(g))+" ", c.shortLine(g)))
	}
	for _, s := range stale(r) {
		b.WriteString(c.folded(c.paint.fail.Sprint("✗")+" ",
			fmt.Sprintf("%s: %s (stale): %s", staleAt(r, s), s.Entry, s.Why)))
	}
	return b.String()
}

// shortLine is a finding on one line, quietly with what to do about it.
func (c *Console) shortLine(g group) string {
	r := g.newest()
	why := shortGate(r)
	if !isFailure(r) {
		why = levelText(r) + ", " + resultGate(r)
	}
	if c.several() {
		why += ", " + c.revisionText(g)
	}
	line := fmt.Sprintf("%s (%s): ", r.ID, why)
	if c.o.Verbosity == Brief {
		return line + headline(r.Message)
	}
	fix, _, _ := strings.Cut(r.Fix, ". ")
	fix = labelled(" · fix: ", strings.TrimSuffix(fix, "."))
	const most = 240 // three lines of most terminals
	width := max(40, most-utf8.RuneCountInString(line)-utf8.RuneCountInString(fix))
	return line + cut(headline(r.Message), width) + fix
}

// revisionText names the revisions of a group.
func (c *Console) revisionText(g group) string {
	revisions := g.revisions()
	if len(revisions) == len(revisionsOf(c.revisions)) {
		return "all revisions"
	}
	return strings.Join(revisions, ", ")
}

// verdict is the verdict, and what to say of it.
func (c *Console) verdict(r harness.Report, word string, parts []string) string {
	ink := c.paint.fail
	if r.ExitCode == harness.ExitConforms {
		ink = c.paint.pass
	}
	const noBreak = "\u00a0" // between a number and its unit
	said := dotted(parts[:len(parts)-1]...)
	said = dotted(said, strings.ReplaceAll(parts[len(parts)-1], " ", noBreak))
	return strings.ReplaceAll(c.folded("", ink.Sprint(word)+"  "+said), noBreak, " ")
}
