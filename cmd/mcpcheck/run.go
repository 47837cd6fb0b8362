package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/discovery"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// runFlags are the flags of run that do not stand for a key of mcpcheck.yaml.
type runFlags struct {
	config  string
	env     []string
	report  reportFlags
	noColor bool
	verbose bool
	quiet   bool
	demo    bool
	remote  remoteFlags
	hosts   hostFlags
	plan    bool
	isolate bool
	skip    []string
}

func newRun() *cobra.Command {
	var f runFlags
	var c config
	cmd := &cobra.Command{
		Use:   "run [flags] [--url URL] [-- COMMAND [ARG…]]",
		Short: "Judge a server",
		Long: `Start a server, judge whether it keeps the protocol, and stop it. With --url the
server is reached over HTTP: Streamable HTTP, or HTTP+SSE if that is what the URL
speaks.

  mcpcheck run -- node dist/index.js
  mcpcheck run --profile spec --junit report.xml -- ./my-server --stdio
  mcpcheck run --only tools/* -v -- npx -y @modelcontextprotocol/server-everything
  mcpcheck run --url https://example.com/mcp --bearer-env TOKEN
  mcpcheck run --url http://127.0.0.1:{port}/mcp -- ./my-server --port {port}
  mcpcheck run --server NAME

With --url and a command, mcpcheck starts the command, waits until the URL takes
connections, and stops it in the end; {port} in both, and in --env, stands for a
free port.

Only tools that say they are read-only are called with valid arguments, unless
mcpcheck.yaml has example arguments for a tool or --calls all is given. --plan
says which tools would be called.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.hosts.lists(cmd, args) {
				return f.hosts.list(cmd.OutOrStdout())
			}
			s, err := settle(cmd, f, c, args)
			if err != nil {
				return err
			}
			return s.run()
		},
	}
	f.add(cmd, &c)
	return cmd
}

// add defines the flags of a run.
func (f *runFlags) add(cmd *cobra.Command, c *config) {
	f.addChecks(cmd, c)
	flags := cmd.Flags()
	flags.BoolVar(&f.plan, "plan", false, "say what would be run and which tools would be called, then stop")
	flags.StringVar(&c.Baseline, "baseline", "", "`FILE` of known fails, which do not gate; mcpcheck baseline writes it")
	f.report.add(flags)
	flags.BoolVar(&f.noColor, "no-color", false, "no colours (also NO_COLOR)")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "show everything, the wire included")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "show only what gates, and the verdict")
}

// addChecks defines the flags that say what is checked, and how.
func (f *runFlags) addChecks(cmd *cobra.Command, c *config) {
	f.addTarget(cmd, c)
	flags := cmd.Flags()
	flags.StringSliceVar(&c.Only, "only", nil, "run only these `CHECKS`: ids, globs (tools/*), areas, levels (must)")
	flags.StringSliceVar(&f.skip, "skip", nil, "leave these `CHECKS` out")
	flags.IntVar(&c.Jobs, "jobs", 8, "checks at a time")
	flags.BoolVar(&f.isolate, "isolate", false, "use a process of its own for every session")
	flags.DurationVar(&c.Budget, "budget", 5*time.Minute, "stop the whole run after this time")
	flags.Int64Var(&c.Seed, "seed", 0, "vary the values that are made from schemas")
	flags.StringVar(&f.config, "config", "", "configuration `FILE`; without it, mcpcheck.yaml if there is one")
	flags.BoolVar(&f.demo, "demo", false, "judge the built-in reference server")
	for _, name := range []string{"only", "skip"} {
		cmd.RegisterFlagCompletionFunc(name, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return checkIDs(), cobra.ShellCompDirectiveNoFileComp
		})
	}
}

// addTarget defines the flags that say what server is meant, and how it is talked to.
func (f *runFlags) addTarget(cmd *cobra.Command, c *config) {
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&c.Protocol, "protocol", "auto", "`REVISION` to ask for; auto asks for the newest and judges by what is negotiated, all repeats the run for each revision that the server accepts")
	flags.StringVar(&c.Profile, "profile", "release", "what counts as a failure: release (MUSTs and the release checklist), spec (MUSTs only), strict (SHOULDs and what could not be tried, too)")
	flags.StringVar(&c.Calls, "calls", "safe", "which tools may be called: safe, none, all")
	f.remote.add(flags)
	f.hosts.add(flags)
	flags.StringArrayVar(&f.env, "env", nil, "`KEY=VALUE` for the server's environment; the value is redacted in reports")
	flags.StringVar(&c.Cwd, "cwd", "", "working `DIR`ectory of the server")
	flags.DurationVar(&c.Timeout, "timeout", 5*time.Second, "wait so long for one answer")
	flags.DurationVar(&c.StartTimeout, "start-timeout", 15*time.Second, "wait so long for the answer to initialize")
	for name, values := range map[string][]string{
		"protocol": append([]string{"auto", "all"}, harness.Handshake...), "profile": {"release", "spec", "strict"}, "calls": {"safe", "none", "all"},
	} {
		cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
}

// run carries the settings out and turns what came of it into an exit code.
func (s *settings) run() error {
	report, err := s.examine()
	if err != nil || s.flags.plan {
		return err
	}
	var failed error
	for _, r := range s.reports {
		failed = errors.Join(failed, r.Done(report))
	}
	if failed != nil {
		return &exit{harness.ExitBroken, failed}
	}
	if report.ExitCode != harness.ExitConforms {
		return &exit{code: report.ExitCode}
	}
	return nil
}

// examine judges the server in every revision that is asked for.
func (s *settings) examine() (report harness.Report, err error) {
	defer driver.Sweep()
	ctx, listen := interruptible()
	bounded, cancel := context.WithTimeoutCause(ctx, s.Budget, fmt.Errorf("the run took longer than %v (--budget)", s.Budget))
	defer cancel()
	if s.target.Site != nil {
		defer s.target.Site.Close(s.target.Limits) // before cancel, which kills
	}

	report = harness.Report{
		SchemaVersion: 1, Tool: harness.Tool{Name: "mcpcheck", Version: toolVersion()}, Target: s.shown,
		Profile: s.profile, Started: time.Now().UTC().Truncate(time.Millisecond),
	}
	go suites.Built() // while the server starts
	begin := time.Now()
	for _, revision := range s.requested {
		listen()
		if err := s.judge(bounded, revision, &report); err != nil {
			return report, err
		}
		if s.flags.plan {
			return report, nil
		}
		if bounded.Err() != nil {
			break
		}
	}
	report.Seconds = time.Since(begin).Round(time.Millisecond).Seconds()
	s.conclude(ctx, bounded, &report)
	return report, nil
}

// sameSignal is how long a second signal counts as the first one: a Ctrl-C arrives
// twice if what started mcpcheck passes it on.
const sameSignal = 500 * time.Millisecond

// interruptible is a context that ends with the first Ctrl-C or SIGTERM; the second
// ends mcpcheck at once. listen is called before each revision: Ginkgo takes the
// signals away when it has run.
func interruptible() (ctx context.Context, listen func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	go func() {
		<-signals
		cancel()
		time.Sleep(sameSignal)
		signal.Stop(signals)
	}()
	return ctx, func() {
		if ctx.Err() == nil {
			signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
		}
	}
}

// conclude decides the exit code.
func (s *settings) conclude(ctx, bounded context.Context, report *harness.Report) {
	report.Counts = harness.Count(report.Results)
	s.findStale(bounded, report)
	report.ExitCode = max(report.ExitCode, report.Counts.ExitCode())
	switch {
	case ctx.Err() != nil:
		report.Problem, report.ExitCode = "interrupted", harness.ExitInterrupted
	case bounded.Err() != nil:
		report.Problem, report.ExitCode = context.Cause(bounded).Error(), harness.ExitUntestable
	case report.Problem == "" && len(report.Revisions) == 0:
		report.Problem, report.ExitCode = "the server accepts no handshake revision", harness.ExitUntestable
	case report.Problem == "" && len(report.Results) == 0:
		report.Problem, report.ExitCode = "there is nothing to check: no selected check applies to this revision", harness.ExitUntestable
	case report.Problem != "" && report.ExitCode == harness.ExitConforms:
		report.ExitCode = harness.ExitUntestable // the run did not come to its end
	}
}

// judge runs the checks of one revision and adds what came of it to the report.
func (s *settings) judge(ctx context.Context, revision string, report *harness.Report) error {
	note := s.waiting()
	server, first, err := discovery.Server(ctx, s.target, revision)
	note()
	if server == nil {
		return usage("cannot run %s: %s", s.Command[0], reason(err))
	}
	report.Target.Transport = server.Transport
	if err != nil {
		if first != nil {
			first.Kill()
			first.Close()
		}
		return s.untestable(server, err, report)
	}
	if s.Protocol != "auto" && server.Failure == "" && server.Revision != revision {
		first.Close()
		if s.Protocol == "all" {
			return nil // it is no failure to speak fewer revisions
		}
		return s.untestable(server, fmt.Errorf("the server does not accept %s; it offers %s", revision, server.Revision), report)
	}
	plan := harness.Plan(suites.Built(), suites.Checks(), server, s.selector)
	if s.flags.plan {
		first.Close()
		return s.printPlan(server, plan)
	}
	s.announce(server, plan, report)
	var results []harness.Result
	problem, err := harness.Run(ctx, s.target, server, plan, harness.Options{
		Jobs: s.Jobs, Isolate: s.flags.isolate, Seed: s.Seed, Calls: s.calls, Examples: s.Arguments, Profile: s.profile, First: first,
		Credentials: s.credentials,
	}, func(r harness.Result) {
		r = s.accept(s.clean(r), server.Transport)
		results = append(results, r)
		s.tell(r)
	})
	if err != nil {
		report.Problem, report.ExitCode = s.redact.Replace(err.Error()), harness.ExitBroken
	}
	order := map[string]int{}
	for i, c := range plan {
		order[c.ID] = i
	}
	slices.SortStableFunc(results, func(a, b harness.Result) int { return cmp.Compare(order[a.ID], order[b.ID]) })
	report.Results = append(report.Results, results...)
	if report.Problem == "" {
		report.Problem = s.redact.Replace(cmp.Or(problem, server.Failure))
	}
	return nil
}

// announce writes the first line, and tells the console what will come.
func (s *settings) announce(server *harness.Server, plan []harness.Case, report *harness.Report) {
	report.Server = s.cleanInfo(server.Info())
	report.Revisions = append(report.Revisions, harness.RevisionInfo{Requested: server.Requested, Revision: server.Revision})
	s.console.Begin(report.Tool, report.Target, report.Server, report.Revisions...)
	if s.flags.verbose {
		for _, line := range s.omitted(server) {
			fmt.Fprintln(s.out, line)
		}
	}
	var areas []reporters.Area
	for _, c := range plan {
		if n := len(areas); n == 0 || areas[n-1].Name != c.Area() {
			areas = append(areas, reporters.Area{Name: c.Area()})
		}
		areas[len(areas)-1].Cases++
	}
	s.console.Areas(server.Revision, areas)
}

func (s *settings) tell(r harness.Result) {
	for _, reporter := range s.reports {
		reporter.Result(r)
	}
	s.console.Progress("checking … " + r.ID)
}

// untestable reports a server that could not be talked to: one root cause, and
// what depends on it inconclusive.
func (s *settings) untestable(server *harness.Server, err error, report *harness.Report) error {
	report.Problem = s.redact.Replace(harness.Explain(err) + hint(err))
	if s.flags.plan {
		return &exit{harness.ExitUntestable, errors.New(report.Problem)}
	}
	report.ExitCode = harness.ExitUntestable
	server.Failure = err.Error()
	plan := harness.Plan(suites.Built(), suites.Checks(), server, s.selector)
	report.Results = append(report.Results, harness.Untried(plan, "the server could not be tested")...)
	return nil
}

// waiting shows a live note while the server starts; the returned function ends
// it.
func (s *settings) waiting() (done func()) {
	what := "the answer to initialize"
	if s.target.Site != nil {
		what = s.shown.URL + " to answer initialize"
	}
	begin := time.Now()
	tick := time.NewTicker(time.Second)
	end := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for n := 1; ; n++ {
			select {
			case <-tick.C:
				s.console.Progress(fmt.Sprintf("waiting for %s … %ds of %v", what, int(time.Since(begin).Seconds()), s.StartTimeout))
				if n == 3 && !s.onTerminal() && !s.flags.quiet {
					fmt.Fprintf(s.stderr, "mcpcheck: waiting for %s, up to %v\n", what, s.StartTimeout)
				}
			case <-end:
				return
			}
		}
	}()
	return func() {
		tick.Stop()
		close(end)
		<-ended
		s.console.Progress("")
	}
}

func (s *settings) onTerminal() bool {
	terminal, _ := terminalOf(s.stdout)
	return terminal
}
