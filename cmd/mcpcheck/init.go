package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/draft"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
)

func newInitCommand() *cobra.Command {
	f := config.Flags{FileKeys: config.File{Jobs: 1, Budget: 5 * time.Minute}}
	var name string
	var force bool
	cmd := &cobra.Command{
		Use:   "init [flags] [--url URL] [-- COMMAND [ARG…]]",
		Short: "Create mcpcheck.yaml for a server",
		Long: `Create a commented mcpcheck.yaml for a server: how it is reached, and its tools with
arguments generated from their schemas. Tools with readOnlyHint: true are called once
with these, and the file says which arguments failed; with --calls none, no tool is
called. Edit the file as you need; mcpcheck run finds it in the current directory.

  mcpcheck init -- node dist/index.js
  mcpcheck init --url https://example.com/mcp --bearer-env TOKEN
  mcpcheck init --url http://127.0.0.1:{port}/mcp -- ./my-server --port {port}
  mcpcheck init --server NAME

Values of variables and headers are not written, since they may be secrets; the file
says how to pass them.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if given := cmd.Flags().Changed; len(args) == 0 && !given("url") && !given("server") {
				return exit.Usagef("no server; say mcpcheck init -- COMMAND [ARG…] or mcpcheck init --url URL")
			}
			if err := draft.ValidateOutputFile(name, force); err != nil {
				return err
			}
			return draft.Create(cmd, f.WithCommandLine(cmd, args), name)
		},
	}
	f.AddTarget(cmd)
	flags := cmd.Flags()
	flags.StringVar(&name, "config", config.DefaultFile, "`FILE` to write")
	flags.BoolVar(&force, "force", false, "replace an existing file")
	return cmd
}
