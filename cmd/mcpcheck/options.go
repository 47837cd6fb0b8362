package main

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// options are what was asked for: flags and mcpcheck.yaml put together, and found to be good as far as that can be told
// without looking at anything else.
type options struct {
	config // what is in force of the keys
	flags  runFlags

	profile      catalogue.Profile
	calls        report.CallPolicy
	selector     catalogue.Selector
	set          *catalogue.RequirementSet // that is judged by; nil: all that is built
	setCatalogue catalogue.Catalogue       // its requirements
	tentative    catalogue.Selector        // checks that are new
	shard        *report.ShardInfo         // nil: the whole run
	jobs         int                       // that were asked for; 0: none were
	maxMessage   int                       // bytes
	reports      map[string][]string       // files, by format
	reportDir    string                    // for a report of every format
}

// resolveOptions puts flags and a configuration file together.
func resolveOptions(f runFlags, file config) (v options, err error) {
	if err := conflictingFlags(f); err != nil {
		return v, err
	}
	if f.plan {
		file.Reports = reportFiles{} // a plan has none
	}
	v = options{config: mergeConfig(f, file), flags: f}
	v.reports, v.reportDir = f.report.mergeWith(f.isGiven, file.Reports)
	if len(v.Command) == 0 && v.URL == "" && !f.demo && !f.isGiven("server") {
		return v, usageErrorf("no server to check; say mcpcheck run -- COMMAND [ARG…] or mcpcheck run --url URL, " +
			"or try mcpcheck run --demo")
	}
	if v.profile, err = catalogue.ParseProfile(v.Profile); err != nil {
		return v, usageErrorf("%s: %w", v.origin("profile"), err)
	}
	if err := validateSDK(cmp.Or(v.SDK, showSDK)); err != nil {
		return v, usageErrorf("%s: %w", v.origin("sdk"), err)
	}
	if v.calls, err = report.ParseCallPolicy(v.Calls); err != nil {
		return v, usageErrorf("%s: %w", v.origin("calls"), err)
	}
	if err := validateProtocol(v.Protocol); err != nil {
		return v, usageErrorf("%s: %w", v.origin("protocol"), err)
	}
	if v.maxMessage, err = parseSize(v.MaxMessage); err != nil {
		return v, usageErrorf("%s: %w", v.origin("max-message"), err)
	}
	if key := v.nonPositiveKey(v.flags.isGiven); key != "" {
		return v, usageErrorf("%s%s", v.origin(key), mustBePositive)
	}
	if v.shard, err = parseShard(f.shard, os.Getenv); err != nil {
		return v, err
	}
	if f.isGiven("jobs") || file.Jobs != 0 {
		v.jobs = v.Jobs
	}
	if v.selector, err = v.newSelector(); err != nil {
		return v, err
	}
	if err := validateTentative(cmp.Or(f.tentative, showTentative)); err != nil {
		return v, err
	}
	return v, v.applySet()
}

// newSelector makes the selector of what is to be tried.
func (v options) newSelector() (catalogue.Selector, error) {
	for _, list := range []struct {
		key      string
		patterns []string
	}{{"only", v.Only}, {"skip", skipSelectors(v.Skip)}} {
		if _, err := selectChecks(list.patterns, nil); err != nil {
			return nil, usageErrorf("%s: %w", v.origin(list.key), err)
		}
	}
	selector, err := selectChecks(v.Only, skipSelectors(v.Skip))
	if err == nil && len(v.Skip) > 0 && !slices.ContainsFunc(suites.Implemented(), selector) {
		return nil, usageErrorf(
			"%s: nothing is left to check, since this takes out all that is selected; take out less",
			v.origin("skip"))
	}
	return selector, err
}

// conflictingFlags finds flags that do not say which one server is meant.
func conflictingFlags(f runFlags) error {
	command, url, server := f.fileKeys.Command, f.fileKeys.URL, f.isGiven("server")
	switch {
	case f.quick && f.isolate, f.quick && f.shard != "":
		return usageErrorf("--quick has one session; leave out --isolate and --shard")
	case f.watch && f.plan:
		return usageErrorf("--watch and --plan exclude each other")
	case f.watch && f.isGiven("last-failed"):
		return usageErrorf("--watch and --last-failed exclude each other; --watch begins with what blocked anyway")
	case len(f.watchPaths) > 0 && !f.watch:
		return usageErrorf("--watch-path wants --watch")
	case !server && f.hosts.file != "":
		return usageErrorf("--servers-file wants --server NAME")
	case server && f.demo:
		return usageErrorf("--server and --demo exclude each other")
	case server && url != "":
		return usageErrorf("--server and --url exclude each other; the file says where the server is")
	case server && len(command) > 0:
		return usageErrorf("--server takes the command from a file; leave out %s", strings.Join(command, " "))
	case server && f.hosts.serverName == "":
		return usageErrorf("--server wants a name; mcpcheck run --server lists what there is")
	case f.demo && url != "":
		return usageErrorf("--demo judges the built-in server over stdio; " +
			"for HTTP start mcpcheck serve --http 127.0.0.1:8765 and use --url")
	case f.demo && len(command) > 0:
		return usageErrorf("--demo judges the built-in server; leave out the command %s", strings.Join(command, " "))
	}
	return nil
}

