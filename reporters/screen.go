package reporters

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// screen is what people need to know of a run, the blocking findings first. It does not say how it is written.
type screen struct {
	entries []entry
	// facts are for what does not need an entry, with one line each.
	facts []fact
	word  string // PASS, FAIL …
	parts []string
}

// entry is a finding to look at: a failure with those of the same cause, a crash, or a list.
type entry struct {
	// sign is ✗ (blocks), ! (needs attention), ~ (is accepted), ? (is not decided) or ✓ (passed).
	sign  string
	name  string
	level string
	// requirement is the requirement as a sentence.
	requirement string
	// summary is the outcome, for entries that show nothing else besides their name.
	summary string
	facts   []fact

	// result has the evidence; it may be nil.
	result *report.Result
}

// fact is a label and a text. Quoted texts are cut: each of several lines to one line.
type fact struct {
	label, text string
	quoted      bool
	// maxLines is the number of lines that are shown, unless everything is; 0 for all.
	maxLines int
}

// maxEntries is the number of failures that are shown with what was sent and received, unless details are wanted.
const maxEntries = 4

// maxCrashes is the number of crashes that are shown, and of kinds of tools that never work.
const maxCrashes = 3

// newScreen returns the screen of a report. With detailed it has the details of all failures and of what was not
// decided.
func newScreen(r report.Report, detailed bool) screen {
	shown := withoutHiddenAdvice(r)
	crashes := distinctCrashes(shown.Results)
	crashed, crashFact := crashEntries(r, crashes, detailed)
	s := screen{entries: slices.Concat(crashed, toolEntries(r, crashes)), facts: facts(r, crashFact, detailed)}
	blocking := failureEntries(r, filter(shown.Results, isFailure), "✗", !detailed)
	if !detailed {
		blocking = limitEntries(blocking)
	}
	s.entries = append(s.entries, blocking...)
	s.entries = append(s.entries, staleEntries(r)...)
	if detailed {
		minor := filter(shown.Results, isMinor)
		accepted := filter(shown.Results, func(x report.Result) bool { return acceptedText(x) != "" })
		s.entries = slices.Concat(s.entries, failureEntries(r, minor, "!", false),
			failureEntries(r, accepted, "~", false), undecidedEntries(shown.Results))
	}
	if showsAdvice(r) {
		s.entries = append(s.entries, adviceEntries(r)...)
	}
	var more []string
	s.word, s.parts, more = verdict(r)
	if detailed {
		s.parts = append(s.parts, more...)
	} else if r.Profile != catalogue.Release {
		s.parts = append(s.parts, "profile "+string(r.Profile))
	}
	s.parts = append(s.parts, duration(r.Seconds))
	return s
}

// limitEntries reduces the entries beyond the first few to their names, and says how to see more.
func limitEntries(all []entry) []entry {
	if len(all) <= maxEntries {
		return all
	}
	rest := all[maxEntries:]
	shown := slices.Clone(all[:maxEntries])
	if n := len(filter(rest, func(e entry) bool { return e.summary == "" })); n > 0 {
		shown = append(shown, entry{sign: "✗", name: fmt.Sprintf("and %d more", n), level: "in full with -v"})
	}
	for _, e := range rest {
		shown = append(shown, entry{sign: e.sign, name: e.name, level: e.level, summary: e.summary})
	}
	return shown
}

// failureEntries returns entries for failures, the worst first. With together, failures with one cause are one entry.
func failureEntries(r report.Report, results []report.Result, sign string, together bool) (entries []entry) {
	key := findingKey
	if together {
		key = causeKey
	}
	for _, cause := range groupBy(WorstFirst(results), key) {
		entries = append(entries, failureEntry(r, groupBy(cause, findingKey), sign))
	}
	return entries
}

// WorstFirst sorts results, the worst first: MUSTs before SHOULDs, the server's own failures before those of an SDK,
// and last what is not decided.
func WorstFirst(results []report.Result) []report.Result {
	return slices.SortedStableFunc(slices.Values(results), func(a, b report.Result) int {
		return cmp.Compare(severity(a), severity(b))
	})
}

