package reporters

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// The rules of the console:
//
//  1. The first line says what is tested, and against which revision; a second one what a configuration leaves out.
//     Nothing else is written before the run is over, but a line of progress on a terminal.
//  2. What blocks comes first, the worst before all else: crashes and tools that never work, then failures, in at most
//     eight lines each. Those of one cause are one entry. Messages that no client sends end a server in one entry, and
//     where nothing blocks in one line.
//  3. What does not block is counted, a line for each kind: tools, known failures, others, what was not decided,
//     recommendations.
//  4. The verdict comes last, and under it the command that helps now. Of a server that was not tested it is why, what
//     the server said last and what to do, a line each.
//  5. Quiet: a line for each result that blocks, with its fix, and the verdict. Brief: a line for every failure.
//     Verbose: a line for each area as it ends, the details of all failures, and each reason for what was not decided.
//     Wire: a line for each result as it is known, with its messages, and nothing is shortened.
//  6. Colour only emphasises: without it nothing is lost. Text from a server is escaped, so that it cannot command the
//     terminal, nor a GitHub workflow in whose log it is shown. Lines break between words at the width of the terminal,
//     those of commands so that a shell takes them as one. What is quoted is cut, but with -v what decided.

// Verbosity is how much the console says.
type Verbosity int

// The verbosities.
const (
	Quiet   Verbosity = iota - 2 // -q
	Brief                        // --brief
	Normal                       // the zero value
	Verbose                      // -v
	Wire                         // -vv
)

// ConsoleOptions say where and how to write.
type ConsoleOptions struct {
	Out       io.Writer
	Color     bool
	Terminal  bool // Out is a terminal: show progress
	Width     int  // of the terminal in columns; 0 if unknown, and then only prose and evidence are kept within bounds
	Verbosity Verbosity

	// RepeatCommand is the command that repeats one check. Without it, none is shown.
	RepeatCommand func(report.Result) string

	// NextCommands are the one or two commands that help after a run. Without it, none is shown.
	NextCommands func(report.Report) []string
}

// Area is how many cases of one area will be run in one revision.
type Area struct {
	Name  string
	Cases int
}

// Console writes a run for people as it happens. Its methods may be called from several goroutines.
type Console struct {
	options ConsoleOptions
	columns int // for lines of our own words
	palette palette

	mu            sync.Mutex
	err           error // the first that Out gave
	started       bool
	heldBack      bool                  // nothing is written before the end, since the server could not be talked to
	tableStarted  bool                  // the table of areas has begun
	progressWidth int                   // columns of the progress line that is on the screen
	revisions     []report.RevisionInfo // those begun
	showsAdvice   bool                  // advice is shown
	areas         []*areaRun
}

// areaRun is an area on its way.
type areaRun struct {
	name, revision string
	cases          int
	results        []report.Result
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
	return &Console{options: o, columns: max(columns, o.Width), palette: newPalette(o.Color)}
}

// Begin writes the first lines, from what is known of the report. It may be called again when a further revision is
// judged in the same run. Of a server that could not be talked to, they wait until it is known what that comes to.
func (c *Console) Begin(r report.Report) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.heldBack = !wasReached(r) && c.options.Verbosity < Wire; !c.heldBack {
		c.begin(r)
	}
}

func (c *Console) begin(r report.Report) {
	r = printableReport(r)
	c.showsAdvice = showsAdvice(r)
	c.revisions = r.Revisions
	if c.options.Verbosity < Normal {
		return
	}
	if c.started {
		if c.tableStarted {
			c.write("\n")
		}
		c.tableStarted = false
		c.write(c.wrappedLine("", testedAgainstText(r.Revisions[len(r.Revisions)-1:])))
		return
	}
	c.started = true
	server := shorten(serverText(r.Server), 80)
	if server == "" {
		server = targetText(r.Target)
	}
	tool := c.palette.bold.Sprint(r.Program.Name + " " + r.Program.Version)
	against := testedAgainstText(r.Revisions)
	if isUnreachable(r) {
		against = ""
	}
	c.write(c.wrappedLine("", joinParts(
		tool, server, r.Target.Transport, against, alsoSupportsText(r), oneClientText(r.Server),
		undiscoveredText(r.Server),
	)))
	if options := optionsText(r.Options); options != "" {
		c.write(c.wrappedLine("", options))
	}
}

