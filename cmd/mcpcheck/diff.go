package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/cli"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/runner"
	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

func newDiffCommand() *cobra.Command {
	var asJSON, asMarkdown bool
	cmd := &cobra.Command{
		Use:   "diff OLD.json NEW.json",
		Short: "Compare two JSON reports",
		Long: `Compare two JSON reports of mcpcheck run: new failures and passes, requirements that
are no longer tested, failures that changed, and requirements that were added to the
catalogue, removed from it or changed in it.

  mcpcheck diff main.json branch.json
  mcpcheck diff --markdown main.json branch.json

A regression is a result that blocks in the new run and did not in the old one, or a
new run that was not completed. A requirement that the old run did not test in any
revision, such as one that is new in this version of mcpcheck, is listed but does not
count as a regression. Exit codes: 0 no regression, 1 regressions, 2 wrong usage or
input.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return exit.Usagef("diff needs two JSON reports, the old one and the new one, not %d", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			reports, err := runner.ReadReports(args)
			if err != nil {
				return err
			}
			c := report.CompareReports(reports[0].Report, reports[1].Report)
			if err := comparisonWriter(asJSON, asMarkdown)(cmd.OutOrStdout(), c); err != nil {
				return err
			}
			if c.Regressions > 0 {
				return exit.Status(report.ExitFails)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&asMarkdown, "markdown", false, "print Markdown, for a comment on a pull request")
	cli.MarkExclusive(cmd.Flags(), "json", "markdown")
	return cmd
}

// comparisonWriter returns the function that writes a comparison in the requested format.
func comparisonWriter(asJSON, asMarkdown bool) func(io.Writer, report.Comparison) error {
	switch {
	case asJSON:
		return reporters.ComparisonJSON
	case asMarkdown:
		return reporters.ComparisonMarkdown
	}
	return reporters.ComparisonText
}
