package runner

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/baseline"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/redact"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/target"
	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/reporters/files"
	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// MergeReports merges the reports in files and reports the result as a run does.
func MergeReports(cmd *cobra.Command, paths []string, known string, f config.Flags) error {
	reports, err := ReadReports(paths)
	if err != nil {
		return err
	}
	for i := range reports {
		clearNotTested(&reports[i].Report)
	}
	merged, duplicates, err := report.MergeReports(reports, suites.All())
	if err != nil {
		return exit.Usagef("%w", err)
	}
	if err := addMergedStaleEntries(&merged, known); err != nil {
		return err
	}
	decideMergedExitCode(&merged, reports)
	told, err := newSinks(optionsFromReport(f, merged), targetFromReport(merged), cmd.OutOrStdout(), cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	for _, twice := range duplicates {
		fmt.Fprintln(cmd.ErrOrStderr(), "mcpcheck:", reporters.PrintableLine(twice))
	}
	told.writeMergedResults(merged)
	return told.writeReport(merged)
}

// optionsFromReport returns the options of the run that a report is of, with the output that the flags now ask for.
func optionsFromReport(f config.Flags, r report.Report) config.Options {
	v := config.Options{File: config.File{Protocol: config.ProtocolAuto}, Flags: f}
	v.ReportFiles, v.ReportDir = f.Report.MergeWith(f.IsGiven, config.ReportFiles{})
	v.Flags.IsMerged = true
	v.Flags.RepeatedArgs = nonDefaultFlags("profile", string(r.Profile), string(catalogue.Release))
	if r.Baseline != nil {
		v.Flags.RepeatedArgs = append(v.Flags.RepeatedArgs, "--baseline", r.Baseline.File)
	}
	o := r.Options
	if o == nil {
		return v
	}
	v.Protocol, v.File.Name = o.Protocol, o.Configuration
	asked := o.Protocol
	if !config.IsProtocol(asked) {
		asked = config.ProtocolAll // the runs asked for one revision each
	}
	v.Flags.SelectionArgs = nonDefaultFlags("only", strings.Join(o.Only, ","), "", "protocol", asked,
		config.ProtocolAuto)
	skipped := text.Map(o.Skip, func(o report.Exclusion) string { return o.Check })
	v.Flags.RepeatedArgs = append(v.Flags.RepeatedArgs, nonDefaultFlags(
		"sdk", o.SDK, config.ShowSDK, "calls", string(o.Calls), string(report.CallsSafe), "seed", fmt.Sprint(o.Seed),
		"0",
		"skip", strings.Join(skipped, ","), "", "tentative", o.Tentative, config.ShowTentative)...)
	return v
}

// nonDefaultFlags returns those flags that do not have their default value. The arguments are triples of name, value
// and default.
func nonDefaultFlags(triples ...string) (words []string) {
	for t := range slices.Chunk(triples, 3) {
		if t[1] != "" && t[1] != t[2] {
			words = append(words, "--"+t[0], t[1])
		}
	}
	return words
}

// targetFromReport returns the target of a report, as far as the report describes it.
func targetFromReport(r report.Report) *target.Target {
	var none redact.Secrets
	t := &target.Target{Redactor: none.Redactor(), Info: r.Target}
	t.Command, t.Dir, t.URL = r.Target.Command, r.Target.Dir, r.Target.URL
	return t
}

// writeMergedResults writes the results of merged runs.
func (a *Sinks) writeMergedResults(r report.Report) {
	whole := r.Revisions
	for i, judged := range whole {
		r.Revisions = whole[:i+1]
		a.console.Begin(r)
		var results []report.Result
		for _, x := range r.Results {
			if x.Revision == judged.Revision {
				results = append(results, x)
			}
		}
		a.console.Areas(judged.Revision, areaCounts(results, report.Result.Area))
		for _, x := range results {
			a.writeResult(x)
		}
	}
}

// clearNotTested removes what a report says about its own results being too few; that is decided again for all results.
func clearNotTested(r *report.Report) {
	if r.Problem != "" && r.Problem == notTestedReason(r.Results) {
		r.Problem = ""
	}
}

// addMergedStaleEntries adds to a merged report the entries of its baseline that no longer apply.
func addMergedStaleEntries(r *report.Report, file string) error {
	if r.Baseline == nil || r.Problem != "" || len(r.Results) == 0 || r.Options == nil || r.Options.Set != nil {
		return nil
	}
	known, err := baseline.Read(cmp.Or(file, r.Baseline.File))
	if err != nil {
		return err
	}
	skipped := text.Map(r.Options.Skip, func(o report.Exclusion) string { return o.Check })
	selector, err := config.SelectChecks(r.Options.Only, skipped)
	if err != nil {
		return exit.Usagef("%w", err)
	}
	r.Baseline.Stale = known.Entries.Stale(r, known.Today, suites.All(), selector)
	r.Counts.Stale = len(r.Baseline.Stale)
	return nil
}

// decideMergedExitCode decides the exit code of a merged report in the way serverRun.decideExitCode does that of a run.
func decideMergedExitCode(r *report.Report, reports []report.NamedReport) {
	r.ExitCode = r.Counts.ExitCode()
	for _, part := range reports {
		untested := part.ExitCode == report.ExitUntestable && part.Problem != "" && part.Counts.Gating > 0
		if untested || part.ExitCode > report.ExitUntestable {
			r.ExitCode = max(r.ExitCode, part.ExitCode)
		}
	}
	switch {
	case r.Problem == "" && len(r.Results) == 0:
		r.Problem, r.ExitCode = nothingAppliesText(""), report.ExitUntestable
	case r.Problem != "" && r.ExitCode == report.ExitConforms:
		r.ExitCode = report.ExitUntestable
	case r.ExitCode == report.ExitConforms:
		setNotTested(r)
	}
}

// ReadReports reads JSON reports.
func ReadReports(paths []string) (reports []report.NamedReport, err error) {
	for _, file := range paths {
		content, err := files.ReadLimited(file, MaxReportBytes)
		if err != nil {
			return nil, exit.Usagef("cannot read %s: %w", file, files.WithoutPath(err))
		}
		if err := schemas.ValidateReport(content); err != nil {
			return nil, exit.Usagef("%s is not a JSON report of mcpcheck: %w", file, err)
		}
		var r report.Report
		if err := json.Unmarshal(content, &r); err != nil {
			return nil, exit.Usagef("%s is not a JSON report of mcpcheck: %w", file, err)
		}
		reports = append(reports, report.NamedReport{Name: file, Report: r})
	}
	return reports, nil
}

// MaxReportBytes is the size limit of a JSON report or a page; the largest known ones have a tenth of it.
const MaxReportBytes = 64 << 20
