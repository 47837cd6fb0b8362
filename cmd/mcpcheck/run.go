package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// runFlags are the flags of run that do not stand for a key of mcpcheck.yaml.
type runFlags struct {
	config  string
	env     []string
	json    []string
	junit   []string
	noColor bool
	verbose bool
	quiet   bool
	demo    bool
	plan    bool
	isolate bool
	budget  time.Duration
}

func newRun() *cobra.Command {
	var f runFlags
	var c config
	cmd := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARG…]",
		Short: "Judge a server",
		Long: `Start a server, judge whether it keeps the protocol, and stop it.

  mcpcheck run -- node dist/index.js
  mcpcheck run --profile spec --junit report.xml -- ./my-server --stdio
  mcpcheck run --only tools/* -v -- npx -y @modelcontextprotocol/server-everything

Only tools that say they are read-only are called with valid arguments, unless
mcpcheck.yaml has example arguments for a tool or --calls all is given. --plan
says which tools would be called.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := settle(cmd, f, c, args)
			if err != nil {
				return err
			}
			return s.run()
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&c.Protocol, "protocol", "auto", "`REVISION` to ask for; auto asks for the newest and judges by what is negotiated, all repeats the run for each revision that the server accepts")
	flags.StringVar(&c.Profile, "profile", "release", "what counts as a failure: release (MUSTs and the release checklist), spec (MUSTs only), strict (SHOULDs and what could not be tried, too)")
	flags.StringSliceVar(&c.Only, "only", nil, "run only these `CHECKS`: ids, globs (tools/*), areas, levels (must)")
	flags.StringSliceVar(&c.Skip, "skip", nil, "leave these `CHECKS` out")
	flags.StringVar(&c.Calls, "calls", "safe", "which tools may be called: safe, none, all")
	flags.BoolVar(&f.plan, "plan", false, "say what would be run and which tools would be called, then stop")
	flags.IntVar(&c.Jobs, "jobs", 8, "checks at a time")
	flags.BoolVar(&f.isolate, "isolate", false, "use a process of its own for every session")
	flags.DurationVar(&c.Timeout, "timeout", 5*time.Second, "wait so long for one answer")
	flags.DurationVar(&c.StartTimeout, "start-timeout", 15*time.Second, "wait so long for the answer to initialize")
	flags.DurationVar(&f.budget, "budget", 5*time.Minute, "stop the whole run after this time")
	flags.StringArrayVar(&f.env, "env", nil, "`KEY=VALUE` for the server's environment; the value is redacted in reports")
	flags.StringVar(&c.Cwd, "cwd", "", "working `DIR`ectory of the server")
	flags.Int64Var(&c.Seed, "seed", 0, "vary the values that are made from schemas")
	flags.StringVar(&f.config, "config", "", "configuration `FILE`; without it, mcpcheck.yaml if there is one")
	flags.StringArrayVar(&f.json, "json", nil, "write a JSON report to `FILE` (- is stdout)")
	flags.StringArrayVar(&f.junit, "junit", nil, "write a JUnit XML report to `FILE` (- is stdout)")
	flags.BoolVar(&f.noColor, "no-color", false, "no colours (also NO_COLOR)")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "show everything, the wire included")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "show only what gates, and the verdict")
	flags.BoolVar(&f.demo, "demo", false, "judge the built-in reference server")
	for name, values := range map[string][]string{
		"protocol": append([]string{"auto", "all"}, harness.Handshake...), "profile": {"release", "spec", "strict"}, "calls": {"safe", "none", "all"},
	} {
		cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	for _, name := range []string{"only", "skip"} {
		cmd.RegisterFlagCompletionFunc(name, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return checkIDs(), cobra.ShellCompDirectiveNoFileComp
		})
	}
	return cmd
}

// settings are flags and configuration put together and found to be good.
type settings struct {
	config
	flags     runFlags
	profile   harness.Profile
	calls     harness.Calls
	requested []string // revisions to ask for
	selector  harness.Selector
	target    driver.Target
	shown     harness.TargetInfo
	redact    *strings.Replacer
	reports   []reporters.Reporter
	console   *reporters.Console
	stderr    io.Writer
	stdout    io.Writer
}

// settle finds everything that is wrong with the use of run before anything is
// started.
func settle(cmd *cobra.Command, f runFlags, c config, args []string) (*settings, error) {
	s := &settings{flags: f, stdout: cmd.OutOrStdout(), stderr: cmd.ErrOrStderr()}
	file, err := readConfig(f.config)
	if err != nil {
		return nil, err
	}
	s.config = merge(cmd, c, file)
	if s.profile, err = harness.ParseProfile(s.Profile); err != nil {
		return nil, usage("%w", err)
	}
	if s.calls, err = harness.ParseCalls(s.Calls); err != nil {
		return nil, usage("%w", err)
	}
	if s.requested, err = requested(s.Protocol); err != nil {
		return nil, err
	}
	if s.selector, err = selectChecks(s.Only, s.Skip); err != nil {
		return nil, usage("%w", err)
	}
	if err := s.aim(args); err != nil {
		return nil, err
	}
	return s, s.openReports()
}

// selectChecks makes a selector of checks that are built.
func selectChecks(only, skip []string) (harness.Selector, error) {
	for _, id := range slices.Concat(only, skip) {
		if r, ok := suites.Find(id); ok && !suites.HasCheck(r) {
			return nil, fmt.Errorf("no check tries %s yet; mcpcheck list --planned shows what is not built", id)
		}
	}
	return harness.Select(suites.Built, only, skip)
}

// merge lets flags that were given win over the file, and the file over defaults.
func merge(cmd *cobra.Command, flags, file config) config {
	given := func(name string) bool { return cmd.Flags().Changed(name) }
	pick := func(name, flag, fromFile string) string {
		if given(name) || fromFile == "" {
			return flag
		}
		return fromFile
	}
	file.Protocol = pick("protocol", flags.Protocol, file.Protocol)
	file.Profile = pick("profile", flags.Profile, file.Profile)
	file.Calls = pick("calls", flags.Calls, file.Calls)
	file.Cwd = pick("cwd", flags.Cwd, file.Cwd)
	if given("only") {
		file.Only = flags.Only
	}
	if given("skip") {
		file.Skip = flags.Skip
	}
	if given("jobs") || file.Jobs == 0 {
		file.Jobs = flags.Jobs
	}
	if given("timeout") || file.Timeout == 0 {
		file.Timeout = flags.Timeout
	}
	if given("start-timeout") || file.StartTimeout == 0 {
		file.StartTimeout = flags.StartTimeout
	}
	if given("seed") || file.Seed == 0 {
		file.Seed = flags.Seed
	}
	return file
}

func requested(protocol string) ([]string, error) {
	switch {
	case protocol == "auto":
		return []string{harness.Newest}, nil
	case protocol == "all":
		return slices.Clone(harness.Handshake), nil
	case slices.Contains(harness.Handshake, protocol):
		return []string{protocol}, nil
	}
	return nil, usage("unknown protocol revision %q (have auto, all, %s)", protocol, strings.Join(harness.Handshake, ", "))
}

// aim finds the command of the server.
func (s *settings) aim(args []string) error {
	if len(args) > 0 {
		s.Command = args
	}
	switch {
	case s.flags.demo && len(args) > 0:
		return usage("--demo judges the built-in server; leave out the command %s", strings.Join(args, " "))
	case s.flags.demo:
		self, err := os.Executable()
		if err != nil {
			return err
		}
		s.Command = []string{self, "serve"}
	case len(s.Command) == 0:
		return usage("no server to check; say mcpcheck run -- COMMAND [ARG…], or try mcpcheck run --demo")
	}
	if s.Jobs < 1 || s.Timeout <= 0 || s.StartTimeout <= 0 || s.flags.budget <= 0 {
		return usage("--jobs, --timeout, --start-timeout and --budget must be greater than 0")
	}
	if s.Cwd != "" {
		if info, err := os.Stat(s.Cwd); err != nil || !info.IsDir() {
			return usage("--cwd %s is no directory", s.Cwd)
		}
	}
	env, err := s.environment()
	if err != nil {
		return err
	}
	s.target = driver.Target{
		Command: s.Command, Env: env, Dir: s.Cwd,
		Limits: driver.Limits{Reply: s.Timeout, Start: s.StartTimeout},
		Budget: driver.NewBudget(mostKept),
	}
	s.shown = harness.TargetInfo{Transport: "stdio", Command: s.redacted(s.Command), Dir: s.Cwd}
	return s.lookUp()
}

// mostKept is how many bytes of all wires are kept at a time.
const mostKept = 16 << 20

// lookUp finds out whether there is such a command, before anything is started.
func (s *settings) lookUp() error {
	look := exec.Command(s.Command[0])
	look.Dir = s.Cwd
	name := s.Command[0]
	if s.Cwd != "" && strings.ContainsRune(name, os.PathSeparator) && !strings.HasPrefix(name, string(os.PathSeparator)) {
		name = s.Cwd + string(os.PathSeparator) + name
	}
	if _, err := exec.LookPath(name); err != nil {
		if errors.Is(err, exec.ErrDot) {
			return usage("%s is in the current directory only; say ./%s", s.Command[0], s.Command[0])
		}
		return usage("cannot run %s: %s", s.Command[0], reason(err))
	}
	return nil
}

// reason is an error without what the message says already.
func reason(err error) string {
	var wrapped *exec.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	if errors.Is(err, exec.ErrNotFound) {
		return "no such command; check the path, or build the server first"
	}
	return err.Error()
}

// environment is what is added to the server's environment; its values are
// secrets.
func (s *settings) environment() (env []string, err error) {
	for _, key := range sortedKeys(s.Env) {
		env = append(env, key+"="+s.Env[key])
	}
	env = append(env, s.flags.env...)
	var secrets []string
	for _, pair := range env {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, usage("--env wants KEY=VALUE, not %q", pair)
		}
		if len(value) >= shortestSecret {
			secrets = append(secrets, value)
		}
	}
	s.redact = redactor(secrets)
	return env, nil
}

// redactor replaces secrets, also as they are in JSON, and what is left of one
// where a text was shortened.
func redactor(secrets []string) *strings.Replacer {
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) }) // one may begin with another
	var whole, cut []string
	for _, secret := range secrets {
		escaped := string(harness.Compact(secret))
		for _, form := range []string{secret, escaped[1 : len(escaped)-1]} {
			whole = append(whole, form, "[redacted]")
			for n := min(len(form)-1, longestRest); n >= shortestSecret; n-- {
				head, tail := form[:n], form[len(form)-n:]
				cut = append(cut, head+"…", "[redacted]…", head+" …", "[redacted] …")
				cut = append(cut, "…"+tail, "…[redacted]", "… "+tail, "… [redacted]")
			}
		}
	}
	return strings.NewReplacer(append(whole, cut...)...)
}

// longestRest bounds what is looked for of a secret that was cut.
const longestRest = 200

// shortestSecret is how long a value must be to be redacted; a shorter one stands
// everywhere by accident.
const shortestSecret = 4

func sortedKeys[V any](m map[string]V) (keys []string) {
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func (s *settings) redacted(texts []string) (out []string) {
	for _, text := range texts {
		out = append(out, s.redact.Replace(text))
	}
	return out
}

// openReports opens every file that will be written, so that one that cannot be
// is found now.
func (s *settings) openReports() error {
	out := s.stdout
	wanted := map[string][]string{"json": s.flags.json, "junit": s.flags.junit}
	for _, format := range reporters.Formats {
		for _, path := range wanted[format.Name] {
			r, err := reporters.ToFile(format, path, s.stdout)
			if err != nil {
				return usage("%w", err)
			}
			s.reports = append(s.reports, r)
			if path == "-" {
				out = s.stderr // stdout is the report's
			}
		}
	}
	terminal, width := terminalOf(out)
	s.console = reporters.NewConsole(reporters.ConsoleOptions{
		Out: out, Color: terminal && !s.flags.noColor && os.Getenv("NO_COLOR") == "", Terminal: terminal, Width: width,
		Verbosity: verbosity(s.flags), Repeat: s.repeat,
	})
	s.reports = append([]reporters.Reporter{s.console}, s.reports...)
	return nil
}

func verbosity(f runFlags) reporters.Verbosity {
	switch {
	case f.quiet:
		return reporters.Quiet
	case f.verbose:
		return reporters.Verbose
	}
	return reporters.Normal
}

// repeat is the command that repeats one check.
func (s *settings) repeat(r harness.Result) string {
	words := []string{"mcpcheck", "run", "--only", r.ID}
	if r.Revision != harness.Newest {
		words = append(words, "--protocol", r.Revision)
	}
	if s.calls != harness.CallsSafe {
		words = append(words, "--calls", string(s.calls))
	}
	if s.flags.config != "" {
		words = append(words, "--config", s.flags.config)
	}
	if s.Seed != 0 {
		words = append(words, "--seed", fmt.Sprint(s.Seed))
	}
	if s.Cwd != "" {
		words = append(words, "--cwd", s.Cwd)
	}
	for _, pair := range s.flags.env {
		key, _, _ := strings.Cut(pair, "=")
		words = append(words, "--env", key+"=…")
	}
	if s.flags.demo {
		return shellJoin(append(words, "--demo"))
	}
	return shellJoin(append(append(words, "--"), s.shown.Command...))
}

func shellJoin(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		if quoted[i] = w; w == "" || strings.ContainsAny(w, " \t\n\"'\\$`*?[](){}<>|&;#~!") {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// run carries the settings out and turns what came of it into an exit code.
func (s *settings) run() error {
	defer driver.Sweep()
	ctx, listen := interruptible()
	bounded, cancel := context.WithTimeoutCause(ctx, s.flags.budget, fmt.Errorf("the run took longer than %v (--budget)", s.flags.budget))
	defer cancel()

	report := harness.Report{
		SchemaVersion: 1, Tool: harness.Tool{Name: "mcpcheck", Version: toolVersion()}, Target: s.shown,
		Profile: s.profile, Started: time.Now().UTC().Truncate(time.Millisecond),
	}
	go suites.Built() // while the server starts
	begin := time.Now()
	for _, revision := range s.requested {
		listen()
		if err := s.judge(bounded, revision, &report); err != nil {
			return err
		}
		if s.flags.plan {
			return nil
		}
		if bounded.Err() != nil {
			break
		}
	}
	report.Seconds = time.Since(begin).Round(time.Millisecond).Seconds()
	s.conclude(ctx, bounded, &report)
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

// interruptible is a context that ends with the first Ctrl-C or SIGTERM; the second
// ends mcpcheck at once. listen is called before each revision: Ginkgo takes the
// signals away when it has run.
func interruptible() (ctx context.Context, listen func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	go func() {
		<-signals
		signal.Stop(signals)
		cancel()
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
	note := s.waiting(revision)
	server, first, err := suites.Discover(ctx, s.target, revision)
	note()
	if server == nil {
		return usage("cannot run %s: %s", s.Command[0], reason(err))
	}
	if err != nil {
		first.Kill()
		first.Close()
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
	results, problem := harness.Run(ctx, s.target, server, plan, harness.Options{
		Jobs: s.Jobs, Isolate: s.flags.isolate, Seed: s.Seed, Calls: s.calls, Examples: s.Arguments, Profile: s.profile, First: first,
	}, s.tell)
	for i := range results {
		results[i] = s.clean(results[i])
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
	r = s.clean(r)
	for _, reporter := range s.reports {
		reporter.Result(r)
	}
	s.console.Progress("checking … " + r.ID)
}

// cleanInfo redacts secrets in how the server names itself.
func (s *settings) cleanInfo(info harness.ServerInfo) harness.ServerInfo {
	info.Name, info.Version = s.redact.Replace(info.Name), s.redact.Replace(info.Version)
	info.Capabilities = s.redacted(info.Capabilities)
	return info
}

// clean redacts secrets in a result.
func (s *settings) clean(r harness.Result) harness.Result {
	r.Message = s.redact.Replace(r.Message)
	r.Subjects = s.redacted(r.Subjects)
	wire := make([]harness.Line, len(r.Wire))
	for i, l := range r.Wire {
		l.Text = s.redact.Replace(l.Text)
		wire[i] = l
	}
	r.Wire = wire
	return r
}

// untestable reports a server that could not be talked to: one root cause, and
// what depends on it inconclusive.
func (s *settings) untestable(server *harness.Server, err error, report *harness.Report) error {
	report.Problem = s.redact.Replace(harness.Explain(err))
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
func (s *settings) waiting(revision string) (done func()) {
	begin := time.Now()
	tick := time.NewTicker(time.Second)
	end := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for n := 1; ; n++ {
			select {
			case <-tick.C:
				s.console.Progress(fmt.Sprintf("waiting for the answer to initialize %s … %ds of %v", revision, int(time.Since(begin).Seconds()), s.StartTimeout))
				if n == 3 && !s.onTerminal() && !s.flags.quiet {
					fmt.Fprintf(s.stderr, "mcpcheck: waiting for the answer to initialize, up to %v\n", s.StartTimeout)
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

// printPlan says what would be run, and what tools would be called with.
func (s *settings) printPlan(server *harness.Server, plan []harness.Case) error {
	fmt.Fprintf(s.stdout, "%d checks for revision %s\n", len(plan), server.Revision)
	if len(server.Tools) > 0 {
		fmt.Fprintf(s.stdout, "\ntool calls (--calls %s):\n", s.calls)
	}
	for _, tool := range server.Tools {
		name, _ := tool["name"].(string)
		_, example := s.Arguments[name]
		fmt.Fprintf(s.stdout, "  %-32s %s\n", s.redact.Replace(name), permission(s.calls.Permit(tool, example)))
	}
	return nil
}

func permission(p harness.Permission) string {
	switch {
	case p.Valid && p.Invalid:
		return "valid and invalid arguments"
	case p.Valid:
		return "valid arguments only: " + p.Why
	case p.Invalid:
		return "invalid arguments only: " + p.Why
	}
	return "not called: " + p.Why
}
