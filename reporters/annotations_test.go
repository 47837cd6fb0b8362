package reporters

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/report"
)

// parseCommand parses a line as GitHub's runner does (actions/runner, ActionCommand.cs).
func parseCommand(t *testing.T, line string) (name string, parameters map[string]string, data string) {
	t.Helper()
	head, data, ok := strings.Cut(strings.TrimPrefix(line, "::"), "::")
	if !strings.HasPrefix(line, "::") || !ok {
		t.Fatalf("no command: %q", line)
	}
	name, list, _ := strings.Cut(head, " ")
	parameters = map[string]string{}
	for pair := range strings.SplitSeq(list, ",") {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			t.Fatalf("no parameter: %q in %q", pair, line)
		}
		parameters[key] = unescape(value)
	}
	return name, parameters, unescape(data)
}

// linesOutsideGroups returns the lines outside of the groups of a log. Lines in groups must be indented, so that none
// is a command.
func linesOutsideGroups(t *testing.T, text string) (outside []string) {
	t.Helper()
	inside := false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case !inside && strings.HasPrefix(line, "::group::"):
			inside = true
		case line == "::endgroup::":
			inside = false
		case inside && !strings.HasPrefix(line, "  "):
			t.Errorf("%q stands in a group", line)
		case !inside:
			outside = append(outside, line)
		}
	}
	return outside
}

func unescape(s string) string {
	for _, pair := range []string{"%0D\r", "%0A\n", "%3A:", "%2C,", "%25%"} {
		s = strings.ReplaceAll(s, pair[:3], pair[3:])
	}
	return s
}

func TestAnnotationsAreOwnCommands(t *testing.T) {
	all := allSampleReports()
	all["crowd"] = largeReport()
	for sample, r := range all {
		t.Run(sample, func(t *testing.T) {
			counts := map[string]int{}
			for _, line := range linesOutsideGroups(t, string(render(t, writeAnnotations, r))) {
				name, parameters, _ := parseCommand(t, line)
				counts[name]++
				for parameter := range parameters {
					if !slices.Contains([]string{"file", "line", "title"}, parameter) {
						t.Errorf("unknown parameter %q in %q", parameter, line)
					}
				}
			}
			if counts["error"] > annotationLimit || counts["warning"] > annotationLimit || counts["notice"] != 1 {
				t.Errorf("got %v", counts)
			}
			if len(counts) != 1+min(counts["error"], 1)+min(counts["warning"], 1) {
				t.Errorf("other commands than errors, warnings and a notice: %v", counts)
			}
			if red := counts["error"]+counts["warning"] > 0; red != (r.ExitCode != report.ExitConforms) {
				t.Errorf("exit code %d with %v", r.ExitCode, counts)
			}
		})
	}
}

func TestAnnotationsCountTheRest(t *testing.T) {
	var errs []string
	for _, line := range linesOutsideGroups(t, string(render(t, writeAnnotations, largeReport()))) {
		if name, _, data := parseCommand(t, line); name == "error" {
			errs = append(errs, data)
		}
	}
	if want := "71 more of 80 of this kind (error) are in the log and in the reports"; errs[len(errs)-1] != want {
		t.Errorf("want %s\n got %s", want, errs[len(errs)-1])
	}
}

func TestAnnotationEscapes(t *testing.T) {
	a := annotation{file: "a,b:c%.yaml", line: 0, title: "t:\r\n,", message: "100 %: a,b\r\n::set-output::x"}
	const want = "::error file=a%2Cb%3Ac%25.yaml,line=1,title=t%3A%0D%0A%2C::100 %25: a,b%0D%0A::set-output::x\n"
	if got := a.command("error"); got != want {
		t.Errorf("want %s got %s", want, got)
	}
}

func TestAnnotateError(t *testing.T) {
	var out bytes.Buffer
	err := AnnotateError(&out, "100 %\n::set-output::x")
	const want = "::error title=mcpcheck::100 %25%0A::set-output::x\n"
	if got := out.String(); got != want || err != nil {
		t.Errorf("want %s got %s, error %v", want, got, err)
	}
}

// TestNewAnnotations checks that the reporter writes at the end of the run, not before.
func TestNewAnnotations(t *testing.T) {
	var out bytes.Buffer
	r := NewAnnotations(&out, Location{Path: "mcpcheck.yaml"})
	r.Result(gatingMust())
	if out.Len() > 0 {
		t.Errorf("wrote %q before the end", &out)
	}
	const want = "::error file=mcpcheck.yaml,line=1,title=http/origin-refused (MUST)::"
	if err := r.Done(httpReport()); err != nil || !strings.HasPrefix(out.String(), want) {
		t.Errorf("got %q, error %v", &out, err)
	}
}