// severity ranks results, the worst first.
func severity(r report.Result) int {
	levels := int(catalogue.Must)
	switch level := int(catalogue.Must - r.Level); {
	case r.Verdict == catalogue.Error:
		return 4 * levels
	case r.Verdict == catalogue.Inconclusive:
		return 3*levels + level
	case r.SDK != nil:
		return levels + level
	default:
		return level
	}
}

// failureEntry returns the entry of a failure, with the others of the same cause.
func failureEntry(r report.Report, cause []group, sign string) entry {
	x := cause[0].newest()
	e := entry{sign: sign, name: x.ID, level: entryLevel(r, cause[0]), requirement: x.RequirementText(), result: &x}
	if x.Verdict == catalogue.Error {
		e.requirement = "error in mcpcheck, not in the server; please report it: " + issuesURL
	}
	want, got := "", headline(x.Message)
	if x.Verdict == catalogue.Fail {
		want, got = wantGot(x)
		got = untruncated(got, x.Evidence)
	}
	if len(x.Findings) > 0 {
		if x.Findings[0].Subject != "" {
			got = x.Findings[0].Subject + ": " + got
		}
		if n := max(len(x.Findings), len(x.Subjects)); n > 1 {
			got += fmt.Sprintf(" (and %d more)", n-1)
		}
	}
	var same []string
	for _, g := range cause[1:] {
		same = append(same, g[0].ID+" ("+g.newest().Level.String()+")")
	}
	e.facts = []fact{
		{label: "sent", text: sentText(x), quoted: true},
		{label: "got", text: got, quoted: true, maxLines: 2 - min(len(same), 1)},
		{label: "expected", text: want, maxLines: 1},
		{label: "fix", text: x.Fix, maxLines: 2},
		{label: "same for", text: joinSome(same, 4), maxLines: 1},
	}
	if x.Verdict == catalogue.Inconclusive {
		if len(same) > 0 {
			e.name += fmt.Sprintf(" and %d more", len(same))
		}
		e.summary, e.facts = got, []fact{{label: "why", text: got, maxLines: 2}, e.facts[4]}
	}
	return e
}

// entryLevel returns the level of a failure, and where it comes from.
func entryLevel(r report.Report, g group) string {
	x := g.newest()
	level := x.Level.String()
	if x.Verdict == catalogue.Fail && x.Level < x.EntryLevel {
		level += ", minor"
	}
	switch {
	case x.Verdict == catalogue.Error:
		level = "error of mcpcheck"
	case x.GatedBy == catalogue.GateInconclusive:
		level += ", not decided"
	case x.GatedBy != catalogue.GateMust && x.GatedBy != catalogue.NoGate:
		level += ", " + string(x.GatedBy)
	}
	whose := ""
	if x.SDK != nil {
		whose = "in the SDK"
	} else if isKnown(x) {
		whose = "known"
	}
	return joinParts(level, whose, revisionsText(r, g))
}

// crashEntries returns entries for crashes, one for each cause. Crashes by messages that no client sends are one entry
// together, or the text instead if nothing blocks and there are no others.
func crashEntries(r report.Report, all []crash, detailed bool) (entries []entry, instead string) {
	if !detailed {
		odd := filter(all, func(c crash) bool { return c.invalid })
		if all = all[:len(all)-len(odd)]; len(odd) > 0 { // They are the last ones.
			all = append(all, mergeCrashes(odd))
		}
		if len(all) == 1 && all[0].invalid && r.ExitCode == report.ExitConforms {
			return nil, fmt.Sprintf("%s (%s): -v", all[0].invalidText(), joinFirst(all[0].checks, 1))
		}
	}
	for i, c := range all {
		if i == maxCrashes && len(all) > i+1 && !detailed {
			return append(entries, entry{sign: "!", name: fmt.Sprintf("and %d crashes more: -v", len(all)-i)}), ""
		}
		name := "the server crashed: it " + strings.TrimPrefix(c.description, "the server ")
		if c.invalid && len(c.inputs) > 1 {
			name = c.invalidText()
		}
		entries = append(entries, entry{sign: "!", name: name, facts: []fact{
			{label: "sent", text: c.input, quoted: true},
			{label: "stderr", text: strings.Join(c.stderrLines, "\n"), quoted: true},
			{label: "seen by", text: joinSome(c.checks, 2), maxLines: 1},
		}})
	}
	return entries, ""
}

