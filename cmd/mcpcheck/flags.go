package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// runFlags are what the command line says to run; baseline and init know some of it.
type runFlags struct {
	keys  config                 // what mcpcheck.yaml can say as well; Command is what follows --
	given func(flag string) bool // on the command line

	repeated  []string // what was given of repeatedFlags
	selecting []string // and of selectingFlags
	merged    bool     // the results are of runs that are over

	config  string // file to read
	env     []string
	skip    []string
	demo    bool
	remote  remoteFlags
	hosts   hostFlags
	isolate bool
	quick   bool
	shard   string
	set     string // file

	tentative string // show or gate; empty: show
	trace     string
	plan      bool
	report    reportFlags
	noColor   bool

	lastFailed lastFailed
	watch      bool
	watched    []string // files and directories

	verbose int
	quiet   bool
	brief   bool
	terse   bool // only what blocks is told, as quiet has it, and what is waited for
	advice  bool
	leash   io.Reader // of a member of a fleet, see fleet_member.go; nil: it is none
	wire    bool      // is kept of all that the member did
}

// read takes over what the command line says beside the values of flags.
func (f runFlags) read(cmd *cobra.Command, args []string) runFlags {
	f.given = cmd.Flags().Changed
	f.repeated = wordsOf(cmd.Flags(), repeatedFlags)
	f.selecting = wordsOf(cmd.Flags(), selectingFlags)
	f.keys.Skip = omit(f.skip)
	f.hosts.name, f.keys.Command = f.hosts.named(cmd, args)
	return f
}

// add defines the flags of a run.
func (f *runFlags) add(cmd *cobra.Command) {
	f.addChecks(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&f.plan, "plan", false,
		"print what would be run and which tools would be called (as JSON with --json), then stop")
	flags.StringVar(&f.keys.Baseline, "baseline", "",
		"`FILE` of known failures, which do not block; mcpcheck baseline writes it "+
			"(default "+baselineName+" beside mcpcheck.yaml, if it exists)")
	flags.StringVar(&f.shard, "shard", "",
		"run only part `I/N` of the checks, for mcpcheck merge; "+
			"auto or auto/N: take it from the CI environment (JOB_COMPLETION_INDEX, CI_NODE_INDEX, …)")
	flags.StringVar(&f.set, "set", "",
		"test exactly the requirements in `FILE`, written by mcpcheck list --set REVISION")
	flags.StringVar(&f.trace, "trace", "",
		"write the traffic of all sessions to `FILE`, as JSON Lines for mcpcheck judge")
	flags.Var(&f.lastFailed, "last-failed",
		"run only what failed in the last run on this machine, or in this JSON report; "+
			"runs everything if nothing failed or no previous run is known")
	flags.Lookup("last-failed").NoOptDefVal = noReport
	flags.BoolVar(&f.watch, "watch", false,
		"test again whenever the server's files change, until Ctrl-C: first what blocked, then everything")
	flags.StringArrayVar(&f.watched, "watch-path", nil,
		"with --watch: `PATH` to watch instead of the files that the command names")
	f.report.add(flags)
	f.addConsole(flags)
}

// addConsole defines the flags that say what people are shown.
func (f *runFlags) addConsole(flags *pflag.FlagSet) {
	flags.BoolVar(&f.noColor, "no-color", false, "disable colour (NO_COLOR works too; FORCE_COLOR enables it in pipes)")
	// The empty back quotes are for no name of a value: a flag that is counted has none.
	flags.CountVarP(&f.verbose, "verbose", "v",
		"``show the details of all failures; -vv: also all messages of all checks")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "show what blocks, a line each, and the verdict")
	flags.BoolVar(&f.advice, "advice", false,
		"also show recommendations for servers used by models, which never block")
	flags.BoolVar(&f.brief, "brief", false, "show every failure, a line each, and the verdict")
	exclusive(flags, "verbose", "quiet", "brief")
}

