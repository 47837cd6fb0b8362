package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

func newExplain() *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:   "explain {ID | AREA}",
		Short: "Explain a check: what is required, how it is tried, what to change",
		Long: `Explain a check, or all of an area: what the specification requires and where,
how it is tried, when it passes and fails, and what to change.

  mcpcheck explain tools/unknown-tool-code
  mcpcheck explain tools
  mcpcheck explain --markdown tools        the page suites/tools/README.md
  mcpcheck explain --markdown              the page suites/README.md`,
		Args: f.args,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return append(checkIDs(), areaNames()...), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return flushed(cmd.OutOrStdout(), func(w io.Writer) error { return f.explain(w, args) })
		},
	}
	cmd.Flags().BoolVar(&f.all, "all", false, "explain every check")
	cmd.Flags().BoolVar(&f.markdown, "markdown", false, "write Markdown")
	cmd.Flags().BoolVar(&f.json, "json", false, "write JSON: an object for a check, a list for more")
	exclusive(cmd.Flags(), "json", "markdown")
	return cmd
}

// explainFlags say what is explained, and how.
type explainFlags struct{ all, markdown, json bool }

func (f *explainFlags) args(_ *cobra.Command, args []string) error {
	switch index := f.markdown && len(args) == 0; {
	case f.all && len(args) > 0:
		return usage("--all explains every check; leave out %s", strings.Join(args, " "))
	case !f.all && !index && len(args) != 1:
		return usage("explain wants the id of one check, an area, or --all; mcpcheck list shows them all")
	}
	return nil
}

func (f *explainFlags) explain(w io.Writer, args []string) error {
	switch {
	case f.all && f.markdown:
		for _, area := range suites.Areas {
			if err := explainArea(w, area); err != nil {
				return err
			}
		}
		return nil
	case f.all:
		return f.explainEach(w, suites.Built())
	case len(args) == 0:
		return explainIndex(w)
	}
	if i := slices.Index(areaNames(), args[0]); i >= 0 {
		if f.markdown {
			return explainArea(w, suites.Areas[i])
		}
		return f.explainEach(w, suites.Areas[i].Requirements())
	}
	r, err := findCheck(args[0])
	switch {
	case err != nil:
		return err
	case f.markdown:
		return explainMarkdown(w, "#", r)
	case f.json:
		return writeJSON(w, entryOf(r))
	}
	explain(w, r)
	return nil
}

// explainEach explains several requirements, with a line between them.
func (f *explainFlags) explainEach(w io.Writer, all harness.Catalogue) error {
	if f.json {
		return writeJSON(w, entriesOf(all))
	}
	for i, r := range all {
		if i > 0 {
			fmt.Fprint(w, "\n", strings.Repeat("─", 88), "\n\n")
		}
		explain(w, r)
	}
	return nil
}

func areaNames() (names []string) {
	for _, area := range suites.Areas {
		names = append(names, area.Name)
	}
	return names
}

// findCheck finds a requirement, built or planned, by its id.
func findCheck(id string) (*harness.Requirement, error) {
	if r, ok := suites.Find(id); ok {
		return r, nil
	}
	if _, err := harness.Select(suites.All, []string{id}, nil); err != nil {
		return nil, usage("%w", err)
	}
	return nil, usage("%q is not the id of one check; mcpcheck list %s shows what it selects", id, id)
}

func checkIDs() (ids []string) {
	for _, r := range suites.All() {
		ids = append(ids, r.ID)
	}
	return ids
}

func explain(w io.Writer, r *harness.Requirement) {
	fmt.Fprintf(w, "%s\nA conforming server %s.\n\n%s\n", r.ID, r.Title, hung(r.Statement, 0))
	if !suites.HasCheck(r) {
		fmt.Fprint(w, "\nNo check tries this requirement yet.\n")
	}
	section(w, "tried by", byEra(r.Stimulus))
	section(w, "pass", byEra(r.Pass))
	section(w, "fail", byEra(r.Fail))
	section(w, "else", byEra(r.Skip))
	section(w, "fix", r.Fix)
	section(w, "notes", r.Notes)
	for _, d := range r.SDKs {
		section(w, "sdk", deviation(d))
	}
	for _, ask := range r.Asked {
		section(w, "asked by", ask.By+": "+ask.Rule+" "+ask.Source)
	}
	fmt.Fprintf(w, "\n%-10s %s", "basis", r.Basis)
	if r.Checklist {
		fmt.Fprint(w, "; on the release checklist: a fail gates in the profiles release and strict")
	}
	fmt.Fprintf(w, "\n%-10s %s\n", "safety", safety[r.Safety])
	if r.Since != "" {
		fmt.Fprintf(w, "%-10s mcpcheck %s, in which it does not gate yet\n", "since", r.Since)
	}
	if len(r.Transports) > 0 {
		fmt.Fprintf(w, "%-10s %s\n", "transport", strings.Join(r.Transports, ", "))
	}
	if r.Capability != "" {
		fmt.Fprintf(w, "%-10s %s\n", "capability", r.Capability)
	}
	fmt.Fprintln(w)
	for _, revision := range r.In() {
		fmt.Fprintf(w, "%s %-6s %s\n", revision, r.Level.In(revision), r.URL(revision))
	}
}

// deviation says of an SDK that it breaks a requirement, and what changes that.
func deviation(d harness.Deviation) string {
	said := fmt.Sprintf("%s (known of %s", suites.NameOfSDK(d.SDK), d.Versions)
	if d.Read {
		said += " by its source, not run"
	}
	said += ") breaks this, and does not block in the profiles release and spec. " + d.Fix
	if d.Issue != "" {
		said += " " + d.Issue
	}
	return said
}

var safety = map[string]string{
	"safe":               "reads only",
	"calls-tool-invalid": "calls tools with arguments that they must refuse",
	"calls-tool-valid":   "may execute tools",
	"kills-process":      "may end the server process, one of its own",
}

// byEra is a text that may differ between the eras of the protocol.
func byEra(text harness.ByEra) string {
	switch {
	case text.Legacy == text.Modern:
		return text.Legacy
	case text.Modern == "":
		return text.Legacy
	case text.Legacy == "":
		return harness.Modern[0] + ": " + text.Modern
	}
	return text.Legacy + "\n" + harness.Modern[0] + ": " + text.Modern
}

func section(w io.Writer, title, body string) {
	if body != "" {
		fmt.Fprintf(w, "\n%-10s %s\n", title, hung(body, 11))
	}
}

// hung is a text in lines of at most 88 characters, all but the first of them indented by so many columns.
func hung(s string, columns int) string {
	lines := text.Wrap(strings.TrimSpace(s), 88-columns)
	return strings.Join(lines, "\n"+strings.Repeat(" ", columns))
}
