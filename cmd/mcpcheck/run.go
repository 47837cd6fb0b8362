package main

import (
	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/hosts"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/runner"
)

func newRunCommand() *cobra.Command {
	var f config.Flags
	cmd := &cobra.Command{
		Use:   "run [flags] [--url URL] [-- COMMAND [ARG…]]",
		Short: "Test a server",
		Long: `Start a server, test whether it conforms to the protocol, and stop it. With --url
the server is tested over HTTP: Streamable HTTP or HTTP+SSE, whichever it supports.

  mcpcheck run -- node dist/index.js
  mcpcheck run --profile spec --junit report.xml -- ./my-server --stdio
  mcpcheck run --only 'tools/*' -v -- npx -y @modelcontextprotocol/server-everything
  mcpcheck run --url https://example.com/mcp --bearer-env TOKEN
  mcpcheck run --url http://127.0.0.1:{port}/mcp -- ./my-server --port {port}
  mcpcheck run --server NAME

With --url and a command, mcpcheck starts the command, waits until the URL accepts
connections, and stops it at the end; {port} in both, and in --env, stands for a
free port.

With --shard I/N only the Ith of N parts of the checks is run, always the same one,
so that machines share the work; mcpcheck merge merges their JSON reports.

  mcpcheck run --shard 2/4 --json shard2.json -- node dist/index.js

With --last-failed only what failed in the last run of the server is run again; with
--watch everything is run again whenever the server's files change.

  mcpcheck run --last-failed -- node dist/index.js
  mcpcheck run --watch -- node dist/index.js

A launcher such as npx, npm exec, pnpm dlx, bunx, uvx, pipx run or docker run is
started once before everything else, so that it can fetch what it needs. Where it is
certain which Node program it runs, all further processes run that program directly,
with the same arguments and environment; one line on stderr says so. Not with --quick,
which starts one process.

Which tools are called depends on --calls and on the annotations of the tools:

  --calls   with valid arguments         with arguments that the schema forbids
  safe      readOnlyHint: true           readOnlyHint: true, destructiveHint: false
  invalid   readOnlyHint: true           all but destructiveHint: true
  all       all                          all
  none      none                         none

With safe and invalid, a tool with example arguments in mcpcheck.yaml is also called
with these, and with invalid ones unless it has destructiveHint: true. Calls of tools
that do not exist are made unless it is none. --plan prints which tools would be
called.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.Hosts.IsListRequest(cmd, args) {
				return hosts.WriteList(f.Hosts, cmd.OutOrStdout())
			}
			return runner.Run(cmd, f.WithCommandLine(cmd, args))
		},
	}
	f.AddAll(cmd)
	return cmd
}
