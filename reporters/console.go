package reporters

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// The rules of the console:
//
//  1. The first line says what is tested and by which revision, and how that
//     revision came about; a second one what a configuration leaves out.
//  2. Each area is one line, written when its last result is known.
//  3. Details only of what is not a pass in full, when the run is over, what
//     matters most last: passes in part, capabilities of which nothing was
//     tried, calls that were not made, what else is inconclusive, known fails,
//     deviations of SDKs, advice where it is wanted, fails that do not gate,
//     faults of mcpcheck, fails that gate, stale entries of the baseline, what
//     kept the run from its end. Of known fails only why they are accepted; of
//     checks that needed calls which may not be made only their number.
//  4. A fail that gates shows id, level, whether it gates and why; what was
//     wanted and what came; the wire; the sentence; the fix; the command that
//     repeats it. One that does not gate is a line. The same fail in several
//     revisions is shown once and names them.
//  5. A reason is said once, with the ids that it holds for. Skips are counted.
//  6. The last line is the verdict with counts, what was left out or is not
//     checked yet, revision, profile and time.
//     Of a server that was not tested it is why, what the server said last
//     and what to do, a line each; counts only if something was tried. Areas
//     in which nothing could be tried have no line.
//  7. Quiet: a line per result that gates, and the last line. Brief: a line per
//     fail, never cut. Verbose: a line per result as it is known, with its wire
//     and the reasons of skips, and nothing is shortened.
//  8. Colour only emphasises: without it nothing is lost. Text from a server is
//     escaped, so that it cannot command the terminal, nor a GitHub workflow in
//     whose log it is shown. Lines break between words at the width of the
//     terminal, and hang.

// Verbosity is how much the console says.
type Verbosity int

// The verbosities.
const (
	Quiet   Verbosity = iota - 2 // -q
	Brief                        // --brief
	Normal                       // the zero value
	Verbose                      // -v
)

// ConsoleOptions say where and how to write.
type ConsoleOptions struct {
	Out       io.Writer
	Color     bool
	Terminal  bool // Out is a terminal: show progress
	Width     int  // of the terminal in columns; 0 if unknown, and then only prose and evidence are kept within bounds
	Verbosity Verbosity

	// Repeat is the command that repeats one check. Without it, none is shown.
	Repeat func(harness.Result) string

	// Next is the command that helps a server that was not tested; empty when none is known. Without it, none is shown.
	Next func(harness.Report) string
}

// Area is how many cases of one area will be run in one revision.
type Area struct {
	Name  string
	Cases int
}

// Console writes a run for people as it happens. Its methods may be called from several goroutines.
type Console struct {
	o       ConsoleOptions
	columns int // for lines of our own words
	paint   palette

	mu        sync.Mutex
	err       error // the first that Out gave
	begun     bool
	tabled    bool                   // the table of areas has begun
	progress  int                    // columns of the progress line that is on the screen
	revisions []harness.RevisionInfo // those begun
	advising  bool                   // advice is shown
	areas     []*areaRun
}

// areaRun is an area on its way.
type areaRun struct {
	name, revision string
	cases          int
	results        []harness.Result
	written        bool
}

var _ Reporter = (*Console)(nil)

// NewConsole returns a console that has written nothing yet.
func NewConsole(o ConsoleOptions) *Console {
	columns := o.Width
	if o.Width <= 0 {
		o.Width, columns = 160, math.MaxInt
	}
	o.Width = max(o.Width, 40) // a narrower one may wrap
	return &Console{o: o, columns: max(columns, o.Width), paint: newPalette(o.Color)}
}

// Begin writes the first lines, from what is known of the report. It may be called again when a further revision is
// judged in the same run.
func (c *Console) Begin(r harness.Report) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begin(r)
}

func (c *Console) begin(r harness.Report) {
	r = printableReport(r)
	c.advising = wantsAdvice(r)
	first := !c.begun
	c.revisions = r.Revisions
	if c.o.Verbosity < Normal {
		return
	}
	if c.begun {
		c.write("\n")
	}
	c.begun, c.tabled = true, false
	server := shorten(serverText(r.Server), 80)
	if server == "" {
		server = targetText(r.Target)
	}
	tool := c.paint.bold.Sprint(r.Tool.Name + " " + r.Tool.Version)
	c.write(c.folded("", dotted(
		tool, server, r.Target.Transport, judgedBy(r.Revisions), alsoSpeaks(r), notDiscovered(r.Server),
	)))
	if options := optionsText(r.Options); first && options != "" {
		c.write(c.folded("", options))
	}
}

