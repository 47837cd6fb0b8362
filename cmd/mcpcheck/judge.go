package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

func newJudgeCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "judge FILE…",
		Short: "Test recorded sessions, offline",
		Long: `Test the server of recorded sessions, offline, by their messages: traces that
mcpcheck record or run --trace has written. Nothing is started.

  mcpcheck record --out session.jsonl -- node dist/index.js     instead of the server
  mcpcheck judge session.jsonl

Checks that need a live server are skipped. What follows after the client broke the
protocol is not tested. Exit codes are those of run.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageErrorf("judge wants traces; write them with mcpcheck record or run --trace FILE")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, files []string) error {
			f.isGiven = cmd.Flags().Changed
			return judgeTraces(cmd, files, f)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.fileKeys.Profile, "profile", "release", "`PROFILE` that decides what blocks, as in run")
	f.addSDKFlag(flags)
	flags.StringSliceVar(&f.fileKeys.Only, "only", nil,
		"run only these `CHECKS`: ids, globs ('tools/*'), areas, levels (must)")
	flags.StringSliceVar(&f.skip, "skip", nil, "skip these `CHECKS`")
	f.report.addFlags(flags)
	f.addConsoleFlags(flags)
	return cmd
}

// judgeTraces judges the sessions in files.
func judgeTraces(cmd *cobra.Command, files []string, f runFlags) error {
	profile, err := catalogue.ParseProfile(f.fileKeys.Profile)
	if err != nil {
		return usageErrorf("--profile: %w", err)
	}
	if err := validateSDK(f.fileKeys.SDK); err != nil {
		return usageErrorf("--sdk: %w", err)
	}
	selector, err := options{config: config{Only: f.fileKeys.Only, Skip: newSkipEntries(f.skip)},
		flags: f}.newSelector()
	if err != nil {
		return err
	}
	head, sessions, faults, err := replayTraces(files)
	if err != nil {
		return err
	}
	rep := report.Report{
		SchemaVersion: 1, Program: catalogue.ProgramInfo{Name: "mcpcheck", Version: toolVersion()}, Target: head.Target,
		Profile: profile, Started: head.Opened, Recorded: true,
	}
	by := check.GroupByRevision(sessions)
	if len(by) == 0 {
		return usageErrorf("no session in %s has agreed on a revision that is known; there is nothing to judge by",
			files[0])
	}
	unasked := 0
	for _, revision := range sortedKeys(by) {
		server := check.RecordedServer(head.Target.Transport, by[revision])
		plan := plannedCases(suites.Implemented(), server, selector)
		results, left := check.JudgeRecorded(server, plan, by[revision], check.Options{
			Profile: profile, SDKs: suites.SDKs(), GateSDKs: f.fileKeys.SDK == gateSDK,
		})
		unasked += left
		rep.Server = server.Info()
		rep.Revisions = append(rep.Revisions, report.RevisionInfo{
			Requested: revision, Revision: revision, Set: currentSet(revision).Info(),
		})
		rep.Coverage = append(rep.Coverage,
			check.NewCoverage(suites.All(), suites.Checks(), server, selector, results))
		rep.Results = append(rep.Results, results...)
	}
	rep.Counts = report.Count(rep.Results)
	decideMergedExitCode(&rep, nil)
	told, err := newSinks(optionsFromReport(f, rep), targetFromReport(rep), cmd.OutOrStdout(), cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	for _, fault := range faults {
		fmt.Fprintln(told.stderr, "mcpcheck: not judged from there on:", reporters.PrintableLine(fault))
	}
	fmt.Fprintf(told.stderr, "mcpcheck: %d of %d checks need a live server and were skipped\n",
		unasked, unasked+len(rep.Results))
	told.writeMergedResults(rep)
	return told.writeReport(rep)
}

// replayTraces are the sessions in files, and where their clients broke the protocol. All have to be of one transport.
func replayTraces(files []string) (first traceHeader, sessions []*driver.Session, faults []string, err error) {
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			return first, nil, nil, usageErrorf("cannot read the trace: %w", err)
		}
		records, err := readTrace(file)
		file.Close()
		if err != nil {
			return first, nil, nil, usageErrorf("%s is not a trace of mcpcheck: %w", name, err)
		}
		for _, r := range records {
			if first.Trace == 0 {
				first = r.header
			}
			if r.header.Target.Transport != first.Target.Transport {
				return first, nil, nil, usageErrorf(
					"%s is over %s, and what came before over %s; judge them one by one",
					name, r.header.Target.Transport, first.Target.Transport)
			}
			s, fault := driver.Replay(r.header.Opened, r.header.Target.Transport, r.lines, !r.header.Truncated)
			if sessions = append(sessions, s); fault != "" {
				faults = append(faults, fmt.Sprintf("%s, session %s, %s", name, r.header.Session, fault))
			}
		}
	}
	return first, sessions, faults, nil
}
