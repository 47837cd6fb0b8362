package config

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/cli"
	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// Flags are the flags of mcpcheck run. Other commands, such as baseline and init, define only some of them.
type Flags struct {
	// FileKeys are the values of flags that are keys of mcpcheck.yaml too. Its Command holds the arguments after --.
	FileKeys File
	// IsGiven reports whether a flag is on the command line.
	IsGiven func(flag string) bool
	// namesServer says how a server is named on that line.
	namesServer string

	// RepeatedArgs are those of repeatedFlags that were given, as arguments.
	RepeatedArgs []string
	// ReplayArgs are those that mcpcheck explore has too.
	ReplayArgs []string
	// SelectionArgs are those of selectionFlags that were given, as arguments.
	SelectionArgs []string
	// IsMerged says that the results are those of earlier runs.
	IsMerged bool

	// ConfigFile is the path of --config; empty is mcpcheck.yaml if it exists.
	ConfigFile string
	Env        []string
	Skip       []string
	Demo       bool
	Remote     remoteFlags
	Hosts      HostFlags
	Isolate    bool
	Quick      bool
	shard      string
	// set is the path of a requirement set.
	set string

	// tentative is show or gate; empty is show.
	tentative string
	Trace     string
	Plan      bool
	Report    reportFlags
	NoColor   bool

	LastFailed LastFailedFlag
	Watch      bool
	// WatchPaths are files and directories that --watch observes.
	WatchPaths []string

	// ScriptDir is the directory for the scripts of mcpcheck explore; empty in other commands.
	ScriptDir string

	Verbose int
	Quiet   bool
	brief   bool
	// OnlyBlocking shows only what counts against the exit code, as --quiet does, and what the run waits for.
	OnlyBlocking bool
	advice       bool
	// ParentPipe is the pipe from the fleet that this run is a member of; nil means that it is not a member of one. See
	// package fleet.
	ParentPipe io.Reader
	// KeepAllWire says that a member of a fleet keeps the wire evidence of all results, not only of failures.
	KeepAllWire bool
}

// WithCommandLine returns the flags with what a command line says besides the values of flags.
func (f Flags) WithCommandLine(cmd *cobra.Command, args []string) Flags {
	f.IsGiven = cmd.Flags().Changed
	f.namesServer = namesServer(cmd)
	f.RepeatedArgs = cli.FlagArgs(cmd.Flags(), repeatedFlags)
	f.ReplayArgs = cli.FlagArgs(cmd.Flags(), slices.DeleteFunc(slices.Clone(repeatedFlags), func(name string) bool {
		return slices.Contains(runFlags, name)
	}))
	f.SelectionArgs = cli.FlagArgs(cmd.Flags(), selectionFlags)
	f.FileKeys.Skip = NewSkipEntries(f.Skip)
	f.Hosts.ServerName, f.FileKeys.Command = f.Hosts.splitServerName(cmd, args)
	return f
}

// namesServer says how a server is named on the command line of a command.
func namesServer(cmd *cobra.Command) string {
	path := cmd.CommandPath()
	ways := fmt.Sprintf("%s -- COMMAND [ARG…] or %[1]s --url URL", path)
	if cmd.Flags().Lookup("demo") != nil {
		ways += ", or try " + path + " --demo"
	}
	return ways
}

// AddAll defines all flags of a run.
func (f *Flags) AddAll(cmd *cobra.Command) {
	f.AddChecks(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&f.Plan, "plan", false,
		"print what would be run and which tools would be called (as JSON with --json), then stop")
	f.AddKeys(cmd, "baseline")
	flags.StringVar(&f.shard, "shard", "",
		"run only part `I/N` of the checks, for mcpcheck merge; "+
			"auto or auto/N: take it from the CI environment (JOB_COMPLETION_INDEX, CI_NODE_INDEX, …)")
	flags.StringVar(&f.set, "set", "",
		"test exactly the requirements in `FILE`, written by mcpcheck list --set REVISION")
	flags.StringVar(&f.Trace, "trace", "",
		"write the traffic of all sessions to `FILE`, as JSON Lines for mcpcheck judge")
	flags.Var(&f.LastFailed, "last-failed",
		"run only what failed in the last run on this machine, or in this JSON report; "+
			"runs everything if nothing failed or no previous run is known")
	flags.Lookup("last-failed").NoOptDefVal = NoReportName
	flags.BoolVar(&f.Watch, "watch", false,
		"test again whenever the server's files change, until Ctrl-C: first what blocked, then everything")
	flags.StringArrayVar(&f.WatchPaths, "watch-path", nil,
		"with --watch: `PATH` to watch instead of the files that the command names")
	f.Report.Add(flags)
	f.AddConsole(flags)
}

