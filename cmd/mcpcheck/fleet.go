package main

import (
	"runtime"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/cli"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/fleet"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/runner"
)

func newFleetCommand() *cobra.Command {
	var f fleet.Flags
	cmd := &cobra.Command{
		Use:   "fleet [flags] FILE…",
		Short: "Test many servers in parallel",
		Long: `Test the servers of a list, each as mcpcheck run does, in a separate process with its
own limits, and write a page of servers by areas: index.html and index.md in the
directory of --out, and below servers/ a directory for each server with its JSON
report and its page.

  mcpcheck fleet .mcp.json
  mcpcheck fleet --profile spec --out nightly fleet.yaml
  mcpcheck fleet --parallel 4 registry/          each server.json in this directory
  mcpcheck fleet --shard 2/8 --out shard2 fleet.yaml
  mcpcheck fleet --page --from shard1 --from shard2 --out all fleet.yaml

FILE is the file of a host (.mcp.json and the like), a server.json of a registry, a
list of those, a directory of them, or a YAML list of servers by name with the keys
of mcpcheck.yaml:

  servers:
    weather: {command: [node, dist/index.js], profile: spec}
    search: {url: https://example.com/mcp, bearer-env: TOKEN}

Reports have the messages of results that fail or block; with --wire, of all results.

After a crash or Ctrl-C the same command tests what is left; once all servers were
tested, it tests all of them again. --resume keeps what was tested in any case, and
--fresh keeps nothing. A server whose entry, flags or version of mcpcheck changed,
whose configuration is invalid (exit code 2), or on which mcpcheck failed, is always
tested again. A server that cannot be started is listed as such.

With --shard only every Nth server is tested, and no page is written; --page writes
it from the results so far. Exit codes: 0 all servers conform, 1 one does not, 2 wrong
usage or configuration, 3 one could not be tested or was not tested yet, 4 mcpcheck
failed on one, 130 interrupted.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return exit.Usagef("fleet needs a list of servers: a host's file, server.json files or a YAML list")
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.OutDir, "out", "mcpcheck-fleet", "`DIR` for the page and the reports, created if it is missing")
	flags.IntVar(&f.Parallel, "parallel", runtime.NumCPU(), "test `N` servers at a time")
	flags.StringVar(&f.Shard, "shard", "", "test only part `I/N` of the servers; auto or auto/N as in run")
	flags.StringArrayVar(&f.From, "from", nil, "take over the results of another shard, in the directory `DIR`")
	flags.BoolVar(&f.PageOnly, "page", false, "test nothing, write the page from the results so far")
	flags.BoolVar(&f.Resume, "resume", false, "test only what was not tested yet, even if the last run was completed")
	flags.BoolVar(&f.Fresh, "fresh", false, "test all servers again, even if the last run was interrupted")
	cli.MarkExclusive(flags, "resume", "fresh")
	judging := &cobra.Command{}
	f.Run.AddAll(judging)
	config.AddWireFlag(judging.Flags(), &f.Run.KeepAllWire)
	for _, name := range fleet.MemberFlags {
		flags.AddFlag(judging.Flags().Lookup(name))
	}
	flags.BoolVarP(&f.Run.Quiet, "quiet", "q", false, "show only servers that do not conform, and the verdict")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		f.Run = f.Run.WithCommandLine(judging, nil)
		f.Run.IsGiven = cmd.Flags().Changed
		return fleet.Run(cmd, args, f)
	}
	return cmd
}

func newFleetMemberCommand() *cobra.Command {
	var f config.Flags
	cmd := &cobra.Command{
		Use:    fleet.MemberCommand,
		Short:  "Judge one server of a fleet",
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.ParentPipe = cmd.InOrStdin()
			return runner.Run(cmd, f.WithCommandLine(cmd, args))
		},
	}
	f.AddAll(cmd)
	config.AddWireFlag(cmd.Flags(), &f.KeepAllWire)
	return cmd
}
