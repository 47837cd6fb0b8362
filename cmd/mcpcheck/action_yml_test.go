package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const actionFault = "tools/unknown-tool-code"

// actionTest is a use of the action with the mcpcheck of this test. Empty texts and counts are not compared.
type actionTest struct {
	// files are created in the workspace.
	files   map[string]string
	inputs  map[string]string
	status  int
	verdict string
	counts  map[string]int
	// reports is the directory of all reports; empty means that there are none. Those of a load are fewer.
	reports string
	isLoad  bool

	// log is a part of the log.
	log string
	// annotation is a part of the errors and warnings; empty means that there are none.
	annotation string
	// summary is a part of the summary; empty means that there is none.
	summary string
}

var actionTests = map[string]actionTest{
	"a server that conforms is green": {
		inputs:  map[string]string{"command": "mcpcheck serve"},
		verdict: "conforms", counts: map[string]int{"gating": 0}, reports: "mcpcheck-report", summary: "passed",
	},
	"a fault is red, with annotation, summary and reports": {
		inputs: map[string]string{"command": "mcpcheck serve --fault " + actionFault},
		status: 1, verdict: "fails", counts: map[string]int{"gating": 1}, reports: "mcpcheck-report",
		annotation: actionFault, summary: actionFault,
	},
	"with fail: false and summary: false the outputs alone say so": {
		inputs: map[string]string{
			"command": "mcpcheck serve --fault " + actionFault,
			"fail":    "false",
			"summary": "false",
		},
		verdict: "fails", reports: "mcpcheck-report", annotation: actionFault,
	},
	"in the baseline the fault is green": {
		files: map[string]string{"a server/baseline.yaml": actionBaseline},
		inputs: map[string]string{
			"command": "mcpcheck serve --fault " + actionFault, "baseline": "baseline.yaml",
			"working-directory": "a server", "report-dir": "reports",
		},
		verdict: "conforms", counts: map[string]int{"gating": 0, "known": 1},
		reports: "a server/reports", summary: actionFault,
	},
	"once the fault is gone, the baseline is red as stale": {
		files: map[string]string{"a server/baseline.yaml": actionBaseline},
		inputs: map[string]string{
			"command": "mcpcheck serve", "baseline": "baseline.yaml", "working-directory": "a server",
		},
		status: 1, verdict: "fails", counts: map[string]int{"stale": 1}, reports: "a server/mcpcheck-report",
		annotation: actionFault, summary: actionFault,
	},
	"a server that does not start is untestable": {
		inputs: map[string]string{"command": "mcpcheck version"},
		status: 3, verdict: "untestable", reports: "mcpcheck-report",
		annotation: "exited with status 0", summary: "exited with status 0",
	},
	"and that passes on with fail: false": {
		inputs:  map[string]string{"command": "mcpcheck version", "fail": "false"},
		verdict: "untestable", reports: "mcpcheck-report",
		annotation: "exited with status 0", summary: "exited with status 0",
	},
	"wrong usage is red even with fail: false, and an earlier run's reports are gone": {
		files: map[string]string{
			"mcpcheck-report/report.json": `{"counts": {}}`,
			"mcpcheck-report/report.md":   "earlier",
		},
		inputs: map[string]string{"command": "mcpcheck serve", "profile": "lax", "fail": "false"},
		status: 2, verdict: "usage", log: "lax", annotation: "::error title=mcpcheck::",
	},
	"a program that cannot be run has no reports": {
		files:  map[string]string{"server": "\x7fELF, or so it says"},
		inputs: map[string]string{"command": "./server"},
		status: 2, verdict: "usage", log: "cannot run ./server", annotation: "mcpcheck ended with exit code 2",
	},
	"a plan is green, and has no reports": {
		inputs:  map[string]string{"command": "mcpcheck serve", "args": "--plan"},
		verdict: "conforms", log: "tool calls",
	},
	"a revision, and further arguments": {
		inputs: map[string]string{
			"command": "mcpcheck serve", "protocol": "2025-06-18", "args": "--only lifecycle/initialize-succeeds -v",
		},
		verdict: "conforms", reports: "mcpcheck-report", log: "tested against 2025-06-18", summary: "passed",
	},
	"sequences": {
		inputs: map[string]string{
			"command": "mcpcheck serve", "args": "explore --sequences 3 --only jsonrpc/result-is-object",
		},
		verdict: "conforms", counts: map[string]int{"gating": 0}, reports: "mcpcheck-report", summary: "passed",
	},
	"sequences that show a fault": {
		inputs: map[string]string{
			"command": "mcpcheck serve --fault jsonrpc/result-is-object",
			"args":    "explore --sequences 3 --only jsonrpc/result-is-object",
		},
		status: 1, verdict: "fails", counts: map[string]int{"gating": 1}, reports: "mcpcheck-report",
		annotation: "jsonrpc/result-is-object", summary: "jsonrpc/result-is-object",
	},
	"a load": {
		inputs:  map[string]string{"command": "mcpcheck serve", "args": actionLoad},
		verdict: "conforms", counts: map[string]int{"fail": 0}, reports: "mcpcheck-report", isLoad: true,
		summary: "mcpcheck load: ",
	},
	"a load that misses its budget": {
		inputs: map[string]string{"command": "mcpcheck serve", "args": actionLoad + " --throughput 1000000"},
		status: 1, verdict: "fails", counts: map[string]int{"fail": 1, "gating": 1}, reports: "mcpcheck-report",
		isLoad: true, log: "1e+06 are wanted", annotation: "mcpcheck ended with exit code 1",
		summary: "1e+06 are wanted",
	},
	"a URL": {
		inputs: map[string]string{"url": "http://127.0.0.1:1/mcp", "args": "--start-timeout 100ms"},
		status: 3, verdict: "untestable", reports: "mcpcheck-report",
		log: "127.0.0.1:1", annotation: "127.0.0.1:1", summary: "127.0.0.1:1",
	},
	"a configuration": {
		inputs: map[string]string{"config": "nowhere.yaml"},
		status: 2, verdict: "usage", log: "nowhere.yaml", annotation: "mcpcheck ended with exit code 2",
	},
	"an input that is not as it should be": {
		inputs: map[string]string{"command": "mcpcheck serve", "fail": "no"},
		status: 2, verdict: "usage", annotation: "summary and fail are to be true or false",
	},
	"a report-dir that would set an output": {
		inputs: map[string]string{"command": "mcpcheck serve", "report-dir": "here\nverdict=conforms"},
		status: 2, verdict: "usage", annotation: "each on one line",
	},
	"a working-directory that is not there": {
		inputs: map[string]string{"command": "mcpcheck serve", "working-directory": "nowhere"},
		status: 2, verdict: "usage", annotation: "there is no nowhere",
	},
	"a quote that is not closed": {
		inputs: map[string]string{"command": "mcpcheck 'serve"},
		status: 2, verdict: "usage", annotation: "mcpcheck 'serve",
	},
	"inputs are not run": {
		inputs: map[string]string{
			"command": "$(touch run) `touch run`; touch run", "args": `"$(touch run)`, "profile": `"; touch run; "`,
		},
		status: 2, verdict: "usage", annotation: `"$(touch run)`,
	},
}

