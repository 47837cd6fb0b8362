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
	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// values are what was asked for: flags and mcpcheck.yaml put together, and found to be good as far as that can be told
// without looking at anything else.
type values struct {
	config // what is in force of the keys
	flags  runFlags

	profile    harness.Profile
	calls      harness.Calls
	selector   harness.Selector
	set        *harness.RequirementSet // that is judged by; nil: all that is built
	frozen     harness.Catalogue       // its requirements
	tentative  harness.Selector        // checks that are new
	shard      *harness.ShardInfo      // nil: the whole run
	jobs       int                     // that were asked for; 0: none were
	maxMessage int                     // bytes
	reports    map[string][]string     // files, by format
	reportDir  string                  // for a report of every format
}

// settle puts flags and a configuration file together.
func settle(f runFlags, file config) (v values, err error) {
	if err := contradiction(f); err != nil {
		return v, err
	}
	if f.plan {
		file.Reports = reportFiles{} // a plan has none
	}
	v = values{config: merge(f, file), flags: f}
	v.reports, v.reportDir = f.report.merge(f.given, file.Reports)
	if len(v.Command) == 0 && v.URL == "" && !f.demo && !f.given("server") {
		return v, usage("no server to check; say mcpcheck run -- COMMAND [ARG…] or mcpcheck run --url URL, " +
			"or try mcpcheck run --demo")
	}
	if v.profile, err = harness.ParseProfile(v.Profile); err != nil {
		return v, usage("%s: %w", v.origin("profile"), err)
	}
	if err := knownSDK(cmp.Or(v.SDK, showSDK)); err != nil {
		return v, usage("%s: %w", v.origin("sdk"), err)
	}
	if v.calls, err = harness.ParseCalls(v.Calls); err != nil {
		return v, usage("%s: %w", v.origin("calls"), err)
	}
	if err := knownProtocol(v.Protocol); err != nil {
		return v, usage("%s: %w", v.origin("protocol"), err)
	}
	if v.maxMessage, err = parseSize(v.MaxMessage); err != nil {
		return v, usage("%s: %w", v.origin("max-message"), err)
	}
	if key := v.notPositive(v.flags.given); key != "" {
		return v, usage("%s%s", v.origin(key), mustBePositive)
	}
	if v.shard, err = parseShard(f.shard, os.Getenv); err != nil {
		return v, err
	}
	if f.given("jobs") || file.Jobs != 0 {
		v.jobs = v.Jobs
	}
	if v.selector, err = v.selection(); err != nil {
		return v, err
	}
	if err := knownTentative(cmp.Or(f.tentative, showTentative)); err != nil {
		return v, err
	}
	return v, v.freeze()
}

// selection makes the selector of what is to be tried.
func (v values) selection() (harness.Selector, error) {
	for _, list := range []struct {
		key      string
		patterns []string
	}{{"only", v.Only}, {"skip", selectors(v.Skip)}} {
		if _, err := selectChecks(list.patterns, nil); err != nil {
			return nil, usage("%s: %w", v.origin(list.key), err)
		}
	}
	selector, err := selectChecks(v.Only, selectors(v.Skip))
	if err == nil && len(v.Skip) > 0 && !slices.ContainsFunc(suites.Built(), selector) {
		return nil, usage("%s: nothing is left to check, since this takes out all that is selected; take out less",
			v.origin("skip"))
	}
	return selector, err
}

// contradiction finds flags that do not say which one server is meant.
func contradiction(f runFlags) error {
	command, url, server := f.keys.Command, f.keys.URL, f.given("server")
	switch {
	case f.quick && f.isolate, f.quick && f.shard != "":
		return usage("--quick has one session; leave out --isolate and --shard")
	case f.watch && f.plan:
		return usage("--watch and --plan exclude each other")
	case f.watch && f.given("last-failed"):
		return usage("--watch and --last-failed exclude each other; --watch begins with what blocked anyway")
	case len(f.watched) > 0 && !f.watch:
		return usage("--watch-path wants --watch")
	case !server && f.hosts.file != "":
		return usage("--servers-file wants --server NAME")
	case server && f.demo:
		return usage("--server and --demo exclude each other")
	case server && url != "":
		return usage("--server and --url exclude each other; the file says where the server is")
	case server && len(command) > 0:
		return usage("--server takes the command from a file; leave out %s", strings.Join(command, " "))
	case server && f.hosts.name == "":
		return usage("--server wants a name; mcpcheck run --server lists what there is")
	case f.demo && url != "":
		return usage("--demo judges the built-in server over stdio; " +
			"for HTTP start mcpcheck serve --http 127.0.0.1:8765 and use --url")
	case f.demo && len(command) > 0:
		return usage("--demo judges the built-in server; leave out the command %s", strings.Join(command, " "))
	}
	return nil
}

