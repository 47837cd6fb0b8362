package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/build"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/cli"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/explain"
	"github.com/mcpcheck/mcpcheck/fixtures/variations"
	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

func newListCommand() *cobra.Command {
	var asJSON, varied, untestable bool
	var revision, profile, set string
	cmd := &cobra.Command{
		Use:   "list [SELECTOR…]",
		Short: "List what is checked",
		Long: `List what is checked: the id of each check, its level and the revisions of the
specification in which it holds. Selectors are ids, globs (tools/*), areas
(tools) and levels (must). Nothing is started.

  mcpcheck list 'tools/*'
  mcpcheck list --profile release        what blocks a release, if it fails
  mcpcheck list --untestable             requirements without a check, and why

With --set the requirements of a revision are printed as a frozen set with a digest,
which mcpcheck run --set FILE tests even when the catalogue has changed since:

  mcpcheck list --set 2025-11-25 >set.json`,
		RunE: func(cmd *cobra.Command, selectors []string) error {
			switch {
			case set != "" && len(selectors) > 0:
				return exit.Usagef("--set prints all requirements of a revision; leave out %s",
					strings.Join(selectors, " "))
			case set != "":
				return writeSet(cmd.OutOrStdout(), set)
			}
			if varied {
				return writeVariations(cmd.OutOrStdout())
			}
			if untestable {
				if len(selectors) > 0 {
					return exit.Usagef("--untestable lists requirements without a check; leave out %s",
						strings.Join(selectors, " "))
				}
				return writeUntestable(cmd.OutOrStdout(), revision, asJSON)
			}
			entries, err := requirementsIn(revision)
			if err != nil {
				return err
			}
			blocks, err := blockingSelector(profile, revision)
			if err != nil {
				return err
			}
			selected, err := catalogue.Select(suites.All, selectors, nil)
			if err != nil {
				return exit.Usagef("%w", err)
			}
			var shown []explain.Entry
			for _, r := range entries {
				if selected(r) && hasCheckIn(r, revision) && blocks(r) {
					shown = append(shown, explain.NewEntry(r))
				}
			}
			if asJSON {
				return text.WriteJSON(cmd.OutOrStdout(), shown)
			}
			return writeTable(cmd.OutOrStdout(), shown, profile)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().StringVar(&revision, "revision", "", "list only what holds in this `REVISION` of the specification")
	cmd.Flags().StringVar(&profile, "profile", "",
		"list only the checklist of this `PROFILE`: what blocks under run --profile, if it fails")
	cmd.RegisterFlagCompletionFunc("profile",
		cobra.FixedCompletions(
			text.Map(catalogue.ProfilesByName(), func(p catalogue.Profile) string { return string(p) }),
			cobra.ShellCompDirectiveNoFileComp))
	cmd.Flags().BoolVar(&varied, "variations", false, "list the legal changes that no check may report")
	cmd.Flags().BoolVar(&untestable, "untestable", false,
		"list the requirements that cannot be tested from outside a server, and why")
	cmd.Flags().StringVar(&set, "set", "", "print the set of requirements of this `REVISION`, as JSON with a digest")
	for _, other := range []string{"json", "profile", "revision", "variations"} {
		cli.MarkExclusive(cmd.Flags(), "set", other)
	}
	for _, other := range []string{"profile", "set", "variations"} {
		cli.MarkExclusive(cmd.Flags(), "untestable", other)
	}
	cli.MarkExclusive(cmd.Flags(), "json", "variations")
	cli.MarkExclusive(cmd.Flags(), "profile", "variations")
	return cmd
}

// writeSet writes the requirement set of a revision.
func writeSet(w io.Writer, revision string) error {
	if !slices.Contains(catalogue.Revisions, revision) {
		return exit.Usagef("--set: unknown revision %q (have %s)", revision, strings.Join(catalogue.Revisions, ", "))
	}
	return text.WriteJSON(w, config.CurrentSet(revision))
}

// requirementsIn returns the requirements that apply in a revision; an empty revision means all.
func requirementsIn(revision string) (entries catalogue.Catalogue, err error) {
	if revision == "" {
		return suites.All(), nil
	}
	if !slices.Contains(catalogue.Revisions, revision) {
		return nil, exit.Usagef("--revision: unknown revision %q (have %s)", revision,
			strings.Join(catalogue.Revisions, ", "))
	}
	for _, r := range suites.All() {
		if r.AppliesIn(revision) {
			entries = append(entries, r)
		}
	}
	return entries, nil
}

// hasCheckIn reports whether a check tests the requirement in a revision; an empty revision means any.
func hasCheckIn(r *catalogue.Requirement, revision string) bool {
	if revision == "" {
		return suites.HasCheck(r)
	}
	return suites.HasCheckIn(r, revision)
}

// blockingSelector selects the checks whose failure gates under a profile, in one revision or in any; an empty profile
// selects all checks.
func blockingSelector(name, revision string) (catalogue.Selector, error) {
	if name == "" {
		return func(*catalogue.Requirement) bool { return true }, nil
	}
	profile, err := catalogue.ParseProfile(name)
	if err != nil {
		return nil, exit.Usagef("--profile: %w", err)
	}
	isNew := suites.Implemented().Tentative(build.Version())
	return func(r *catalogue.Requirement) bool {
		return !isNew(r) && slices.ContainsFunc(r.ApplicableRevisions(), func(in string) bool {
			level := r.Level.In(in)
			return (revision == "" || in == revision) &&
				profile.Gate(catalogue.Fail, level, level, r.Checklist, r.DirectoryRules) != catalogue.NoGate
		})
	}, nil
}

// writeTable writes the listed checks as a table. The profile, if any, is that by which they gate.
func writeTable(w io.Writer, entries []explain.Entry, profile string) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "CHECK\tLEVEL\tREVISIONS\tA CONFORMING SERVER …")
	for _, e := range entries {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", e.ID, levelRange(e.Requirement),
			revisionRange(e.Requirement.ApplicableRevisions()), e.Title)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	counted := reporters.Plural(len(entries), "check")
	if profile != "" {
		counted += " that block under --profile " + profile
	}
	_, err := fmt.Fprintf(w, "\n%s; a + marks the release checklist; details: mcpcheck explain ID\n", counted)
	writeUndecidedRules(w, catalogue.Profile(profile).Rules(suites.DirectoryRules()))
	return err
}

