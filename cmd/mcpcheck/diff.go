package main

import (
	"encoding/json"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/cli"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/runner"
	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/reporters/files"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

func newDiffCommand() *cobra.Command {
	var asJSON, asMarkdown bool
	var tolerance float64
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
count as a regression.

Of two reports of mcpcheck load, a regression is a figure that is worse by more than
the ratio --tolerance, a result that fails and did not before, or a new load that
ended before its time. A difference of less than 1 ms does not count.

  mcpcheck diff --tolerance 1.5 main-load.json branch-load.json

Exit codes: 0 no regression, 1 regressions, 2 wrong usage or input.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return exit.Usagef("diff needs two JSON reports, the old one and the new one, not %d", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if tolerance < 1 {
				return exit.Usagef("--tolerance is a ratio of at least 1, such as 1.2, not %g", tolerance)
			}
			loads, err := readLoads(args)
			if err != nil {
				return err
			}
			if loads != nil {
				return diffLoads(cmd.OutOrStdout(), loads, tolerance, asJSON, asMarkdown)
			}
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
	cmd.Flags().Float64Var(&tolerance, "tolerance", report.LoadTolerance,
		"`RATIO` by which figures of mcpcheck load may be worse")
	cli.MarkExclusive(cmd.Flags(), "json", "markdown")
	return cmd
}

// readLoads reads reports of mcpcheck load; nil means that the files are others.
func readLoads(paths []string) (loads []report.Load, err error) {
	for _, path := range paths {
		content, err := files.ReadLimited(path, runner.MaxReportBytes)
		if err != nil {
			return nil, exit.Usagef("cannot read %s: %w", path, files.WithoutPath(err))
		}
		var l report.Load
		if json.Unmarshal(content, &l) == nil && l.Kind == report.LoadKind {
			loads = append(loads, l)
		}
	}
	if len(loads) == 1 {
		return nil, exit.Usagef("one of %s is a report of mcpcheck load, and the other is not; name two of one kind",
			strings.Join(paths, " and "))
	}
	return loads, nil
}

// diffLoads writes the comparison of two loads, and returns the exit code as an error.
func diffLoads(w io.Writer, loads []report.Load, tolerance float64, asJSON, asMarkdown bool) error {
	write := reporters.LoadComparisonText
	switch {
	case asJSON:
		write = reporters.LoadComparisonJSON
	case asMarkdown:
		write = reporters.LoadComparisonMarkdown
	}
	c := report.CompareLoads(loads[0], loads[1], tolerance)
	if err := write(w, c); err != nil {
		return err
	}
	if c.Regressions > 0 {
		return exit.Status(report.ExitFails)
	}
	return nil
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