// Areas says which areas will be run in a revision, in order, for the console to know when one is complete.
func (c *Console) Areas(revision string, areas []Area) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range areas {
		if a.Name == "advice" && !c.advising {
			continue
		}
		c.area(printableLine(a.Name), printableLine(revision)).cases = a.Cases
	}
}

// area finds or adds an area.
func (c *Console) area(name, revision string) *areaRun {
	for _, a := range c.areas {
		if a.name == name && a.revision == revision {
			return a
		}
	}
	a := &areaRun{name: name, revision: revision}
	c.areas = append(c.areas, a)
	return a
}

// Progress shows what is being waited for, in place of what was shown before, until something else is written; "" shows
// nothing. Only on a terminal.
func (c *Console) Progress(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.o.Terminal || c.o.Verbosity == Quiet {
		return
	}
	text = shorten(printableLine(text), c.o.Width-1)
	c.write("")
	c.put(c.paint.faint.Sprint(text))
	c.progress = utf8.RuneCountInString(text)
}

// Result takes one result, and writes the line of its area if it is the last.
func (c *Console) Result(r harness.Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r = printableResult(r); isAdvice(r) && !c.advising {
		return
	}
	if c.o.Verbosity == Verbose {
		c.table(c.resultLine(r))
	}
	r.Wire = nil // the report has it; here results are only counted
	a := c.area(r.Area(), r.Revision)
	a.results = append(a.results, r)
	if len(a.results) == a.cases {
		c.areaDone(a)
	}
}

// Done writes the details and the verdict.
func (c *Console) Done(r harness.Report) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	r = printableReport(r)
	if !c.begun {
		c.begin(r)
	}
	hint := adviceHint(r)
	r = spared(r)
	for _, a := range c.areas {
		if !a.written && len(a.results) > 0 {
			c.areaDone(a)
		}
	}
	if c.o.Verbosity < Normal {
		c.write(c.short(r))
	} else {
		for _, block := range c.details(r) {
			c.write("\n" + block)
		}
		if hint != "" {
			c.write("\n" + c.folded(c.paint.faint.Sprint("i "), hint))
		}
		c.write("\n")
	}
	if r.ExitCode == harness.ExitUntestable {
		c.write(c.untested(r))
	} else {
		c.write(c.verdict(r))
	}
	return c.err
}

// write writes text in place of the progress line.
func (c *Console) write(text string) {
	if c.progress > 0 {
		text = "\r" + strings.Repeat(" ", c.progress) + "\r" + text
		c.progress = 0
	}
	c.put(text)
}

// put writes text and keeps the first error.
func (c *Console) put(text string) {
	if text == "" || c.err != nil {
		return
	}
	_, c.err = io.WriteString(c.o.Out, inert(text))
}

// table writes a line of the table of areas.
func (c *Console) table(text string) {
	if !c.tabled {
		c.write("\n")
	}
	c.tabled = true
	c.write(text)
}

// several reports whether lines must name the revision.
func (c *Console) several() bool { return len(revisionsOf(c.revisions)) > 1 }

// areaDone writes the line of an area, complete or not.
func (c *Console) areaDone(a *areaRun) {
	a.written = true
	if c.o.Verbosity < Normal {
		return
	}
	t := count(a.results)
	if t.Pass+t.Fail+t.Error == 0 && slices.ContainsFunc(c.revisions, isAssumed(a.revision)) {
		return // the server could not be talked to
	}
	parts := append(nonEmpty(fmt.Sprintf("%3d passed", t.Pass), c.paint.failures(t), t.ofSDK()), t.others()...)
	if missing := a.cases - len(a.results); missing > 0 {
		parts = append(parts, fmt.Sprintf("%d not run", missing))
	}
	name := fmt.Sprintf("%-*s", c.nameWidth(), a.name)
	if c.several() {
		name += "  " + a.revision
	}
	c.table(c.folded(c.paint.mark(t)+" ", name+"  "+strings.Join(parts, ", ")))
}

// nameWidth is the width of the column of area names.
func (c *Console) nameWidth() int {
	width := 0
	for _, a := range c.areas {
		width = max(width, len(a.name))
	}
	return width
}

// resultLine is a result with its wire, for the verbose table.
func (c *Console) resultLine(r harness.Result) string {
	line := "  " + c.paint.mark(count([]harness.Result{r})) + " " + r.ID
	switch {
	case r.Verdict == harness.Pass && r.Message != "":
		line += "  in part: " + headline(r.Message)
	case r.Verdict == harness.Pass:
		line += "  " + c.paint.faint.Sprint(r.Title)
	case r.Verdict == harness.Fail || r.Verdict == harness.Error:
		line += "  " + c.paint.faint.Sprint("details below")
		r.Wire = nil // as it is there
	default:
		line += "  " + string(r.Verdict) + ": " + headline(r.Message)
	}
	var b lines
	b.add(line)
	c.wire(&b, "    ", r.Wire)
	return b.String()
}

