package reporters

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// tally counts results in the categories of reports.
type tally struct {
	report.Counts
	// gatingFails counts blocking results of Fail. Other blocking ones are inconclusive.
	gatingFails int
	// knownFails counts known failures of Fail.
	knownFails int
	// notTried counts results of Skip that a quick run did not try.
	notTried int
	// partialPasses counts partial passes of Pass.
	partialPasses int
	// callsOff counts results of Inconclusive for which isCallsOff is true.
	callsOff int
}

func count(results []report.Result) tally {
	t := tally{Counts: report.Count(results)}
	for _, r := range results {
		switch {
		case r.IsAdvice():
		case isPartial(r):
			t.partialPasses++
		case isCallsOff(r):
			t.callsOff++
		case r.Verdict == catalogue.Skip && r.Reason == report.NotTried:
			t.notTried++
		case r.Verdict != catalogue.Fail:
		case r.Gates:
			t.gatingFails++
		case r.Known != nil:
			t.knownFails++
		}
	}
	return t
}

// isPartial reports whether a result is a partial pass.
func isPartial(r report.Result) bool { return r.Verdict == catalogue.Pass && r.Message != "" }

// newFails returns the number of failures that neither the baseline lists nor an SDK explains.
func (t tally) newFails() int { return t.Fail - t.knownFails - t.SDK }

// failures returns text like "2 blocking failures, 3 others", or "" if all failures are accepted.
func (t tally) failures() string {
	others := t.newFails() - t.gatingFails
	switch {
	case t.newFails() == 0:
		return ""
	case t.gatingFails == 0:
		return Plural(others, "failure") + " not blocking"
	case others == 0:
		return Plural(t.gatingFails, "blocking failure")
	}
	return fmt.Sprintf("%s, %s", Plural(t.gatingFails, "blocking failure"), Plural(others, "other"))
}

// knownText returns text like "2 known failures", or "" if there are none.
func (t tally) knownText() string {
	if t.knownFails == 0 {
		return ""
	}
	return Plural(t.knownFails, "known failure")
}

// sdkFailures returns text like "2 failures of the SDK", or "" if there are none.
func (t tally) sdkFailures() string {
	if t.SDK == 0 {
		return ""
	}
	return Plural(t.SDK, "failure") + " of the SDK"
}

// sdkDeviations says how many failures come from SDKs and names the SDKs, or returns "" if there are none.
func sdkDeviations(results []report.Result) string {
	excused := filter(results, report.Result.IsKnownDeviation)
	names := group(excused).names(func(r report.Result) string { return sdkText(*r.SDK) })
	switch len(excused) {
	case 0:
		return ""
	case 1:
		return "1 known deviation of " + names[0] + ", not in your code"
	}
	return fmt.Sprintf("%d known deviations of %s, none in your code", len(excused), strings.Join(names, " and "))
}

// sdkText names an SDK in a sentence: the TypeScript SDK 1.x, mcp-go 1.x.
func sdkText(sdk report.SDKInfo) string {
	if strings.Contains(sdk.Name, " SDK") && sdk.Name != "an SDK" {
		return "the " + sdk.Name
	}
	return sdk.Name
}

// acceptedText returns why a failure does not block that otherwise would: the baseline lists it, or it comes from an
// SDK. It returns "" for other results.
func acceptedText(r report.Result) string {
	switch {
	case isKnown(r):
		return knownText(*r.Known)
	case r.IsKnownDeviation():
		return strings.TrimSpace("a deviation of " + sdkText(*r.SDK) + " " + r.SDK.Issue)
	}
	return ""
}

// undecided returns the number of results that are not decided and do not block.
func (t tally) undecided() int { return t.Inconclusive - t.Gating + t.gatingFails }

