package main

import (
	"os/signal"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/process"
	"github.com/mcpcheck/mcpcheck/suites/driver"
)

func newGuardCommand() *cobra.Command {
	return &cobra.Command{
		Use:    process.GuardCommand,
		Short:  "End the servers of a run that was killed",
		Hidden: true,
		Args:   rejectArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			signal.Ignore(process.TerminationSignals()...)
			return driver.RunGuard(cmd.InOrStdin())
		},
	}
}
