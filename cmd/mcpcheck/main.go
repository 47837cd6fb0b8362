// Mcpcheck tests whether an MCP server conforms to the Model Context Protocol, and shows the messages that prove it.
//
// This package defines the commands: one file for each, with its flags, its help and little else. What they do is in
// the packages below internal: runner tests a server, config and target resolve what and how, fleet tests many servers,
// recorder and trace handle recorded sessions. A command returns an error, and only main ends the process, with the
// exit code of that error (package exit).
package main

import (
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/build"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/cli"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/terminal"
	"github.com/mcpcheck/mcpcheck/reporters/files"
	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

func main() {
	build.Release = version
	setMemoryLimits()
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

func setMemoryLimits() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(40) // costs a tenth of a second of CPU time and saves 20 MB
	}
	debug.SetMemoryLimit(96 << 20) // with very long lists mcpcheck gets slower rather than larger
}

// run is the whole program without the process: it returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	log.SetOutput(io.Discard) // net/http logs errors of servers there
	root := newRootCommand()
	root.SetArgs(args)
	root.SetIn(stdin)
	out := &terminal.Writer{Writer: stdout}
	root.SetOut(out)
	root.SetErr(stderr)
	err := root.Execute()
	e := &exit.Error{Code: report.ExitConforms}
	if err != nil {
		e = &exit.Error{Code: report.ExitUsage, Cause: err} // errors of cobra itself are wrong usage
		errors.As(err, &e)
	}
	if out.Err != nil && (e.Cause == nil || errors.Is(e.Cause, out.Err)) {
		e = &exit.Error{
			Code: report.ExitInternal, Cause: fmt.Errorf("standard output: %w", files.WithoutPath(out.Err)),
		}
	}
	if e.Cause != nil {
		fmt.Fprintln(stderr, "mcpcheck:", exit.Line(e.Cause))
	}
	return e.Code
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "mcpcheck",
		Short: "Check that an MCP server conforms to the protocol",
		Long: `mcpcheck checks that an MCP (Model Context Protocol) server conforms to the
protocol, and shows the wire lines that prove it where it does not.

  mcpcheck run -- node dist/index.js     test a server over stdio
  mcpcheck run --demo                    test the built-in reference server
  mcpcheck list                          what is checked
  mcpcheck explain --last                what blocked, and what to change

Exit codes: 0 the server conforms, 1 it does not, 2 wrong usage or configuration,
3 it could not be tested, 4 mcpcheck failed, 130 interrupted.`,
		Version:       build.Version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          rejectUnknownCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },

		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return cli.ValidateFlags(cmd.Flags()) },
	}
	root.SetVersionTemplate("mcpcheck {{.Version}}\n") // the same text as that of newVersionCommand
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return exit.Usagef("%w; %s --help shows the flags", cli.FlagError(cmd, err), cmd.CommandPath())
	})
	root.AddCommand(
		newRunCommand(), newFleetCommand(), newBaselineCommand(), newDiffCommand(), newMergeCommand(),
		newRecordCommand(), newLoadCommand(), newJudgeCommand(), newListCommand(), newExplainCommand(),
		newExploreCommand(), newServeCommand(), newInitCommand(), newConfigCommand(),
		newManCommand(), newVersionCommand(), newActionCommand(), newGuardCommand(), newFleetMemberCommand(),
	)
	root.SetUsageFunc(writeUsage)
	rejectUnknownArgs(root)
	return root
}

// rejectUnknownArgs makes unknown arguments an error for cobra's own commands, which would print their help.
func rejectUnknownArgs(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "completion":
			cmd.Args = rejectUnknownCommand
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		case "help":
			cmd.Args = func(_ *cobra.Command, args []string) error {
				about, rest, _ := root.Find(args)
				return rejectUnknownCommand(about, rest)
			}
		}
	}
}

// rejectArgs returns an error for arguments of a command that has none.
func rejectArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return exit.Usagef("%s takes flags only; leave out %s", cmd.CommandPath(), strings.Join(args, " "))
}

// rejectUnknownCommand returns an error for arguments that are not a subcommand of a command.
func rejectUnknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	slices.Sort(names)
	if len(names) == 0 {
		return exit.Usagef("there are no commands below %s; leave out %s", cmd.CommandPath(), strings.Join(args, " "))
	}
	if cmd.HasParent() {
		return exit.Usagef("no command %q below %s (have %s)", args[0], cmd.CommandPath(), strings.Join(names, ", "))
	}
	server := args
	if cmd.ArgsLenAtDash() == 1 && len(args) > 1 { // the first word was probably meant as a command of mcpcheck
		server = args[1:]
	}
	otherwise := fmt.Sprintf(" (have %s); to check a server: mcpcheck run -- %s",
		strings.Join(names, ", "), strings.Join(server, " "))
	return exit.Usagef("no command %q%s", args[0], text.Suggestion(args[0], names, otherwise))
}
