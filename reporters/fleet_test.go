package reporters

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// newFleet returns a fleet of rows with its tally.
func newFleet(t *testing.T, rows ...FleetRow) (Fleet, FleetTally) {
	t.Helper()
	f := Fleet{Tool: catalogue.ProgramInfo{Version: "1.2.3"}, Rows: func(yield func(FleetRow, error) bool) {
		for _, r := range rows {
			if !yield(r, nil) {
				return
			}
		}
	}}
	tally, err := f.Tally([]string{"lifecycle", "jsonrpc", "tools", "robust"})
	if err != nil {
		t.Fatal(err)
	}
	return f, tally
}

// mixedRows returns a server of each outcome.
func mixedRows() []FleetRow {
	conforms, fails, untested := NewFleetRow("honest", passingReport()), NewFleetRow("faulty", fullReport()), FleetRow{
		Name: "gone", Judged: true, ExitCode: report.ExitUsage, Problem: "cannot run gone: no such command",
	}
	fails.ExitCode = report.ExitFails
	conforms.Dir, fails.Dir = "servers/honest", "servers/faulty"
	broken := FleetRow{Name: "broken", Judged: true, ExitCode: report.ExitInternal, Problem: "killed"}
	return []FleetRow{conforms, fails, untested, {Name: "later"}, broken}
}

func passingReport() report.Report {
	r := fullReport()
	r.ExitCode, r.Problem = report.ExitConforms, ""
	r.Results = filter(r.Results, func(x report.Result) bool { return x.Verdict == catalogue.Pass })
	return r
}

