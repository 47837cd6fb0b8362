package config

import (
	"cmp"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/redact"
	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// Options are flags and mcpcheck.yaml combined. They are valid as far as that can be decided without looking at
// anything else.
type Options struct {
	// File holds the values in force: of flags, of the file, or defaults.
	File
	// Flags are the flags as they were given.
	Flags Flags

	GateProfile catalogue.Profile
	CallPolicy  report.CallPolicy
	Selector    catalogue.Selector
	// set is the requirement set of --set; nil means that all implemented requirements are judged.
	set *catalogue.RequirementSet
	// setCatalogue holds the requirements of the set.
	setCatalogue catalogue.Catalogue
	// tentative selects checks that are too new to count against the exit code.
	tentative catalogue.Selector
	// Shard is the part of the run that this process does; nil is the whole run.
	Shard *report.ShardInfo
	// RequestedJobs is the number of jobs that the user asked for; 0 means that the user did not ask.
	RequestedJobs int
	// MaxMessageBytes is the parsed MaxMessage, in bytes.
	MaxMessageBytes int
	// ReportFiles are the paths of report files, by format.
	ReportFiles map[string][]string
	// ReportDir is a directory for a report of every format; it may be empty.
	ReportDir string
}

// Resolve combines flags and a configuration file. Its errors are of wrong usage.
func Resolve(f Flags, file File) (v Options, err error) {
	if err := conflictingFlags(f); err != nil {
		return v, err
	}
	if f.Plan {
		file.Reports = ReportFiles{} // a plan has no reports
	}
	v = Options{File: Merge(f, file), Flags: f}
	v.ReportFiles, v.ReportDir = f.Report.MergeWith(f.IsGiven, file.Reports)
	if len(v.Command) == 0 && v.URL == "" && !f.Demo && !f.IsGiven("server") {
		return v, exit.Usagef("no server to check; say %s", f.namesServer)
	}
	if err := v.ValidateKeys(); err != nil {
		return v, err
	}
	v.GateProfile, v.CallPolicy = catalogue.Profile(v.Profile), report.CallPolicy(v.Calls)
	if v.MaxMessageBytes, err = parseSize(v.MaxMessage); err != nil {
		return v, exit.Usagef("%s: %w", v.Origin("max-message"), err)
	}
	if v.Shard, err = ParseShard(f.shard, os.Getenv); err != nil {
		return v, err
	}
	if f.IsGiven("jobs") || file.Jobs != 0 {
		v.RequestedJobs = v.Jobs
	}
	if v.Selector, err = v.NewSelector(); err != nil {
		return v, err
	}
	if err := validateTentative(cmp.Or(f.tentative, ShowTentative)); err != nil {
		return v, err
	}
	return v, v.applySet()
}

// ValidateKeys returns an error for the first value that a key does not allow by its kind or by its list of values.
func (v Options) ValidateKeys() error {
	for _, k := range keys {
		if problem := k.problem(v.File, v.Flags.IsGiven(k.name)); problem != "" {
			return exit.Usagef("%s%s", v.Origin(k.name), problem)
		}
	}
	return nil
}

// NewSelector returns the selector of the checks that run.
func (v Options) NewSelector() (catalogue.Selector, error) {
	for _, list := range []struct {
		key      string
		patterns []string
	}{{"only", v.Only}, {"skip", SkipSelectors(v.Skip)}} {
		if _, err := SelectChecks(list.patterns, nil); err != nil {
			return nil, exit.Usagef("%s: %w", v.Origin(list.key), err)
		}
	}
	selector, err := SelectChecks(v.Only, SkipSelectors(v.Skip))
	if err == nil && len(v.Skip) > 0 && !slices.ContainsFunc(suites.Implemented(), selector) {
		return nil, exit.Usagef(
			"%s: no check is left to run, since all that are selected are skipped; skip fewer",
			v.Origin("skip"))
	}
	return selector, err
}

// conflictingFlags returns an error for flags that mean no server or more than one.
func conflictingFlags(f Flags) error {
	command, url, server := f.FileKeys.Command, f.FileKeys.URL, f.IsGiven("server")
	switch {
	case f.Quick && (f.Isolate || f.shard != "" || f.IsGiven("explore")):
		return exit.Usagef("--quick has one session; leave out --isolate, --shard and --explore")
	case f.Watch && f.Plan:
		return exit.Usagef("--watch and --plan exclude each other")
	case f.Watch && f.IsGiven("last-failed"):
		return exit.Usagef("--watch and --last-failed exclude each other; --watch begins with what blocked anyway")
	case len(f.WatchPaths) > 0 && !f.Watch:
		return exit.Usagef("--watch-path needs --watch")
	case !server && f.Hosts.File != "":
		return exit.Usagef("--servers-file needs --server NAME")
	case server && f.Demo:
		return exit.Usagef("--server and --demo exclude each other")
	case server && url != "":
		return exit.Usagef("--server and --url exclude each other; the file says where the server is")
	case server && len(command) > 0:
		return exit.Usagef("--server takes the command from a file; leave out %s", strings.Join(command, " "))
	case server && f.Hosts.ServerName == "":
		return exit.Usagef("--server needs a name; mcpcheck run --server lists what there is")
	case f.Demo && url != "":
		return exit.Usagef("--demo tests the built-in server over stdio; " +
			"for HTTP start mcpcheck serve --http 127.0.0.1:8765 and use --url")
	case f.Demo && len(command) > 0:
		return exit.Usagef("--demo tests the built-in server; leave out the command %s", strings.Join(command, " "))
	}
	return nil
}

// Merge lets flags take precedence over the file, and the file over defaults. A server that flags select replaces the
// server of the file as a whole.
func Merge(f Flags, file File) File {
	flags, merged := f.FileKeys, file
	if len(flags.Command) > 0 || flags.URL != "" || f.Demo {
		merged.Command, merged.URL = flags.Command, flags.URL
	}
	if f.IsGiven("server") && !file.IsListEntry { // a list entry has no other source for its server
		merged.Command, merged.URL, merged.Cwd, merged.Env = nil, "", "", nil
		merged.Headers, merged.BearerEnv = nil, ""
	}
	for _, k := range keys {
		value := reflect.ValueOf(k.field(&merged)).Elem()
		if k.help != "" && (f.IsGiven(k.name) || value.IsZero()) {
			value.Set(reflect.ValueOf(k.field(&flags)).Elem())
		}
	}
	if merged.Baseline == "" && !f.Demo && !f.IsGiven("server") {
		merged.Baseline = file.siblingFile(DefaultBaseline)
	}
	return merged
}

// These are the values of --protocol besides revisions.
const (
	ProtocolAuto = "auto" // the newest revision that the server supports
	ProtocolAll  = "all"  // each revision that the server supports
)

// IsProtocol reports whether --protocol has a value.
func IsProtocol(value string) bool { return slices.Contains(findKey("protocol").values, value) }

// These values of --sdk say what happens with failures that come from a known deviation of the server's SDK.
const (
	ShowSDK = "show"
	GateSDK = "gate"
)

// SingleProtocol returns the protocol for a command that needs only one session: ProtocolAll becomes ProtocolAuto.
func (v Options) SingleProtocol() string {
	if v.Protocol == ProtocolAll {
		return ProtocolAuto
	}
	return v.Protocol
}

// SelectChecks returns a selector of implemented checks. It is an error when it selects none.
func SelectChecks(only, skip []string) (catalogue.Selector, error) {
	return catalogue.Select(suites.Implemented, only, skip)
}

// OptionsInfo returns the options as a report contains them, without secrets.
func (v Options) OptionsInfo(hide redact.Redactor) *report.OptionsInfo {
	o := &report.OptionsInfo{
		Configuration: v.File.Name, Protocol: v.Protocol, Calls: v.CallPolicy, Only: v.Only,
		Timeout: v.Timeout.Seconds(), StartTimeout: v.StartTimeout.Seconds(), Budget: v.Budget.Seconds(),
		MaxMessage: v.MaxMessageBytes, Jobs: v.Jobs, Isolate: v.Flags.Isolate, Quick: v.Flags.Quick, Seed: v.Seed,
		Explore: v.Explore.Seconds(), Shard: v.Shard,
		Advice: v.Flags.advice || slices.ContainsFunc(v.Only, selectsAdvice),
	}
	if v.set != nil {
		o.Set = v.set.Info()
	}
	if v.Flags.tentative == gateTentative {
		o.Tentative = gateTentative
	}
	if v.SDK == GateSDK {
		o.SDK = GateSDK
	}
	for _, left := range v.Skip {
		o.Skip = append(o.Skip, report.Exclusion{Check: left.Check, Reason: hide.Text(text.OneLine(left.Reason))})
	}
	return o
}

// selectsAdvice reports whether a pattern selects the area advice by its name.
func selectsAdvice(only string) bool { return strings.HasPrefix(strings.ToLower(only), "advice") }

// sizePattern matches a number of bytes, such as 16MiB.
var sizePattern = regexp.MustCompile(`^[1-9][0-9]{0,2}(KiB|MiB)$`)

// parseSize parses a number of bytes.
func parseSize(content string) (bytes int, err error) {
	parts := sizePattern.FindStringSubmatch(content)
	if parts == nil {
		return 0, fmt.Errorf("%q is not a size such as 512KiB or 64MiB, at most 999MiB", content)
	}
	bytes, err = strconv.Atoi(strings.TrimSuffix(content, parts[1]))
	return bytes * map[string]int{"KiB": 1 << 10, "MiB": 1 << 20}[parts[1]], err
}

// Origin returns the flag, or the place in the file, that the value of a key comes from.
func (v Options) Origin(key string) string {
	if v.Flags.IsGiven(key) || v.position(key) == "" {
		return "--" + key
	}
	return v.Location(key) + ": " + key
}

// SavesLastRun reports whether the run is saved for --last-failed. Shards and merged runs are not.
func (v Options) SavesLastRun() bool { return v.Flags.shard == "" && !v.Flags.IsMerged }
