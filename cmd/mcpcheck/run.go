package main

import (
	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/suites/report"
)

func newRunCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [flags] [--url URL] [-- COMMAND [ARG…]]",
		Short: "Test a server",
		Long: `Start a server, test whether it conforms to the protocol, and stop it. With --url
the server is reached over HTTP: Streamable HTTP, or HTTP+SSE if that is what the
URL speaks.

  mcpcheck run -- node dist/index.js
  mcpcheck run --profile spec --junit report.xml -- ./my-server --stdio
  mcpcheck run --only 'tools/*' -v -- npx -y @modelcontextprotocol/server-everything
  mcpcheck run --url https://example.com/mcp --bearer-env TOKEN
  mcpcheck run --url http://127.0.0.1:{port}/mcp -- ./my-server --port {port}
  mcpcheck run --server NAME

With --url and a command, mcpcheck starts the command, waits until the URL accepts
connections, and stops it in the end; {port} in both, and in --env, stands for a
free port.

With --shard I/N only the Ith of N parts of the checks is run, always the same one,
so that machines share the work; mcpcheck merge merges their JSON reports.

  mcpcheck run --shard 2/4 --json shard2.json -- node dist/index.js

With --last-failed only what failed in the last run of the server is run again; with
--watch everything is, whenever the server's files change.

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
			if f.hosts.isListRequest(cmd, args) {
				return f.hosts.writeList(cmd.OutOrStdout())
			}
			return runServer(cmd, f.withCommandLine(cmd, args))
		},
	}
	f.addFlags(cmd)
	return cmd
}

// runServer judges a server and tells what came of it.
func runServer(cmd *cobra.Command, f runFlags) error {
	if f.watch {
		return watchServer(cmd, f)
	}
	j, err := prepare(cmd, f, nil)
	if err != nil {
		return err
	}
	_, err = j.execute(cmd)
	return err
}

// prepare makes a judgement, in steps that baseline and init share: settle what is asked for (values.go), aim at the
// server (target.go); to judge it (judge.go) and to tell (audience.go) is left. All that is wrong with its use is found
// before anything is started. alter may change what is asked for; nil leaves it.
func prepare(cmd *cobra.Command, f runFlags, alter func(*options) error) (*serverRun, error) {
	file, err := f.readConfiguration()
	if err != nil {
		return nil, err
	}
	if f.parentPipe != nil {
		file.Reports = reportFiles{} // those of a fleet's member are the fleet's
	}
	v, err := resolveOptions(f, file)
	if err != nil {
		return nil, err
	}
	t, err := resolveTarget(v, cmd.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	if alter != nil {
		err = alter(&v)
	} else {
		err = restrictToLastFailed(&v, t, cmd.ErrOrStderr())
	}
	if err != nil {
		return nil, err
	}
	t.parentPipe = f.parentPipe
	t.notifySignals() // from the first file on
	var known baseline
	if v.Baseline != "" {
		if known, err = readBaseline(v.Baseline); err != nil {
			return nil, err
		}
	}
	told, err := newSinks(v, t, cmd.OutOrStdout(), cmd.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	return newServerRun(v, t, known, told), nil
}

// execute carries the judgement out and tells what came of it, or only plans it.
func (j *serverRun) execute(cmd *cobra.Command) (report.Report, error) {
	if j.flags.plan {
		return j.report, j.writePlan(cmd.OutOrStdout())
	}
	if err := j.addTraceReporter(); err != nil {
		return j.report, err
	}
	rep, err := j.run()
	if err != nil {
		return rep, err
	}
	if j.shard == nil && j.flags.parentPipe == nil {
		j.target.saveLastRun(rep)
	}
	if j.beforeReport != nil {
		j.beforeReport(rep)
	}
	return rep, j.target.flushReports(cmd.ErrOrStderr(), func() error { return j.sinks.writeReport(rep) })
}