// inconclusive returns text like "3 not decided (1 blocking)", or "" if there are none.
func (t tally) inconclusive() string {
	gating := t.Gating - t.gatingFails
	switch {
	case t.Inconclusive == 0:
		return ""
	case gating == 0:
		return fmt.Sprintf("%d not decided", t.Inconclusive)
	}
	return fmt.Sprintf("%d not decided (%d blocking)", t.Inconclusive, gating)
}

// others returns the counts of results other than passes and failures, without zeros.
func (t tally) others() (parts []string) {
	if t.knownFails > 0 {
		parts = append(parts, t.knownText())
	}
	if t.Inconclusive > 0 {
		parts = append(parts, t.inconclusive())
	}
	if skipped := t.Skip - t.notTried; skipped > 0 {
		parts = append(parts, fmt.Sprintf("%d skipped", skipped))
	}
	if t.notTried > 0 {
		parts = append(parts, fmt.Sprintf("%d not tried by a quick run", t.notTried))
	}
	if t.Error > 0 {
		parts = append(parts, Plural(t.Error, "error")+" of mcpcheck")
	}
	if t.Advice > 0 {
		parts = append(parts, Plural(t.Advice, "recommendation"))
	}
	return parts
}

// verdict returns the verdict of a run in one word, the text about it, and further remarks.
func verdict(r report.Report) (word string, parts, more []string) {
	t := count(r.Results)
	passed := fmt.Sprintf("%d passed", t.Pass)
	switch r.ExitCode {
	case report.ExitConforms:
		word, parts = "PASS", []string{sdkDeviations(r.Results), passed, t.knownText()}
		switch {
		case r.Recorded:
			word = "RECORD PASS"
		case isQuick(r):
			word = "QUICK PASS"
		}
		more = append(more, t.failures())
	case report.ExitFails:
		word, parts = "FAIL", []string{t.failures(), staleText(r), passed}
		if t.gatingFails == 0 { // What makes the run fail comes first.
			parts = []string{staleText(r), passed, t.failures()}
		}
		if t.Gating > t.gatingFails {
			parts = slices.Insert(parts, 1, Plural(t.Gating-t.gatingFails, "MUST")+" not decided")
		}
		more = append(more, sdkDeviations(r.Results))
	case report.ExitUntestable:
		word, parts = "NOT TESTED", []string{headline(r.Problem)}
		if isUnreachable(r) {
			return word, nonEmpty(parts...), nil
		}
		if len(r.Results) > 0 {
			parts = append(parts, t.failures(), passed)
		}
	case report.ExitInterrupted:
		word, parts = "INTERRUPTED", []string{t.failures(), passed}
	default:
		word, parts = "ERROR", []string{headline(r.Problem), t.failures(), passed}
	}
	parts = append(parts, omittedCounts(r.Coverage)...)
	if r.Server.Empty {
		parts = append(parts, "the server offers no tools, resources or prompts")
	}
	for _, other := range t.others() {
		if !slices.Contains(parts, other) {
			more = append(more, other)
		}
	}
	if r.Problem == "" { // The problem would say the same.
		more = append(more, commonCause(r.Results))
	}
	more = append(more, strings.Join(revisionsOf(r.Revisions), ", "), "profile "+string(r.Profile))
	return word, nonEmpty(parts...), nonEmpty(more...)
}

// outcomeText returns the verdict and all text about a run, the counts first.
func outcomeText(r report.Report) (word, said string) {
	word, parts, more := verdict(r)
	return word, joinParts(joinParts(parts...), joinParts(more...), duration(r.Seconds))
}

// minMusts is the number of undecided requirements at MUST from which a common cause is named with the verdict.
const minMusts = 10

// commonCause names the most frequent reason for which requirements at MUST are not decided, and their number; "" if
// there are too few. Calls that the operator does not allow do not count, because they have their own lines.
func commonCause(results []report.Result) string {
	open := filter(results, func(r report.Result) bool {
		return r.Verdict == catalogue.Inconclusive && r.Level == catalogue.Must && r.Reason != report.CallsOff
	})
	var most group
	for _, g := range groupBy(open, reasonKey) {
		if len(g) > len(most) {
			most = g
		}
	}
	if len(most) < minMusts {
		return ""
	}
	return fmt.Sprintf("%d MUSTs not decided: %s", len(most), shorten(headline(most[0].Message), 120))
}