// addChecks defines the flags that say what is checked, and how.
func (f *runFlags) addChecks(cmd *cobra.Command) {
	f.addTarget(cmd)
	flags := cmd.Flags()
	flags.StringSliceVar(&f.keys.Only, "only", nil,
		"run only these `CHECKS`: ids, globs ('tools/*'), areas, levels (must)")
	flags.StringSliceVar(&f.skip, "skip", nil, "skip these `CHECKS`")
	f.addSDK(flags)
	flags.StringVar(&f.tentative, "tentative", showTentative,
		"`MODE`: how to treat checks that are new in this version: show (they do not block) or gate (they do)")
	flags.IntVar(&f.keys.Jobs, "jobs", harness.DefaultJobs, "run `N` checks at a time")
	flags.BoolVar(&f.isolate, "isolate", false, "start a fresh process for every session")
	flags.BoolVar(&f.quick, "quick", false,
		"fast subset for pre-commit: what one session can show")
	flags.DurationVar(&f.keys.Budget, "budget", 5*time.Minute, "stop the whole run after this `DURATION`")
	flags.Int64Var(&f.keys.Seed, "seed", 0, "`SEED` for the values that are generated from schemas")
	flags.StringVar(&f.config, "config", "", "configuration `FILE` (default mcpcheck.yaml, if it exists)")
	flags.BoolVar(&f.demo, "demo", false, "test the built-in reference server")
	for _, name := range []string{"only", "skip"} {
		cmd.RegisterFlagCompletionFunc(name,
			func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
				return checkIDs(), cobra.ShellCompDirectiveNoFileComp
			})
	}
}

// addSDK defines the flag that says whether known deviations of SDKs gate.
func (f *runFlags) addSDK(flags *pflag.FlagSet) {
	flags.StringVar(&f.keys.SDK, "sdk", showSDK,
		"`MODE`: how to treat known deviations of the server's SDK: show (they do not block in the profiles "+
			"release and spec) or gate (they do)")
}

// addTarget defines the flags that say what server is meant, and how it is talked to.
func (f *runFlags) addTarget(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.keys.Protocol, "protocol", auto,
		"`REVISION` of MCP to request; auto: the newest that the server supports; "+
			"all: one run for each revision that the server accepts")
	flags.StringVar(&f.keys.Profile, "profile", "release",
		"`PROFILE` that decides what blocks: release (MUSTs and the release checklist), spec (MUSTs only), "+
			"strict (also SHOULDs, and MUSTs that could not be tested), "+
			"directory (only the rules of public server directories)")
	flags.StringVar(&f.keys.Calls, "calls", "safe",
		"`POLICY` for tool calls: safe, none, invalid, all (explained in mcpcheck help run)")
	flags.StringVar(&f.keys.URL, "url", "", "`URL` of the server, over Streamable HTTP or HTTP+SSE")
	f.remote.add(flags, &f.keys)
	f.hosts.add(flags)
	flags.StringArrayVar(&f.env, "env", nil,
		"`KEY=VALUE` for the server's environment; the value is redacted in reports")
	flags.StringVar(&f.keys.Cwd, "cwd", "", "working directory of the server, `DIR`")
	flags.DurationVar(&f.keys.Timeout, "timeout", 5*time.Second, "timeout for a response, a `DURATION`")
	flags.DurationVar(&f.keys.StartTimeout, "start-timeout", 15*time.Second,
		"timeout for the first response, a `DURATION`")
	flags.StringVar(&f.keys.MaxMessage, "max-message", "16MiB",
		"`SIZE` of the longest message that is read; longer ones are not tested")
	for name, values := range map[string][]string{
		"protocol": append([]string{auto, all}, harness.Revisions...),
		"profile":  {"release", "spec", "strict", "directory"},
		"calls":    {"safe", "none", "invalid", "all"},
	} {
		cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
}

// remoteFlags say how a server over HTTP is reached, beside its URL.
type remoteFlags struct {
	headers       []string
	headerEnv     []string
	tokenEnv      []string
	contactIssuer bool
	sseURL        string
	insecure      bool
	cacert        string
}