// writeUndecidedRules writes those of the listing rules that no check decides, or not all of which, and why.
func writeUndecidedRules(w io.Writer, rules []catalogue.DirectoryRule) {
	title := "\nNot known from outside a server:\n"
	for _, r := range rules {
		if r.Reason != "" {
			fmt.Fprintf(w, "%s\n%s\n    %s\n    %s\n", title, r.ID, explain.HangingIndent(r.Rule, 4),
				explain.HangingIndent(r.Reason, 4))
			title = ""
		}
	}
}

// writeVariations writes the variations of the built-in server, each with the sentence that allows it.
func writeVariations(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "VARIATION\tALLOWED BY\tIN\tDESPITE")
	for _, v := range variations.All() {
		cells := []string{v.ID, v.AllowedBy, v.Page}
		if len(v.ExpectedFailures) > 0 {
			cells = append(cells, strings.Join(v.ExpectedFailures, " "))
		}
		fmt.Fprintln(table, strings.Join(cells, "\t"))
	}
	return table.Flush()
}

// levelRange returns the level of a requirement, or its first and last level if it changed.
func levelRange(r *catalogue.Requirement) string {
	in := r.ApplicableRevisions()
	first, last := r.Level.In(in[0]).String(), r.Level.In(in[len(in)-1]).String()
	content := last
	if first != last {
		content = first + "→" + last
	}
	if r.Checklist {
		content += " +"
	}
	return content
}

// revisionRange returns a list of revisions as text; more than two consecutive ones become a range.
func revisionRange(revisions []string) string {
	first, last := -1, -1
	for i, revision := range catalogue.Revisions {
		if revision == revisions[0] {
			first = i
		}
		if revision == revisions[len(revisions)-1] {
			last = i
		}
	}
	switch {
	case len(revisions) == 1:
		return revisions[0]
	case last-first+1 == len(revisions):
		return revisions[0] + "…" + revisions[len(revisions)-1]
	}
	return strings.Join(revisions, " ")
}