// conclusion describes a run in one sentence without a subject.
func conclusion(r report.Report) string {
	mcp := strings.TrimSpace("MCP " + strings.Join(revisionsOf(r.Revisions), ", "))
	t := count(r.Results)
	switch {
	case r.ExitCode == report.ExitConforms && t.knownFails > 0:
		return "conforms to " + mcp + " but for " + t.knownText() + limitation(r)
	case r.ExitCode == report.ExitConforms && t.SDK > 0:
		return "conforms to " + mcp + " but for " + sdkDeviations(r.Results) + limitation(r)
	case r.ExitCode == report.ExitConforms:
		return "conforms to " + mcp + limitation(r)
	case r.ExitCode == report.ExitFails && t.Gating == 0:
		return "the baseline is stale"
	case r.ExitCode == report.ExitFails && !slices.ContainsFunc(r.Results, isViolation):
		return "does not pass profile " + string(r.Profile) + " for " + mcp
	case r.ExitCode == report.ExitFails:
		return "does not conform to " + mcp
	case r.ExitCode == report.ExitUntestable:
		return "the server could not be tested"
	case r.ExitCode == report.ExitInterrupted:
		return "the run was interrupted"
	}
	return "mcpcheck itself failed"
}

// isQuick reports whether a run was a quick one, which does not test everything.
func isQuick(r report.Report) bool { return r.Options != nil && r.Options.Quick }

// limitation says that a quick run, or the test of a recording, does not test everything.
func limitation(r report.Report) string {
	switch {
	case r.Recorded:
		return ", as far as the record shows"
	case isQuick(r):
		return ", as far as a quick run tries"
	}
	return ""
}

// isViolation reports whether a result blocks because of the specification itself.
func isViolation(r report.Result) bool { return r.GatedBy == catalogue.GateMust }

// verdictEmoji returns an emoji for the verdict.
func verdictEmoji(r report.Report) string {
	switch r.ExitCode {
	case report.ExitConforms:
		return "✅"
	case report.ExitFails:
		return "❌"
	}
	return "⚠️"
}

// staleText returns text like "2 stale entries", or "" if there are none.
func staleText(r report.Report) string {
	switch n := len(staleBaseline(r)); n {
	case 0:
		return ""
	case 1:
		return "1 stale entry"
	default:
		return fmt.Sprintf("%d stale entries", n)
	}
}

// staleFix says what to do about stale entries.
const staleFix = "take them out or correct them; mcpcheck baseline does it from a run"

// staleBaseline returns the stale entries of the baseline.
func staleBaseline(r report.Report) []report.StaleEntry {
	if r.Baseline == nil {
		return nil
	}
	return r.Baseline.Stale
}

// stalePosition returns where an entry of the baseline is, such as "mcpcheck-baseline.yaml:7".
func stalePosition(r report.Report, s report.StaleEntry) string {
	return fmt.Sprintf("%s:%d", r.Baseline.File, s.Line)
}

// staleName returns the name of a stale entry as a test. An entry may be stale for two reasons.
func staleName(s report.StaleEntry) string {
	return fmt.Sprintf("baseline: %s (line %d)", s.Entry, s.Line)
}

// testName returns the name of a result in formats in which a test has a single name. It does not depend on what a
// server does. It names the revision only if there are several, so that a server that moves to a newer one keeps its
// history.
func testName(r report.Result, several bool) string {
	if several {
		return r.ID + " (" + r.Revision + ")"
	}
	return r.ID
}

// knownText says why a failure is accepted, and until when.
func knownText(k report.KnownInfo) string {
	parts := []string{k.Reason}
	if k.Flaky {
		parts = append(parts, "flaky")
	}
	if k.Expires != "" {
		parts = append(parts, "until "+k.Expires)
	}
	return joinParts(parts...)
}

