package config

import (
	"cmp"
	"fmt"
	"os"
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
		return v, exit.Usagef("no server to check; say mcpcheck run -- COMMAND [ARG…] or mcpcheck run --url URL, " +
			"or try mcpcheck run --demo")
	}
	if v.GateProfile, err = catalogue.ParseProfile(v.Profile); err != nil {
		return v, exit.Usagef("%s: %w", v.Origin("profile"), err)
	}
	if err := ValidateSDK(cmp.Or(v.SDK, ShowSDK)); err != nil {
		return v, exit.Usagef("%s: %w", v.Origin("sdk"), err)
	}
	if v.CallPolicy, err = report.ParseCallPolicy(v.Calls); err != nil {
		return v, exit.Usagef("%s: %w", v.Origin("calls"), err)
	}
	if err := ValidateProtocol(v.Protocol); err != nil {
		return v, exit.Usagef("%s: %w", v.Origin("protocol"), err)
	}
	if v.MaxMessageBytes, err = parseSize(v.MaxMessage); err != nil {
		return v, exit.Usagef("%s: %w", v.Origin("max-message"), err)
	}
	if key := v.nonPositiveKey(v.Flags.IsGiven); key != "" {
		return v, exit.Usagef("%s%s", v.Origin(key), MustBePositive)
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
			"%s: nothing is left to check, since this takes out all that is selected; take out less",
			v.Origin("skip"))
	}
	return selector, err
}

