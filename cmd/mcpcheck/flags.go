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
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// runFlags are what the command line says to run; baseline and init know some of it.
type runFlags struct {
	fileKeys config                 // what mcpcheck.yaml can say as well; Command is what follows --
	isGiven  func(flag string) bool // on the command line

	repeatedArgs  []string // what was given of repeatedFlags
	selectionArgs []string // and of selectionFlags
	isMerged      bool     // the results are of runs that are over

	configFile string // file to read
	env        []string
	skip       []string
	demo       bool
	remote     remoteFlags
	hosts      hostFlags
	isolate    bool
	quick      bool
	shard      string
	set        string // file

	tentative string // show or gate; empty: show
	trace     string
	plan      bool
	report    reportFlags
	noColor   bool

	lastFailed lastFailedFlag
	watch      bool
	watchPaths []string // files and directories

	verbose      int
	quiet        bool
	brief        bool
	onlyBlocking bool // only what blocks is told, as quiet has it, and what is waited for
	advice       bool
	parentPipe   io.Reader // of a member of a fleet, see fleet_member.go; nil: it is none
	keepAllWire  bool      // is kept of all that the member did
}

// read takes over what the command line says beside the values of flags.
func (f runFlags) withCommandLine(cmd *cobra.Command, args []string) runFlags {
	f.isGiven = cmd.Flags().Changed
	f.repeatedArgs = flagArgs(cmd.Flags(), repeatedFlags)
	f.selectionArgs = flagArgs(cmd.Flags(), selectionFlags)
	f.fileKeys.Skip = newSkipEntries(f.skip)
	f.hosts.serverName, f.fileKeys.Command = f.hosts.splitServerName(cmd, args)
	return f
}

// add defines the flags of a run.
func (f *runFlags) addFlags(cmd *cobra.Command) {
	f.addCheckFlags(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&f.plan, "plan", false,
		"print what would be run and which tools would be called (as JSON with --json), then stop")
	flags.StringVar(&f.fileKeys.Baseline, "baseline", "",
		"`FILE` of known failures, which do not block; mcpcheck baseline writes it "+
			"(default "+defaultBaselineFile+" beside mcpcheck.yaml, if it exists)")
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
	flags.Lookup("last-failed").NoOptDefVal = noReportName
	flags.BoolVar(&f.watch, "watch", false,
		"test again whenever the server's files change, until Ctrl-C: first what blocked, then everything")
	flags.StringArrayVar(&f.watchPaths, "watch-path", nil,
		"with --watch: `PATH` to watch instead of the files that the command names")
	f.report.addFlags(flags)
	f.addConsoleFlags(flags)
}

// addConsoleFlags defines the flags that say what people are shown.
func (f *runFlags) addConsoleFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&f.noColor, "no-color", false, "disable colour (NO_COLOR works too; FORCE_COLOR enables it in pipes)")
	// The empty back quotes are for no name of a value: a flag that is counted has none.
	flags.CountVarP(&f.verbose, "verbose", "v",
		"``show the details of all failures; -vv: also all messages of all checks")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "show what blocks, a line each, and the verdict")
	flags.BoolVar(&f.advice, "advice", false,
		"also show recommendations for servers used by models, which never block")
	flags.BoolVar(&f.brief, "brief", false, "show every failure, a line each, and the verdict")
	markExclusive(flags, "verbose", "quiet", "brief")
}

// addCheckFlags defines the flags that say what is checked, and how.
func (f *runFlags) addCheckFlags(cmd *cobra.Command) {
	f.addTargetFlags(cmd)
	flags := cmd.Flags()
	flags.StringSliceVar(&f.fileKeys.Only, "only", nil,
		"run only these `CHECKS`: ids, globs ('tools/*'), areas, levels (must)")
	flags.StringSliceVar(&f.skip, "skip", nil, "skip these `CHECKS`")
	f.addSDKFlag(flags)
	flags.StringVar(&f.tentative, "tentative", showTentative,
		"`MODE`: how to treat checks that are new in this version: show (they do not block) or gate (they do)")
	flags.IntVar(&f.fileKeys.Jobs, "jobs", check.DefaultJobs, "run `N` checks at a time")
	flags.BoolVar(&f.isolate, "isolate", false, "start a fresh process for every session")
	flags.BoolVar(&f.quick, "quick", false,
		"fast subset for pre-commit: what one session can show")
	flags.DurationVar(&f.fileKeys.Budget, "budget", 5*time.Minute, "stop the whole run after this `DURATION`")
	flags.Int64Var(&f.fileKeys.Seed, "seed", 0, "`SEED` for the values that are generated from schemas")
	flags.StringVar(&f.configFile, "config", "", "configuration `FILE` (default mcpcheck.yaml, if it exists)")
	flags.BoolVar(&f.demo, "demo", false, "test the built-in reference server")
	for _, name := range []string{"only", "skip"} {
		cmd.RegisterFlagCompletionFunc(name,
			func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
				return checkIDs(), cobra.ShellCompDirectiveNoFileComp
			})
	}
}