// isKnown reports whether a result is a failure that the baseline lists.
func isKnown(r report.Result) bool { return r.Known != nil && r.Verdict == catalogue.Fail && !r.Gates }

// isTentative reports whether a result is a failure that does not block because its check is new.
func isTentative(r report.Result) bool { return r.Tentative && r.Verdict == catalogue.Fail }

// isFailure reports whether a result makes the run fail.
func isFailure(r report.Result) bool { return r.Gates || r.Verdict == catalogue.Error }

// resultGate says whether a result blocks, and why.
func resultGate(r report.Result) string {
	if isKnown(r) {
		return "known, not blocking"
	}
	if r.IsKnownDeviation() {
		return "a known deviation of " + sdkText(*r.SDK) + ", not blocking (--sdk gate makes it block)"
	}
	if isTentative(r) {
		return "not blocking: the check is new in this version of mcpcheck (--tentative=gate makes it block)"
	}
	if r.GatedBy == catalogue.GateDirectory {
		return gateText(r.GatedBy) + ": " + requestingDirectories(r)
	}
	return gateText(r.GatedBy)
}

// countsText is resultGate, or says that the result is a fault of mcpcheck, which makes the run fail too.
func countsText(r report.Result) string {
	if r.Verdict == catalogue.Error {
		return shortGate(r)
	}
	return resultGate(r)
}

// gateText is resultGate of a result that is not known.
func gateText(g catalogue.Gate) string {
	switch g {
	case catalogue.NoGate:
		return "not blocking"
	case catalogue.GateChecklist:
		return "blocks a release, though the spec does not require it (--profile spec ignores it)"
	case catalogue.GateStrict:
		return "blocking under --profile strict"
	case catalogue.GateInconclusive:
		return "blocking under --profile strict (every MUST must be tested)"
	case catalogue.GateDirectory:
		return "blocking under --profile directory"
	}
	return "blocking"
}

// gateNote is gateText if the level does not say it: for results that block for another reason than a MUST of the
// specification.
func gateNote(r report.Result) string {
	if r.GatedBy == catalogue.NoGate || r.GatedBy == catalogue.GateMust {
		return ""
	}
	return resultGate(r)
}

// requestingDirectories names the directories whose rules the server does not follow.
func requestingDirectories(r report.Result) string {
	var names []string
	for _, ask := range r.DirectoryRules {
		names = append(names, ask.Directory)
	}
	return strings.Join(names, ", ")
}

// shortGate says in one word why a result makes the run fail.
func shortGate(r report.Result) string {
	if r.Verdict == catalogue.Error {
		return "error of mcpcheck"
	}
	return strings.Join(nonEmpty(string(r.GatedBy), requestingDirectories(r)), ": ")
}

// testedAgainstText names the revision that a server was tested against, and how it was selected.
func testedAgainstText(revisions []report.RevisionInfo) string {
	switch len(revisions) {
	case 0:
		return ""
	case 1:
		return "tested against " + revisions[0].Revision + " (" + negotiation(revisions[0]) + ")"
	}
	return "tested against " + strings.Join(revisionsOf(revisions), ", ")
}

// alsoSupportsText names the newest revision of the other era that the server supports; empty if it is not known to
// support one.
func alsoSupportsText(r report.Report) string {
	for _, revision := range slices.Backward(r.Server.Revisions) {
		if !slices.ContainsFunc(r.Revisions, func(judged report.RevisionInfo) bool {
			return catalogue.IsModern(judged.Revision) == catalogue.IsModern(revision)
		}) {
			return "also supports " + revision
		}
	}
	return ""
}

// undiscoveredText says why the server was tested with a handshake although it may be a modern one; empty if there is
// no such reason.
func undiscoveredText(s report.ServerInfo) string {
	if s.DiscoverError == "" {
		return ""
	}
	return "not tested without a handshake: server/discover was answered with " + s.DiscoverError
}

