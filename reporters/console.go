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

// The console follows these rules:
//
//  1. The first line names the server and the revision that it is tested against. A second line names what the
//     configuration excludes. Until the run is over, only a progress line is written besides, and only to a terminal.
//  2. Blocking findings come first, the worst at the top: crashes and tools that never work, then failures, in at most
//     eight lines each. Findings with the same cause are one entry. Crashes by messages that no client sends are one
//     entry together, or one line if nothing blocks.
//  3. Everything else is counted, with one line for each kind: tools, known failures, other failures, what was not
//     decided, recommendations.
//  4. The verdict comes last, followed by the command that helps now. For a server that was not tested, the verdict
//     says in one line each why, what the server wrote last, and what to do.
//  5. Quiet writes one line for each blocking result, with its fix, and the verdict. Brief writes one line for every
//     failure. Verbose writes one line for each area when it ends, the details of all failures, and each reason for
//     what was not decided. Wire writes one line for each result at once, with its messages, and shortens nothing.
//  6. Colour only emphasizes; no information depends on it. Text from a server is escaped, so that it controls neither
//     the terminal nor a GitHub workflow whose log shows it. Lines break between words at the width of the terminal;
//     commands break so that a shell still reads one command. Quotations are cut, except decisive lines with -v.

// Verbosity says how much the console writes.
type Verbosity int

// These are the verbosities, with their flags.
const (
	Quiet   Verbosity = iota - 2 // -q
	Brief                        // --brief
	Normal                       // the default
	Verbose                      // -v
	Wire                         // -vv
)

// ConsoleOptions say where and how the console writes.
type ConsoleOptions struct {
	Out   io.Writer
	Color bool
	// Terminal means that Out is a terminal, and shows progress.
	Terminal bool
	// Width is the width of the terminal in columns; 0 if unknown. Then only prose and evidence are wrapped.
	Width     int
	Verbosity Verbosity

	// RepeatCommand returns the command that repeats one check; nil to show none.
	RepeatCommand func(report.Result) string

	// NextCommands returns the one or two commands that help after a run; nil to show none.
	NextCommands func(report.Report) []string
}

// Area is the number of cases in an area that run in one revision.
type Area struct {
	Name  string
	Cases int
}

// Console writes a run for people while it happens. Its methods may be called concurrently.
type Console struct {
	options ConsoleOptions
	// columns is the width of our own lines.
	columns int
	palette palette

	mu sync.Mutex
	// err is the first error of Out.
	err     error
	started bool
	// heldBack means that nothing is written before the end, because the server could not be reached.
	heldBack bool
	// tableStarted means that the table of areas has begun.
	tableStarted bool
	// progressWidth is the width of the progress line on the screen in columns.
	progressWidth int
	// revisions are those for which Begin was called.
	revisions []report.RevisionInfo
	// showsAdvice means that the options ask for advice.
	showsAdvice bool
	areas       []*areaRun
}

// areaRun is the state of an area in a run.
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
	o.Width = max(o.Width, 40) // The lines of a narrower terminal may wrap.
	return &Console{options: o, columns: max(columns, o.Width), palette: newPalette(o.Color)}
}

// Begin writes the first lines, from what is known of the report. It may be called again when the run tests another
// revision. If the server could not be reached, the lines are written at the end.
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

// Areas says which areas run in a revision, in order, so that the console knows when one is complete.
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

// area returns an area. It adds the area if there is none.
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

// Progress replaces the progress line, which shows what the run waits for, until something else is written. An empty
// text removes it. It has no effect unless Out is a terminal.
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

// Result adds one result. With Verbose it writes the line of the area after its last result.
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
	r.Evidence = nil // The report has the evidence. Here results are only counted.
	a := c.area(r.Area(), r.Revision)
	a.results = append(a.results, r)
	if len(a.results) == a.cases && !c.heldBack {
		c.writeArea(a)
	}
}

// Done writes the findings and the verdict.
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
		return // The server could not be reached.
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

// nameWidth returns the width of the column of area names.
func (c *Console) nameWidth() int {
	width := 0
	for _, a := range c.areas {
		width = max(width, len(a.name))
	}
	return width
}

// resultLine returns a result with its messages, for the table of all results.
func (c *Console) resultLine(r report.Result) string {
	line := "  " + c.palette.mark(count([]report.Result{r})) + " " + r.ID
	switch {
	case r.Verdict == catalogue.Pass && r.Message != "":
		line += "  partly: " + headline(r.Message)
	case r.Verdict == catalogue.Pass:
		line += "  " + c.palette.faint.Sprint(r.Title)
	case r.Verdict == catalogue.Fail || r.Verdict == catalogue.Error:
		line += "  " + c.palette.faint.Sprint("details below")
		r.Evidence = nil // The messages follow.
	default:
		line += "  " + string(r.Verdict) + ": " + headline(r.Message)
	}
	var b lineBuilder
	b.add(line)
	c.writeWire(&b, "    ", r.Evidence)
	return b.String()
}
