package reporters

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/report"
)

// tapLine matches a line outside of diagnostics.
var tapLine = regexp.MustCompile(`^(TAP version 14|1\.\.[0-9]+( # SKIP .+)?|` +
	`(not )?ok [0-9]+ - ([^\\#]|\\[\\#])+( # (SKIP|TODO) .*)?|#.*|Bail out! .*)$`)

// parseTAP returns the test points of a TAP file, one on each line, and checks the lines between them.
func parseTAP(t *testing.T, r report.Report) (points []string, bail bool) {
	t.Helper()
	inside := false
	for line := range strings.Lines(string(render(t, TAP, r))) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "  ---":
			inside = true
		case line == "  ...":
			inside = false
		case inside:
			if !strings.HasPrefix(line, "  ") && line != "" {
				t.Errorf("a diagnosis ends in %q", line)
			}
		case !tapLine.MatchString(line) || strings.HasSuffix(line, "{"):
			t.Errorf("not a line of TAP: %q", line)
		case strings.Contains(line, "ok "):
			points = append(points, line)
		}
		bail = bail || !inside && strings.HasPrefix(line, "Bail out!")
	}
	return points, bail
}

// TestTAPIsRedWhenTheRunFails checks that test points are numbered, as many as planned, and fail exactly if the run
// does.
func TestTAPIsRedWhenTheRunFails(t *testing.T) {
	for name, r := range allSampleReports() {
		t.Run(name, func(t *testing.T) {
			points, red := parseTAP(t, r)
			plan := fmt.Sprintf("\n1..%d", len(points))
			if len(points) > 0 && !strings.Contains(string(render(t, TAP, r)), plan+"\n") {
				t.Errorf("want the plan %s", plan)
			}
			for i, point := range points {
				if !strings.Contains(point, fmt.Sprintf("ok %d - ", i+1)) {
					t.Errorf("want number %d, got %s", i+1, point)
				}
				failed := strings.HasPrefix(point, "not ok") && !strings.Contains(point, " # TODO ")
				red = red || failed
			}
			if want := r.ExitCode != report.ExitConforms; red != want {
				t.Errorf("exit code %d: want red %v, got %v", r.ExitCode, want, red)
			}
		})
	}
}

// TestTAPEscapes checks that text from a server is not a directive and does not begin a subtest.
func TestTAPEscapes(t *testing.T) {
	r := nonGatingShould()
	r.ID, r.Message = "tools/a", `got \ # SKIP it {`
	points, _ := parseTAP(t, withDerivedFields(report.Report{
		Revisions: []report.RevisionInfo{{Revision: "2025-11-25"}}, Results: []report.Result{r},
	}))
	const want = `not ok 1 - tools/a # TODO warning (SHOULD): got \\ \# SKIP it {…`
	if len(points) != 1 || points[0] != want {
		t.Errorf("want %s\n got %q", want, points)
	}
}