// oneClientText says that the server serves one client at a time; empty if it serves several.
func oneClientText(s report.ServerInfo) string {
	if !s.OneClient {
		return ""
	}
	return "serves one client at a time: tested one session after the other"
}

func negotiation(r report.RevisionInfo) string {
	switch {
	case r.Assumed:
		return "requested; no handshake took place"
	case r.Requested != r.Revision:
		return "negotiated; " + r.Requested + " was requested"
	case r.Revision == catalogue.NewestLegacy:
		return "negotiated"
	case r.Revision == catalogue.Revisions[len(catalogue.Revisions)-1]:
		return "newest"
	}
	return "requested"
}

// revisionsOf returns the tested revisions, each once.
func revisionsOf(infos []report.RevisionInfo) (revisions []string) {
	for _, info := range infos {
		if !slices.Contains(revisions, info.Revision) {
			revisions = append(revisions, info.Revision)
		}
	}
	return revisions
}

// subjects returns the subjects of a result, unless its message names all of them.
func subjects(r report.Result) []string {
	for _, name := range r.Subjects {
		if !strings.Contains(r.Message, name) {
			return r.Subjects
		}
	}
	return nil
}

// group is a set of results of several revisions or requirements with the same content.
type group []report.Result

// groupBy groups results by key, in the order of the first of each.
func groupBy(results []report.Result, key func(report.Result) string) (groups []group) {
	at := map[string]int{}
	for _, r := range results {
		k := key(r)
		i, ok := at[k]
		if !ok {
			i = len(groups)
			at[k] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], r)
	}
	return groups
}

// levelText returns the level of a finding and, for a minor violation, that of its requirement.
func levelText(r report.Result) string {
	text := r.Level.String()
	if r.Level < r.EntryLevel && r.Verdict == catalogue.Fail {
		text = fmt.Sprintf("%s, minor violation of a %s", r.Level, r.EntryLevel)
	}
	if isTentative(r) {
		text += ", tentative"
	}
	return text
}

// findingKey returns a key of results that differ only in revision and evidence.
func findingKey(r report.Result) string {
	return fmt.Sprintf("%s\x00%s\x00%s\x00%s\x00%s\x00%t\x00%t",
		r.ID, r.Verdict, r.Level, r.GatedBy, r.Message, isKnown(r), r.IsKnownDeviation())
}

// reasonKey returns a key of results that are not decided for the same reason.
func reasonKey(r report.Result) string {
	return fmt.Sprint(headline(r.Message), "\x00", r.GatedBy)
}

// newest returns the result that represents the group.
func (g group) newest() report.Result { return g[len(g)-1] }

// ids returns the ids of the group, each once.
func (g group) ids() []string {
	return g.names(func(r report.Result) string { return r.ID })
}

// revisions returns the revisions of the group, each once.
func (g group) revisions() []string {
	return g.names(func(r report.Result) string { return r.Revision })
}

func (g group) names(name func(report.Result) string) (names []string) {
	for _, r := range g {
		if n := name(r); !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return names
}

// revisionsText names the revisions of a group if the report has several.
func revisionsText(r report.Report, g group) string {
	if len(revisionsOf(r.Revisions)) < 2 {
		return ""
	}
	return strings.Join(g.revisions(), ", ")
}

// wantGot returns what was expected and what was received, each on one line. It uses the first finding. Without
// findings, the message is what was received.
func wantGot(r report.Result) (want, got string) {
	if len(r.Findings) == 0 {
		return "", headline(r.Message)
	}
	want, _ = splitHeadline(r.Findings[0].Want)
	got, _ = splitHeadline(r.Findings[0].Got)
	return want, got
}

// filter returns the values that the predicate selects.
func filter[V any](all []V, pick func(V) bool) (picked []V) {
	for _, r := range all {
		if pick(r) {
			picked = append(picked, r)
		}
	}
	return picked
}