const actionLoad = "load --clients 1 --duration 100ms --warmup 0s --mix tools/list=1"

const actionBaseline = "- check: " + actionFault + "\n  reason: to be mended with the next release\n"

// TestActionYML proves that the action tests servers. Cases that do not set args run only a few checks, except with
// -whole.
func TestActionYML(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("mcpcheck")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range actionTests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newActionRunner(t)
			r.setProgram(program)
			if _, given := test.inputs["args"]; !given {
				test.inputs["args"] = strings.Join(onlyFlags("tools/list-works,"+actionFault), " ")
			}
			for file, content := range test.files {
				writeExecutable(t, filepath.Join(r.workspace, file), content)
			}
			status, outputs := r.run(t, test.inputs)
			if status != test.status || outputs["verdict"] != test.verdict {
				t.Errorf("status %d, verdict %q, want %d, %q", status, outputs["verdict"], test.status, test.verdict)
			}
			test.expectCounts(t, outputs)
			test.expectReports(t, r, outputs)
			test.expectOutput(t, r)
			if fileExists(filepath.Join(r.workspace, "run")) {
				t.Error("an input was executed")
			}
			if t.Failed() {
				t.Logf("outputs %v\n%s", outputs, r.log.String())
			}
		})
	}
}

// expectCounts compares the outputs with counts.
func (test actionTest) expectCounts(t *testing.T, outputs map[string]string) {
	t.Helper()
	if test.reports == "" {
		if outputs["counts"] != "" || outputs["gating"] != "" {
			t.Errorf("counts %q, gating %q without a report", outputs["counts"], outputs["gating"])
		}
		return
	}
	var counts map[string]int
	if err := json.Unmarshal([]byte(outputs["counts"]), &counts); err != nil {
		t.Errorf("counts %q: %v", outputs["counts"], err)
	}
	for name, want := range test.counts {
		if got, ok := counts[name]; got != want || !ok {
			t.Errorf("%d %s, want %d", got, name, want)
		}
	}
	var gating int
	if err := json.Unmarshal([]byte(outputs["gating"]), &gating); err != nil || gating != counts["gating"] {
		t.Errorf("gating %q, want %d", outputs["gating"], counts["gating"])
	}
}

// expectReports checks that the reports exist, and that the outputs name them.
func (test actionTest) expectReports(t *testing.T, r *actionRunner, outputs map[string]string) {
	t.Helper()
	got := map[string]string{}
	for _, name := range []string{"junit", "sarif", "markdown"} {
		got[name] = outputs[name]
	}
	want := map[string]string{"junit": "", "sarif": "", "markdown": ""}
	if test.reports != "" {
		got["report-dir"], want["report-dir"] = outputs["report-dir"], test.reports
		paths := map[string]string{"junit": "report.xml", "sarif": "report.sarif", "markdown": "report.md"}
		files := []string{
			"report.json", "report.xml", "report.md", "report.html", "report.sarif", "report.tap", "ctrf.json",
			"badge.svg", "badge.json",
		}
		if test.isLoad {
			files = files[:4]
			delete(paths, "sarif")
		}
		for name, file := range paths {
			want[name] = test.reports + "/" + file
		}
		for _, name := range files {
			if file, err := os.Stat(filepath.Join(r.workspace, test.reports, name)); err != nil || file.Size() == 0 {
				t.Errorf("%s is missing in %s", name, test.reports)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outputs: %s", diff)
	}
}

// expectOutput checks the log, the annotations and the summary.
func (test actionTest) expectOutput(t *testing.T, r *actionRunner) {
	t.Helper()
	if !strings.Contains(r.log.String(), test.log) {
		t.Errorf("the log does not have %q", test.log)
	}
	if test.reports != "" && !test.isLoad && strings.Contains(r.annotations(), "ended with exit code") {
		t.Error("the results are annotated twice")
	}
	summary := strings.Join(fileLines(r.env["GITHUB_STEP_SUMMARY"]), "\n")
	for _, place := range []struct{ name, text, want string }{
		{"annotations", r.annotations(), test.annotation},
		{"summary", summary, test.summary},
	} {
		if !strings.Contains(place.text, place.want) || (place.text == "") != (place.want == "") {
			t.Errorf("%s: %q, want one with %q", place.name, place.text, place.want)
		}
	}
}
