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

// FleetRow is a server among many: the outcome of its report by area. A page of many servers is made of rows, so that
// only one report is in memory at a time.
type FleetRow struct {
	SchemaVersion int    `json:"schemaVersion"`
	Name          string `json:"name"`
	// Entry identifies what was tested and how. A row with another Entry is outdated.
	Entry string `json:"entry"`
	// Dir is the directory of the server's reports relative to the page, with slashes.
	Dir string `json:"dir,omitempty"`
	// ExitCode is the exit code of the server's run.
	ExitCode int `json:"exitCode"`
	// Judged is false if nothing but the name is known yet.
	Judged bool `json:"judged"`
	// TestedAt is when the server was tested.
	TestedAt time.Time `json:"tested,omitzero"`
	// Server is the name and the version that the server declares.
	Server    string `json:"server,omitempty"`
	Transport string `json:"transport,omitempty"`
	Revisions string `json:"revisions,omitempty"`
	Problem   string `json:"problem,omitempty"`
	// Blocking are the ids of the blocking requirements, the worst first.
	Blocking []string `json:"blocking,omitempty"`

	// Areas are the outcomes of areas in the order of the catalogue.
	Areas []FleetArea `json:"areas,omitempty"`
}

// FleetArea counts the outcomes of the requirements of an area. Each requirement is counted once.
type FleetArea struct {
	Name   string `json:"name"`
	Gating int    `json:"gating,omitempty"`
	Error  int    `json:"error,omitempty"`
	// Fail counts failures that do not block.
	Fail         int `json:"fail,omitempty"`
	Known        int `json:"known,omitempty"`
	Inconclusive int `json:"inconclusive,omitempty"`
	Skip         int `json:"skip,omitempty"`
	Pass         int `json:"pass,omitempty"`
}

// NewFleetRow returns the row of a report. Advice counts only if it blocks. The counts of an area include all
// revisions.
func NewFleetRow(name string, r report.Report) FleetRow {
	r = withoutHiddenAdvice(printableReport(r))
	row := FleetRow{
		SchemaVersion: 1, Name: name, ExitCode: r.ExitCode, Judged: true, Server: serverText(r.Server),
		Transport: r.Target.Transport, Revisions: strings.Join(revisionsOf(r.Revisions), ", "), Problem: r.Problem,
		Blocking: Blocking(r),
	}
	if isUnreachable(r) {
		return row // The problem says everything.
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

// Blocking returns the ids of the blocking requirements in the order in which reports show them: the worst first.
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

// fleetCount is the number of requirements with an outcome.
type fleetCount struct {
	outcome, symbol, word string
	n                     *int
}

// counts returns the counts of an area, the worst outcome first.
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

// Outcome returns the name of the server's outcome.
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

// fleetOutcome is an outcome of a server: a symbol, and words for one server and for many.
type fleetOutcome struct{ name, symbol, one, many string }

func (o fleetOutcome) text(n int) string {
	if n == 1 {
		return "1 " + o.one
	}
	return fmt.Sprintf("%d %s", n, o.many)
}

// fleetOutcomes are the outcomes of servers, the worst first.
var fleetOutcomes = []fleetOutcome{
	{"fails", "✗", "does not conform", "do not conform"},
	{"broken", "!", "was too much for mcpcheck", "were too much for mcpcheck"},
	{"untested", "?", "could not be tested", "could not be tested"},
	{"waiting", "…", "is not judged yet", "are not judged yet"},
	{"conforms", "✓", "conforms", "conform"},
}

// Summary describes a row in a few words: its counts, or why there are none.
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

// FleetLine returns a row on one line for people: a symbol, the name, and the summary.
func FleetLine(r FleetRow) string {
	for _, o := range fleetOutcomes {
		if o.name == r.Outcome() {
			return o.symbol + " " + PrintableLine(shorten(r.Name, markdownCell)) + "  " + PrintableLine(
				shorten(r.Summary(), comparisonWidth))
		}
	}
	return PrintableLine(r.Name)
}

// Fleet is a list of servers. Its rows can be iterated repeatedly, in the order of the list. Only one is in memory at a
// time, so that there may be any number of them.
type Fleet struct {
	Tool catalogue.ProgramInfo
	Rows iter.Seq2[FleetRow, error]
}

// FleetTally counts the servers by outcome, and has the areas that were tested on any server.
type FleetTally struct {
	Servers   int
	Areas     []string
	byOutcome map[string]int // servers by outcome
}

// Tally counts the rows. The areas are in the given order.
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

// ExitCode returns the exit code for all servers: a fault of mcpcheck takes precedence over a server that does not
// conform, and that over one that could not be tested.
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

// Headline returns a sentence about all servers: those that fail or conform, and how many have no verdict.
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

// Counts returns how many servers have each outcome.
func (t FleetTally) Counts() string {
	var parts []string
	for _, o := range fleetOutcomes {
		if n := t.byOutcome[o.name]; n > 0 {
			parts = append(parts, o.text(n))
		}
	}
	return joinParts(parts...)
}

// fleetLimit is the size of a Markdown page of many servers in bytes: GitHub accepts step summaries of 1 MiB.
const fleetLimit = 1_000_000

// FleetMarkdown writes a table of servers by areas, the ones that do not conform first. It counts the rows that exceed
// the limit.
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

// cellText returns a table cell for an area: the worst outcome and its count.
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

// isWebPath reports whether a path may be used in a link unchanged.
func isWebPath(path string) bool { return urlPattern.MatchString("https://x/" + path) }
