package reporters

import (
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// FleetRow is a server among many: what its report came to, area by area. It is what a page of many servers is made of,
// so that no more than one report is in memory at a time.
type FleetRow struct {
	SchemaVersion int       `json:"schemaVersion"`
	Name          string    `json:"name"`
	Entry         string    `json:"entry"`            // what was judged, and how: a row with another one is not of this
	Dir           string    `json:"dir,omitempty"`    // of its reports, with slashes, beside the page
	ExitCode      int       `json:"exitCode"`         // of its run
	Judged        bool      `json:"judged"`           // false: there is nothing but its name yet
	TestedAt      time.Time `json:"tested,omitzero"`  // when that was done
	Server        string    `json:"server,omitempty"` // as it names itself
	Transport     string    `json:"transport,omitempty"`
	Revisions     string    `json:"revisions,omitempty"`
	Problem       string    `json:"problem,omitempty"`
	Blocking      []string  `json:"blocking,omitempty"` // requirements, the worst first

	Areas []FleetArea `json:"areas,omitempty"` // in the order of the catalogue
}

// FleetArea is what the requirements of an area came to. Each is counted once.
type FleetArea struct {
	Name         string `json:"name"`
	Gating       int    `json:"gating,omitempty"`
	Error        int    `json:"error,omitempty"`
	Fail         int    `json:"fail,omitempty"` // that does not gate
	Known        int    `json:"known,omitempty"`
	Inconclusive int    `json:"inconclusive,omitempty"`
	Skip         int    `json:"skip,omitempty"`
	Pass         int    `json:"pass,omitempty"`
}

// NewFleetRow is the row of a report, in which advice counts only where it blocks. Where it was judged in several
// revisions, an area counts all of them.
func NewFleetRow(name string, r report.Report) FleetRow {
	r = withoutHiddenAdvice(printableReport(r))
	row := FleetRow{
		SchemaVersion: 1, Name: name, ExitCode: r.ExitCode, Judged: true, Server: serverText(r.Server),
		Transport: r.Target.Transport, Revisions: strings.Join(revisionsOf(r.Revisions), ", "), Problem: r.Problem,
		Blocking: Blocking(r),
	}
	if isUnreachable(r) {
		return row // the problem says all
	}
	at := map[string]int{}
	for _, x := range r.Results {
		i, ok := at[x.Area()]
		if !ok {
			i = len(row.Areas)
			at[x.Area()] = i
			row.Areas = append(row.Areas, FleetArea{Name: x.Area()})
		}
		row.Areas[i].count(outcome(x))
	}
	return row
}

// Blocking are the requirements that block, in the order in which people are shown them: the worst first.
func Blocking(r report.Report) (ids []string) {
	for _, e := range failureEntries(r, filter(r.Results, func(x report.Result) bool { return x.Gates }), "", false) {
		if !slices.Contains(ids, e.name) {
			ids = append(ids, e.name)
		}
	}
	return ids
}

func (a *FleetArea) count(outcome string) {
	for _, c := range a.counts() {
		if c.outcome == outcome {
			*c.n++
		}
	}
}

// fleetCount is how many requirements came to an outcome.
type fleetCount struct {
	outcome, symbol, word string
	n                     *int
}

// counts are those of an area, the worst first.
func (a *FleetArea) counts() []fleetCount {
	return []fleetCount{
		{"gating", "✗", "blocking", &a.Gating},
		{"error", "!", "errors of mcpcheck", &a.Error},
		{"fail", "✗", "failing, not blocking", &a.Fail},
		{"known", "~", "known", &a.Known},
		{"inconclusive", "?", "not decided", &a.Inconclusive},
		{"pass", "✓", "passed", &a.Pass},
		{"skip", "–", "skipped", &a.Skip},
	}
}

// Outcome is what the server came to.
func (r FleetRow) Outcome() string {
	switch {
	case !r.Judged:
		return "waiting"
	case r.ExitCode == report.ExitConforms:
		return "conforms"
	case r.ExitCode == report.ExitFails:
		return "fails"
	case r.ExitCode == report.ExitUntestable || r.ExitCode == report.ExitUsage:
		return "untested"
	}
	return "broken"
}

// fleetOutcome is what a server came to: a sign, and how it is said of one server and of many.
type fleetOutcome struct{ name, symbol, one, many string }

func (o fleetOutcome) text(n int) string {
	if n == 1 {
		return "1 " + o.one
	}
	return fmt.Sprintf("%d %s", n, o.many)
}

// fleetOutcomes are those of a server, the worst first.
var fleetOutcomes = []fleetOutcome{
	{"fails", "✗", "does not conform", "do not conform"},
	{"broken", "!", "was too much for mcpcheck", "were too much for mcpcheck"},
	{"untested", "?", "could not be tested", "could not be tested"},
	{"waiting", "…", "is not judged yet", "are not judged yet"},
	{"conforms", "✓", "conforms", "conform"},
}

// Summary is a row in a few words: what counts of it, or why there is nothing to count.
func (r FleetRow) Summary() string {
	if !r.Judged {
		return "not judged yet"
	}
	var all FleetArea
	for _, a := range r.Areas {
		for i, c := range a.counts() {
			*all.counts()[i].n += *c.n
		}
	}
	parts := nonEmpty(ProblemCause(r.Problem))
	if all.Gating > 0 {
		blocking := strings.Join(nonEmpty("blocking", joinSome(r.Blocking, 2)), ": ")
		parts = append(parts, fmt.Sprintf("%d %s", all.Gating, blocking))
	}
	if all.Error > 0 {
		parts = append(parts, Plural(all.Error, "error")+" of mcpcheck")
	}
	if all.Pass > 0 {
		parts = append(parts, fmt.Sprintf("%d passed", all.Pass))
	}
	return joinParts(parts...)
}

// FleetLine is a row on a line for people: a sign, the name, and what it came to.
func FleetLine(r FleetRow) string {
	for _, o := range fleetOutcomes {
		if o.name == r.Outcome() {
			return o.symbol + " " + PrintableLine(shorten(r.Name,
				markdownCell)) + "  " + PrintableLine(shorten(r.Summary(), comparisonWidth))
		}
	}
	return PrintableLine(r.Name)
}

// Fleet is many servers side by side. Its rows can be had again and again, in the order of the list; no more than one
// is in memory at a time, so they may be as many as there are.
type Fleet struct {
	Tool catalogue.ProgramInfo
	Rows iter.Seq2[FleetRow, error]
}

// FleetTally is how many servers came to what, and the areas that were judged of any.
type FleetTally struct {
	Servers   int
	Areas     []string
	byOutcome map[string]int // servers, by outcome
}

// Tally counts the rows. The areas stand in the order that is given.
func (f Fleet) Tally(areas []string) (t FleetTally, err error) {
	t.byOutcome = map[string]int{}
	seen := map[string]bool{}
	for row, err := range f.Rows {
		if err != nil {
			return t, err
		}
		t.Servers++
		t.byOutcome[row.Outcome()]++
		for _, a := range row.Areas {
			seen[a.Name] = true
		}
	}
	for _, name := range areas {
		if seen[name] {
			t.Areas = append(t.Areas, name)
		}
	}
	return t, nil
}

// ExitCode is that of all: one that does not conform counts before one that could not be tested, and a fault of
// mcpcheck before both.
func (t FleetTally) ExitCode() int {
	switch {
	case t.byOutcome["broken"] > 0:
		return report.ExitInternal
	case t.byOutcome["fails"] > 0:
		return report.ExitFails
	case t.byOutcome["untested"] > 0, t.byOutcome["waiting"] > 0, t.Servers == 0:
		return report.ExitUntestable
	}
	return report.ExitConforms
}

// Headline is all servers in a sentence: those that fail or conform, and how many have come to neither.
func (t FleetTally) Headline() string {
	said := t.headline()
	for _, o := range fleetOutcomes {
		if n := t.byOutcome[o.name]; n > 0 && t.Servers > 1 && o.name != "fails" && o.name != "conforms" {
			said += ", " + o.text(n)
		}
	}
	return said
}

func (t FleetTally) headline() string {
	conform, fail := t.byOutcome["conforms"], t.byOutcome["fails"]
	switch {
	case t.Servers == 0:
		return "there are no servers"
	case t.Servers == 1:
		for _, o := range fleetOutcomes {
			if t.byOutcome[o.name] > 0 {
				return "the server " + o.one
			}
		}
	case conform == t.Servers:
		return fmt.Sprintf("all %d servers conform", t.Servers)
	case fail == 0:
		return fmt.Sprintf("%d of %d servers conform", conform, t.Servers)
	}
	return fmt.Sprintf("%d of %d servers %s not conform", fail, t.Servers, wordForm(fail, "does", "do"))
}

// Counts are how many servers came to what.
func (t FleetTally) Counts() string {
	var parts []string
	for _, o := range fleetOutcomes {
		if n := t.byOutcome[o.name]; n > 0 {
			parts = append(parts, o.text(n))
		}
	}
	return joinParts(parts...)
}

// Limits of a Markdown page of many servers: GitHub takes step summaries of 1 MiB.
const fleetLimit = 1_000_000

// FleetMarkdown writes a table of servers by areas: those that do not conform first. What there is no room for is
// counted.
func FleetMarkdown(w io.Writer, f Fleet, t FleetTally) error {
	sign := map[int]string{report.ExitConforms: "✅", report.ExitFails: "❌"}[t.ExitCode()]
	if sign == "" {
		sign = "⚠️"
	}
	page := "<!-- mcpcheck fleet -->\n### " + sign + " mcpcheck: " + shortLiteral(t.Headline()) + "\n\n" +
		shortLiteral(t.Counts()) + "\n\n"
	head := row(append([]string{"Server", "Result"}, t.Areas...)...)
	page += head + strings.Repeat("|---", len(t.Areas)+2) + "|\n"
	bytes, err := io.WriteString(w, page)
	if err != nil {
		return err
	}
	left := 0
	for _, o := range fleetOutcomes {
		if t.byOutcome[o.name] == 0 {
			continue
		}
		for r, err := range f.Rows {
			if err != nil {
				return err
			}
			if r.Outcome() != o.name {
				continue
			}
			line := fleetMarkdownRow(r, t.Areas, o.symbol)
			if bytes += len(line); bytes > fleetLimit {
				left++
				continue
			}
			if _, err := io.WriteString(w, line); err != nil {
				return err
			}
		}
	}
	legend := "\n✗ blocking · (✗) failing, not blocking · ~ known · ? not decided · ✓ passed · – skipped\n"
	if left > 0 {
		legend = fmt.Sprintf("\n… and %d more; the HTML page has them.\n", left) + legend
	}
	_, err = io.WriteString(w, legend)
	return err
}

func fleetMarkdownRow(r FleetRow, areas []string, sign string) string {
	name := codeSpan(r.Name)
	if r.Dir != "" && isWebPath(r.Dir) {
		name = "[" + name + "](" + r.Dir + "/report.html)"
	}
	cells := []string{name, sign + " " + shortLiteral(r.Summary())}
	by := map[string]FleetArea{}
	for _, a := range r.Areas {
		by[a.Name] = a
	}
	for _, area := range areas {
		cells = append(cells, by[area].cellText())
	}
	return row(cells...)
}

// cellText is an area in a sign or two: the worst, and how many.
func (a FleetArea) cellText() string {
	for _, c := range a.counts() {
		switch {
		case *c.n == 0:
		case c.outcome == "pass" || c.outcome == "skip":
			return c.symbol
		case c.outcome == "fail":
			return fmt.Sprintf("(%s %d)", c.symbol, *c.n)
		default:
			return fmt.Sprintf("%s %d", c.symbol, *c.n)
		}
	}
	return ""
}

// isWebPath reports whether a path may stand in a link as it is.
func isWebPath(path string) bool { return urlPattern.MatchString("https://x/" + path) }
