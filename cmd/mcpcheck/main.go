// Mcpcheck tells the author of an MCP server whether it conforms to the protocol, with the wire lines that prove it.
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
		debug.SetGCPercent(40) // takes a tenth of a second of CPU time, and spares 20 MB
	}
	debug.SetMemoryLimit(96 << 20) // a server with very long lists makes mcpcheck slower, not big
}

// run is the whole program: it returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	log.SetOutput(io.Discard) // where net/http complains of servers
	root := newRootCommand()
	root.SetArgs(args)
	root.SetIn(stdin)
	out := &terminal.Writer{Writer: stdout}
	root.SetOut(out)
	root.SetErr(stderr)
	err := root.Execute()
	e := &exit.Error{Code: report.ExitConforms}
	if err != nil {
		e = &exit.Error{Code: report.ExitUsage, Cause: err} // what cobra itself complains of is wrong usage
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
	root.SetVersionTemplate("mcpcheck {{.Version}}\n") // as newVersionCommand has it
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return exit.Usagef("%w; %s --help shows the flags", cli.FlagError(cmd, err), cmd.CommandPath())
	})
	root.AddCommand(
		newRunCommand(), newFleetCommand(), newBaselineCommand(), newDiffCommand(), newMergeCommand(),
		newRecordCommand(), newJudgeCommand(), newListCommand(), newExplainCommand(),
		newServeCommand(), newInitCommand(), newConfigCommand(),
		newManCommand(), newVersionCommand(), newActionCommand(), newGuardCommand(), newFleetMemberCommand(),
	)
	root.SetUsageFunc(writeUsage)
	rejectUnknownArgs(root)
	return root
}

// rejectUnknownArgs makes errors of words that cobra's own commands answer with a help text.
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

// rejectArgs refuses words after a command that takes none.
func rejectArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return exit.Usagef("%s takes flags only; leave out %s", cmd.CommandPath(), strings.Join(args, " "))
}

// rejectUnknownCommand refuses words that are no command below the given one.
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
	if cmd.ArgsLenAtDash() == 1 && len(args) > 1 { // the first word was to be a command of mcpcheck
		server = args[1:]
	}
	otherwise := fmt.Sprintf(" (have %s); to check a server: mcpcheck run -- %s",
		strings.Join(names, ", "), strings.Join(server, " "))
	return exit.Usagef("no command %q%s", args[0], text.Suggestion(args[0], names, otherwise))
}
