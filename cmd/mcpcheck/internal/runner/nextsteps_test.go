package runner

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/configtest"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/redact"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/target"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check/engine"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// TestRepeatCommand proves that the command has all flags that affect the verdict, or whether it gates.
func TestRepeatCommand(t *testing.T) {
	const only = "mcpcheck run --only ping/prompt"
	for line, want := range map[string]string{
		"-- serve": only + " -- serve",
		"--jobs 1 --isolate --profile strict -- serve":     only + " --jobs 1 --isolate --profile strict -- serve",
		"--isolate=false -- serve":                         only + " --isolate=false -- serve",
		"--timeout 7s --start-timeout 1m -- serve":         only + " --timeout 7s --start-timeout 1m0s -- serve",
		"--budget 9m -- serve":                             only + " --budget 9m0s -- serve",
		"--max-message 1MiB --seed 3 --calls all -- serve": only + " --max-message 1MiB --seed 3 --calls all -- serve",
		"--config c.yaml --baseline b.yaml -- serve":       only + " --config c.yaml --baseline b.yaml -- serve",
		"--skip tools/*,must --skip http -- serve":         only + " --skip 'tools/*,must,http' -- serve",
		"--protocol auto -- serve":                         only + " -- serve",
		"--protocol all -- serve":                          only + " --protocol 2025-03-26 -- serve",
		"--protocol 2025-03-26 -- serve":                   only + " --protocol 2025-03-26 -- serve",
		"--only ping -v -q --brief --json r -- serve":      only + " -- serve",
	} {
		flags := configtest.ParseFlags(t, line)
		v := config.Options{File: config.Merge(flags, config.File{}), Flags: flags}
		server := &target.Target{Address: config.Address{Command: flags.FileKeys.Command},
			Redactor: (&redact.Secrets{}).Redactor()}
		if got := repeatCommand(v, server, report.Result{ID: "ping/prompt", Revision: "2025-03-26"}); got != want {
			t.Errorf("%s:\n got %s\nwant %s", line, got, want)
		}
	}
	flags := configtest.ParseFlags(t, "--explore 2s --jobs 1 --isolate --tentative gate --seed 3 -- serve")
	found := report.Result{ID: "ping/prompt", Script: "explore-ping-prompt.json"}
	server := &target.Target{Address: config.Address{Command: flags.FileKeys.Command},
		Redactor: (&redact.Secrets{}).Redactor()}
	const replay = "mcpcheck explore --replay explore-ping-prompt.json --seed 3 -- serve"
	if got := repeatCommand(config.Options{Flags: flags}, server, found); got != replay {
		t.Errorf("a script:\n got %s\nwant %s", got, replay)
	}
	v := config.Options{File: config.File{Protocol: "auto"}}
	for want, provokers := range map[string][]string{
		"mcpcheck run --only ping/server-ping-rate,ping/prompt,tools/list-works": {"ping/prompt", "tools/list-works"},
		"mcpcheck run": {engine.WholeRun},
	} {
		watch := report.Result{ID: "ping/server-ping-rate", TriggeredBy: provokers}
		if got := repeatCommand(v, &target.Target{Redactor: (&redact.Secrets{}).Redactor()}, watch); got != want {
			t.Errorf("a watch:\n got %s\nwant %s", got, want)
		}
	}
}

// TestNextSteps proves that the suggested commands use the options of the run, and can be entered as they are.
func TestNextSteps(t *testing.T) {
	blocks := report.Result{ID: "tools/blocks", Verdict: catalogue.Fail, Level: catalogue.Should, Gates: true}
	worse := report.Result{ID: "tools/worse", Verdict: catalogue.Fail, Level: catalogue.Must, Gates: true}
	ofSDK := report.Result{
		ID: "tools/of-sdk", Verdict: catalogue.Fail, Level: catalogue.Must, Gates: true,
		SDK: &report.SDKInfo{ID: "one"},
	}
	pass := report.Result{ID: "tools/passes", Verdict: catalogue.Pass}
	barred := []report.Coverage{{UncalledTools: []report.UncalledTool{{Name: "drop", Forbidden: true}}}}
	const explain = "mcpcheck explain tools/"
	for _, tt := range []struct {
		name, line string
		ci, merged bool
		report     report.Report
		want       []string
	}{
		{name: "the worst is explained", report: report.Report{Results: []report.Result{ofSDK, blocks, worse}},
			want: []string{explain + "worse", "mcpcheck run --last-failed -- serve"}},
		{name: "with the flags of the run", line: "--only tools/* --protocol 2025-03-26 --profile strict",
			report: report.Report{Results: []report.Result{blocks}},
			want: []string{explain + "blocks",
				"mcpcheck run --last-failed --only 'tools/*' --protocol 2025-03-26 --profile strict -- serve"}},
		{name: "the SDK's alone", line: "--sdk gate --quick", report: report.Report{Results: []report.Result{ofSDK}},
			want: []string{"mcpcheck baseline --quick --sdk gate -- serve", explain + "of-sdk"}},
		{name: "CI remembers nothing", ci: true, report: report.Report{Results: []report.Result{blocks}},
			want: []string{explain + "blocks"}},
		{name: "neither is a part remembered", line: "--shard 1/2",
			report: report.Report{Results: []report.Result{blocks}}, want: []string{explain + "blocks"}},
		{name: "nor what is merged", merged: true,
			report: report.Report{Results: []report.Result{blocks}}, want: []string{explain + "blocks"}},
		{name: "a recording", report: report.Report{Recorded: true, Results: []report.Result{ofSDK}},
			want: []string{explain + "of-sdk"}},
		{name: "the baseline is out of date", line: "--baseline b.yaml",
			report: report.Report{Baseline: &report.Baseline{}, Results: []report.Result{pass}},
			want:   []string{"mcpcheck baseline --baseline b.yaml -- serve"}},
		{name: "pass", line: "--json r.json --sdk gate", report: report.Report{Results: []report.Result{pass}},
			want: []string{"mcpcheck run --html report.html --sdk gate -- serve"}},
		{name: "pass with a page", line: "--html r.html", report: report.Report{Results: []report.Result{pass}}},
		{name: "pass in CI", ci: true, report: report.Report{Results: []report.Result{pass}, Coverage: barred}},
		{name: "pass, and tools were not called",
			report: report.Report{Results: []report.Result{pass}, Coverage: barred},
			want:   []string{"mcpcheck init -- serve"}},
	} {
		t.Setenv("CI", map[bool]string{true: "true"}[tt.ci])
		flags := configtest.ParseFlags(t, tt.line+" -- serve")
		flags.IsMerged = tt.merged
		v := config.Options{File: config.Merge(flags, config.File{}), Flags: flags}
		v.ReportFiles, v.ReportDir = flags.Report.MergeWith(flags.IsGiven, config.ReportFiles{})
		server := &target.Target{Address: config.Address{Command: flags.FileKeys.Command},
			Redactor: (&redact.Secrets{}).Redactor()}
		if r := tt.report; r.Baseline != nil || slices.ContainsFunc(r.Results, isGatingFail) {
			tt.report.ExitCode = report.ExitFails
		}
		if diff := cmp.Diff(tt.want, nextSteps(v, server, tt.report)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