// invalidText says how many messages that no client sends crash the server.
func (c crash) invalidText() string {
	what := "malformed or unexpected message"
	if c.malformed {
		what = "malformed message"
	}
	n := len(c.inputs)
	return Plural(n, what) + " " + wordForm(n, "ends", "end") + " the server"
}

// toolEntries returns entries for the tools that do not work and for those that never answer. A tool that crashed the
// server is left to the crashes if one of them is by a call of it.
func toolEntries(r report.Report, crashes []crash) (entries []entry) {
	tools := callableTools(r)
	seen := func(u report.ToolUse) bool {
		return u.Crashed && slices.ContainsFunc(crashes, func(c crash) bool { return c.tool == u.Name })
	}
	broken := slices.DeleteFunc(filter(tools, isBroken(tools)), seen)
	for len(broken) > 0 {
		said, last := broken[0].Message, len(entries) == maxCrashes-1
		same := func(u report.ToolUse) bool { return u.Message == said || last }
		entries = append(entries, entry{
			sign: "!", name: toolNames(filter(broken, same)) + ": every call with valid arguments failed",
			facts: []fact{{label: "got", text: headline(said), quoted: true}},
		})
		broken = slices.DeleteFunc(broken, same)
	}
	if silent := filter(tools, func(u report.ToolUse) bool { return u.Silent }); len(silent) > 0 {
		entries = append(entries, entry{
			sign: "!", name: toolNames(silent) + ": no call was answered in time (--timeout)",
		})
	}
	return entries
}

// toolNames names some of the tools.
func toolNames(tools []report.ToolUse) string {
	return joinSome(mapEach(tools, func(u report.ToolUse) string { return u.Name }), 3)
}

// staleEntries returns entries for the stale entries of the baseline.
func staleEntries(r report.Report) []entry {
	if len(staleBaseline(r)) == 0 {
		return nil
	}
	e := entry{sign: "✗", name: staleText(r) + " in the baseline"}
	for _, s := range staleBaseline(r) {
		e.facts = append(e.facts, fact{label: "entry", text: stalePosition(r, s) + "  " + s.Entry + ": " + s.Reason})
	}
	e.facts = append(e.facts, fact{label: "fix", text: staleFix})
	return []entry{e}
}

// undecidedEntries returns entries for results that are limited by a reason: partial passes, and what was not decided.
func undecidedEntries(results []report.Result) (entries []entry) {
	if partly := filter(results, isPartial); len(partly) > 0 {
		entries = append(entries, reasonsEntry("✓", fmt.Sprintf("%d passed partly", len(partly)), partly))
	}
	open := filter(results, func(x report.Result) bool {
		return x.Verdict == catalogue.Inconclusive && !x.Gates && !isCallsOff(x)
	})
	if len(open) > 0 {
		entries = append(entries, reasonsEntry("?", Plural(len(open), "check")+" not decided", open))
	}
	return entries
}

// reasonsEntry lists the reasons of results, each once with the ids that it holds for.
func reasonsEntry(sign, name string, results []report.Result) entry {
	e := entry{sign: sign, name: name}
	for _, g := range groupBy(results, reasonKey) {
		_, more := splitHeadline(g[0].Message)
		e.facts = append(e.facts, fact{label: fmt.Sprint(len(g.ids())), text: headline(g[0].Message)},
			fact{text: more, quoted: true, maxLines: 10}, fact{text: strings.Join(g.ids(), ", "), maxLines: 4})
	}
	return e
}