// merge lets flags that were given win over the file, and the file over defaults. The server that flags mean stands in
// the place of the file's as a whole.
func mergeConfig(f runFlags, file config) config {
	flags, merged := f.fileKeys, file
	if len(flags.Command) > 0 || flags.URL != "" || f.demo {
		merged.Command, merged.URL = flags.Command, flags.URL
	}
	if f.isGiven("server") && !file.isListEntry { // whose file says all that is said of a server here
		merged.Command, merged.URL, merged.Cwd, merged.Env = nil, "", "", nil
		merged.Headers, merged.BearerEnv = nil, ""
	}
	merged.Cwd = flagOrFile(f.isGiven("cwd"), flags.Cwd, merged.Cwd)
	merged.BearerEnv = flagOrFile(f.isGiven("bearer-env"), flags.BearerEnv, merged.BearerEnv)
	merged.Protocol = flagOrFile(f.isGiven("protocol"), flags.Protocol, file.Protocol)
	merged.Profile = flagOrFile(f.isGiven("profile"), flags.Profile, file.Profile)
	merged.SDK = flagOrFile(f.isGiven("sdk"), flags.SDK, file.SDK)
	merged.Calls = flagOrFile(f.isGiven("calls"), flags.Calls, file.Calls)
	merged.Baseline = flagOrFile(f.isGiven("baseline"), flags.Baseline, file.Baseline)
	merged.Jobs = flagOrFile(f.isGiven("jobs"), flags.Jobs, file.Jobs)
	merged.Timeout = flagOrFile(f.isGiven("timeout"), flags.Timeout, file.Timeout)
	merged.StartTimeout = flagOrFile(f.isGiven("start-timeout"), flags.StartTimeout, file.StartTimeout)
	merged.Budget = flagOrFile(f.isGiven("budget"), flags.Budget, file.Budget)
	merged.MaxMessage = flagOrFile(f.isGiven("max-message"), flags.MaxMessage, file.MaxMessage)
	merged.Seed = flagOrFile(f.isGiven("seed"), flags.Seed, file.Seed)
	if merged.Baseline == "" && !f.demo && !f.isGiven("server") {
		merged.Baseline = file.siblingFile(defaultBaselineFile)
	}
	if f.isGiven("only") {
		merged.Only = flags.Only
	}
	if f.isGiven("skip") {
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
	protocolAuto = "auto" // the newest one that the server speaks
	protocolAll  = "all"  // each of those that it speaks
)

// validateProtocol finds out whether there is what is asked for.
func validateProtocol(protocol string) error {
	if protocol == protocolAuto || protocol == protocolAll || slices.Contains(catalogue.Revisions, protocol) {
		return nil
	}
	return fmt.Errorf("unknown protocol revision %q (have auto, all, %s)",
		protocol, strings.Join(catalogue.Revisions, ", "))
}

// What is done with failures that come from a known deviation of the server's SDK.
const (
	showSDK = "show"
	gateSDK = "gate"
)

// validateSDK finds out whether there is such a value of --sdk.
func validateSDK(value string) error {
	if value == showSDK || value == gateSDK {
		return nil
	}
	return fmt.Errorf("unknown value %q (have %s, %s)", value, showSDK, gateSDK)
}

// singleProtocol is what is asked for when one answer is enough.
func (v options) singleProtocol() string {
	if v.Protocol == protocolAll {
		return protocolAuto
	}
	return v.Protocol
}

// selectChecks makes a selector of checks that are built.
func selectChecks(only, skip []string) (catalogue.Selector, error) {
	for _, id := range slices.Concat(only, skip) {
		if r, ok := suites.Find(id); ok && !suites.HasCheck(r) {
			return nil, fmt.Errorf("no check tries %s yet; mcpcheck list --planned shows what is not built", id)
		}
	}
	return catalogue.Select(suites.Implemented, only, skip)
}

// optionsInfo is what a report says of the values.
func (v options) optionsInfo(redact redactor) *report.OptionsInfo {
	o := &report.OptionsInfo{
		Configuration: v.config.name, Protocol: v.Protocol, Calls: v.calls, Only: v.Only,
		Timeout: v.Timeout.Seconds(), StartTimeout: v.StartTimeout.Seconds(), Budget: v.Budget.Seconds(),
		MaxMessage: v.maxMessage, Jobs: v.Jobs, Isolate: v.flags.isolate, Quick: v.flags.quick, Seed: v.Seed,
		Shard:  v.shard,
		Advice: v.flags.advice || slices.ContainsFunc(v.Only, selectsAdvice),
	}
	if v.set != nil {
		o.Set = v.set.Info()
	}
	if v.flags.tentative == gateTentative {
		o.Tentative = gateTentative
	}
	if v.SDK == gateSDK {
		o.SDK = gateSDK
	}
	for _, left := range v.Skip {
		o.Skip = append(o.Skip, report.Exclusion{Check: left.Check, Reason: redact.text(oneLine(left.Reason))})
	}
	return o
}

// selectsAdvice reports whether a pattern asks for advice by name.
func selectsAdvice(only string) bool { return strings.HasPrefix(strings.ToLower(only), "advice") }

// sizePattern is how a number of bytes is written.
var sizePattern = regexp.MustCompile(`^([1-9][0-9]{0,2})(KiB|MiB)$`)

// parseSize reads a number of bytes.
func parseSize(text string) (bytes int, err error) {
	parts := sizePattern.FindStringSubmatch(text)
	if parts == nil {
		return 0, fmt.Errorf("%q is not a size such as 512KiB or 64MiB, at most 999MiB", text)
	}
	bytes, err = strconv.Atoi(parts[1])
	return bytes * map[string]int{"KiB": 1 << 10, "MiB": 1 << 20}[parts[2]], err
}

// origin names what a value comes from: a flag, or a place in the file.
func (v options) origin(key string) string {
	if v.flags.isGiven(key) || v.position(key) == "" {
		return "--" + key
	}
	return v.location(key) + ": " + key
}
