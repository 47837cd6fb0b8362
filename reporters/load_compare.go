package reporters

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/mcpcheck/mcpcheck/suites/report"
)

// LoadComparisonJSON writes the comparison of two loads as indented JSON.
func LoadComparisonJSON(w io.Writer, c report.LoadComparison) error { return writeJSON(w, c) }

// LoadComparisonText writes the comparison of two loads for people: a table, in which ✗ marks what is worse.
func LoadComparisonText(w io.Writer, c report.LoadComparison) error {
	var b strings.Builder
	for _, line := range loadComparisonNotes(c) {
		fmt.Fprintln(&b, line)
	}
	columns := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, cells := range loadComparisonRows(c) {
		fmt.Fprintln(columns, strings.Join(cells, "\t"))
	}
	columns.Flush()
	fmt.Fprintln(&b, loadComparisonVerdict(c))
	_, err := io.WriteString(w, withoutCommands(b.String()))
	return err
}

// LoadComparisonMarkdown writes the comparison of two loads for a comment on a pull request.
func LoadComparisonMarkdown(w io.Writer, c report.LoadComparison) error {
	mark := "✅"
	if c.Regressions > 0 {
		mark = "❌"
	}
	page := "<!-- mcpcheck diff -->\n### " + mark + " mcpcheck load: " + shortLiteral(loadComparisonVerdict(c)) + "\n\n"
	for _, line := range loadComparisonNotes(c) {
		page += codeSpan(line) + "\n\n"
	}
	var rows []string
	for _, cells := range loadComparisonRows(c) {
		rows = append(rows, row(mapEach(cells, shortLiteral)...))
	}
	_, err := io.WriteString(w, page+table(rows[0], rows[1:]))
	return err
}

// loadComparisonNotes are what is said above the table.
func loadComparisonNotes(c report.LoadComparison) (lines []string) {
	for _, said := range c.Conditions {
		lines = append(lines, "differs: "+printableWords(said))
	}
	if c.Problem != "" {
		lines = append(lines, "✗ the new load ended before its time: "+printableWords(c.Problem))
	}
	for _, name := range c.Failing {
		lines = append(lines, "✗ fails now: "+printableWords(name))
	}
	return lines
}

// loadComparisonRows are the head and the rows of the table.
func loadComparisonRows(c report.LoadComparison) [][]string {
	rows := [][]string{{"ms", "per s", "p50", "p90", "p99", "errors"}}
	for _, m := range c.Methods {
		cells := []string{printableWords(m.Method)}
		for _, f := range m.Figures {
			cell := fmt.Sprintf("%.1f → %.1f", f.Old, f.New)
			if f.Name == "errors" {
				cell = fmt.Sprintf("%.3g %% → %.3g %%", 100*f.Old, 100*f.New)
			}
			if f.Worse {
				cell += " ✗"
			}
			cells = append(cells, cell)
		}
		rows = append(rows, cells)
	}
	return rows
}

// loadComparisonVerdict is the last line of a comparison.
func loadComparisonVerdict(c report.LoadComparison) string {
	return fmt.Sprintf("%s, by a tolerance of %g", Plural(c.Regressions, "regression"), c.Tolerance)
}
