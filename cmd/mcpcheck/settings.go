package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// settings are flags and configuration put together and found to be good.
type settings struct {
	config
	flags     runFlags
	given     func(flag string) bool // on the command line
	profile   harness.Profile
	calls     harness.Calls
	requested []string // revisions to ask for
	selector  harness.Selector
	target    driver.Target
	shown     harness.TargetInfo

	credentials harness.Credentials
	configFile  string   // that was read; empty: none
	host        adopted  // the server that --server names
	known       baseline // the fails that --baseline lists
	hidden      []string // secrets
	redact      *strings.Replacer
	reports     []reporters.Reporter
	console     *reporters.Console
	out         io.Writer // of the console
	stderr      io.Writer
	stdout      io.Writer
}

// settle finds everything that is wrong with the use of run before anything is
// started.
func settle(cmd *cobra.Command, f runFlags, c config, args []string) (*settings, error) {
	file, err := readConfig(f.config)
	if err != nil {
		return nil, err
	}
	s, err := resolve(cmd, f, c, file, args)
	if err != nil {
		return nil, err
	}
	if s.Baseline != "" {
		if s.known, err = readBaseline(s.Baseline); err != nil {
			return nil, err
		}
	}
	return s, s.openReports()
}

// resolve puts flags and a configuration file together.
func resolve(cmd *cobra.Command, f runFlags, c, file config, args []string) (s *settings, err error) {
	s = &settings{flags: f, given: cmd.Flags().Changed, stdout: cmd.OutOrStdout(), stderr: cmd.ErrOrStderr()}
	s.configFile = file.name
	c.Skip = omit(f.skip)
	s.config = merge(s.given, c, file)
	s.addReports(file.Reports)
	if s.profile, err = harness.ParseProfile(s.Profile); err != nil {
		return nil, usage("%w", err)
	}
	if s.calls, err = harness.ParseCalls(s.Calls); err != nil {
		return nil, usage("%w", err)
	}
	if s.requested, err = requested(s.Protocol); err != nil {
		return nil, err
	}
	if s.selector, err = selectChecks(s.Only, selectors(s.Skip)); err != nil {
		return nil, usage("%w", err)
	}
	if cmd.Flags().Changed("url") && f.remote.url == "" {
		return nil, usage("--url is empty")
	}
	if args, err = s.takeHost(cmd, args); err != nil {
		return nil, err
	}
	return s, s.aim(args)
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
func merge(given func(flag string) bool, flags, file config) config {
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
	file.Baseline = pick("baseline", flags.Baseline, file.Baseline)
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
	if given("budget") || file.Budget == 0 {
		file.Budget = flags.Budget
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

// addReports writes the reports of the file, too, but where a flag says otherwise. A
// plan has none.
func (s *settings) addReports(files reportFiles) {
	if s.flags.plan {
		return
	}
	f := &s.flags.report
	for format, file := range files.files() {
		if file != "" && !s.given(format) {
			*f.files[format] = []string{file}
		}
	}
	if !s.given("report-dir") {
		f.dir = files.Dir
	}
}

// choose decides between the target of the command line and that of the file: the
// first, if there is one, stands in the place of the second as a whole.
func (s *settings) choose(args []string) {
	if len(args) > 0 || s.flags.remote.url != "" || s.flags.demo {
		s.Command, s.URL = args, s.flags.remote.url
	}
	s.flags.remote.url = s.URL
	if s.URL != "" {
		s.flags.remote.file = s.config
	}
}

// origin names what a value comes from: a flag, or a place in the file.
func (s *settings) origin(key string) string {
	if s.given(key) || position(s.text, key) == "" {
		return "--" + key
	}
	return s.place(key) + ": " + key
}

// aim finds the command of the server.
func (s *settings) aim(args []string) error {
	s.choose(args)
	switch {
	case s.flags.demo && s.flags.remote.url != "":
		return usage("--demo judges the built-in server over stdio; for HTTP start mcpcheck serve --http 127.0.0.1:8765 and use --url")
	case s.flags.demo && len(args) > 0:
		return usage("--demo judges the built-in server; leave out the command %s", strings.Join(args, " "))
	case s.flags.demo:
		self, err := os.Executable()
		if err != nil {
			return err
		}
		s.Command = []string{self, "serve"}
	case len(s.Command) == 0 && s.flags.remote.url == "":
		return usage("no server to check; say mcpcheck run -- COMMAND [ARG…] or mcpcheck run --url URL, or try mcpcheck run --demo")
	}
	if s.Jobs < 1 || s.Timeout <= 0 || s.StartTimeout <= 0 || s.Budget <= 0 {
		return usage("--jobs, --timeout, --start-timeout and --budget must be greater than 0")
	}
	if s.Cwd != "" {
		if info, err := os.Stat(s.Cwd); err != nil || !info.IsDir() {
			return usage("%s %s is not a directory", s.origin("cwd"), s.Cwd)
		}
	}
	env, err := s.environment()
	if err != nil {
		return err
	}
	if err := s.secrets(); err != nil {
		return err
	}
	s.target = driver.Target{
		Command: s.Command, Env: env, Dir: s.Cwd,
		Limits: driver.Limits{Reply: s.Timeout, Start: s.StartTimeout},
		Budget: driver.NewBudget(mostKept),
	}
	s.shown = harness.TargetInfo{Transport: "stdio", Command: s.redacted(s.Command), Dir: s.Cwd}
	if s.flags.remote.url != "" {
		return s.aimAt(s.flags.remote, env)
	}
	if s.flags.remote.used() {
		return usage("--header, --bearer-env, --insecure and the like want --url")
	}
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
	if s.Cwd != "" && s.Cwd != s.host.cwd {
		words = append(words, "--cwd", s.Cwd)
	}
	for _, pair := range s.flags.env {
		key, _, _ := strings.Cut(pair, "=")
		words = append(words, "--env", key+"=…")
	}
	if s.flags.demo {
		return shellJoin(append(words, "--demo"))
	}
	if s.host.name != "" {
		return shellJoin(append(words, s.host.repeat(s.flags.hosts, s.redact)...))
	}
	if s.shown.URL != "" {
		words = append(words, s.flags.remote.repeat(s.redact)...)
	}
	if len(s.shown.Command) == 0 {
		return shellJoin(words)
	}
	return shellJoin(append(append(words, "--"), s.redacted(s.Command)...))
}
