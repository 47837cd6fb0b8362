package main

import (
	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/runner"
)

func newJudgeCommand() *cobra.Command {
	var f config.Flags
	cmd := &cobra.Command{
		Use:   "judge FILE…",
		Short: "Test recorded sessions, offline",
		Long: `Test the server of recorded sessions, offline, by their messages: traces that
mcpcheck record or run --trace has written. Nothing is started.

  mcpcheck record --out session.jsonl -- node dist/index.js     instead of the server
  mcpcheck judge session.jsonl

Judged are all messages and, if the client has read the lists that the server
declares, what it has listed, called, got and read there; of a run over stdio, also
its handshakes and invalid lines. Checks that need a live server are skipped.
Messages after the first one in which the client violates the protocol are not
tested. Exit codes are those of run.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return exit.Usagef("judge needs traces; write them with mcpcheck record or run --trace FILE")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, paths []string) error {
			f.IsGiven = cmd.Flags().Changed
			return runner.JudgeTraces(cmd, paths, f)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.FileKeys.Profile, "profile", "release", "`PROFILE` that decides what blocks, as in run")
	f.AddKeys(cmd, "sdk", "only", "skip")
	f.Report.Add(flags)
	f.AddConsole(flags)
	return cmd
}
