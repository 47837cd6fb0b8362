package main

import (
	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
)

func newConfigCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Describe mcpcheck.yaml",
		Long: `Describe mcpcheck.yaml, the configuration file that run finds in the current
directory. mcpcheck init writes one.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return exit.Usagef("no command %q; say mcpcheck config schema", "config "+args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newConfigSchemaCommand())
	return cmd
}

func newConfigSchemaCommand() *cobra.Command {
	var list bool
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of mcpcheck.yaml",
		Long: `Print the JSON Schema of mcpcheck.yaml, or with --list that of a list of servers,
for editors. With the YAML extension of many of them:

  mcpcheck config schema > mcpcheck.schema.json
  # yaml-language-server: $schema=mcpcheck.schema.json    as the first line of mcpcheck.yaml

  mcpcheck config schema --list > fleet.schema.json
  # yaml-language-server: $schema=fleet.schema.json       as the first line of fleet.yaml`,
		Args: rejectArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			schema := config.Schema()
			if list {
				schema = config.ListSchema()
			}
			_, err := cmd.OutOrStdout().Write(schema)
			return err
		},
	}
	cmd.Flags().BoolVar(&list, "list", false, "print the schema of a list of servers, for fleet and run --server")
	return cmd
}
