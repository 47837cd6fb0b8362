package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/harness"
)

func newJudge() *cobra.Command {
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
				return usage("judge wants traces; write them with mcpcheck record or run --trace FILE")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, files []string) error {
			f.given = cmd.Flags().Changed
			return judgeTraces(cmd, files, f)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.keys.Profile, "profile", "release", "`PROFILE` that decides what blocks, as in run")
	f.addSDK(flags)
	flags.StringSliceVar(&f.keys.Only, "only", nil,
		"run only these `CHECKS`: ids, globs ('tools/*'), areas, levels (must)")
	flags.StringSliceVar(&f.skip, "skip", nil, "skip these `CHECKS`")
	f.report.add(flags)
	f.addConsole(flags)
	return cmd
}

// judgeTraces judges the sessions in files.
func judgeTraces(cmd *cobra.Command, files []string, f runFlags) error {
	profile, err := harness.ParseProfile(f.keys.Profile)
	if err != nil {
		return usage("--profile: %w", err)
	}
	if err := knownSDK(f.keys.SDK); err != nil {
		return usage("--sdk: %w", err)
	}
	selector, err := values{config: config{Only: f.keys.Only, Skip: omit(f.skip)}, flags: f}.selection()
	if err != nil {
		return err
	}
	head, sessions, faults, err := replayed(files)
	if err != nil {
		return err
	}
	report := harness.Report{
		SchemaVersion: 1, Tool: harness.Tool{Name: "mcpcheck", Version: toolVersion()}, Target: head.Target,
		Profile: profile, Started: head.Opened, Recorded: true,
	}
	by := harness.Agreed(sessions)
	if len(by) == 0 {
		return usage("no session in %s has agreed on a revision that is known; there is nothing to judge by", files[0])
	}
	unasked := 0
	for _, revision := range sortedKeys(by) {
		server := harness.Recorded(head.Target.Transport, by[revision])
		plan := planned(suites.Built(), server, selector)
		results, left := harness.JudgeRecorded(server, plan, by[revision], harness.Options{
			Profile: profile, SDKs: suites.SDKs(), GateSDKs: f.keys.SDK == gateSDK,
		})
		unasked += left
		report.Server = server.Info()
		report.Revisions = append(report.Revisions, harness.RevisionInfo{
			Requested: revision, Revision: revision, Set: currentSet(revision).Info(),
		})
		report.Coverage = append(report.Coverage,
			harness.Cover(suites.All(), suites.Checks(), server, selector, results))
		report.Results = append(report.Results, results...)
	}
	report.Counts = harness.Count(report.Results)
	concludeMerged(&report, nil)
	told, err := withReports(valuesOf(f, report), targetOf(report), cmd.OutOrStdout(), cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	for _, fault := range faults {
		fmt.Fprintln(told.stderr, "mcpcheck: not judged from there on:", reporters.Line(fault))
	}
	fmt.Fprintf(told.stderr, "mcpcheck: %d of %d checks need a live server and were skipped\n",
		unasked, unasked+len(report.Results))
	told.again(report)
	return told.done(report)
}

// replayed are the sessions in files, and where their clients broke the protocol. All have to be of one transport.
func replayed(files []string) (first traceHead, sessions []*driver.Session, faults []string, err error) {
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			return first, nil, nil, usage("cannot read the trace: %w", err)
		}
		records, err := readTrace(file)
		file.Close()
		if err != nil {
			return first, nil, nil, usage("%s is not a trace of mcpcheck: %w", name, err)
		}
		for _, r := range records {
			if first.Trace == 0 {
				first = r.head
			}
			if r.head.Target.Transport != first.Target.Transport {
				return first, nil, nil, usage("%s is over %s, and what came before over %s; judge them one by one",
					name, r.head.Target.Transport, first.Target.Transport)
			}
			s, fault := driver.Replay(r.head.Opened, r.head.Target.Transport, r.said, !r.head.Lost)
			if sessions = append(sessions, s); fault != "" {
				faults = append(faults, fmt.Sprintf("%s, session %s, %s", name, r.head.Session, fault))
			}
		}
	}
	return first, sessions, faults, nil
}
