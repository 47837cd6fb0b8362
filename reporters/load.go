package reporters

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// LoadJSON is the report of a load as JSON.
func LoadJSON(l report.Load) ([]byte, error) {
	var out bytes.Buffer
	err := writeJSON(&out, l)
	return out.Bytes(), err
}

// WriteLoad writes the report of a load for a console, on one screen.
func WriteLoad(w io.Writer, l report.Load, color bool) {
	p := newPalette(color)
	fmt.Fprintf(w, "mcpcheck load · %s · %s · %s · %g s\n\n", loadTarget(l), l.Revision, loadClients(l), l.Seconds)
	fmt.Fprintln(w, p.faint.Sprintf("  %-26s %9s %9s %8s %8s %8s %8s %8s %7s", "ms", "requests", "per s", "p50", "p90",
		"p99", "p99.9", "max", "errors"))
	for _, f := range l.Methods {
		writeLoadFigures(w, f)
	}
	if len(l.Methods) > 1 {
		writeLoadFigures(w, l.All)
	}
	if l.Connect.Count > 0 {
		f := l.Connect
		fmt.Fprintf(w, "  %-26s %9d %9s %8.1f %8.1f %8.1f %8.1f %8.1f %7d\n", "connect: "+f.Method, f.Count, "", f.P50,
			f.P90, f.P99, f.P999, f.Max, f.ErrorCount())
	}
	for _, e := range l.All.Errors {
		fmt.Fprintf(w, "  %s: %d\n", printableWords(e.Kind), e.Count)
	}
	if l.Process != nil {
		fmt.Fprintf(w, "\n  process     %.0f MB, %.1f s of CPU\n", l.Process.Megabytes, l.Process.CPUSeconds)
	}
	fmt.Fprintln(w)
	failed := 0
	for _, r := range l.Results {
		if r.Verdict != catalogue.Fail {
			fmt.Fprintf(w, "  %s %s\n", p.sign("✓"), r.Name)
			continue
		}
		failed++
		fmt.Fprintf(w, "  %s %s\n", p.sign("✗"), r.Name)
		for _, found := range r.Findings {
			fmt.Fprintf(w, "      %s\n", printableWords(found))
		}
		if more := r.Count - int64(len(r.Findings)); more > 0 {
			fmt.Fprintf(w, "      and %d more\n", more)
		}
	}
	switch {
	case failed > 0:
		fmt.Fprintf(w, "\n%s  %d of %d results\n", p.fail.Sprint("FAIL"), failed, len(l.Results))
	case l.Problem != "":
		fmt.Fprintf(w, "\n%s  it ended before its time: %s\n", p.undecided.Sprint("STOPPED"), printableWords(l.Problem))
	default:
		fmt.Fprintf(w, "\n%s  %d requests, %.0f a second\n", p.pass.Sprint("PASS"), l.All.Count, l.All.PerSecond)
	}
}

func writeLoadFigures(w io.Writer, f report.LoadFigures) {
	fmt.Fprintf(w, "  %-26s %9d %9.1f %8.1f %8.1f %8.1f %8.1f %8.1f %7d\n", f.Method, f.Count, f.PerSecond, f.P50,
		f.P90, f.P99, f.P999, f.Max, f.ErrorCount())
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
