package main

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/fleet"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/runner"
	"github.com/mcpcheck/mcpcheck/reporters/files"
)

func newMergeCommand() *cobra.Command {
	var f config.Flags
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
				return exit.Usagef("merge needs JSON reports; write them with run --json FILE")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := rejectFleetReports(args); err != nil {
				return err
			}
			f.IsGiven = cmd.Flags().Changed
			return runner.MergeReports(cmd, args, known, f)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&known, "baseline", "",
		"`FILE` of known failures that the runs used, if it has another name here")
	f.Report.Add(flags)
	f.AddConsole(flags)
	return cmd
}

// rejectFleetReports returns an error for files that a fleet has written, except for reports of the same server:
// reports of different servers are not parts of one run, even if they look so.
func rejectFleetReports(paths []string) error {
	server := ""
	for _, file := range paths {
		dir := filepath.Dir(file)
		name := filepath.Base(dir)
		hasRow := files.IsRegular(filepath.Join(dir, fleet.RowFile))
		whole := files.IsDir(filepath.Join(file, "servers")) || filepath.Base(file) == fleet.RowFile
		if whole || hasRow && server != "" && server != name {
			return exit.Usagef("%s is of a fleet, whose shards mcpcheck fleet --page --from DIR puts together", file)
		}
		if hasRow {
			server = name
		}
	}
	return nil
}
