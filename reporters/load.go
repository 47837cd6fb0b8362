package reporters

import (
	"fmt"
	"io"
	"strings"

	"github.com/fatih/color"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// LoadFormat is a kind of file with the report of a load.
type LoadFormat struct {
	// Name, Help and Ext are as those of Format.
	Name, Help, Ext string
	Write           func(io.Writer, report.Load) error
}

// LoadFormats are the formats of the report of a load, each under the name that it has for a run.
var LoadFormats = []LoadFormat{
	{"json", "a JSON report", ".json", LoadJSON},
	{"junit", "a JUnit XML report", ".xml", LoadJUnit},
	{"markdown", "a Markdown report", ".md", LoadMarkdown},
	{"html", "an HTML report (one self-contained page)", ".html", LoadHTML},
}

// LoadJSON writes the report of a load as JSON.
func LoadJSON(w io.Writer, l report.Load) error { return writeJSON(w, l) }

// WriteLoad writes the report of a load for a console, on one screen.
func WriteLoad(w io.Writer, l report.Load, colored bool) {
	p := newPalette(colored)
	fmt.Fprintf(w, "mcpcheck load · %s · %s · %s · %.3g s\n\n", loadTarget(l), l.Revision, loadClients(l), l.Seconds)
	fmt.Fprintln(w, loadHeading(p, "ms"))
	for _, f := range loadRows(l) {
		perSecond := fmt.Sprintf("%9.1f", f.PerSecond)
		if f.isConnect {
			perSecond = fmt.Sprintf("%9s", "")
		}
		fmt.Fprintf(w, "  %-26s %9d %s %8.1f %8.1f %8.1f %8.1f %8.1f %7d\n", f.Method, f.Count, perSecond, f.P50, f.P90,
			f.P99, f.P999, f.Max, f.ErrorCount())
	}
	for _, e := range l.All.Errors {
		fmt.Fprintf(w, "  %s: %d\n", printableWords(e.Kind), e.Count)
	}
	writeScale(w, p, l)
	if l.Process != nil {
		fmt.Fprintf(w, "\n  process     %s\n", loadProcess(l))
	}
	fmt.Fprintln(w)
	for _, r := range l.Results {
		if r.Verdict != catalogue.Fail {
			fmt.Fprintf(w, "  %s %s\n", p.sign("✓"), printableWords(r.Name))
			continue
		}
		fmt.Fprintf(w, "  %s %s\n", p.sign("✗"), printableWords(r.Name))
		for _, line := range loadFindings(r) {
			fmt.Fprintf(w, "      %s\n", printableWords(line))
		}
	}
	word, said := loadVerdict(l)
	ink := map[string]*color.Color{"FAIL": p.fail, "PASS": p.pass, "STOPPED": p.undecided}[word]
	fmt.Fprintf(w, "\n%s  %s\n", ink.Sprint(word), printableWords(said))
}

// loadHeading is the head of a table of figures.
func loadHeading(p palette, of string) string {
	return p.faint.Sprintf("  %-26s %9s %9s %8s %8s %8s %8s %8s %7s", of, "requests", "per s", "p50", "p90", "p99",
		"p99.9", "max", "errors")
}

// writeScale writes the figures by the number of clients, and the knee.
func writeScale(w io.Writer, p palette, l report.Load) {
	if len(l.Scale) == 0 {
		return
	}
	fmt.Fprintln(w)
	fmt.Fprintln(w, loadHeading(p, "clients"))
	for _, s := range l.Scale {
		f := s.All
		fmt.Fprintf(w, "  %-26d %9d %9.1f %8.1f %8.1f %8.1f %8.1f %8.1f %7d\n", s.Clients, f.Count, f.PerSecond, f.P50,
			f.P90, f.P99, f.P999, f.Max, f.ErrorCount())
	}
	fmt.Fprintln(w, "  "+loadKnee(l))
}

// loadKnee says where the knee of a scale is, and what that means.
func loadKnee(l report.Load) string {
	if l.Knee == 0 {
		return fmt.Sprintf("no knee up to %s", Plural(l.Scale[len(l.Scale)-1].Clients, "client"))
	}
	return fmt.Sprintf("knee at %s: the next step adds less than a quarter of the throughput that its clients would "+
		"add in proportion", Plural(l.Knee, "client"))
}

// loadRow is a row of the table of figures.
type loadRow struct {
	report.LoadFigures
	isConnect bool
}

// loadRows are the rows of the table of figures: those of each method, of all of them, and of the connect requests.
func loadRows(l report.Load) (rows []loadRow) {
	for _, f := range l.Methods {
		rows = append(rows, loadRow{LoadFigures: f})
	}
	if len(l.Methods) > 1 {
		rows = append(rows, loadRow{LoadFigures: l.All})
	}
	if f := l.Connect; f.Count > 0 {
		f.Method = "connect: " + f.Method
		rows = append(rows, loadRow{f, true})
	}
	for i := range rows {
		rows[i].Method = printableWords(rows[i].Method)
	}
	return rows
}

// loadFindings are the lines of a result that fails.
func loadFindings(r report.LoadResult) []string {
	lines := r.Findings[:len(r.Findings):len(r.Findings)]
	if more := r.Count - int64(len(r.Findings)); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return lines
}

// loadVerdict is what a load came to, in a word and in a sentence.
func loadVerdict(l report.Load) (word, said string) {
	failed := len(filter(l.Results, func(r report.LoadResult) bool { return r.Verdict == catalogue.Fail }))
	switch {
	case failed > 0:
		said = fmt.Sprintf("%d of %d results fail", failed, len(l.Results))
		if l.Problem != "" {
			said += "; it ended before its time: " + l.Problem
		}
		return "FAIL", said
	case l.Problem != "":
		return "STOPPED", "it ended before its time: " + l.Problem
	}
	return "PASS", fmt.Sprintf("%d requests, %.0f a second", l.All.Count, l.All.PerSecond)
}

// loadProcess says what the process of the server used, and what mcpcheck itself adds to each request.
func loadProcess(l report.Load) string {
	p, after, own := *l.Process, "", ""
	if p.AfterMegabytes > 0 {
		after = fmt.Sprintf(", %.0f MB afterwards", p.AfterMegabytes)
	}
	if l.OwnMicroseconds > 0 {
		own = fmt.Sprintf("; mcpcheck: %.0f µs of CPU a request", l.OwnMicroseconds)
	}
	return fmt.Sprintf("%.0f MB at most%s, %.1f s of CPU%s", p.Megabytes, after, p.CPUSeconds, own)
}

func loadTarget(l report.Load) string {
	if l.Target.URL != "" {
		return printableWords(l.Target.URL)
	}
	return printableWords(strings.Join(l.Target.Command, " "))
}

// loadClients says how many clients there were, and how they sent.
func loadClients(l report.Load) string {
	said := Plural(l.Clients, "client")
	if l.Processes > 0 {
		said += ", " + Plural(l.Processes, "process")
	}
	if l.PerSecond > 0 {
		said += fmt.Sprintf(", %g requests a second", l.PerSecond)
	}
	return said
}
