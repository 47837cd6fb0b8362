package main

import (
	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/hosts"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/runner"
)

func newBaselineCommand() *cobra.Command {
	var f config.Flags
	cmd := &cobra.Command{
		Use:   "baseline [flags] [--url URL] [-- COMMAND [ARG…]]",
		Short: "Record today's failures as a baseline",
		Long: `Test a server as run does, and write what blocks to a file of known failures, the
baseline. With mcpcheck run --baseline FILE these failures no longer block and are
shown as known; every other failure blocks as before. In the directory of
mcpcheck.yaml, mcpcheck-baseline.yaml is found without the flag.

  mcpcheck baseline -- node dist/index.js
  mcpcheck run --baseline mcpcheck-baseline.yaml -- node dist/index.js

A new entry has a reason that begins with TODO: replace it with why the failure is
accepted. The reason of a known deviation of the server's SDK, which is in the
baseline only with --sdk gate or --profile strict, names the SDK and its issue.
Entries that still fail keep their reason and comments. An entry that no longer
fails, which would make mcpcheck run fail, is removed. Entries that the run did not
test are kept.

Keys of an entry: check (an id, or a glob such as 'tools/*') and reason; to narrow
it, revision, transport (stdio, http, sse), subject (a tool, resource, …), expires
(the last day, as 2026-12-31), flaky (true: it may pass).`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.Hosts.IsListRequest(cmd, args) {
				return hosts.WriteList(f.Hosts, cmd.OutOrStdout())
			}
			return runner.UpdateBaseline(cmd, f.WithCommandLine(cmd, args))
		},
	}
	f.AddChecks(cmd)
	cmd.Flags().StringVar(&f.FileKeys.Baseline, "baseline", "",
		"`FILE` to write or update (default "+config.DefaultBaseline+")")
	return cmd
}