// AddConsole defines the flags for the output on the console.
func (f *Flags) AddConsole(flags *pflag.FlagSet) {
	flags.BoolVar(&f.NoColor, "no-color", false, "disable colour (NO_COLOR works too; FORCE_COLOR enables it in pipes)")
	// Empty back quotes keep pflag from showing a value: a counted flag has none.
	flags.CountVarP(&f.Verbose, "verbose", "v",
		"``show the details of all failures; -vv: also all messages of all checks")
	flags.BoolVarP(&f.Quiet, "quiet", "q", false, "show what blocks, a line each, and the verdict")
	flags.BoolVar(&f.advice, "advice", false,
		"also show recommendations for servers used by models, which never block")
	flags.BoolVar(&f.brief, "brief", false, "show every failure, a line each, and the verdict")
	cli.MarkExclusive(flags, "verbose", "quiet", "brief")
}

// AddChecks defines the flags that select checks and say how they run.
func (f *Flags) AddChecks(cmd *cobra.Command) {
	f.AddTarget(cmd)
	flags := cmd.Flags()
	f.AddKeys(cmd, "only", "skip", "sdk")
	flags.StringVar(&f.tentative, "tentative", ShowTentative,
		"`MODE`: how to treat checks that are new in this version: show (they do not block) or gate (they do)")
	f.AddKeys(cmd, "jobs")
	flags.BoolVar(&f.Isolate, "isolate", false, "start a fresh process for every session")
	flags.BoolVar(&f.Quick, "quick", false,
		"fast subset for pre-commit: what one session can show")
	f.AddKeys(cmd, "budget", "seed", "explore")
	flags.StringVar(&f.ConfigFile, "config", "", "configuration `FILE` (default mcpcheck.yaml, if it exists)")
	flags.BoolVar(&f.Demo, "demo", false, "test the built-in reference server")
}

// AddTarget defines the flags that say which server is tested and how mcpcheck connects to it.
func (f *Flags) AddTarget(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false
	f.AddKeys(cmd, "protocol", "profile", "calls", "url")
	f.addRemote(cmd)
	f.Hosts.add(flags)
	flags.StringArrayVar(&f.Env, "env", nil,
		"`KEY=VALUE` for the server's environment; the value is redacted in reports")
	f.AddKeys(cmd, "cwd", "timeout", "start-timeout", "max-message", "rate")
}

// NeedsURL reports whether a flag was given that makes sense only with a URL.
func (f Flags) NeedsURL() bool {
	r := f.Remote
	return len(r.Headers) > 0 || len(r.HeaderEnv) > 0 || f.FileKeys.BearerEnv != "" || len(r.TokenEnv) > 0 ||
		r.ContactIssuer || r.SSEURL != "" || r.Insecure || r.Cacert != ""
}

// Verbosity returns how much the console shows.
func (f Flags) Verbosity() reporters.Verbosity {
	switch {
	case f.Quiet || f.OnlyBlocking:
		return reporters.Quiet
	case f.brief:
		return reporters.Brief
	case f.Verbose > 1:
		return reporters.Wire
	case f.Verbose == 1:
		return reporters.Verbose
	}
	return reporters.Normal
}

// LastFailedFlag is the value of --last-failed: the path of a report, or NoReportName.
type LastFailedFlag string

func (l *LastFailedFlag) String() string         { return string(*l) }
func (l *LastFailedFlag) Set(value string) error { *l = LastFailedFlag(value); return nil }
func (l *LastFailedFlag) Type() string           { return "" } // the help says --last-failed[=REPORT]

// NoReportName is the value of --last-failed without a value.
const NoReportName = "REPORT"

// AddWireFlag defines the flag that keeps the wire evidence of all results of a fleet's servers.
func AddWireFlag(flags *pflag.FlagSet, wire *bool) {
	flags.BoolVar(wire, "wire", false,
		"keep the messages of all results in the reports, not only of those that fail or block")
}

// KeepsWire reports whether a result keeps its wire evidence. For passes it takes megabytes a server, too many for a
// fleet.
func (f Flags) KeepsWire(r report.Result) bool {
	return f.ParentPipe == nil || f.KeepAllWire || r.Gates || r.Verdict == catalogue.Fail ||
		r.Verdict == catalogue.Error
}

// CheckIDs returns the ids of all requirements, for the completion of shells.
func CheckIDs() (ids []string) {
	for _, r := range suites.All() {
		ids = append(ids, r.ID)
	}
	return ids
}

// repeatedFlags are the flags that a command to repeat a check contains as they were given: they affect verdicts, or
// whether these gate.
var repeatedFlags = []string{
	"profile", "sdk", "calls", "timeout", "start-timeout", "budget", "max-message", "rate", "jobs", "isolate",
	"seed", "config", "skip", "baseline", "tentative",
}

// runFlags are the repeatedFlags that mcpcheck explore does not have.
var runFlags = []string{"jobs", "isolate", "tentative"}

// selectionFlags select what is tested. A command that repeats one check has its own values for them.
var selectionFlags = []string{"only", "protocol", "quick", "explore"}
