package reporters

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// LoadJUnit writes the report of a load as JUnit XML: a test for each result, under its name.
func LoadJUnit(w io.Writer, l report.Load) error {
	s := junitSuite{Name: "load", Time: junitTime(l.Seconds), Timestamp: l.Started.UTC().Format("2006-01-02T15:04:05")}
	s.addProperty("mcpcheck.version", printableWords(l.Program.Version))
	s.addProperty("target", loadTarget(l))
	s.addProperty("server", printableWords(serverText(l.Server)))
	s.addProperty("revision", l.Revision)
	s.addProperty("clients", loadClients(l))
	for _, f := range loadRows(l) {
		s.addProperty(printableWords(f.Method), loadFigures(f.LoadFigures))
	}
	for _, r := range l.Results {
		c := junitCase{Class: "mcpcheck.load", Name: printableWords(r.Name), Time: junitTime(0)}
		if r.Verdict == catalogue.Fail {
			lines := mapEach(loadFindings(r), printableWords)
			c.Failure = &junitOutcome{Type: "load", Message: lines[0], Text: strings.Join(lines, "\n")}
		}
		s.Cases = append(s.Cases, c)
	}
	if l.Problem != "" {
		said := printableWords(l.Problem)
		s.Cases = append(s.Cases, junitCase{Class: "mcpcheck.load", Name: "the load comes to its end",
			Time: junitTime(0), Error: &junitOutcome{Type: "problem", Message: said, Text: said}})
	}
	doc := junitSuites{Name: "mcpcheck", Time: junitTime(l.Seconds)}
	doc.add(s)
	text, err := xml.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, xml.Header+withoutCommands(string(text))+"\n")
	return err
}

// loadFigures returns figures on one line.
func loadFigures(f report.LoadFigures) string {
	return fmt.Sprintf("%d requests, %.1f a second, p50 %.1f ms, p90 %.1f ms, p99 %.1f ms, p99.9 %.1f ms, "+
		"max %.1f ms, %s", f.Count, f.PerSecond, f.P50, f.P90, f.P99, f.P999, f.Max,
		Plural(int(f.ErrorCount()), "error"))
}

// LoadMarkdown writes the report of a load for a comment on a pull request.
func LoadMarkdown(w io.Writer, l report.Load) error {
	word, said := loadVerdict(l)
	mark := map[string]string{"PASS": "✅", "FAIL": "❌", "STOPPED": "⚠️"}[word]
	facts := joinParts(codeSpan(loadTarget(l)), l.Revision, loadClients(l), fmt.Sprintf("%.3g s", l.Seconds))
	page := "<!-- mcpcheck load -->\n### " + mark + " mcpcheck load: " + shortLiteral(printableWords(said)) + "\n\n" +
		facts + "\n\n"
	for _, r := range l.Results {
		if r.Verdict == catalogue.Fail {
			page += "**" + shortLiteral(printableWords(r.Name)) + "**\n\n" +
				codeBlock(strings.Join(mapEach(loadFindings(r), printableWords), "\n")) + "\n"
		}
	}
	var rows []string
	for _, f := range loadRows(l) {
		rows = append(rows, loadCells(shortLiteral(printableWords(f.Method)), f.LoadFigures))
	}
	page += table(loadHead("ms"), rows)
	rows = nil
	for _, s := range l.Scale {
		rows = append(rows, loadCells(fmt.Sprint(s.Clients), s.All))
	}
	if page += table(loadHead("clients"), rows); rows != nil {
		page += sentenceCase(loadKnee(l)) + ".\n\n"
	}
	if l.Process != nil {
		page += "Process: " + loadProcess(l) + ".\n"
	}
	_, err := io.WriteString(w, page)
	return err
}

// loadHead is the head of a table of figures.
func loadHead(of string) string {
	return row(of, "requests", "per s", "p50", "p90", "p99", "p99.9", "max", "errors")
}

// loadCells is a row of a table of figures.
func loadCells(of string, f report.LoadFigures) string {
	ms := func(v float64) string { return fmt.Sprintf("%.1f", v) }
	return row(of, fmt.Sprint(f.Count), ms(f.PerSecond), ms(f.P50), ms(f.P90), ms(f.P99), ms(f.P999), ms(f.Max),
		fmt.Sprint(f.ErrorCount()))
}
