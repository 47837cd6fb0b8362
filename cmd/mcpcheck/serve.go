package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/suites/harness"
)

func newServe() *cobra.Command {
	var fault string
	var faults bool
	var tools int
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the built-in reference server over stdio",
		Long: `Run the built-in reference server over stdio: honest in every revision, or with
one fault. The faults are named after the check that catches them.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if faults {
				for _, f := range fixtures.Faults() {
					fmt.Fprintln(cmd.OutOrStdout(), f.ID())
				}
				return nil
			}
			spoilt, err := findFault(fault)
			if err != nil {
				return err
			}
			term := make(chan os.Signal, 1)
			signal.Notify(term, syscall.SIGTERM)
			defer signal.Stop(term)
			status := fixtures.Serve(context.Background(), fixtures.Stdio{
				In: cmd.InOrStdin(), Out: cmd.OutOrStdout(), Err: cmd.ErrOrStderr(), Term: plain(term), MoreTools: tools,
			}, spoilt)
			if status != 0 {
				return &exit{code: status}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&fault, "fault", "", "serve with the fault of this `ID`")
	cmd.Flags().IntVar(&tools, "tools", 0, "list `N` more tools, in pages of fifty")
	cmd.Flags().BoolVar(&faults, "list-faults", false, "list the faults")
	return cmd
}

func findFault(id string) (fixtures.Fault, error) {
	if id == "" {
		return fixtures.Fault{}, nil
	}
	if f, ok := fixtures.Find(id); ok {
		return f, nil
	}
	var ids []string
	for _, f := range fixtures.Faults() {
		ids = append(ids, f.ID())
	}
	if near := harness.Nearest(id, ids); near != "" {
		return fixtures.Fault{}, usage("no fault %q; did you mean %s?", id, near)
	}
	return fixtures.Fault{}, usage("no fault %q; mcpcheck serve --list-faults shows them all", id)
}

// plain turns signals into the fixture's own kind of channel.
func plain(signals <-chan os.Signal) <-chan struct{} {
	out := make(chan struct{}, 1)
	go func() {
		for range signals {
			out <- struct{}{}
		}
	}()
	return out
}