// merge lets flags that were given win over the file, and the file over defaults. The server that flags mean stands in
// the place of the file's as a whole.
func merge(f runFlags, file config) config {
	flags, merged := f.keys, file
	if len(flags.Command) > 0 || flags.URL != "" || f.demo {
		merged.Command, merged.URL = flags.Command, flags.URL
	}
	if f.given("server") && !file.listed { // whose file says all that is said of a server here
		merged.Command, merged.URL, merged.Cwd, merged.Env = nil, "", "", nil
		merged.Headers, merged.BearerEnv = nil, ""
	}
	merged.Cwd = pick(f.given("cwd"), flags.Cwd, merged.Cwd)
	merged.BearerEnv = pick(f.given("bearer-env"), flags.BearerEnv, merged.BearerEnv)
	merged.Protocol = pick(f.given("protocol"), flags.Protocol, file.Protocol)
	merged.Profile = pick(f.given("profile"), flags.Profile, file.Profile)
	merged.SDK = pick(f.given("sdk"), flags.SDK, file.SDK)
	merged.Calls = pick(f.given("calls"), flags.Calls, file.Calls)
	merged.Baseline = pick(f.given("baseline"), flags.Baseline, file.Baseline)
	merged.Jobs = pick(f.given("jobs"), flags.Jobs, file.Jobs)
	merged.Timeout = pick(f.given("timeout"), flags.Timeout, file.Timeout)
	merged.StartTimeout = pick(f.given("start-timeout"), flags.StartTimeout, file.StartTimeout)
	merged.Budget = pick(f.given("budget"), flags.Budget, file.Budget)
	merged.MaxMessage = pick(f.given("max-message"), flags.MaxMessage, file.MaxMessage)
	merged.Seed = pick(f.given("seed"), flags.Seed, file.Seed)
	if merged.Baseline == "" && !f.demo && !f.given("server") {
		merged.Baseline = file.besideIt(baselineName)
	}
	if f.given("only") {
		merged.Only = flags.Only
	}
	if f.given("skip") {
		merged.Skip = flags.Skip
	}
	return merged
}

// pick is the value of a flag that was given, or the file's; if there is neither, the default of the flag.
func pick[T comparable](given bool, flag, file T) T {
	var none T
	if given || file == none {
		return flag
	}
	return file
}

// What may be asked for in place of a revision.
const (
	auto = "auto" // the newest one that the server speaks
	all  = "all"  // each of those that it speaks
)

// knownProtocol finds out whether there is what is asked for.
func knownProtocol(protocol string) error {
	if protocol == auto || protocol == all || slices.Contains(harness.Revisions, protocol) {
		return nil
	}
	return fmt.Errorf("unknown protocol revision %q (have auto, all, %s)",
		protocol, strings.Join(harness.Revisions, ", "))
}

// What is done with failures that come from a known deviation of the server's SDK.
const (
	showSDK = "show"
	gateSDK = "gate"
)

// knownSDK finds out whether there is such a value of --sdk.
func knownSDK(value string) error {
	if value == showSDK || value == gateSDK {
		return nil
	}
	return fmt.Errorf("unknown value %q (have %s, %s)", value, showSDK, gateSDK)
}

// one is what is asked for when one answer is enough.
func (v values) one() string {
	if v.Protocol == all {
		return auto
	}
	return v.Protocol
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

// info is what a report says of the values.
func (v values) info(redact redactor) *harness.OptionsInfo {
	o := &harness.OptionsInfo{
		Configuration: v.config.name, Protocol: v.Protocol, Calls: v.calls, Only: v.Only,
		Timeout: v.Timeout.Seconds(), StartTimeout: v.StartTimeout.Seconds(), Budget: v.Budget.Seconds(),
		MaxMessage: v.maxMessage, Jobs: v.Jobs, Isolate: v.flags.isolate, Quick: v.flags.quick, Seed: v.Seed,
		Shard:  v.shard,
		Advice: v.flags.advice || slices.ContainsFunc(v.Only, isAdvice),
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
		o.Skip = append(o.Skip, harness.Omission{Check: left.Check, Reason: redact.text(oneLine(left.Reason))})
	}
	return o
}

// isAdvice reports whether a pattern asks for advice by name.
func isAdvice(only string) bool { return strings.HasPrefix(strings.ToLower(only), "advice") }

// size is how a number of bytes is written.
var size = regexp.MustCompile(`^([1-9][0-9]{0,2})(KiB|MiB)$`)

// parseSize reads a number of bytes.
func parseSize(text string) (bytes int, err error) {
	parts := size.FindStringSubmatch(text)
	if parts == nil {
		return 0, fmt.Errorf("%q is not a size such as 512KiB or 64MiB, at most 999MiB", text)
	}
	bytes, err = strconv.Atoi(parts[1])
	return bytes * map[string]int{"KiB": 1 << 10, "MiB": 1 << 20}[parts[2]], err
}

// origin names what a value comes from: a flag, or a place in the file.
func (v values) origin(key string) string {
	if v.flags.given(key) || v.position(key) == "" {
		return "--" + key
	}
	return v.place(key) + ": " + key
}