// details are the blocks between the table and the verdict.
func (c *Console) details(r harness.Report) (blocks []string) {
	verdict := func(v harness.Verdict, gates bool) []harness.Result {
		return only(r.Results, func(x harness.Result) bool { return x.Verdict == v && x.Gates == gates })
	}
	partly := only(verdict(harness.Pass, false), func(x harness.Result) bool { return x.Message != "" })
	if len(partly) > 0 {
		head := fmt.Sprintf("%d passed in part", len(partly))
		blocks = append(blocks, c.reasons(c.paint.pass.Sprint("✓ "), head, partly))
	}
	if declared := unexercisedText(r.Coverage); declared != "" {
		var b lines
		b.hang(c.paint.open.Sprint("? "), 2, text.Wrap(declared, c.prose()-2))
		blocks = append(blocks, b.String())
	}
	if head, notes := callsText(r.Coverage, r.Results); head != "" {
		var b lines
		b.hang(c.paint.open.Sprint("? "), 2, each(text.Wrap(head, c.prose()-2), c.paint.boldly))
		for _, note := range notes {
			b.hang("    ", 8, text.Wrap(note, c.prose()-8))
		}
		blocks = append(blocks, b.String())
	}
	open := append(verdict(harness.Inconclusive, false), verdict(harness.Inconclusive, true)...)
	open = slices.DeleteFunc(open, isCallsOff)
	if len(open) > 0 && !unmet(r) {
		blocks = append(blocks, c.reasons(c.paint.open.Sprint("? "), count(open).inconclusive(), open))
	}
	known := only(r.Results, isKnown)
	if len(known) > 0 {
		blocks = append(blocks, c.known(r.Baseline, known))
	}
	excused := only(r.Results, harness.Result.IsExcused)
	if len(excused) > 0 {
		blocks = append(blocks, c.deviations(excused))
	}
	if advice := only(r.Results, isAdvice); len(advice) > 0 {
		blocks = append(blocks, c.advice(advice))
	}
	news := only(r.Results, isMinor)
	if c.o.Verbosity != Verbose { // the blocks say enough
		if len(news) > 0 {
			blocks = append(blocks, c.minor(news))
		}
		known, excused, news = nil, nil, nil
	}
	findings := slices.Concat(known, excused, news, verdict(harness.Error, false), verdict(harness.Fail, true))
	for _, g := range grouped(findings, sameFinding) {
		blocks = append(blocks, c.finding(g))
	}
	if len(stale(r)) > 0 {
		blocks = append(blocks, c.stale(r))
	}
	if strings.Contains(r.Problem, "\n") && r.ExitCode != harness.ExitUntestable {
		blocks = append(blocks, c.problem(r.Problem))
	}
	return blocks
}

// reasons says why results are no more than they are: each reason once, with the ids that it holds for.
func (c *Console) reasons(mark, head string, results []harness.Result) string {
	var b lines
	b.add(mark + c.paint.bold.Sprint(head))
	for _, g := range grouped(results, sameReason) {
		reason := headline(g[0].Message)
		if g[0].Gates {
			reason += " · " + gateText(g[0].GatedBy)
		}
		if c.several() {
			reason += " · " + c.revisionText(g)
		}
		ids := g.ids()
		b.hang(fmt.Sprintf("  %3d  ", len(ids)), 7, text.Wrap(reason, c.prose()-7))
		c.aside(&b, "       ", g[0].Message)
		b.hang("       ", 7, each(text.Wrap(some(ids, c.limit(6)), c.prose()-7), c.paint.faintly))
	}
	return b.String()
}

// known lists the fails that the baseline lists, and why they are accepted.
func (c *Console) known(baseline *harness.Baseline, results []harness.Result) string {
	var b lines
	head := count(results).known()
	if baseline != nil {
		head += ", listed in " + baseline.File
	}
	b.add(c.paint.warn.Sprint("~ ") + c.paint.bold.Sprint(head))
	for _, g := range grouped(results, func(x harness.Result) string { return fmt.Sprint(x.ID, "\x00", *x.Known) }) {
		id := g[0].ID
		if c.several() {
			id += " (" + c.revisionText(g) + ")"
		}
		b.hang("    ", 8, text.Wrap(id+"  "+knownText(*g[0].Known), c.prose()-8))
	}
	return b.String()
}

