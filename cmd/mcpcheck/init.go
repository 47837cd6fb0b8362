package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/discovery"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

func newInitCommand() *cobra.Command {
	f := runFlags{fileKeys: config{Jobs: 1, Budget: 5 * time.Minute}}
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
				return usageErrorf("no server; say mcpcheck init -- COMMAND [ARG…] or mcpcheck init --url URL")
			}
			if err := validateOutputFile(name, force); err != nil {
				return err
			}
			return createConfig(cmd, f.withCommandLine(cmd, args), name)
		},
	}
	f.addTargetFlags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&name, "config", defaultConfigFile, "`FILE` to write")
	flags.BoolVar(&force, "force", false, "replace an existing file")
	return cmd
}

// validateOutputFile finds out beforehand whether a file can be written.
func validateOutputFile(name string, force bool) error {
	if dir := filepath.Dir(name); !reporters.IsDir(dir) {
		return usageErrorf("--config %s: no directory %s; create it first", name, dir)
	}
	_, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return usageErrorf("--config: %w", err)
	case reporters.IsDir(name):
		return usageErrorf("--config %s is a directory; name a file in it", name)
	case !force:
		return usageErrorf("%s exists already; give --force to replace it, or --config FILE to write another", name)
	}
	return nil
}

// createConfig looks at the server and writes the file.
func createConfig(cmd *cobra.Command, f runFlags, name string) error {
	v, err := resolveOptions(f, config{})
	if err != nil {
		return err
	}
	t, err := resolveTarget(v, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	d, err := inspectServer(v, t, newConsoleSinks(v, t, cmd.OutOrStdout(), cmd.ErrOrStderr()))
	if err != nil {
		return err
	}
	text := d.text()
	if _, err := parseConfig(name, []byte(text)); err != nil {
		return &exitError{report.ExitInternal,
			fmt.Errorf("the file that was made cannot be read, and was not written: %w", err)}
	}
	if err := reporters.ReplaceFile(name, []byte(text)); err != nil {
		return usageErrorf("--config: %w", err)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "found %s\n%s\nwrote %s\n\nnext: %s\n", d.serverSummary(), d.toolSummary(), name,
		d.nextSteps(name))
	return nil
}

// look learns what the server is, what it has for clients that can do more, and whether arguments work, and stops it.
func inspectServer(v options, t *target, told *sinks) (d draft, err error) {
	ctx, leave := t.lifetime(v.Budget)
	defer leave()
	found, err := t.discover(ctx, v.singleProtocol(), told)
	server := found.Server
	if err == nil {
		found.Close()
	}
	unseen := func(why string) error {
		return &exitError{report.ExitUntestable, fmt.Errorf("nothing was written: %s", why)}
	}
	switch {
	case errors.Is(context.Cause(ctx), errInterrupted):
		return d, &exitError{report.ExitInterrupted, errors.New("interrupted; nothing was written")}
	case server == nil:
		return d, err
	case err != nil:
		return d, unseen(reporters.ProblemSentence(t.errorText(err)))
	case server.Failure != "":
		return d, unseen(t.redactor.text(server.Failure))
	}
	d = newDraft(v, t, server)
	able, declared := protocol.AllCapabilities(server.Revision), check.M{}
	d.addCapabilityTools(discovery.ToolsForCapabilities(ctx, t.driverTarget, server, able))
	if catalogue.IsModern(server.Revision) {
		declared = able // for such a server says what it wants in its result, which needs no answer here
	}
	if s, err := discovery.OpenWithCapabilities(ctx, t.driverTarget, server, declared); err == nil {
		d.tryTools(s)
		s.Close()
	}
	return d, nil
}
