package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

func newExplainCommand() *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:   "explain {ID | AREA}… | --last | --all",
		Short: "Explain checks: what is required, how it is tested, what to change",
		Long: `Explain checks, or all of an area: what the specification requires and where, how
it is tested, when it passes and fails, and what to change.

  mcpcheck explain tools/unknown-tool-code ping/empty-result
  mcpcheck explain tools
  mcpcheck explain --last                  what blocked in the last run on this machine
  mcpcheck explain --markdown tools        the page suites/tools/README.md
  mcpcheck explain --markdown              the page suites/README.md`,
		Args: f.validateArgs,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return append(checkIDs(), areaNames()...), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.last {
				ids, err := blockedInLastRun(cmd.ErrOrStderr())
				if len(ids) == 0 {
					return err
				}
				args = ids
			}
			return writeBuffered(cmd.OutOrStdout(), func(w io.Writer) error { return f.write(w, args) })
		},
	}
	cmd.Flags().BoolVar(&f.all, "all", false, "explain every check")
	cmd.Flags().BoolVar(&f.last, "last", false, "explain what blocked in the last run on this machine, of any server")
	cmd.Flags().BoolVar(&f.markdown, "markdown", false, "print Markdown")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON: an object for one check, else a list")
	markExclusive(cmd.Flags(), "all", "last")
	markExclusive(cmd.Flags(), "json", "markdown")
	return cmd
}

// explainFlags say what is explained, and how.
type explainFlags struct{ all, last, markdown, json bool }

func (f *explainFlags) validateArgs(_ *cobra.Command, args []string) error {
	switch index := f.markdown && len(args) == 0; {
	case f.all && len(args) > 0:
		return usageErrorf("--all explains every check; leave out %s", strings.Join(args, " "))
	case f.last && len(args) > 0:
		return usageErrorf("--last explains what blocked in the last run; leave out %s", strings.Join(args, " "))
	case !f.all && !f.last && !index && len(args) == 0:
		return usageErrorf("explain wants ids of checks, areas, --last or --all; mcpcheck list shows the ids")
	}
	return nil
}

func (f *explainFlags) write(w io.Writer, args []string) error {
	switch {
	case f.all:
		args = areaNames()
	case len(args) == 0:
		return writeIndexPage(w)
	}
	var all catalogue.Catalogue
	for _, arg := range args {
		named, err := findRequirements(arg)
		if err != nil {
			return err
		}
		all = append(all, named...)
	}
	switch {
	case f.markdown:
		return writePages(w, args)
	case f.json && len(args) == 1 && !f.last && args[0] == all[0].ID:
		return writeJSON(w, newCatalogueEntry(all[0]))
	case f.json:
		return writeJSON(w, newCatalogueEntries(all))
	}
	for i, r := range all {
		if i > 0 {
			fmt.Fprint(w, "\n", strings.Repeat("─", 88), "\n\n")
		}
		writeRequirement(w, r)
	}
	return nil
}

// findRequirements are the requirements of an area, or the one of that id.
func findRequirements(name string) (catalogue.Catalogue, error) {
	if i := slices.Index(areaNames(), name); i >= 0 {
		return suites.Areas[i].Requirements(), nil
	}
	r, err := findRequirement(name)
	return catalogue.Catalogue{r}, err
}

func areaNames() (names []string) {
	for _, area := range suites.Areas {
		names = append(names, area.Name)
	}
	return names
}

// findRequirement finds a requirement, built or planned, by its id.
func findRequirement(id string) (*catalogue.Requirement, error) {
	if r, ok := suites.Find(id); ok {
		return r, nil
	}
	if _, err := catalogue.Select(suites.All, []string{id}, nil); err != nil {
		return nil, usageErrorf("%w", err)
	}
	return nil, usageErrorf("%q is not the id of one check; mcpcheck list %s shows what it selects", id, id)
}

func checkIDs() (ids []string) {
	for _, r := range suites.All() {
		ids = append(ids, r.ID)
	}
	return ids
}

