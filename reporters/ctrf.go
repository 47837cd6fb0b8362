package reporters

import (
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// CTRF writes the report in the Common Test Report Format, version 0.0.0 of its schema, which is the only one (ctrf.io;
// npm package ctrf). Tests have the same names as in TAP.
//
// A test is failed if it is a blocking result, a fault of mcpcheck, a stale entry of the baseline or a problem of the
// run. Failures that do not block, and results that are not decided, have the status other. The verdict is in
// rawStatus.
func CTRF(w io.Writer, r report.Report) error {
	r = printableReport(r)
	doc := ctrfReport{
		Format: "CTRF", Version: "0.0.0", GeneratedBy: "mcpcheck",
		Results: ctrfResults{
			Tool:        ctrfTool{Name: "mcpcheck", Version: r.Program.Version},
			Tests:       ctrfTests(r),
			Environment: newCtrfEnvironment(r),
			Extra:       ctrfExtra{Profile: r.Profile, ExitCode: r.ExitCode, Problem: r.Problem},
		},
	}
	for _, c := range r.Coverage {
		doc.Results.Extra.Coverage = append(doc.Results.Extra.Coverage, coverageText(c))
	}
	doc.Results.Summary = newCtrfSummary(r, doc.Results.Tests)
	return writeJSON(w, doc)
}

type ctrfReport struct {
	Format      string      `json:"reportFormat"`
	Version     string      `json:"specVersion"`
	GeneratedBy string      `json:"generatedBy"`
	Results     ctrfResults `json:"results"`
}

type ctrfResults struct {
	Tool        ctrfTool        `json:"tool"`
	Summary     ctrfSummary     `json:"summary"`
	Tests       []ctrfTest      `json:"tests"`
	Environment ctrfEnvironment `json:"environment"`
	Extra       ctrfExtra       `json:"extra"`
}

type ctrfTool struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

// ctrfSummary counts the tests. Times are in milliseconds.
type ctrfSummary struct {
	Tests    int   `json:"tests"`
	Passed   int   `json:"passed"`
	Failed   int   `json:"failed"`
	Skipped  int   `json:"skipped"`
	Pending  int   `json:"pending"`
	Other    int   `json:"other"`
	Suites   int   `json:"suites"`
	Start    int64 `json:"start"`
	Stop     int64 `json:"stop"`
	Duration int64 `json:"duration"`
}

type ctrfTest struct {
	Name      string            `json:"name"`
	Status    string            `json:"status"`
	Duration  int64             `json:"duration"`
	Suite     []string          `json:"suite"`
	Message   string            `json:"message,omitempty"`
	Trace     string            `json:"trace,omitempty"`
	RawStatus string            `json:"rawStatus,omitempty"`
	Tags      []string          `json:"tags,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	// Stdout are the messages.
	Stdout []string `json:"stdout,omitempty"`
}

// ctrfEnvironment describes the server.
type ctrfEnvironment struct {
	Name      string     `json:"appName,omitempty"`
	Version   string     `json:"appVersion,omitempty"`
	Transport string     `json:"testEnvironment,omitempty"`
	Extra     ctrfTarget `json:"extra"`
}

type ctrfTarget struct {
	Target    string   `json:"target,omitempty"`
	Revisions []string `json:"revisions,omitempty"`
}

type ctrfExtra struct {
	Profile  catalogue.Profile `json:"profile"`
	ExitCode int               `json:"exitCode"`
	Problem  string            `json:"problem,omitempty"`
	Coverage []string          `json:"coverage,omitempty"`
}

func newCtrfEnvironment(r report.Report) ctrfEnvironment {
	return ctrfEnvironment{
		Name: r.Server.Name, Version: r.Server.Version, Transport: r.Target.Transport,
		Extra: ctrfTarget{Target: targetText(r.Target), Revisions: revisionsOf(r.Revisions)},
	}
}

// newCtrfSummary counts tests and their suites.
func newCtrfSummary(r report.Report, tests []ctrfTest) ctrfSummary {
	s := ctrfSummary{Tests: len(tests), Duration: wholeMilliseconds(r.Seconds)}
	suites := map[string]bool{}
	for _, test := range tests {
		suites[strings.Join(test.Suite, "\x00")] = true
		switch test.Status {
		case "passed":
			s.Passed++
		case "failed":
			s.Failed++
		case "skipped":
			s.Skipped++
		default:
			s.Other++
		}
	}
	s.Suites = len(suites)
	if !r.Started.IsZero() {
		s.Start = r.Started.UnixMilli()
	}
	s.Stop = s.Start + s.Duration
	return s
}

// ctrfTests returns the problem of the run, the results, and the stale entries of the baseline as tests.
func ctrfTests(r report.Report) []ctrfTest {
	tests := []ctrfTest{}
	if r.Problem != "" {
		tests = append(tests, ctrfTest{
			Name: "mcpcheck/run", Status: "failed", Duration: wholeMilliseconds(r.Seconds),
			Suite: []string{"mcpcheck"}, RawStatus: "error", Message: headline(r.Problem),
			Trace: withoutCommands(r.Problem),
		})
	}
	several := len(revisionsOf(r.Revisions)) > 1
	for _, x := range r.Results {
		tests = append(tests, newCtrfTest(x, several))
	}
	for _, s := range staleBaseline(r) {
		tests = append(tests, ctrfTest{
			Name: staleName(s), Status: "failed", Suite: []string{"baseline"}, RawStatus: "stale",
			Message: stalePosition(r, s) + ": " + s.Entry + ": " + s.Reason, Trace: "fix: " + staleFix,
		})
	}
	return tests
}

func newCtrfTest(r report.Result, several bool) ctrfTest {
	test := ctrfTest{
		Name: testName(r, several), Status: ctrfStatus(r), Duration: wholeMilliseconds(r.Seconds),
		Suite: []string{r.Area()}, Message: resultTitle(r),
		RawStatus: string(r.Verdict), Tags: []string{r.Area(), r.Level.String()},
		Labels: map[string]string{"revision": r.Revision, "level": r.Level.String(), "title": r.RequirementText()},
	}
	if several {
		test.Suite = slices.Insert(test.Suite, 0, r.Revision)
	}
	if r.Spec != "" {
		test.Labels["spec"] = r.Spec
	}
	if isFailure(r) {
		test.Labels["gate"] = countsText(r)
	}
	if accepted := acceptedText(r); accepted != "" {
		test.Labels["known"] = accepted
	}
	if r.Verdict == catalogue.Fail || isFailure(r) {
		test.Trace = strings.TrimSpace(junitDetail(r))
		test.Stdout = wireLines(r.Evidence, fileWireLines, fileWireWidth)
	}
	return test
}

// ctrfStatus returns the status of a result in terms of the format.
func ctrfStatus(r report.Result) string {
	switch {
	case isFailure(r):
		return "failed"
	case r.Verdict == catalogue.Pass:
		return "passed"
	case r.Verdict == catalogue.Skip:
		return "skipped"
	}
	return "other"
}

// wholeMilliseconds converts seconds to the milliseconds of the format.
func wholeMilliseconds(seconds float64) int64 {
	return int64(math.Round(seconds * float64(time.Second/time.Millisecond)))
}
