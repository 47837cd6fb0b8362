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

// Options are what was asked for: flags and mcpcheck.yaml put together, and found to be good as far as that can be told
// without looking at anything else.
type Options struct {
	File  // what is in force of the keys
	Flags Flags

	GateProfile     catalogue.Profile
	CallPolicy      report.CallPolicy
	Selector        catalogue.Selector
	set             *catalogue.RequirementSet // that is judged by; nil: all that is built
	setCatalogue    catalogue.Catalogue       // its requirements
	tentative       catalogue.Selector        // checks that are new
	Shard           *report.ShardInfo         // nil: the whole run
	RequestedJobs   int                       // that were asked for; 0: none were
	MaxMessageBytes int                       // bytes
	ReportFiles     map[string][]string       // files, by format
	ReportDir       string                    // for a report of every format
}

// Resolve puts flags and a configuration file together.
func Resolve(f Flags, file File) (v Options, err error) {
	if err := conflictingFlags(f); err != nil {
		return v, err
	}
	if f.Plan {
		file.Reports = ReportFiles{} // a plan has none
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

// NewSelector makes the selector of what is to be tried.
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

// conflictingFlags finds flags that do not say which one server is meant.
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

// Merge lets flags that were given win over the file, and the file over defaults. The server that flags mean stands in
// the place of the file's as a whole.
func Merge(f Flags, file File) File {
	flags, merged := f.FileKeys, file
	if len(flags.Command) > 0 || flags.URL != "" || f.Demo {
		merged.Command, merged.URL = flags.Command, flags.URL
	}
	if f.IsGiven("server") && !file.IsListEntry { // whose file says all that is said of a server here
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

// flagOrFile is the value of a flag that was given, or the file's; if there is neither, the default of the flag.
func flagOrFile[T comparable](given bool, flag, file T) T {
	var none T
	if given || file == none {
		return flag
	}
	return file
}

// What may be asked for in place of a revision.
const (
	ProtocolAuto = "auto" // the newest one that the server speaks
	ProtocolAll  = "all"  // each of those that it speaks
)

// ValidateProtocol finds out whether there is what is asked for.
func ValidateProtocol(protocol string) error {
	if protocol == ProtocolAuto || protocol == ProtocolAll || slices.Contains(catalogue.Revisions, protocol) {
		return nil
	}
	return fmt.Errorf("unknown protocol revision %q (have auto, all, %s)",
		protocol, strings.Join(catalogue.Revisions, ", "))
}

// What is done with failures that come from a known deviation of the server's SDK.
const (
	ShowSDK = "show"
	GateSDK = "gate"
)

// ValidateSDK finds out whether there is such a value of --sdk.
func ValidateSDK(value string) error {
	if value == ShowSDK || value == GateSDK {
		return nil
	}
	return fmt.Errorf("unknown value %q (have %s, %s)", value, ShowSDK, GateSDK)
}

// SingleProtocol is what is asked for when one answer is enough.
func (v Options) SingleProtocol() string {
	if v.Protocol == ProtocolAll {
		return ProtocolAuto
	}
	return v.Protocol
}

// SelectChecks makes a selector of checks that are built.
func SelectChecks(only, skip []string) (catalogue.Selector, error) {
	for _, id := range slices.Concat(only, skip) {
		if r, ok := suites.Find(id); ok && !suites.HasCheck(r) {
			return nil, fmt.Errorf("no check tries %s yet; mcpcheck list --planned shows what is not built", id)
		}
	}
	return catalogue.Select(suites.Implemented, only, skip)
}

// OptionsInfo is what a report says of the values.
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

// selectsAdvice reports whether a pattern asks for advice by name.
func selectsAdvice(only string) bool { return strings.HasPrefix(strings.ToLower(only), "advice") }

// sizePattern is how a number of bytes is written.
var sizePattern = regexp.MustCompile(`^([1-9][0-9]{0,2})(KiB|MiB)$`)

// parseSize reads a number of bytes.
func parseSize(content string) (bytes int, err error) {
	parts := sizePattern.FindStringSubmatch(content)
	if parts == nil {
		return 0, fmt.Errorf("%q is not a size such as 512KiB or 64MiB, at most 999MiB", content)
	}
	bytes, err = strconv.Atoi(parts[1])
	return bytes * map[string]int{"KiB": 1 << 10, "MiB": 1 << 20}[parts[2]], err
}

// Origin names what a value comes from: a flag, or a place in the file.
func (v Options) Origin(key string) string {
	if v.Flags.IsGiven(key) || v.position(key) == "" {
		return "--" + key
	}
	return v.Location(key) + ": " + key
}

// SavesLastRun reports whether --last-failed knows of the run: it knows of none that is a part of another, or merged.
func (v Options) SavesLastRun() bool { return v.Flags.shard == "" && !v.Flags.IsMerged }
