package reporters

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// outcomeCounts are the counts of a run in an output.
type outcomeCounts struct{ pass, blocking, minor, known, sdk int }

// TestOutputsAgree compares the counts in all outputs of one run. The report has a result of every kind, including
// advice and advice that blocks.
func TestOutputsAgree(t *testing.T) {
	advice := func(id string, v catalogue.Verdict) report.Result {
		return report.Result{ID: "advice/" + id, Title: "describes it", Level: catalogue.Advice, Verdict: v}
	}
	r := baselineReport()
	r.Baseline.Stale = nil
	r.Results = append(r.Results, gatingMust(), passed("ping/a", "answers"), advice("a", catalogue.Pass),
		advice("b", catalogue.Fail), advice("c", catalogue.Fail))
	r.Results[len(r.Results)-5].ID = "tools/blocks"
	excused := checklistOnly()
	excused.ID, excused.SDK = "tools/excused", &report.SDKInfo{ID: "tmcp", Name: "tmcp", Versions: "1.20"}
	r.Results = append(r.Results, excused)
	r.Target, r.ExitCode = report.TargetInfo{Transport: "stdio"}, report.ExitFails
	r = withDerivedFields(r)
	asked := &r.Results[len(r.Results)-2]
	asked.Gates, asked.GatedBy = true, catalogue.GateDirectory
	r.Counts = report.Count(r.Results)
	c := r.Counts
	want := outcomeCounts{c.Pass, c.Gating, c.Fail - c.Gating - c.Known - c.SDK, c.Known, c.SDK}
	if want.pass == 0 || want.blocking == 0 || want.minor == 0 || want.known == 0 || want.sdk == 0 || c.Advice != 1 {
		t.Fatalf("the report does not have everything: %+v, %+v", want, c)
	}

	text := func(format string) string {
		for _, f := range Formats {
			if f.Name == format {
				return string(render(t, f.Write, r))
			}
		}
		return ""
	}
	for name, got := range map[string]outcomeCounts{
		"console":     textCounts(t, runConsole(t, ConsoleOptions{Verbosity: Verbose}, r)),
		"quiet":       textCounts(t, runConsole(t, ConsoleOptions{Verbosity: Quiet}, r)),
		"markdown":    textCounts(t, text("markdown")),
		"html":        textCounts(t, text("html")),
		"annotations": textCounts(t, string(render(t, writeAnnotations, r))),
		"tap":         textCounts(t, text("tap")),
		"json":        jsonCounts(t, text("json")),
		"junit":       junitCounts(t, text("junit")),
		"ctrf":        ctrfCounts(t, text("ctrf")),
		"fleet":       fleetCounts(NewFleetRow("x", r)),
		"page":        pageIndexCounts(t, text("html")),
	} {
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(outcomeCounts{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	said := fmt.Sprintf("%d blocking: %s · %d passed", want.blocking, joinSome(Blocking(r), 2), want.pass)
	if row := NewFleetRow("x", r).Summary(); row != said {
		t.Errorf("fleet says %s", row)
	}
	if badge := newBadge(r).Message; badge != Plural(want.blocking, "failure") {
		t.Errorf("the badge says %s", badge)
	}
	if line := runConsole(t, ConsoleOptions{}, r); !strings.Contains(line, fmt.Sprintf("FAIL  %s, %s · %d passed",
		Plural(want.blocking, "blocking failure"), Plural(want.minor, "other"), want.pass)) {
		t.Errorf("the screen says\n%s", line)
	}
}

// TestUnreachableServersHaveNoCounts checks that no output for people has counts for a server that could not be
// reached.
func TestUnreachableServersHaveNoCounts(t *testing.T) {
	r := fullReport()
	r.ExitCode, r.Problem, r.Revisions[0].Assumed = report.ExitUntestable, "the server wants authorization", true
	counts := regexp.MustCompile(`\d+ (passed|tried|skipped|not decided|blocking)|requirements of 20`)
	for _, f := range Formats {
		if f.Name == "junit" || f.Name == "ctrf" || f.Name == "json" {
			continue
		}
		if found := counts.FindString(string(render(t, f.Write, r))); found != "" {
			t.Errorf("%s says %q", f.Name, found)
		}
	}
}

// matchedNumber returns the number that a pattern captures; 0 if it does not match.
func matchedNumber(t *testing.T, text, pattern string) int {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if found == nil {
		return 0
	}
	n, err := strconv.Atoi(found[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// textCounts returns the counts in text for people, from the last line that has all of them.
func textCounts(t *testing.T, text string) outcomeCounts {
	t.Helper()
	line := ""
	for l := range strings.Lines(text) {
		if strings.Contains(l, "blocking failure") && strings.Contains(l, " passed") {
			line = l
		}
	}
	return outcomeCounts{
		pass: matchedNumber(t, line, `(\d+) passed`), blocking: matchedNumber(t, line, `(\d+) blocking failure`),
		minor: matchedNumber(t, line, `(\d+) other`), known: matchedNumber(t, line, `(\d+) known failure`),
		sdk: matchedNumber(t, line, `(\d+) known deviation`),
	}
}

func jsonCounts(t *testing.T, text string) outcomeCounts {
	t.Helper()
	var r struct{ Counts report.Counts }
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	c := r.Counts
	return outcomeCounts{c.Pass, c.Gating, c.Fail - c.Gating - c.Known - c.SDK, c.Known, c.SDK}
}

func junitCounts(t *testing.T, text string) (c outcomeCounts) {
	t.Helper()
	var doc junitSuites
	if err := xml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	for _, s := range doc.Suites {
		for _, x := range s.Cases {
			switch {
			case x.Failure != nil:
				c.blocking++
			case x.Skipped == nil && x.Error == nil:
				c.pass++
			case x.Skipped == nil:
			case strings.HasPrefix(x.Skipped.Message, "warning"):
				c.minor++
			case strings.HasPrefix(x.Skipped.Message, "known: a deviation of"):
				c.sdk++
			case strings.HasPrefix(x.Skipped.Message, "known:"):
				c.known++
			}
		}
	}
	if doc.Failures != c.blocking {
		t.Errorf("junit has %d failures, and says %d", c.blocking, doc.Failures)
	}
	return c
}

func ctrfCounts(t *testing.T, text string) (c outcomeCounts) {
	t.Helper()
	var doc ctrfReport
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	for _, x := range doc.Results.Tests {
		switch known := x.Labels["known"]; {
		case x.Status == "failed":
			c.blocking++
		case x.Status == "passed":
			c.pass++
		case strings.HasPrefix(known, "a deviation of"):
			c.sdk++
		case known != "":
			c.known++
		case x.RawStatus == "fail":
			c.minor++
		}
	}
	if s := doc.Results.Summary; s.Passed != c.pass || s.Failed != c.blocking {
		t.Errorf("ctrf has %+v, and says %+v", c, s)
	}
	return c
}

// fleetCounts returns the counts of a row. Failures of SDKs count as known in it.
func fleetCounts(row FleetRow) (c outcomeCounts) {
	for _, a := range row.Areas {
		c.pass += a.Pass
		c.blocking += a.Gating
		c.minor += a.Fail
		c.known += a.Known
	}
	c.known, c.sdk = c.known-1, 1
	return c
}

// pageIndexCounts returns the counts of the page's index, which are those of its filters.
func pageIndexCounts(t *testing.T, text string) (c outcomeCounts) {
	t.Helper()
	outcomes := map[string]int{}
	for _, found := range regexp.MustCompile(`"outcome":"([a-z]+)"`).FindAllStringSubmatch(text, -1) {
		outcomes[found[1]]++
	}
	return outcomeCounts{outcomes["pass"], outcomes["gating"], outcomes["fail"], outcomes["known"] - 1, 1}
}

// TestJUnitTimes checks that the suites of JUnit together take as long as the run, although checks run concurrently.
func TestJUnitTimes(t *testing.T) {
	r := fullReport()
	for i := range r.Results {
		r.Results[i].Seconds = 2
	}
	r.Seconds = 4
	var doc junitSuites
	if err := xml.NewDecoder(bytes.NewReader(render(t, JUnit, r))).Decode(&doc); err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, s := range doc.Suites {
		seconds, err := strconv.ParseFloat(s.Time, 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += seconds
	}
	if math.Abs(sum-r.Seconds) > 0.01 {
		t.Errorf("the suites take %.3f s, and the run took %.3f s", sum, r.Seconds)
	}
}

// TestPageProfileDirectory checks that a profile which requires what is only advice under another one does not pass on
// the page of that one.
func TestPageProfileDirectory(t *testing.T) {
	r := conformingReport()
	r.Results = append(r.Results, report.Result{
		ID: "advice/tool-title-present", Title: "gives each tool a title", Level: catalogue.Advice,
		Verdict: catalogue.Fail,
	})
	r = withDerivedFields(r)
	o := Options{FindRequirement: func(id string) (*catalogue.Requirement, bool) {
		q := &catalogue.Requirement{ID: id}
		if id == "advice/tool-title-present" {
			q.DirectoryRules = []catalogue.DirectoryRule{{ID: "claude/x", Directory: "a directory"}}
		}
		return q, true
	}}
	var page bytes.Buffer
	if err := NewFormats(o)[4].Write(&page, r); err != nil {
		t.Fatal(err)
	}
	card := regexp.MustCompile(`<li class="(\w+)">\s*<span class="name">directory</span>\s*<span class="says">([^<]*)`)
	found := card.FindStringSubmatch(page.String())
	if found == nil || found[1] != "fails" || found[2] != "1 blocking" {
		t.Errorf("the card says %q", found)
	}
}
