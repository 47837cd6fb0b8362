package load

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/build"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/process"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/runner"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/target"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/terminal"
	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// Command is mcpcheck load: it loads the server that the flags name, and writes the report to the console and to files,
// whose paths are by format, - for stdout. remote is the host that the operator allows besides this machine.
func Command(cmd *cobra.Command, f config.Flags, o Options, remote string, p Paths) error {
	v, t, err := runner.Resolve(f, false, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	if err := o.apply(v); err != nil {
		return err
	}
	if err := requireAllowed(t, remote); err != nil {
		return err
	}
	if err := p.check(); err != nil {
		return err
	}
	console := cmd.OutOrStdout()
	if p.usesStdout() {
		console = cmd.ErrOrStderr()
	}
	out, err := loadTarget(v, t, o, runner.NewConsoleSinks(v, t, console, cmd.ErrOrStderr()))
	if err != nil {
		return err
	}
	onTerminal, _ := terminal.Info(console)
	reporters.WriteLoad(console, out, terminal.UsesColor(onTerminal, v.Flags.NoColor))
	if err := p.write(cmd.OutOrStdout(), out); err != nil {
		return exit.With(report.ExitInternal, err)
	}
	return exitOf(out)
}

// requireAllowed returns an error for a server on another machine, unless the operator has named its host: a load is no
// harmless visit.
func requireAllowed(t *target.Target, remote string) error {
	site := t.DriverTarget.Site
	if site == nil || site.IsLoopback() || remote == site.Hostname() {
		return nil
	}
	if remote == "" {
		return exit.Usagef("%s is not this machine: a load may harm it; if it is yours, say --allow-remote %[1]s",
			site.Hostname())
	}
	return exit.Usagef("--allow-remote %s does not name the host of the URL, %s", remote, site.Hostname())
}

// loadTarget finds the server, and loads it.
func loadTarget(v config.Options, t *target.Target, o Options, told *runner.Sinks) (out report.Load, err error) {
	ctx, leave := t.Lifetime(v.Budget)
	defer leave()
	found, err := t.Discover(ctx, v.SingleProtocol(), told)
	server := found.Server
	untestable := func(why string) error {
		return exit.With(report.ExitUntestable, fmt.Errorf("nothing was measured: %s", why))
	}
	switch {
	case errors.Is(context.Cause(ctx), process.ErrInterrupted):
		return out, exit.With(report.ExitInterrupted, errors.New("interrupted; nothing was measured"))
	case server == nil:
		return out, err
	case err != nil:
		return out, untestable(reporters.ProblemSentence(t.ErrorText(err)))
	}
	defer found.Close()
	if server.Failure != "" {
		return out, untestable(t.Redactor.Text(server.Failure))
	}
	isHTTP := t.DriverTarget.Site != nil
	quiet := found.Session
	var before quickRun
	if isHTTP {
		before = runQuick(ctx, v, t, server)
		if quiet, err = openSession(ctx, t.DriverTarget, server); err != nil {
			return out, untestable(reporters.ProblemSentence(t.ErrorText(err)))
		}
		defer quiet.Close()
	}
	if out, err = Run(ctx, t.DriverTarget, server, quiet, o); err != nil {
		return out, untestable(t.Redactor.Text(err.Error()))
	}
	// A server that wants fewer requests, or has others to do, is left alone.
	if isHTTP && ctx.Err() == nil && before.problem == "" && out.Problem == "" {
		r := compareRuns(before, func() quickRun { return runQuick(ctx, v, t, server) })
		if ctx.Err() == nil { // else what was not tried any more failed
			out.Results = append(out.Results, r)
		}
	}
	out.CountResults()
	out.SchemaVersion = 1
	out.Program = catalogue.ProgramInfo{Name: "mcpcheck", Version: build.Version()}
	out.Target, out.Server = t.Info, server.Info()
	out.Problem = t.Redactor.Text(out.Problem)
	for _, r := range out.Results {
		for i, found := range r.Findings {
			r.Findings[i] = t.Redactor.Text(found)
		}
	}
	switch {
	case errors.Is(context.Cause(ctx), process.ErrInterrupted):
		out.ExitCode = report.ExitInterrupted
	case out.Fails():
		out.ExitCode = report.ExitFails
	case out.Problem != "":
		out.ExitCode = report.ExitUntestable
	}
	return out, nil
}

// exitOf returns the error with the exit code of a load; nil when the server was right.
func exitOf(l report.Load) error {
	if l.ExitCode == report.ExitConforms {
		return nil
	}
	return &exit.Error{Code: l.ExitCode}
}
