package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

func newMergeCommand() *cobra.Command {
	var f runFlags
	var known string
	cmd := &cobra.Command{
		Use:   "merge FILE…",
		Short: "Merge JSON reports",
		Long: `Merge several JSON reports into one: the shards of a run (run --shard), or runs that
tested a server in one revision each. Prints the merged result and exits as run does;
all shards together make the report of one run, except for times.

  mcpcheck merge --json report.json --junit report.xml shards/*.json

Reports of different servers, options or versions of mcpcheck cannot be merged.
Exits non-zero if a shard is missing and names it. Shards of a fleet are merged by
mcpcheck fleet --page --from DIR.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageErrorf("merge wants JSON reports; write them with run --json FILE")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			f.isGiven = cmd.Flags().Changed
			return mergeReports(cmd, args, known, f)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&known, "baseline", "",
		"`FILE` of known failures that the runs used, if it has another name here")
	f.report.addFlags(flags)
	f.addConsoleFlags(flags)
	return cmd
}

// mergeReports merges the reports in files and tells what comes of it.
func mergeReports(cmd *cobra.Command, files []string, known string, f runFlags) error {
	if err := rejectFleetReports(files); err != nil {
		return err
	}
	reports, err := readReports(files)
	if err != nil {
		return err
	}
	for i := range reports {
		clearNotTested(&reports[i].Report)
	}
	merged, duplicates, err := report.MergeReports(reports, suites.All())
	if err != nil {
		return usageErrorf("%w", err)
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

// rejectFleetReports refuses what a fleet has written, but for reports of one server: others are no parts of a run,
// also where they look as if they were.
func rejectFleetReports(files []string) error {
	server := ""
	for _, file := range files {
		dir := filepath.Dir(file)
		name := filepath.Base(dir)
		beside := isRegularFile(filepath.Join(dir, memberRowFile))
		whole := reporters.IsDir(filepath.Join(file, "servers")) || filepath.Base(file) == memberRowFile
		if whole || beside && server != "" && server != name {
			return usageErrorf("%s is of a fleet, whose shards mcpcheck fleet --page --from DIR puts together", file)
		}
		if beside {
			server = name
		}
	}
	return nil
}

// optionsFromReport are what the run of a report was asked for, and what is asked for now.
func optionsFromReport(f runFlags, r report.Report) options {
	v := options{config: config{Protocol: protocolAuto}, flags: f}
	v.reports, v.reportDir = f.report.mergeWith(f.isGiven, reportFiles{})
	v.flags.isMerged = true
	v.flags.repeatedArgs = nonDefaultFlags("profile", string(r.Profile), string(catalogue.Release))
	if r.Baseline != nil {
		v.flags.repeatedArgs = append(v.flags.repeatedArgs, "--baseline", r.Baseline.File)
	}
	o := r.Options
	if o == nil {
		return v
	}
	v.Protocol, v.config.name = o.Protocol, o.Configuration
	asked := o.Protocol
	if validateProtocol(asked) != nil {
		asked = protocolAll // the runs asked for one each
	}
	v.flags.selectionArgs = nonDefaultFlags("only", strings.Join(o.Only, ","), "", "protocol", asked, protocolAuto)
	skipped := mapStrings(o.Skip, func(o report.Exclusion) string { return o.Check })
	v.flags.repeatedArgs = append(v.flags.repeatedArgs, nonDefaultFlags(
		"sdk", o.SDK, showSDK, "calls", string(o.Calls), string(report.CallsSafe), "seed", fmt.Sprint(o.Seed), "0",
		"skip", strings.Join(skipped, ","), "", "tentative", o.Tentative, showTentative)...)
	return v
}

// nonDefaultFlags are flags that do not have their default value, of triples of a name, its value and the default.
func nonDefaultFlags(triples ...string) (words []string) {
	for t := range slices.Chunk(triples, 3) {
		if t[1] != "" && t[1] != t[2] {
			words = append(words, "--"+t[0], t[1])
		}
	}
	return words
}

// targetFromReport is the target of a report, as far as that shows it.
func targetFromReport(r report.Report) *target {
	var none secrets
	t := &target{redactor: none.redactor(), info: r.Target}
	t.command, t.dir, t.url = r.Target.Command, r.Target.Dir, r.Target.URL
	return t
}

// again tells the results of a run that is over.
func (a *sinks) writeMergedResults(r report.Report) {
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

// clearNotTested takes back what a report says of its results alone: that is said of all results now.
func clearNotTested(r *report.Report) {
	if r.Problem != "" && r.Problem == notTestedReason(r.Results) {
		r.Problem = ""
	}
}

// addMergedStaleEntries adds to a merged report which entries of its baseline do not hold any more.
func addMergedStaleEntries(r *report.Report, file string) error {
	if r.Baseline == nil || r.Problem != "" || len(r.Results) == 0 || r.Options == nil || r.Options.Set != nil {
		return nil
	}
	known, err := readBaseline(cmp.Or(file, r.Baseline.File))
	if err != nil {
		return err
	}
	skipped := mapStrings(r.Options.Skip, func(o report.Exclusion) string { return o.Check })
	selector, err := selectChecks(r.Options.Only, skipped)
	if err != nil {
		return usageErrorf("%w", err)
	}
	r.Baseline.Stale = known.entries.Stale(r, known.today, suites.All(), selector)
	r.Counts.Stale = len(r.Baseline.Stale)
	return nil
}

// decideMergedExitCode decides the exit code of a merged report as judgement.conclude does of a run.
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
