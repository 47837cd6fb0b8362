package reporters

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// uncovered are what the counts of results do not tell of the requirements: how many were left out, and how many no
// check tries yet.
func uncovered(coverage []harness.Coverage) (parts []string) {
	left, without := 0, 0
	for _, c := range coverage {
		left += c.LeftOut
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

// coverageText says what became of the requirements of a revision.
func coverageText(c harness.Coverage) string {
	parts := []string{fmt.Sprintf("%d tried", c.Tried)}
	for _, p := range []struct {
		n    int
		what string
	}{
		{c.NotApplicable, "do not apply"}, {c.NotTried, "could not be tried"},
		{c.LeftOut, "left out"}, {c.NotChecked, "not checked yet"},
	} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	return fmt.Sprintf("%s of %s: %s", Plural(c.Requirements, "requirement"), c.Revision, strings.Join(parts, ", "))
}

// unexercised are the capabilities that the server declares and of which a run tried nothing.
func unexercised(coverage []harness.Coverage) (names []string) {
	for _, c := range coverage {
		for _, name := range c.Unexercised {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// unexercisedText says so; empty when there is none.
func unexercisedText(coverage []harness.Coverage) string {
	names := unexercised(coverage)
	if len(names) == 0 {
		return ""
	}
	return "declared by the server, but nothing of it was tried: " + strings.Join(names, ", ")
}

// mostUncalled is how many tools are named that were not called: of all servers but those that list without measure.
const mostUncalled = 200

// uncalledText says which tools were not called with valid arguments in some revision: a line for each reason, and one
// for what to do about those that may not be. It is empty when all were called.
func uncalledText(coverage []harness.Coverage) (head string, lines []string) {
	var all []harness.UncalledTool
	said := map[harness.UncalledTool]bool{} // a server may list 100,000
	for _, c := range coverage {
		for _, u := range c.Uncalled {
			if !said[u] {
				said[u], all = true, append(all, u)
			}
		}
	}
	if len(all) == 0 {
		return "", nil
	}
	var reasons []string
	names := map[string][]string{}
	for _, u := range all[:min(len(all), mostUncalled)] {
		if names[u.Why] == nil {
			reasons = append(reasons, u.Why)
		}
		names[u.Why] = append(names[u.Why], u.Name)
	}
	for _, why := range reasons {
		lines = append(lines, strings.Join(names[why], ", ")+": "+why)
	}
	if more := len(all) - mostUncalled; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	if slices.ContainsFunc(all, func(u harness.UncalledTool) bool { return u.Barred }) {
		lines = append(lines, harness.CallsRemedy)
	}
	return Plural(len(all), "tool") + " not called", lines
}

// optionsText says what of the configuration a reader has to know: the file, and what was left out and why.
func optionsText(o *harness.OptionsInfo) string {
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
	if left := leftOut(*o); len(left) > 0 {
		parts = append(parts, "leaves out "+strings.Join(left, ", "))
	}
	if o.Set != nil {
		parts = append(parts, "by the set "+setText(o.Set))
	}
	if o.Shard != nil {
		parts = append(parts, "shard "+o.Shard.String()+" of the run")
	}
	return dotted(parts...)
}

// setText names a set of requirements.
func setText(s *harness.SetInfo) string { return s.Name + " (" + s.Digest + ")" }

// setsText names the sets by which a run has judged; empty where the report has none.
func setsText(r harness.Report) string {
	var names []string
	for _, judged := range r.Revisions {
		if judged.Set != nil {
			names = append(names, setText(judged.Set))
		}
	}
	return strings.Join(names, ", ")
}

// leftOut are the checks that are left out, each with its reason.
func leftOut(o harness.OptionsInfo) (texts []string) {
	for _, s := range o.Skip {
		text := s.Check
		if s.Reason != "" {
			text += " (" + s.Reason + ")"
		}
		texts = append(texts, text)
	}
	return texts
}