// deviations lists the fails that come from SDKs.
func (c *Console) deviations(results []harness.Result) string {
	var b lines
	b.add(c.paint.warn.Sprint("~ ") + c.paint.bold.Sprint(deviations(results)))
	for _, g := range grouped(results, func(x harness.Result) string { return fmt.Sprint(x.ID, "\x00", *x.SDK) }) {
		said := g[0].ID + "  " + dotted(levelText(g[0]), acceptedText(g[0]))
		if c.several() {
			said += " · " + c.revisionText(g)
		}
		b.hang("    ", 8, text.Wrap(said, c.prose()-8))
	}
	return b.String()
}

// stale lists the entries of the baseline that do not hold any more.
func (c *Console) stale(r harness.Report) string {
	var b lines
	b.add(c.paint.fail.Sprint("✗ ") + c.paint.bold.Sprint(staleText(r)+" in the baseline"))
	for _, s := range stale(r) {
		b.add("    " + staleAt(r, s) + "  " + s.Entry + ": " + s.Why)
	}
	c.label(&b, "fix", staleRemedy)
	return b.String()
}

// finding is the block of a fail, or of a fault of mcpcheck.
func (c *Console) finding(g group) string {
	r := g.newest()
	var b lines
	b.WriteString(c.heading(g, r))
	b.hang("  ", 2, text.Wrap(r.Title, c.prose()-2))
	c.message(&b, r.Message)
	c.wire(&b, "  ", r.Wire)
	c.label(&b, "on", some(subjects(r), c.limit(8)))
	c.label(&b, "spec", r.Spec)
	for _, ask := range r.Asked {
		c.label(&b, "asked", "by "+ask.By+": "+ask.Rule+" "+ask.Source)
	}
	c.label(&b, "fix", r.Fix)
	if c.o.Repeat != nil {
		c.label(&b, "rerun", printableLine(c.o.Repeat(r)))
	}
	return b.String()
}

// heading names a finding and says whether it gates.
func (c *Console) heading(g group, r harness.Result) string {
	parts := []string{levelText(r), resultGate(r)}
	if r.Verdict == harness.Error {
		parts = []string{"error in mcpcheck, not in the server; please report it: " + issues}
	}
	if c.several() {
		parts = slices.Insert(parts, len(parts)-1, c.revisionText(g))
	}
	return c.folded(c.paint.mark(count(g))+" ", c.paint.bold.Sprint(r.ID)+"  "+dotted(parts...))
}

const issues = "https://github.com/mcpcheck/mcpcheck/issues"

// revisionText names the revisions of a group.
func (c *Console) revisionText(g group) string {
	revisions := g.revisions()
	if len(revisions) == len(revisionsOf(c.revisions)) {
		return "all revisions"
	}
	return strings.Join(revisions, ", ")
}

// message shows what was wanted and what came.
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
		if word == "want" || word == "got" {
			value = shorten(value, c.limit(c.o.Width-len(indent)-5))
			b.add(indent + c.paint.wants[word].Sprintf("%4s", word) + " " + value)
			continue
		}
		line = shorten(strings.TrimSpace(line), c.limit(4*c.prose()))
		b.hang(indent, len(indent), text.Wrap(line, c.prose()-len(indent)))
	}
	if left := len(all) - len(shown); left > 0 {
		b.add(c.paint.faint.Sprintf("    … %s more (-v)", Plural(left, "line")))
	}
}

// wire shows the evidence: when, which way, what.
func (c *Console) wire(b *lines, indent string, wire []harness.Line) {
	c.quote(b, indent, wireLines(wire, c.limit(12), math.MaxInt))
}

// quote shows lines that others wrote, each cut to the width of the terminal.
func (c *Console) quote(b *lines, indent string, quoted []string) {
	gutter := indent + c.paint.faint.Sprint("│ ")
	for _, line := range quoted {
		b.add(gutter + shorten(line, c.limit(c.o.Width-len(indent)-2)))
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
func (c *Console) problem(text string) string {
	var b lines
	b.add(c.paint.fail.Sprint("✗ ") + c.paint.bold.Sprint(headline(text)))
	c.aside(&b, "  ", text)
	return b.String()
}

// aside shows the further lines of a reason, such as the last words of a server; of many those that tell most.
func (c *Console) aside(b *lines, indent, said string) {
	_, rest := split(said)
	if rest == "" {
		return
	}
	c.quote(b, indent, text.Excerpt(strings.Split(rest, "\n"), c.limit(10)))
}

// limit is n, or in verbose mode no limit.
func (c *Console) limit(n int) int {
	if c.o.Verbosity == Verbose {
		return 1 << 30
	}
	return max(n, 1)
}

// prose is the width of sentences: the terminal's, but not wider than is good to read.
func (c *Console) prose() int { return min(c.o.Width, 100) }
