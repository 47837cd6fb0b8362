package main

import (
	"os/signal"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// guardCommandName is the command by which a run starts its guard, see driver.Guard.
const guardCommandName = "guard"

func newGuardCommand() *cobra.Command {
	return &cobra.Command{
		Use:    guardCommandName,
		Short:  "End the servers of a run that was killed",
		Hidden: true,
		Args:   rejectArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			signal.Ignore(terminationSignals()...)
			return driver.RunGuard(cmd.InOrStdin())
		},
	}
}
