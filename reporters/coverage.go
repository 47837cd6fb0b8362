package reporters

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// omittedCounts returns what the counts of results do not include: how many requirements were excluded, and how many
// have no check yet.
func omittedCounts(coverage []report.Coverage) (parts []string) {
	left, without := 0, 0
	for _, c := range coverage {
		left += c.Excluded
		without += c.NotChecked
	}
	if left > 0 {
		parts = append(parts, fmt.Sprintf("%d left out", left))
	}
	if without > 0 {
		parts = append(parts, fmt.Sprintf("%d not checked yet", without))
	}
	return parts
}

// coverageText says how many requirements of a revision were tested.
func coverageText(c report.Coverage) string {
	parts := []string{fmt.Sprintf("%d tried", c.Tried)}
	for _, p := range []struct {
		n    int
		what string
	}{
		{c.NotApplicable, "do not apply"}, {c.NotTried, "could not be tested"},
		{c.Excluded, "left out"}, {c.NotChecked, "not checked yet"},
	} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	return fmt.Sprintf("%s of %s: %s", Plural(c.Requirements, "requirement"), c.Revision, strings.Join(parts, ", "))
}

// unexercised returns the capabilities that the server declares and that no check exercised.
func unexercised(coverage []report.Coverage) (names []string) {
	for _, c := range coverage {
		for _, name := range c.Unexercised {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// unexercisedText says which capabilities no check exercised; empty if there are none.
func unexercisedText(coverage []report.Coverage) string {
	names := unexercised(coverage)
	if len(names) == 0 {
		return ""
	}
	return "declared by the server, but not tested: " + strings.Join(names, ", ")
}

// maxUncalled is the number of uncalled tools that are named. Only servers with exceptionally many tools exceed it.
const maxUncalled = 200

// callsText says which tool calls were not made in some revision: calls with valid arguments, with a line for each
// reason, and calls with invalid ones, on one line. It replaces the checks that could not be decided without these
// calls, and says how many they are. It is empty if no call is missing.
func callsText(coverage []report.Coverage, results []report.Result) (head string, lines []string) {
	all, input := uncalled(coverage), invalidText(coverage)
	needing := len(filter(results, isCallsOff))
	barred := slices.ContainsFunc(all, func(u report.UncalledTool) bool { return u.Forbidden })
	lines = uncalledLines(all)
	if barred || needing > 0 && input == "" {
		lines = append(lines, report.HowToAllowCalls)
	}
	lines = append(lines, nonEmpty(input)...)
	if needing > 0 {
		lines = append(lines, Plural(needing, "check")+" not decided without such calls")
	}
	switch {
	case len(lines) == 0:
		return "", nil
	case len(all) == 0:
		return "some calls of tools not made", lines
	}
	return Plural(len(all), "tool") + " not called with valid arguments", lines
}

// toolsText says on one line how the calls of tools ended, and which tools were not called with valid arguments. A
// second line says how many were called with invalid ones, unless all were. It is empty if no check calls tools.
func toolsText(r report.Report, most int) string {
	var barred []report.UncalledTool // each once, even with several reasons
	named := map[string]bool{}
	for _, u := range uncalled(r.Coverage) {
		if !named[u.Name] {
			named[u.Name], barred = true, append(barred, u)
		}
	}
	used := usedTools(r)
	if len(used)+len(barred) == 0 {
		return ""
	}
	how := "not called"
	used = slices.DeleteFunc(used, func(u report.ToolUse) bool { // each tool counts once
		if named[u.Name] {
			how = "not called with valid arguments"
		}
		return named[u.Name] && !u.Crashed && !u.Silent
	})
	text := fmt.Sprintf("%d: %s", r.Server.Tools, callCounts(used, callableTools(r)))
	if len(barred) > 0 {
		text += fmt.Sprintf(" · %d %s: %s", len(barred), how, uncalledText(barred, most))
	}
	return strings.Join(nonEmpty(text, invalidText(r.Coverage)), "\n")
}

// callCounts says how many tools were called and how the calls ended. Each tool counts by its worst outcome.
func callCounts(used, callable []report.ToolUse) string {
	if len(used) == 0 {
		return "none called"
	}
	broken := isBroken(callable)
	var answered, errors, failed, crashed, silent int
	for _, u := range used {
		switch {
		case u.Crashed:
			crashed++
		case u.Silent:
			silent++
		case broken(u):
			failed++
		case u.Answered:
			answered++
			if u.Failed {
				errors++
			}
		}
	}
	parts := []string{fmt.Sprintf("%d called", len(used))}
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	if answered == len(used) {
		parts = append(parts, "all answered")
	} else {
		add(answered, "answered")
	}
	if errors > 0 {
		parts[len(parts)-1] += fmt.Sprintf(" (%d with errors for valid arguments)", errors)
	}
	add(failed, "failed")
	add(crashed, "crashed")
	add(silent, "never answered")
	return strings.Join(parts, ", ")
}

// usedTools returns the tools that were called, each once, from the revision with its worst outcome.
func usedTools(r report.Report) (used []report.ToolUse) {
	at := map[string]int{}
	for _, c := range r.Coverage {
		for _, u := range c.CalledTools {
			i, found := at[u.Name]
			switch {
			case !found:
				at[u.Name], used = len(used), append(used, u)
			case toolSeverity(u) > toolSeverity(used[i]):
				used[i] = u
			}
		}
	}
	return used
}

// toolSeverity ranks the outcome of a tool.
func toolSeverity(u report.ToolUse) int {
	switch {
	case u.Crashed:
		return 3
	case u.Silent:
		return 2
	case u.Failed:
		return 1
	}
	return 0
}

// callableTools returns the used tools that may be called with valid arguments.
func callableTools(r report.Report) []report.ToolUse {
	barred := map[string]bool{}
	for _, u := range uncalled(r.Coverage) {
		barred[u.Name] = barred[u.Name] || u.Forbidden
	}
	return filter(usedTools(r), func(u report.ToolUse) bool { return !barred[u.Name] })
}

// isBroken returns a predicate for tools that do not work: all calls with valid arguments failed by an error of the
// tool, or all calls of all callable tools failed.
func isBroken(callable []report.ToolUse) func(report.ToolUse) bool {
	all := len(callable) > 1 && !slices.ContainsFunc(callable, func(u report.ToolUse) bool { return !u.Failed })
	return func(u report.ToolUse) bool { return u.Failed && (u.Faulty || all) }
}

var reasonShortener = strings.NewReplacer(report.NotMarkedSafe, "no readOnlyHint", report.MarkedDestructive,
	"destructive")

// uncalledText names uncalled tools, at most a number for each reason, with the reasons.
func uncalledText(tools []report.UncalledTool, most int) string {
	var whys, named []string
	names := map[string][]string{}
	for _, u := range tools {
		if names[u.Reason] == nil {
			whys = append(whys, u.Reason)
		}
		names[u.Reason] = append(names[u.Reason], u.Name)
	}
	for _, why := range whys {
		named = append(named, joinSome(names[why], most)+" ("+reasonShortener.Replace(why)+")")
	}
	return strings.Join(named, ", ")
}

// isCallsOff reports whether a check could not be decided because calls are not allowed. Blocking results do not count,
// because they are reported individually.
func isCallsOff(r report.Result) bool {
	return r.Verdict == catalogue.Inconclusive && r.Reason == report.CallsOff && !r.Gates
}

// uncalled returns the tools that were not called with valid arguments in some revision.
func uncalled(coverage []report.Coverage) (all []report.UncalledTool) {
	said := map[report.UncalledTool]bool{} // A server may list 100,000 tools.
	for _, c := range coverage {
		for _, u := range c.UncalledTools {
			if !said[u] {
				said[u], all = true, append(all, u)
			}
		}
	}
	return all
}

// uncalledLines names uncalled tools by the reason.
func uncalledLines(all []report.UncalledTool) (lines []string) {
	var reasons []string
	names := map[string][]string{}
	for _, u := range all[:min(len(all), maxUncalled)] {
		if names[u.Reason] == nil {
			reasons = append(reasons, u.Reason)
		}
		names[u.Reason] = append(names[u.Reason], u.Name)
	}
	for _, why := range reasons {
		lines = append(lines, strings.Join(names[why], ", ")+": "+why)
	}
	if more := len(all) - maxUncalled; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return lines
}

// invalidText says how many of the tools with arguments were called with invalid ones, and what to do about the others;
// empty if all were.
func invalidText(coverage []report.Coverage) string {
	var i report.InvalidCallCounts // of the revision with the most tools
	for _, c := range coverage {
		if c.InvalidCalls != nil && c.InvalidCalls.Total() >= i.Total() {
			i = *c.InvalidCalls
		}
	}
	const label = "isError on bad input: "
	if i.Unmarked == 0 && i.Destructive > 0 {
		return fmt.Sprintf(label+"%d of %d tried, %d destructive: --calls all", i.Tried, i.Total(), i.Destructive)
	}
	barred := nonEmpty(
		notAllowedText(i, i.Unmarked, "have no readOnlyHint: add annotations, example arguments, or --calls invalid"),
		notAllowedText(i, i.Destructive, "are marked destructive: --calls all"),
	)
	if len(barred) == 0 {
		return ""
	}
	tried := fmt.Sprintf("%d of %s tried", i.Tried, Plural(i.Total(), "tool"))
	return label + tried + "; " + strings.Join(barred, "; ")
}

// notAllowedText says why n tools may not be called with invalid arguments.
func notAllowedText(i report.InvalidCallCounts, n int, what string) string {
	who := fmt.Sprint(n)
	switch n {
	case 0:
		return ""
	case i.Total():
		who = "they"
	case i.Total() - i.Tried:
		who = "the others"
	}
	if n == 1 {
		return singularForms.Replace(who + " " + what)
	}
	return who + " " + what
}

var singularForms = strings.NewReplacer("they have", "it has", "they are", "it is", "others have", "other has",
	"others are", "other is", "1 have", "1 has", "1 are", "1 is")

// optionsText says what a reader needs to know of the configuration: the file, and what it excludes and why.
func optionsText(o *report.OptionsInfo) string {
	if o == nil {
		return ""
	}
	var parts []string
	if o.Configuration != "" {
		parts = append(parts, "configured by "+o.Configuration)
	}
	if len(o.Only) > 0 {
		parts = append(parts, "only "+strings.Join(o.Only, ", "))
	}
	if left := omittedChecks(*o); len(left) > 0 {
		parts = append(parts, "leaves out "+strings.Join(left, ", "))
	}
	if o.Set != nil {
		parts = append(parts, "by the set "+setText(o.Set))
	}
	if o.Shard != nil {
		parts = append(parts, "shard "+o.Shard.String()+" of the run")
	}
	return joinParts(parts...)
}

// setText returns the name and the digest of a set of requirements.
func setText(s *catalogue.SetInfo) string { return s.Name + " (" + s.Digest + ")" }

// setsText names the sets of requirements of a run; empty if the report has none.
func setsText(r report.Report) string {
	var names []string
	for _, judged := range r.Revisions {
		if judged.Set != nil {
			names = append(names, setText(judged.Set))
		}
	}
	return strings.Join(names, ", ")
}

// omittedChecks returns the excluded checks, each with its reason.
func omittedChecks(o report.OptionsInfo) (texts []string) {
	for _, s := range o.Skip {
		text := s.Check
		if s.Reason != "" {
			text += " (" + s.Reason + ")"
		}
		texts = append(texts, text)
	}
	return texts
}
