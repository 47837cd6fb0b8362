package reporters

import (
	"fmt"
	"io"
	"math"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// TAP writes the report in the Test Anything Protocol 14, which readers of versions 12 and 13 understand as well: one
// flat list of tests with stable names (see testName), and with YAML diagnostics where there is something to say.
//
// Only blocking results, faults of mcpcheck and stale entries of the baseline are failures. A failure that does not
// block is marked TODO. What does not apply or was not decided is marked SKIP. A problem of the run is a Bail out at
// the end.
func TAP(w io.Writer, r report.Report) error {
	r = printableReport(r)
	var b lineBuilder
	b.add("TAP version 14")
	b.add("# " + tapText(joinParts(strings.TrimSpace(r.Program.Name+" "+r.Program.Version), targetText(r.Target),
		serverText(r.Server), optionsText(r.Options))))
	tests := tapTests(r)
	switch {
	case len(tests) > 0:
		b.add(fmt.Sprintf("1..%d", len(tests)))
	case r.Problem == "":
		b.add("1..0 # SKIP nothing was tried")
	}
	for i, test := range tests {
		if err := test.add(&b, i+1); err != nil {
			return err
		}
	}
	word, said := outcomeText(r)
	b.add("# " + tapText(word+"  "+said))
	if r.Problem != "" {
		b.add("Bail out! " + tapText(headline(r.Problem)))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// tapTest is a test point.
type tapTest struct {
	failed      bool
	name        string
	directive   string // SKIP or TODO, with the reason
	diagnostics tapDiagnostics
}

// tapDiagnostics follow a test point. The first two keys are those of the examples in TAP 14.
type tapDiagnostics struct {
	Message  string   `yaml:"message,omitempty"`
	Severity string   `yaml:"severity,omitempty"` // fail, todo or skip
	Title    string   `yaml:"title,omitempty"`
	Level    string   `yaml:"level,omitempty"`
	Gate     string   `yaml:"gate,omitempty"`
	Subjects []string `yaml:"subjects,omitempty"`
	Spec     string   `yaml:"spec,omitempty"`
	Fix      string   `yaml:"fix,omitempty"`
	Wire     []string `yaml:"wire,omitempty"`
	Duration float64  `yaml:"duration_ms,omitempty"`
}

// add writes the test point with its number.
func (p tapTest) add(b *lineBuilder, number int) error {
	line := fmt.Sprintf("ok %d - %s", number, tapText(p.name))
	if p.failed {
		line = "not " + line
	}
	if p.directive != "" {
		line += " # " + tapText(p.directive)
	}
	if strings.HasSuffix(line, "{") { // Some readers take this for the beginning of a subtest.
		line += "…"
	}
	b.add(line)
	if p.diagnostics.Message == "" {
		return nil
	}
	var text strings.Builder
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	if err := encoder.Encode(p.diagnostics); err != nil {
		return err
	}
	b.addIndented("  ", 2, strings.Split("---\n"+text.String()+"...", "\n"))
	return nil
}

// tapTests returns the results and then the stale entries of the baseline.
func tapTests(r report.Report) (tests []tapTest) {
	several := len(revisionsOf(r.Revisions)) > 1
	for _, x := range r.Results {
		tests = append(tests, newTapTest(testName(x, several), x))
	}
	for _, s := range staleBaseline(r) {
		tests = append(tests, tapTest{failed: true, name: staleName(s), diagnostics: tapDiagnostics{
			Message: withoutCommands(stalePosition(r, s) + ": " + s.Entry + ": " +
				s.Reason), Severity: "fail", Fix: staleFix,
		}})
	}
	return tests
}

func newTapTest(name string, r report.Result) tapTest {
	p := tapTest{name: name}
	severity := "skip"
	switch {
	case r.Verdict == catalogue.Pass:
		if r.Message != "" {
			p.diagnostics = tapDiagnostics{Message: withoutCommands("passed partly: " + r.Message)}
		}
		return p
	case isFailure(r):
		p.failed, severity = true, "fail"
	case acceptedText(r) != "":
		p.failed, severity, p.directive = true, "todo", "TODO known: "+acceptedText(r)
	case r.Verdict == catalogue.Fail:
		p.failed, severity, p.directive = true, "todo", fmt.Sprintf("TODO warning (%s): %s", r.Level, resultTitle(r))
	case r.Verdict == catalogue.Inconclusive:
		p.directive = "SKIP inconclusive: " + resultTitle(r)
	default:
		p.directive = "SKIP " + resultTitle(r)
		return p
	}
	p.diagnostics = tapDiagnostics{
		Message: withoutCommands(r.Message), Severity: severity,
		Title: withoutCommands(r.RequirementText()), Level: levelText(r), Gate: countsText(r),
		Subjects: mapEach(subjects(r),
			withoutCommands), Spec: withoutCommands(r.Spec), Fix: withoutCommands(r.Fix), Duration: milliseconds(
			r.Seconds),
		Wire: mapEach(wireLines(r.Evidence, fileWireLines, fileWireWidth), withoutCommands),
	}
	return p
}

// milliseconds converts seconds to milliseconds with three decimals.
func milliseconds(seconds float64) float64 { return math.Round(seconds*1e6) / 1e3 }

// tapText returns a text as a part of a line, with the beginnings of directives escaped.
func tapText(s string) string { return tapEscapes.Replace(withoutCommands(printableLine(s))) }

var tapEscapes = strings.NewReplacer(`\`, `\\`, "#", `\#`)