// adviceEntries returns entries for the recommendations that are not followed, and for what was measured.
func adviceEntries(r report.Report) []entry {
	all := filter(r.Results, report.Result.IsAdvice)
	if len(all) == 0 {
		return nil
	}
	e := entry{sign: "i", name: adviceHeading(all)}
	for _, note := range measuredNotes(all) {
		e.facts = append(e.facts, fact{text: note})
	}
	for _, g := range groupBy(filter(all, isNotFollowed), findingKey) {
		x := g.newest()
		e.facts = append(e.facts, fact{text: x.ID + "  " + joinParts(headline(x.Message), joinSome(subjects(x), 8))},
			fact{label: "fix", text: x.Fix})
	}
	return []entry{e}
}

// facts returns one line each about tools, accepted failures, failures that do not block, what was not decided, and
// recommendations. The last line says how to see more, if there is more.
func facts(r report.Report, crashes string, detailed bool) (all []fact) {
	shown := withoutHiddenAdvice(r)
	add := func(label, text string) {
		if text != "" {
			all = append(all, fact{label: label, text: text})
		}
	}
	add("crashes", crashes)
	if detailed {
		add("tools", toolsText(r, maxUncalled))
		if n := count(r.Results).callsOff; n > 0 {
			add("", Plural(n, "check")+" "+wordForm(n, "needs", "need")+" such calls")
		}
		add("not seen", unexercisedText(r.Coverage))
	} else {
		add("tools", toolsText(r, 1))
		add("known", acceptedFact(shown))
		add("also", minorText(shown.Results))
		add("not seen", strings.Join(nonEmpty(undecidedText(r), unexercisedText(r.Coverage)), "\n"))
	}
	if n := count(r.Results).Advice; n > 0 && !showsAdvice(r) {
		add("advice", Plural(n, "recommendation")+" for servers used by models: --advice")
	}
	return all
}

// acceptedFact says how many failures are accepted, and names some.
func acceptedFact(r report.Report) string {
	var parts []string
	accepted := func(where string, pick func(report.Result) bool) {
		if ids := group(filter(r.Results, pick)).ids(); len(ids) > 0 {
			parts = append(parts, fmt.Sprintf("%d %s: %s", len(ids), where, joinFirst(ids, 1)))
		}
	}
	if r.Baseline != nil {
		accepted("in "+r.Baseline.File, isKnown)
	}
	accepted("in the SDK", report.Result.IsKnownDeviation)
	return strings.Join(parts, "\n")
}

// minorText counts the failures that do not block.
func minorText(results []report.Result) string {
	minor := groupBy(filter(results, isMinor), findingKey)
	if len(minor) == 0 {
		return ""
	}
	full := 0
	for _, g := range minor {
		if x := g.newest(); x.Level == x.EntryLevel && x.Level >= catalogue.Should {
			full++
		}
	}
	text := Plural(len(minor), "failure") + " that " + wordForm(len(minor), "does", "do") + " not block"
	if full > 0 && full < len(minor) {
		text += fmt.Sprintf(" (%d SHOULD, %d minor)", full, len(minor)-full)
	}
	return text + ": -v"
}

// wordForm returns the form of a word for a count.
func wordForm(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// undecidedText says how much was not decided.
func undecidedText(r report.Report) string {
	var parts []string
	t := count(r.Results)
	if n := t.undecided(); n > 0 {
		text := Plural(n, "check") + " not decided"
		switch t.callsOff {
		case 0:
		case n:
			text += " without such calls"
		default:
			text += fmt.Sprintf(" (%d %s such calls)", t.callsOff, wordForm(t.callsOff, "needs", "need"))
		}
		parts = append(parts, text)
	}
	if t.partialPasses > 0 {
		parts = append(parts, fmt.Sprintf("%d passed partly", t.partialPasses))
	}
	if t.notTried > 0 {
		parts = append(parts, fmt.Sprintf("%d not tried by a quick run", t.notTried))
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ", ") + ": -v"
}