// Areas says which areas will be run in a revision, in order, for the console to know when one is complete.
func (c *Console) Areas(revision string, areas []Area) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range areas {
		if a.Name == "advice" && !c.showsAdvice {
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
	if !c.options.Terminal || c.options.Verbosity == Quiet {
		return
	}
	text = shorten(printableLine(text), c.options.Width-1)
	c.write("")
	c.writeText(c.palette.faint.Sprint(text))
	c.progressWidth = utf8.RuneCountInString(text)
}

// Result takes one result, and writes the line of its area if it is the last and such lines are wanted.
func (c *Console) Result(r report.Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.options.Verbosity < Verbose {
		return
	}
	if r = printableResult(r); r.IsAdvice() && !c.showsAdvice {
		return
	}
	if c.options.Verbosity == Wire {
		c.writeTableLine(c.resultLine(r))
	}
	r.Evidence = nil // the report has it; here results are only counted
	a := c.area(r.Area(), r.Revision)
	a.results = append(a.results, r)
	if len(a.results) == a.cases && !c.heldBack {
		c.writeArea(a)
	}
}

// Done writes what people are to know, and the verdict.
func (c *Console) Done(r report.Report) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	r = printableReport(r)
	if !c.started {
		c.begin(r)
	}
	if isUnreachable(r) {
		if c.options.Verbosity >= Normal {
			c.write("\n")
		}
		c.write(c.untestedText(r))
		return c.err
	}
	for _, a := range c.areas {
		if !a.written && len(a.results) > 0 {
			c.writeArea(a)
		}
	}
	untestable := r.ExitCode == report.ExitUntestable
	if c.options.Verbosity < Normal {
		c.write(c.shortText(r))
		if untestable {
			c.write(c.untestedText(r))
			return c.err
		}
		word, parts, more := verdict(r)
		c.write(c.verdict(r, word, append(append(parts, more...), duration(r.Seconds))))
		return c.err
	}
	s := newScreen(r, c.options.Verbosity > Normal)
	for i, e := range s.entries {
		if i == 0 || e.requirement != "" || len(e.facts) > 0 || s.entries[i-1].sign != e.sign {
			c.write("\n")
		}
		c.write(c.entry(e))
	}
	if strings.Contains(r.Problem, "\n") && !untestable {
		c.write("\n" + c.problem(r.Problem))
	}
	if len(s.facts) > 0 {
		if !isUnreachable(r) {
			c.write("\n")
		}
		for _, f := range s.facts {
			c.write(c.fact("  ", f))
		}
	}
	if untestable {
		c.write("\n" + c.untestedText(r))
		return c.err
	}
	c.write("\n" + c.verdict(r, s.word, s.parts))
	if c.options.NextCommands != nil {
		c.write(c.nextText(c.options.NextCommands(r)))
	}
	return c.err
}

// write writes text in place of the progress line.
func (c *Console) write(text string) {
	if c.progressWidth > 0 {
		text = "\r" + strings.Repeat(" ", c.progressWidth) + "\r" + text
		c.progressWidth = 0
	}
	c.writeText(text)
}

// writeText writes text and keeps the first error.
func (c *Console) writeText(text string) {
	if text == "" || c.err != nil {
		return
	}
	_, c.err = io.WriteString(c.options.Out, withoutCommands(text))
}

// writeTableLine writes a line of the table of areas.
func (c *Console) writeTableLine(text string) {
	if !c.tableStarted {
		c.write("\n")
	}
	c.tableStarted = true
	c.write(text)
}

// hasSeveralRevisions reports whether lines must name the revision.
func (c *Console) hasSeveralRevisions() bool { return len(revisionsOf(c.revisions)) > 1 }

// writeArea writes the line of an area, complete or not.
func (c *Console) writeArea(a *areaRun) {
	a.written = true
	t := count(a.results)
	if t.Pass+t.Fail+t.Error == 0 && slices.ContainsFunc(c.revisions, isAssumed(a.revision)) {
		return // the server could not be talked to
	}
	parts := append(nonEmpty(fmt.Sprintf("%3d passed", t.Pass), c.palette.failures(t), t.sdkFailures()), t.others()...)
	if missing := a.cases - len(a.results); missing > 0 {
		parts = append(parts, fmt.Sprintf("%d not run", missing))
	}
	name := fmt.Sprintf("%-*s", c.nameWidth(), a.name)
	if c.hasSeveralRevisions() {
		name += "  " + a.revision
	}
	c.writeTableLine(c.wrappedLine(c.palette.mark(t)+" ", name+"  "+strings.Join(parts, ", ")))
}

// nameWidth is the width of the column of area names.
func (c *Console) nameWidth() int {
	width := 0
	for _, a := range c.areas {
		width = max(width, len(a.name))
	}
	return width
}

// resultLine is a result with its wire, for the table of all of them.
func (c *Console) resultLine(r report.Result) string {
	line := "  " + c.palette.mark(count([]report.Result{r})) + " " + r.ID
	switch {
	case r.Verdict == catalogue.Pass && r.Message != "":
		line += "  partly: " + headline(r.Message)
	case r.Verdict == catalogue.Pass:
		line += "  " + c.palette.faint.Sprint(r.Title)
	case r.Verdict == catalogue.Fail || r.Verdict == catalogue.Error:
		line += "  " + c.palette.faint.Sprint("details below")
		r.Evidence = nil // as it is there
	default:
		line += "  " + string(r.Verdict) + ": " + headline(r.Message)
	}
	var b lineBuilder
	b.add(line)
	c.writeWire(&b, "    ", r.Evidence)
	return b.String()
}
