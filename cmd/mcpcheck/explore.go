package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/runner"
)

func newExploreCommand() *cobra.Command {
	f := config.Flags{}
	var o runner.Exploration
	var script string
	cmd := &cobra.Command{
		Use:   "explore [flags] [--url URL] [-- COMMAND [ARG…]]",
		Short: "Try legal sequences of messages that nobody thought of",
		Long: `Send sequences of legal messages, drawn by lot, and judge what the server answers
as mcpcheck judge does.

  mcpcheck explore -- node dist/index.js
  mcpcheck explore --budget 5m --seed 7 --url http://127.0.0.1:3001/mcp
  mcpcheck explore --replay explore-jsonrpc-result-is-object.json -- node dist/index.js

A sequence is what a client might say: lists with their pages, calls of tools that
may be called (--calls, as in run) with arguments that their schemas allow, and with
values that the server has returned before, resources, prompts, completions, tasks,
subscriptions, cancellations, input that results require; in one session or several;
with handshakes, ids, params, _meta and members of all legal forms.

What fails has to fail again, twice, in new sessions. Then it is shrunk to the fewest
and plainest messages that still fail the same requirement, and written to a file
that --replay sends again. Exit codes are those of run.`,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.Sequences < 1 {
				return exit.Usagef("--sequences %d is less than one", o.Sequences)
			}
			if script != "" {
				if o.Script, err = runner.ReadScript(script); err != nil {
					return err
				}
			}
			return runner.Explore(cmd, f.WithCommandLine(cmd, args), o)
		},
	}
	f.AddTarget(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.ConfigFile, "config", "", "configuration `FILE` (default mcpcheck.yaml, if it exists)")
	flags.BoolVar(&f.Demo, "demo", false, "explore the built-in reference server")
	f.AddKeys(cmd, "only", "skip", "sdk", "baseline", "seed")
	flags.IntVar(&o.Sequences, "sequences", 1000, "try at most `N` sequences")
	flags.DurationVar(&f.FileKeys.Budget, "budget", time.Minute, "begin no sequence after this `DURATION`")
	flags.StringVar(&script, "replay", "", "send the sequence in `FILE` again")
	flags.StringVar(&f.ScriptDir, "dir", ".", "`DIRECTORY` for the sequences that fail")
	f.Report.Add(flags)
	f.AddConsole(flags)
	return cmd
}
