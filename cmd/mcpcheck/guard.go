package main

import (
	"os/signal"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// guardCommand is the command by which a run starts its guard, see driver.Guard.
const guardCommand = "guard"

func newGuard() *cobra.Command {
	return &cobra.Command{
		Use:    guardCommand,
		Short:  "End the servers of a run that was killed",
		Hidden: true,
		Args:   noWords,
		RunE: func(cmd *cobra.Command, _ []string) error {
			signal.Ignore(ending()...)
			return driver.StandGuard(cmd.InOrStdin())
		},
	}
}
