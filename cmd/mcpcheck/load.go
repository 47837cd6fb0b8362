package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/load"
)

func newLoadCommand() *cobra.Command {
	f := config.Flags{FileKeys: config.File{Jobs: 1, Budget: time.Hour}}
	var o load.Options
	var mix, remote string
	var paths load.Paths
	cmd := &cobra.Command{
		Use:   "load [flags] [--url URL] [-- COMMAND [ARG…]]",
		Short: "Load a server, and see whether it is still right",
		Long: `Send many requests at a time, measure how long they take, and hold each response
against what the quiet server answered.

  mcpcheck load --url http://127.0.0.1:3001/mcp
  mcpcheck load --url http://127.0.0.1:{port}/mcp -- ./my-server --port {port}
  mcpcheck load --clients 100 --duration 30s --url http://127.0.0.1:3001/mcp
  mcpcheck load --rate 200 --p99 250ms --errors 0.01 --url http://127.0.0.1:3001/mcp
  mcpcheck load --mix tools/call=5,tools/list=1 -- node dist/index.js
  mcpcheck load --scale --clients 64 --html load.html --url http://127.0.0.1:3001/mcp

First one session asks for everything once: the lists, the tools that may be called
(--calls, as in run), resources, and prompts without arguments. Clients send the same
requests then, each in a session of its own; over stdio they share one process, or
--processes N. Without --rate, a client sends its next request when the last one is
answered. With --rate, requests are due at their times, and latency counts from then,
so that a slow server cannot slow down the load. With --scale there is a load by 1
client, then by 2, 4, 8 … up to --clients. The knee is the number of clients after
which the next step adds less than a quarter of the throughput that it would add if
throughput grew with the clients. Of a server on this machine, that includes what
mcpcheck takes of it.

The load fails where a request is not answered, a response has another id, is not
valid by the schema, is of another kind than the quiet one, or has an argument of
another client (over HTTP, all clients use the same ids at the same time); where a
client gets no answer after it has cancelled a call (--cancel); where, over HTTP, a
check of run --quick fails after the load, twice, and did not before; and where a
budget is not met (--p99, --errors, --throughput). If a tool is called that is not
declared read-only, results of calls, reads and prompts may be of any kind, or errors:
the tools may have changed them. Budgets of methods, and all settings, can be in
mcpcheck.yaml, under load. mcpcheck diff compares two loads.

What the process used, and over HTTP what memory it still has when all sessions have
ended, is shown on Linux where mcpcheck has started it, and fails nothing. The load
stops at once on Ctrl-C, when a process or a stream of HTTP+SSE ends, and when the
server answers 429 or 503 with Retry-After, which is not a failure: the exit code is
3 then.`,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.Mix, err = load.ParseMix(mix); err != nil {
				return exit.Usagef("--mix: %w", err)
			}
			return load.Command(cmd, f.WithCommandLine(cmd, args), o, remote, paths)
		},
	}
	f.AddTarget(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.ConfigFile, "config", "", "configuration `FILE` (default mcpcheck.yaml, if it exists)")
	f.AddKeys(cmd, "seed")
	flags.IntVar(&o.Clients, "clients", 10, "how many (`N`) clients send at a time")
	flags.BoolVar(&o.Scale, "scale", false,
		"load by 1, 2, 4, 8 … clients first, and tell from how many on it stagnates")
	flags.IntVar(&o.Processes, "processes", 1, "how many (`N`) processes the clients share, over stdio")
	flags.DurationVar(&o.Duration, "duration", 10*time.Second, "`TIME` during which requests are counted")
	flags.DurationVar(&o.Warmup, "warmup", time.Second, "`TIME` during which requests are sent before that")
	flags.DurationVar(&o.Ramp, "ramp", 0, "`TIME` within which the clients begin, one after the other")
	flags.StringVar(&mix, "mix", "",
		"`WEIGHTS` of the methods, such as tools/call=5,tools/list=1; other methods are not sent")
	flags.Float64Var(&o.Cancel, "cancel", 0.01,
		"`SHARE` of requests after which a client cancels a call of a tool, from 0 to 1")
	flags.DurationVar(&o.Budgets.P99, "p99", 0, "fail if the 99th percentile of all requests is over this `TIME`")
	flags.Float64Var(&o.Budgets.Errors, "errors", 0,
		"fail if more than this `SHARE` of the requests has no response, from 0 to 1")
	flags.Float64Var(&o.Budgets.Throughput, "throughput", 0, "fail if fewer than `N` requests a second are answered")
	flags.Lookup("throughput").Value = config.PerSecond[float64]{Number: &o.Budgets.Throughput}
	flags.StringVar(&remote, "allow-remote", "", "`HOST` of the URL, if it is not this machine")
	flags.BoolVar(&o.IgnoreRefusals, "ignore-refusals", false,
		"go on after 429 or 503 with Retry-After, as after other errors")
	paths.Add(flags)
	flags.BoolVar(&f.NoColor, "no-color", false, "disable colour (NO_COLOR works too; FORCE_COLOR enables it in pipes)")
	return cmd
}