func writeRequirement(w io.Writer, r *catalogue.Requirement) {
	fmt.Fprintf(w, "%s\nA conforming server %s.\n\n%s\n", r.ID, r.Title, hangingIndent(r.Statement, 0))
	if !suites.HasCheck(r) {
		fmt.Fprint(w, "\nNo check tests this requirement yet.\n")
	}
	writeSection(w, "how", eraText(r.Procedure))
	writeSection(w, "pass", eraText(r.Pass))
	writeSection(w, "fail", eraText(r.Fail))
	writeSection(w, "not decided", eraText(r.Skip))
	writeSection(w, "yields to", strings.Join(r.YieldsTo, ", "))
	writeSection(w, "fix", r.Fix)
	writeSection(w, "notes", r.Notes)
	for _, said := range sdkDeviations(r) {
		writeSection(w, "sdk", said)
	}
	for _, ask := range r.DirectoryRules {
		writeSection(w, "asked by", ask.Directory+": "+ask.Rule+" "+ask.Source)
	}
	fmt.Fprintf(w, "\n%-11s %s", "basis", r.Basis)
	if r.Checklist {
		fmt.Fprint(w, "; on the release checklist: a failure blocks in the profiles release and strict")
	}
	fmt.Fprintf(w, "\n%-11s %s\n", "safety", safetyTexts[r.Safety])
	if r.Since != "" {
		fmt.Fprintf(w, "%-11s mcpcheck %s, in which it does not block yet\n", "since", r.Since)
	}
	if len(r.Transports) > 0 {
		fmt.Fprintf(w, "%-11s %s\n", "transport", strings.Join(r.Transports, ", "))
	}
	if r.Capability != "" {
		fmt.Fprintf(w, "%-11s %s\n", "capability", r.Capability)
	}
	fmt.Fprintln(w)
	for _, revision := range r.ApplicableRevisions() {
		fmt.Fprintf(w, "%s %-6s %s\n", revision, r.Level.In(revision), r.URL(revision))
	}
}

// sdkDeviations say which SDKs break a requirement, and what changes that: those together of which the same is said.
func sdkDeviations(r *catalogue.Requirement) (said []string) {
	var changes []string // in the order of the catalogue
	sdks := map[string][]string{}
	for _, d := range r.SDKs {
		change := strings.TrimSpace(d.Fix + " " + d.Issue)
		if sdks[change] == nil {
			changes = append(changes, change)
		}
		how := map[bool]string{true: " by its source, not run"}[d.FromSource]
		name := fmt.Sprintf("%s (known of %s%s)", suites.SDKName(d.SDK), d.Versions, how)
		sdks[change] = append(sdks[change], name)
	}
	for _, change := range changes {
		breaks := " breaks this, and does not"
		if len(sdks[change]) > 1 {
			breaks = " break this, and do not"
		}
		names := strings.Join(sdks[change], ", ")
		said = append(said, names+breaks+" block in the profiles release and spec. "+change)
	}
	return said
}

var safetyTexts = map[string]string{
	"safe":               "reads only",
	"calls-tool-invalid": "calls tools with invalid arguments",
	"calls-tool-valid":   "may execute tools",
	"kills-process":      "may end the server process, which is a separate one",
}

// eraText is a text that may differ between the eras of the protocol.
func eraText(text catalogue.ByEra) string {
	switch {
	case text.Legacy == text.Modern:
		return text.Legacy
	case text.Modern == "":
		return text.Legacy
	case text.Legacy == "":
		return catalogue.ModernRevisions[0] + ": " + text.Modern
	}
	return text.Legacy + "\n" + catalogue.ModernRevisions[0] + ": " + text.Modern
}

func writeSection(w io.Writer, title, body string) {
	if body != "" {
		fmt.Fprintf(w, "\n%-11s %s\n", title, hangingIndent(body, 12))
	}
}

// hangingIndent is a text in lines of at most 88 characters, all but the first of them indented by so many columns.
func hangingIndent(s string, columns int) string {
	lines := text.Wrap(strings.TrimSpace(s), 88-columns)
	return strings.Join(lines, "\n"+strings.Repeat(" ", columns))
}