// TestFleetRowCountsEachResultOnce checks that each requirement is counted once, under the outcome that the page of one
// server shows.
func TestFleetRowCountsEachResultOnce(t *testing.T) {
	for name, r := range allSampleReports() {
		want := map[string]int{}
		for _, x := range r.Results {
			want[x.Area()+" "+outcome(x)]++
		}
		got := map[string]int{}
		for _, a := range NewFleetRow("x", r).Areas {
			for _, c := range a.counts() {
				if *c.n > 0 {
					got[a.Name+" "+c.outcome] = *c.n
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestFleetExitCode checks that the worst outcome of all servers decides: a fault of mcpcheck, a server that does not
// conform, one that was not tested.
func TestFleetExitCode(t *testing.T) {
	row := func(code int) FleetRow { return FleetRow{Judged: true, ExitCode: code} }
	for _, c := range []struct {
		rows     []FleetRow
		code     int
		headline string
	}{
		{nil, 3, "there are no servers"},
		{[]FleetRow{row(0)}, 0, "the server conforms"},
		{[]FleetRow{row(1)}, 1, "the server does not conform"},
		{[]FleetRow{row(2)}, 3, "the server could not be tested"},
		{[]FleetRow{{}}, 3, "the server is not judged yet"},
		{[]FleetRow{row(0), row(0)}, 0, "all 2 servers conform"},
		{[]FleetRow{row(0), row(3)}, 3, "1 of 2 servers conform, 1 could not be tested"},
		{[]FleetRow{row(0), {}}, 3, "1 of 2 servers conform, 1 is not judged yet"},
		{[]FleetRow{row(0), row(1), row(3)}, 1, "1 of 3 servers does not conform, 1 could not be tested"},
		{[]FleetRow{row(1), row(1), row(4)}, 4, "2 of 3 servers do not conform, 1 was too much for mcpcheck"},
		{[]FleetRow{row(0), row(130)}, 4, "1 of 2 servers conform, 1 was too much for mcpcheck"},
	} {
		_, tally := newFleet(t, c.rows...)
		if tally.ExitCode() != c.code || tally.Headline() != c.headline {
			t.Errorf("%+v: %d, %s; want %d, %s", c.rows, tally.ExitCode(), tally.Headline(), c.code, c.headline)
		}
	}
}

// TestFleetHTMLIsSelfContained checks that malicious rows are texts in a block of JSON, with a line for each, that the
// policy of the page allows only its own script and style, and that it links only to the reports next to it.
func TestFleetHTMLIsSelfContained(t *testing.T) {
	const evil = `</script><img src=x onerror=pwned()>"'&<!--` + "\u2028\x1b"
	rows := append(mixedRows(),
		FleetRow{
			Name: evil, Judged: true, ExitCode: 1, Server: evil, Problem: evil, Transport: evil, Dir: "servers/" + evil,
			Areas: []FleetArea{{Name: "tools", Gating: 1}},
		})
	f, tally := newFleet(t, rows...)
	f.Tool.Version = evil
	var page bytes.Buffer
	if err := FleetHTML(&page, f, tally); err != nil {
		t.Fatal(err)
	}
	doc, err := html.Parse(bytes.NewReader(page.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{"noscript": true, "tbody": true}
	for _, m := range regexp.MustCompile(`<([a-z0-9]+)`).FindAllStringSubmatch(fleetText, -1) {
		known[m[1]] = true
	}
	var scripts []string
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		if !known[n.Data] {
			t.Errorf("the template has no %s", n.Data)
		}
		if n.Data == "script" {
			scripts = append(scripts, n.FirstChild.Data)
		}
	}
	if len(scripts) != 3 || scripts[1] != commonScript || scripts[2] != fleetScript {
		t.Fatalf("%d scripts, want the rows, what pages share and its own", len(scripts))
	}
	lines := strings.Split(strings.TrimSpace(scripts[0]), "\n")
	if len(lines) != 1+len(rows) {
		t.Errorf("%d lines, want the areas and %d rows", len(lines), len(rows))
	}
	var last fleetRow
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || last.Link != "" {
		t.Errorf("%v, linked to %q", err, last.Link)
	}
	for _, text := range []string{commonScript, fleetScript, pageStyle + fleetStyle} {
		if hash := sourceHash(text); !strings.Contains(fleetPolicy, hash) {
			t.Errorf("the policy lacks %s", hash)
		}
	}
	for _, bad := range []string{"url(", "@import", "innerHTML", "outerHTML", "insertAdjacentHTML", "fetch(", "eval("} {
		if strings.Contains(fleetStyle+fleetScript, bad) {
			t.Errorf("the page has %s", bad)
		}
	}
}

// TestFleetMarkdownIsBounded checks that the Markdown page counts the rows that exceed its limit, and has the servers
// first that do not conform.
func TestFleetMarkdownIsBounded(t *testing.T) {
	var rows []FleetRow
	for i := range 20_000 {
		rows = append(rows, FleetRow{Name: fmt.Sprintf("server-%05d | `x`", i), Judged: true, Dir: "servers/x"})
	}
	rows = append(rows, FleetRow{Name: "last", Judged: true, ExitCode: 1})
	f, tally := newFleet(t, rows...)
	var page bytes.Buffer
	if err := FleetMarkdown(&page, f, tally); err != nil {
		t.Fatal(err)
	}
	if page.Len() > fleetLimit+1000 {
		t.Errorf("%d bytes", page.Len())
	}
	text := page.String()
	shown := strings.Count(text, "\n| [")
	if !strings.Contains(text, fmt.Sprintf("\n… and %d more; the HTML page has them.\n", 20_000-shown)) {
		t.Errorf("%d are shown, and the page ends with\n%s", shown, text[max(0, len(text)-300):])
	}
	if last := strings.Index(text, "`last`"); last < 0 || last > 1000 {
		t.Errorf("what does not conform is at %d", last)
	}
}

// TestFleetReportsUnreadableRows checks that a row that cannot be read is an error, and not left out.
func TestFleetReportsUnreadableRows(t *testing.T) {
	torn := func(rows iter.Seq2[FleetRow, error]) Fleet {
		return Fleet{Rows: func(yield func(FleetRow, error) bool) {
			for r := range rows {
				yield(r, fmt.Errorf("torn"))
				return
			}
		}}
	}
	f, tally := newFleet(t, mixedRows()...)
	broken := torn(f.Rows)
	var page bytes.Buffer
	if _, err := broken.Tally(nil); err == nil {
		t.Error("it is counted")
	}
	if FleetHTML(&page, broken, tally) == nil || FleetMarkdown(&page, broken, tally) == nil {
		t.Error("there is a page")
	}
}
