package runner

import (
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/build"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/explore"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/trace"
	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check/engine"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// JudgeTraces judges the sessions in trace files.
func JudgeTraces(cmd *cobra.Command, paths []string, f config.Flags) error {
	if err := (config.Options{File: f.FileKeys, Flags: f}).ValidateKeys(); err != nil {
		return err
	}
	profile := catalogue.Profile(f.FileKeys.Profile)
	selector, err := config.Options{File: config.File{Only: f.FileKeys.Only, Skip: config.NewSkipEntries(f.Skip)},
		Flags: f}.NewSelector()
	if err != nil {
		return err
	}
	head, sessions, faults, err := replayTraces(paths)
	if err != nil {
		return err
	}
	rep := report.Report{
		SchemaVersion: 1, Program: catalogue.ProgramInfo{Name: "mcpcheck", Version: build.Version()},
		Target:  head.Target,
		Profile: profile, Started: head.Opened, Recorded: true,
	}
	by := engine.GroupByRevision(sessions)
	if len(by) == 0 {
		return exit.Usagef("no session in %s has agreed on a revision that is known; there is nothing to judge by",
			paths[0])
	}
	unasked := 0
	for _, revision := range slices.Sorted(maps.Keys(by)) {
		server := engine.RecordedServer(head.Target.Transport, by[revision])
		plan := config.PlannedCases(suites.Implemented(), server, selector)
		o := engine.Options{Profile: profile, SDKs: suites.SDKs(), GateSDKs: f.FileKeys.SDK == config.GateSDK}
		o.OtherRecorded = slices.DeleteFunc(slices.Clone(sessions), func(s *driver.Session) bool {
			return slices.Contains(by[revision], s)
		})
		results, left := engine.JudgeRecorded(server, plan, by[revision], o)
		for _, r := range explore.JudgeOwned(server, plan, by[revision], results, o) {
			if i := slices.IndexFunc(results, func(x report.Result) bool { return x.ID == r.ID }); i >= 0 {
				results[i] = r
			} else {
				results = append(results, r)
				left--
			}
		}
		sortByPlan(plan, results)
		unasked += left
		rep.Server = server.Info()
		rep.Revisions = append(rep.Revisions, report.RevisionInfo{
			Requested: revision, Revision: revision, Set: config.CurrentSet(revision).Info(),
		})
		rep.Coverage = append(rep.Coverage,
			newCoverage(suites.All(), suites.Checks(), server, selector, results))
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

// replayTraces returns the sessions in trace files, and what their clients did wrong. All sessions must have one
// transport.
func replayTraces(paths []string) (first trace.Header, sessions []*driver.Session, faults []string, err error) {
	for _, name := range paths {
		file, err := os.Open(name)
		if err != nil {
			return first, nil, nil, exit.Usagef("cannot read the trace: %w", err)
		}
		records, err := trace.Read(file)
		file.Close()
		if err != nil {
			return first, nil, nil, exit.Usagef("%s is not a trace of mcpcheck: %w", name, err)
		}
		for _, r := range records {
			if first.Trace == 0 {
				first = r.Header
			}
			if r.Header.Target.Transport != first.Target.Transport {
				return first, nil, nil, exit.Usagef(
					"%s is over %s, and what came before over %s; judge them one by one",
					name, r.Header.Target.Transport, first.Target.Transport)
			}
			s, fault := driver.Replay(r.Header.Opened, r.Header.Target.Transport, r.Lines, !r.Header.Truncated)
			if sessions = append(sessions, s); fault != "" {
				faults = append(faults, fmt.Sprintf("%s, session %s, %s", name, r.Header.Session, fault))
			}
		}
	}
	return first, sessions, faults, nil
}