// conflictingFlags returns an error for flags that mean no server or more than one.
func conflictingFlags(f Flags) error {
	command, url, server := f.FileKeys.Command, f.FileKeys.URL, f.IsGiven("server")
	switch {
	case f.Quick && f.Isolate, f.Quick && f.shard != "":
		return exit.Usagef("--quick has one session; leave out --isolate and --shard")
	case f.Watch && f.Plan:
		return exit.Usagef("--watch and --plan exclude each other")
	case f.Watch && f.IsGiven("last-failed"):
		return exit.Usagef("--watch and --last-failed exclude each other; --watch begins with what blocked anyway")
	case len(f.WatchPaths) > 0 && !f.Watch:
		return exit.Usagef("--watch-path wants --watch")
	case !server && f.Hosts.File != "":
		return exit.Usagef("--servers-file wants --server NAME")
	case server && f.Demo:
		return exit.Usagef("--server and --demo exclude each other")
	case server && url != "":
		return exit.Usagef("--server and --url exclude each other; the file says where the server is")
	case server && len(command) > 0:
		return exit.Usagef("--server takes the command from a file; leave out %s", strings.Join(command, " "))
	case server && f.Hosts.ServerName == "":
		return exit.Usagef("--server wants a name; mcpcheck run --server lists what there is")
	case f.Demo && url != "":
		return exit.Usagef("--demo judges the built-in server over stdio; " +
			"for HTTP start mcpcheck serve --http 127.0.0.1:8765 and use --url")
	case f.Demo && len(command) > 0:
		return exit.Usagef("--demo judges the built-in server; leave out the command %s", strings.Join(command, " "))
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
	merged.Cwd = flagOrFile(f.IsGiven("cwd"), flags.Cwd, merged.Cwd)
	merged.BearerEnv = flagOrFile(f.IsGiven("bearer-env"), flags.BearerEnv, merged.BearerEnv)
	merged.Protocol = flagOrFile(f.IsGiven("protocol"), flags.Protocol, file.Protocol)
	merged.Profile = flagOrFile(f.IsGiven("profile"), flags.Profile, file.Profile)
	merged.SDK = flagOrFile(f.IsGiven("sdk"), flags.SDK, file.SDK)
	merged.Calls = flagOrFile(f.IsGiven("calls"), flags.Calls, file.Calls)
	merged.Baseline = flagOrFile(f.IsGiven("baseline"), flags.Baseline, file.Baseline)
	merged.Jobs = flagOrFile(f.IsGiven("jobs"), flags.Jobs, file.Jobs)
	merged.Timeout = flagOrFile(f.IsGiven("timeout"), flags.Timeout, file.Timeout)
	merged.StartTimeout = flagOrFile(f.IsGiven("start-timeout"), flags.StartTimeout, file.StartTimeout)
	merged.Budget = flagOrFile(f.IsGiven("budget"), flags.Budget, file.Budget)
	merged.MaxMessage = flagOrFile(f.IsGiven("max-message"), flags.MaxMessage, file.MaxMessage)
	merged.Seed = flagOrFile(f.IsGiven("seed"), flags.Seed, file.Seed)
	if merged.Baseline == "" && !f.Demo && !f.IsGiven("server") {
		merged.Baseline = file.siblingFile(DefaultBaseline)
	}
	if f.IsGiven("only") {
		merged.Only = flags.Only
	}
	if f.IsGiven("skip") {
		merged.Skip = flags.Skip
	}
	return merged
}

// flagOrFile returns the value of a flag that was given, or else the value of the file, or else the default of the
// flag.
func flagOrFile[T comparable](given bool, flag, file T) T {
	var none T
	if given || file == none {
		return flag
	}
	return file
}

// These are the values of --protocol besides revisions.
const (
	ProtocolAuto = "auto" // the newest revision that the server supports
	ProtocolAll  = "all"  // each revision that the server supports
)

// ValidateProtocol returns an error of usage for a value that --protocol does not allow.
func ValidateProtocol(protocol string) error {
	if protocol == ProtocolAuto || protocol == ProtocolAll || slices.Contains(catalogue.Revisions, protocol) {
		return nil
	}
	return fmt.Errorf("unknown protocol revision %q (have auto, all, %s)",
		protocol, strings.Join(catalogue.Revisions, ", "))
}

// These values of --sdk say what happens with failures that come from a known deviation of the server's SDK.
const (
	ShowSDK = "show"
	GateSDK = "gate"
)

// ValidateSDK returns an error of usage for a value that --sdk does not allow.
func ValidateSDK(value string) error {
	if value == ShowSDK || value == GateSDK {
		return nil
	}
	return fmt.Errorf("unknown value %q (have %s, %s)", value, ShowSDK, GateSDK)
}

// SingleProtocol returns the protocol for a command that needs only one session: ProtocolAll becomes ProtocolAuto.
func (v Options) SingleProtocol() string {
	if v.Protocol == ProtocolAll {
		return ProtocolAuto
	}
	return v.Protocol
}

// SelectChecks returns a selector of implemented checks. It is an error when it selects none.
func SelectChecks(only, skip []string) (catalogue.Selector, error) {
	for _, id := range slices.Concat(only, skip) {
		if r, ok := suites.Find(id); ok && !suites.HasCheck(r) {
			return nil, fmt.Errorf("no check tries %s yet; mcpcheck list --planned shows what is not built", id)
		}
	}
	return catalogue.Select(suites.Implemented, only, skip)
}

// OptionsInfo returns the options as a report contains them, without secrets.
func (v Options) OptionsInfo(hide redact.Redactor) *report.OptionsInfo {
	o := &report.OptionsInfo{
		Configuration: v.File.Name, Protocol: v.Protocol, Calls: v.CallPolicy, Only: v.Only,
		Timeout: v.Timeout.Seconds(), StartTimeout: v.StartTimeout.Seconds(), Budget: v.Budget.Seconds(),
		MaxMessage: v.MaxMessageBytes, Jobs: v.Jobs, Isolate: v.Flags.Isolate, Quick: v.Flags.Quick, Seed: v.Seed,
		Shard:  v.Shard,
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
var sizePattern = regexp.MustCompile(`^([1-9][0-9]{0,2})(KiB|MiB)$`)

// parseSize parses a number of bytes.
func parseSize(content string) (bytes int, err error) {
	parts := sizePattern.FindStringSubmatch(content)
	if parts == nil {
		return 0, fmt.Errorf("%q is not a size such as 512KiB or 64MiB, at most 999MiB", content)
	}
	bytes, err = strconv.Atoi(parts[1])
	return bytes * map[string]int{"KiB": 1 << 10, "MiB": 1 << 20}[parts[2]], err
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
