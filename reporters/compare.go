package reporters

import (
	"fmt"
	"io"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// ComparisonJSON writes a comparison as indented JSON.
func ComparisonJSON(w io.Writer, c report.Comparison) error { return writeJSON(w, c) }

// comparisonSection is a section of a comparison.
type comparisonSection struct {
	title string
	lines []string
}

// comparisonSections returns the sections of a comparison that are not empty.
func comparisonSections(c report.Comparison) (shown []comparisonSection) {
	changes := func(title string, list []report.Change) {
		s := comparisonSection{title: title}
		for _, change := range list {
			s.lines = append(s.lines, changeText(change))
		}
		shown = append(shown, s)
	}
	if c.Problem != "" {
		shown = append(shown, comparisonSection{"The new run was not finished", []string{printableLine(c.Problem)}})
	}
	changes("Newly failing", c.NewlyFailing)
	changes("Newly passing", c.NewlyPassing)
	changes("No longer tested", c.NotJudged)
	changes("Changed level or text", c.Changed)
	changes("Requirements added", c.Added)
	changes("Requirements removed", c.Removed)
	edits := comparisonSection{title: "Changes of the catalogue"}
	for _, e := range c.RequirementChanges {
		edits.lines = append(edits.lines, printableLine(fmt.Sprintf("%s (%s) %s: %s → %s",
			e.ID, e.Revision, e.Member, shorten(e.Old, comparisonWidth), shorten(e.New, comparisonWidth))))
	}
	shown = append(shown, edits)
	kept := shown[:0]
	for _, s := range shown {
		if len(s.lines) > 0 {
			kept = append(kept, s)
		}
	}
	return kept
}

// comparisonWidth is the number of characters that are shown of a changed text.
const comparisonWidth = 200

// changeText returns a change on one line: the old state, the new state, and the reason.
func changeText(c report.Change) string {
	mark, said := " ", ""
	if c.Regression {
		mark = "✗"
	}
	was, is := stateText(c.Old), stateText(c.New)
	states := strings.Join(nonEmpty(was, is), " → ")
	if c.New != nil && c.New.Message != "" && (c.Old == nil || c.New.Message != c.Old.Message) {
		said = ": " + shorten(headline(c.New.Message), comparisonWidth)
	}
	return printableLine(mark + " " + c.ID + " (" + changeRevisions(c) + ") " + states + said)
}

// stateText returns a verdict with how it counts; empty for no state.
func stateText(s *report.ResultState) string {
	if s == nil {
		return ""
	}
	text := string(s.Verdict)
	if s.Verdict == catalogue.Fail {
		text += " (" + s.Level.String()
		switch {
		case s.Known:
			text += ", known"
		case !s.Gates:
			text += ", not blocking"
		}
		text += ")"
	}
	return text
}

// changeRevisions returns the revisions of a change, or one if they are equal.
func changeRevisions(c report.Change) string {
	switch {
	case c.Old == nil:
		return c.New.Revision
	case c.New == nil || c.New.Revision == c.Old.Revision:
		return c.Old.Revision
	}
	return c.Old.Revision + " → " + c.New.Revision
}

// comparisonVerdict returns the last line of a comparison, which is also the heading of its page.
func comparisonVerdict(c report.Comparison) string {
	return joinParts(Plural(c.Regressions, "regression"), fmt.Sprintf("%d newly failing", len(c.NewlyFailing)),
		fmt.Sprintf("%d newly passing", len(c.NewlyPassing)),
		Plural(len(c.Changed)+len(c.NotJudged), "other change"),
		fmt.Sprintf("%d added", len(c.Added)), fmt.Sprintf("%d removed", len(c.Removed)))
}

// ComparisonText writes a comparison for people.
func ComparisonText(w io.Writer, c report.Comparison) error {
	var b lineBuilder
	for _, said := range c.Conditions {
		b.add("differs: " + printableLine(shorten(said, comparisonWidth)))
	}
	for _, s := range comparisonSections(c) {
		b.add(fmt.Sprintf("%s (%d)", s.title, len(s.lines)))
		for _, line := range s.lines {
			b.add("  " + line)
		}
	}
	b.add(comparisonVerdict(c))
	_, err := io.WriteString(w, withoutCommands(b.String()))
	return err
}

// ChangesText writes which checks fail now and did not before, which are fixed, and how many other verdicts changed.
func ChangesText(w io.Writer, c report.Comparison) error {
	var b lineBuilder
	failed := func(change report.Change) bool { return change.Old.Verdict == catalogue.Fail }
	turned := func(change report.Change) bool { return change.Old.Verdict != change.New.Verdict }
	fixed := filter(c.NewlyPassing, failed)
	for _, changes := range []struct {
		word string
		list []report.Change
	}{{"fails now", c.NewlyFailing}, {"fixed", fixed}} {
		var ids []string
		for _, change := range changes.list {
			ids = append(ids, printableLine(change.ID))
		}
		if len(ids) > 0 {
			b.add(fmt.Sprintf("%-9s  %s", changes.word, joinSome(ids, 8)))
		}
	}
	others := len(c.NewlyPassing) - len(fixed) + len(c.NotJudged) + len(filter(c.Changed, turned)) +
		len(c.Added) + len(c.Removed)
	switch {
	case others > 0:
		b.add(fmt.Sprintf("%-9s  %s", "also", Plural(others, "other verdict")+" changed"))
	case b.Len() == 0:
		b.add("no verdict changed")
	}
	_, err := io.WriteString(w, withoutCommands(b.String()))
	return err
}

// ComparisonMarkdown writes a comparison as a page for a comment on a pull request: first the regressions and the
// counts, then everything else, folded.
func ComparisonMarkdown(w io.Writer, c report.Comparison) error {
	mark := "✅"
	if c.Regressions > 0 {
		mark = "❌"
	}
	page := "<!-- mcpcheck diff -->\n### " + mark + " mcpcheck: " + shortLiteral(comparisonVerdict(c)) + "\n\n"
	for _, said := range c.Conditions {
		page += codeSpan(said) + "\n\n"
	}
	for _, s := range comparisonSections(c) {
		title := fmt.Sprintf("%s (%d)", s.title, len(s.lines))
		block := detailsBlock(title,
			codeBlock(shortenLines(strings.Join(s.lines, "\n"), comparisonLines, markdownWidth)))
		if len(page)+len(block) > markdownLimit {
			block = "**" + title + "** is left out here; the JSON has it.\n\n"
		}
		page += block
	}
	_, err := io.WriteString(w, page)
	return err
}

// comparisonLines is the number of changes of each kind on a page.
const comparisonLines = 60