// addSDKFlag defines the flag that says whether known deviations of SDKs gate.
func (f *runFlags) addSDKFlag(flags *pflag.FlagSet) {
	flags.StringVar(&f.fileKeys.SDK, "sdk", showSDK,
		"`MODE`: how to treat known deviations of the server's SDK: show (they do not block in the profiles "+
			"release and spec) or gate (they do)")
}

// addTargetFlags defines the flags that say what server is meant, and how it is talked to.
func (f *runFlags) addTargetFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.fileKeys.Protocol, "protocol", protocolAuto,
		"`REVISION` of MCP to request; auto: the newest that the server supports; "+
			"all: one run for each revision that the server accepts")
	flags.StringVar(&f.fileKeys.Profile, "profile", "release",
		"`PROFILE` that decides what blocks: release (MUSTs and the release checklist), spec (MUSTs only), "+
			"strict (also SHOULDs, and MUSTs that could not be tested), "+
			"directory (only the rules of public server directories)")
	flags.StringVar(&f.fileKeys.Calls, "calls", "safe",
		"`POLICY` for tool calls: safe, none, invalid, all (explained in mcpcheck help run)")
	flags.StringVar(&f.fileKeys.URL, "url", "", "`URL` of the server, over Streamable HTTP or HTTP+SSE")
	f.remote.addFlags(flags, &f.fileKeys)
	f.hosts.addFlags(flags)
	flags.StringArrayVar(&f.env, "env", nil,
		"`KEY=VALUE` for the server's environment; the value is redacted in reports")
	flags.StringVar(&f.fileKeys.Cwd, "cwd", "", "working directory of the server, `DIR`")
	flags.DurationVar(&f.fileKeys.Timeout, "timeout", 5*time.Second, "timeout for a response, a `DURATION`")
	flags.DurationVar(&f.fileKeys.StartTimeout, "start-timeout", 15*time.Second,
		"timeout for the first response, a `DURATION`")
	flags.StringVar(&f.fileKeys.MaxMessage, "max-message", "16MiB",
		"`SIZE` of the longest message that is read; longer ones are not tested")
	for name, values := range map[string][]string{
		"protocol": append([]string{protocolAuto, protocolAll}, catalogue.Revisions...),
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

func (f *remoteFlags) addFlags(flags *pflag.FlagSet, keys *config) {
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

// needsURL reports whether a flag was given that has a meaning with a URL only.
func (f runFlags) needsURL() bool {
	r := f.remote
	return len(r.headers) > 0 || len(r.headerEnv) > 0 || f.fileKeys.BearerEnv != "" || len(r.tokenEnv) > 0 ||
		r.contactIssuer || r.sseURL != "" || r.insecure || r.cacert != ""
}

func (f runFlags) verbosity() reporters.Verbosity {
	switch {
	case f.quiet || f.onlyBlocking:
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

// exclusiveAnnotation is the annotation of flags of which one may be given: its values are their names, a set in each.
const exclusiveAnnotation = "mcpcheck-excludes"

// markExclusive makes flags such that one of them may be given.
func markExclusive(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		sets := append(flags.Lookup(name).Annotations[exclusiveAnnotation], strings.Join(names, " "))
		if err := flags.SetAnnotation(name, exclusiveAnnotation, sets); err != nil {
			panic(err)
		}
	}
}

// validateFlags finds flags that were given without their value, and such that exclude each other.
func validateFlags(flags *pflag.FlagSet) (err error) {
	given := map[string]string{} // by set
	flags.Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		if f.NoOptDefVal == "" && (len(values) == 0 || slices.Contains(values, "")) {
			err = cmp.Or(err, usageErrorf("--%s is empty; give it a value, or leave it out", f.Name))
		}
		for _, set := range f.Annotations[exclusiveAnnotation] {
			if other := given[set]; other != "" {
				err = cmp.Or(err, usageErrorf("--%s and --%s exclude each other", other, f.Name))
			}
			given[set] = f.Name
		}
	})
	return err
}

// flagError says in plain words what is wrong with a flag.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		return unknownFlagError(cmd, unknown)
	case errors.As(err, &invalid):
		if kind := flagTypeTexts[invalid.GetFlag().Value.Type()]; kind != "" {
			return fmt.Errorf("--%s wants %s, not %q", invalid.GetFlag().Name, kind, invalid.GetValue())
		}
	}
	return err
}

// flagTypeTexts says what values a flag takes, by the name that pflag has for its type.
var flagTypeTexts = map[string]string{
	"duration": "a duration such as 5s or 500ms",
	"int":      "a whole number",
	"int64":    "a whole number",
	"bool":     "true or false",
}

// unknownFlagError adds to an unknown flag the one that was probably meant, or that it is one of the server's.
func unknownFlagError(cmd *cobra.Command, err *pflag.NotExistError) error {
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