func (f *remoteFlags) add(flags *pflag.FlagSet, keys *config) {
	flags.StringArrayVar(&f.headers, "header", nil,
		"`'NAME: VALUE'` for every HTTP request; the value is redacted in reports")
	flags.StringArrayVar(&f.headerEnv, "header-env", nil,
		"`NAME=VARIABLE`: header for every HTTP request, with its value from an environment variable")
	flags.StringVar(&keys.BearerEnv, "bearer-env", "",
		"environment `VARIABLE` with the bearer token for every HTTP request")
	flags.StringArrayVar(&f.tokenEnv, "token-env", nil,
		"`KIND=VARIABLE`: another token for the authorization checks; kinds: second (of another user), "+
			"expired, narrow (with fewer scopes), other-audience")
	flags.BoolVar(&f.contactIssuer, "contact-issuer", false,
		"let the authorization checks fetch the metadata of the authorization server, wherever it is")
	flags.StringVar(&f.sseURL, "sse-url", "", "`URL` of an HTTP+SSE endpoint for old clients")
	flags.BoolVar(&f.insecure, "insecure", false, "do not verify the server's TLS certificate")
	flags.StringVar(&f.cacert, "cacert", "", "also trust the certificates in this PEM `FILE`")
}

// needURL reports whether a flag was given that has a meaning with a URL only.
func (f runFlags) needURL() bool {
	r := f.remote
	return len(r.headers) > 0 || len(r.headerEnv) > 0 || f.keys.BearerEnv != "" || len(r.tokenEnv) > 0 ||
		r.contactIssuer || r.sseURL != "" || r.insecure || r.cacert != ""
}

func (f runFlags) verbosity() reporters.Verbosity {
	switch {
	case f.quiet || f.terse:
		return reporters.Quiet
	case f.brief:
		return reporters.Brief
	case f.verbose > 1:
		return reporters.Wire
	case f.verbose == 1:
		return reporters.Verbose
	}
	return reporters.Normal
}

// excludes is the annotation of flags of which one may be given: its values are their names, a set in each.
const excludes = "mcpcheck-excludes"

// exclusive makes flags such that one of them may be given.
func exclusive(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		sets := append(flags.Lookup(name).Annotations[excludes], strings.Join(names, " "))
		if err := flags.SetAnnotation(name, excludes, sets); err != nil {
			panic(err)
		}
	}
}

// senseless finds flags that were given without their value, and such that exclude each other.
func senseless(flags *pflag.FlagSet) (err error) {
	given := map[string]string{} // by set
	flags.Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		if f.NoOptDefVal == "" && (len(values) == 0 || slices.Contains(values, "")) {
			err = cmp.Or(err, usage("--%s is empty; give it a value, or leave it out", f.Name))
		}
		for _, set := range f.Annotations[excludes] {
			if other := given[set]; other != "" {
				err = cmp.Or(err, usage("--%s and --%s exclude each other", other, f.Name))
			}
			given[set] = f.Name
		}
	})
	return err
}

// plainFlagError says in plain words what is wrong with a flag.
func plainFlagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		return nearestFlag(cmd, unknown)
	case errors.As(err, &invalid):
		if kind := kindOfFlag[invalid.GetFlag().Value.Type()]; kind != "" {
			return fmt.Errorf("--%s wants %s, not %q", invalid.GetFlag().Name, kind, invalid.GetValue())
		}
	}
	return err
}

// kindOfFlag says what values a flag takes, by the name that pflag has for its type.
var kindOfFlag = map[string]string{
	"duration": "a duration such as 5s or 500ms",
	"int":      "a whole number",
	"int64":    "a whole number",
	"bool":     "true or false",
}

// nearestFlag adds to an unknown flag the one that was probably meant, or that it is one of the server's.
func nearestFlag(cmd *cobra.Command, err *pflag.NotExistError) error {
	if words := cmd.Flags().Args(); cmd.Name() == "run" && len(words) > 0 {
		return fmt.Errorf("%w; if it is the server's, say mcpcheck run -- %s …", err, strings.Join(words, " "))
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := text.Nearest(strings.TrimLeft(err.GetSpecifiedName(), "-"), names); near != "" {
		return fmt.Errorf("%w; did you mean --%s?", err, near)
	}
	return err
}
