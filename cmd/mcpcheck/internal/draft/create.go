package draft

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/process"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/runner"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/target"
	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/reporters/files"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/discovery"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// ValidateOutputFile finds out before a server is started whether the file can be written.
func ValidateOutputFile(name string, force bool) error {
	if dir := filepath.Dir(name); !files.IsDir(dir) {
		return exit.Usagef("--config %s: no directory %s; create it first", name, dir)
	}
	_, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return exit.Usagef("--config: %w", err)
	case files.IsDir(name):
		return exit.Usagef("--config %s is a directory; name a file in it", name)
	case !force:
		return exit.Usagef("%s exists already; give --force to replace it, or --config FILE to write another", name)
	}
	return nil
}

// Create inspects the server and writes the file.
func Create(cmd *cobra.Command, f config.Flags, name string) error {
	v, err := config.Resolve(f, config.File{})
	if err != nil {
		return err
	}
	t, err := target.Resolve(v, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	d, err := inspectServer(v, t, runner.NewConsoleSinks(v, t, cmd.OutOrStdout(), cmd.ErrOrStderr()))
	if err != nil {
		return err
	}
	content := d.text()
	if _, err := config.Parse(name, []byte(content)); err != nil {
		return exit.With(report.ExitInternal,
			fmt.Errorf("the file that was made cannot be read, and was not written: %w", err))
	}
	if err := files.Replace(name, []byte(content)); err != nil {
		return exit.Usagef("--config: %w", err)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "found %s\n%s\nwrote %s\n\nnext: %s\n", d.serverSummary(), d.toolSummary(), name,
		d.nextSteps(name))
	return nil
}

// inspectServer finds out what the server is, which tools it has for clients with more capabilities, and whether the
// generated arguments work. It ends the server.
func inspectServer(v config.Options, t *target.Target, told *runner.Sinks) (d draft, err error) {
	ctx, leave := t.Lifetime(v.Budget)
	defer leave()
	found, err := t.Discover(ctx, v.SingleProtocol(), told)
	server := found.Server
	if err == nil {
		found.Close()
	}
	unseen := func(why string) error {
		return exit.With(report.ExitUntestable, fmt.Errorf("nothing was written: %s", why))
	}
	switch {
	case errors.Is(context.Cause(ctx), process.ErrInterrupted):
		return d, exit.With(report.ExitInterrupted, errors.New("interrupted; nothing was written"))
	case server == nil:
		return d, err
	case err != nil:
		return d, unseen(reporters.ProblemSentence(t.ErrorText(err)))
	case server.Failure != "":
		return d, unseen(t.Redactor.Text(server.Failure))
	}
	d = newDraft(v, t, server)
	able, declared := protocol.AllCapabilities(server.Revision), check.M{}
	d.addCapabilityTools(discovery.ToolsForCapabilities(ctx, t.DriverTarget, server, able))
	if catalogue.IsModern(server.Revision) {
		declared = able // such a server declares it in its result, which needs no response here
	}
	if s, err := discovery.OpenWithCapabilities(ctx, t.DriverTarget, server, declared); err == nil {
		d.tryTools(s)
		s.Close()
	}
	return d, nil
}
