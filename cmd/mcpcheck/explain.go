package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/cli"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/explain"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/runner"
	"github.com/mcpcheck/mcpcheck/reporters/files"
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
			return append(config.CheckIDs(), explain.AreaNames()...), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.last {
				ids, err := runner.BlockedInLastRun(cmd.ErrOrStderr())
				if len(ids) == 0 {
					return err
				}
				args = ids
			}
			return files.WriteBuffered(cmd.OutOrStdout(), func(w io.Writer) error { return f.write(w, args) })
		},
	}
	cmd.Flags().BoolVar(&f.all, "all", false, "explain every check")
	cmd.Flags().BoolVar(&f.last, "last", false, "explain what blocked in the last run on this machine, of any server")
	cmd.Flags().BoolVar(&f.markdown, "markdown", false, "print Markdown")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON: an object for one check, else a list")
	cli.MarkExclusive(cmd.Flags(), "all", "last")
	cli.MarkExclusive(cmd.Flags(), "json", "markdown")
	return cmd
}

// explainFlags are the flags of explain.
type explainFlags struct{ all, last, markdown, json bool }

func (f *explainFlags) validateArgs(_ *cobra.Command, args []string) error {
	switch index := f.markdown && len(args) == 0; {
	case f.all && len(args) > 0:
		return exit.Usagef("--all explains every check; leave out %s", strings.Join(args, " "))
	case f.last && len(args) > 0:
		return exit.Usagef("--last explains what blocked in the last run; leave out %s", strings.Join(args, " "))
	case !f.all && !f.last && !index && len(args) == 0:
		return exit.Usagef("explain needs ids of checks, areas, --last or --all; mcpcheck list shows the ids")
	}
	return nil
}

func (f *explainFlags) write(w io.Writer, args []string) error {
	switch {
	case f.all:
		args = explain.AreaNames()
	case len(args) == 0:
		return explain.WriteIndexPage(w)
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
		return explain.WritePages(w, args)
	case f.json && len(args) == 1 && !f.last && args[0] == all[0].ID:
		return text.WriteJSON(w, explain.NewEntry(all[0]))
	case f.json:
		return text.WriteJSON(w, explain.NewEntries(all))
	}
	for i, r := range all {
		if i > 0 {
			fmt.Fprint(w, "\n", strings.Repeat("─", 88), "\n\n")
		}
		explain.WriteRequirement(w, r)
	}
	return nil
}

// findRequirements returns the requirements of an area, or the one with an id.
func findRequirements(name string) (catalogue.Catalogue, error) {
	if i := slices.Index(explain.AreaNames(), name); i >= 0 {
		return suites.Areas[i].Requirements(), nil
	}
	r, err := findRequirement(name)
	return catalogue.Catalogue{r}, err
}

// findRequirement finds a requirement, with or without a check, by its id.
func findRequirement(id string) (*catalogue.Requirement, error) {
	if r, ok := suites.Find(id); ok {
		return r, nil
	}
	if _, err := catalogue.Select(suites.All, []string{id}, nil); err != nil {
		return nil, exit.Usagef("%w", err)
	}
	return nil, exit.Usagef("%q is not the id of one check; mcpcheck list %s shows what it selects", id, id)
}
