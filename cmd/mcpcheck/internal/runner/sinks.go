package runner

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/redact"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/target"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/terminal"
	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// Sinks is who is told of a run: people at the console, and reports.
type Sinks struct {
	out, stderr io.Writer // out is the console's
	isTerminal  bool      // out shows progress
	quiet       bool
	redactor    redact.Redactor
	console     *reporters.Console
	reporters   []reporters.Reporter // the console is the first
}

// NewConsoleSinks is an audience of people alone.
func NewConsoleSinks(v config.Options, t *target.Target, out, stderr io.Writer) *Sinks {
	onTerminal, width := terminal.Info(out)
	console := reporters.NewConsole(reporters.ConsoleOptions{
		Out: out, Color: terminal.UsesColor(onTerminal, v.Flags.NoColor), Terminal: onTerminal,
		Width: width, Verbosity: v.Flags.Verbosity(),
		RepeatCommand: func(r report.Result) string { return withProgramPath(repeatCommand(v, t, r)) },
		NextCommands:  func(r report.Report) []string { return text.Map(nextSteps(v, t, r), withProgramPath) },
	})
	return &Sinks{
		out: out, stderr: stderr, isTerminal: onTerminal, quiet: v.Flags.Quiet, redactor: t.Redactor,
		console: console, reporters: []reporters.Reporter{console},
	}
}

// withProgramPath is a command of mcpcheck for the shell that has called this process: by the path of the program, such
// as ./mcpcheck in a clone, where it is not on the PATH.
func withProgramPath(command string) string {
	_, notFound := exec.LookPath("mcpcheck")
	args, is := strings.CutPrefix(command, "mcpcheck ")
	if notFound == nil || !is || !strings.ContainsRune(os.Args[0], os.PathSeparator) {
		return command
	}
	return text.Shell(os.Args[0]) + " " + args
}

// writeResult tells a result. It has to be redacted, and compared with the baseline.
func (a *Sinks) writeResult(r report.Result) {
	for _, reporter := range a.reporters {
		reporter.Result(r)
	}
}

// writeReport tells the whole report, and returns the exit code that it asks for.
func (a *Sinks) writeReport(rep report.Report) error {
	var failed error
	for _, reporter := range a.reporters {
		failed = errors.Join(failed, reporter.Done(rep))
	}
	if failed != nil {
		return exit.With(report.ExitInternal, failed)
	}
	if rep.ExitCode != report.ExitConforms {
		return exit.Status(rep.ExitCode)
	}
	return nil
}

// PrintNotice says one line beside what is reported.
func (a *Sinks) PrintNotice(line string) {
	if !a.quiet {
		fmt.Fprintln(a.stderr, "mcpcheck:", reporters.PrintableLine(a.redactor.Text(line)))
	}
}

// How often it is said how far a run has come: on a terminal, where the line is rewritten, and elsewhere.
const (
	terminalInterval = time.Second
	pipeInterval     = 10 * time.Second
)

// ShowWaiting says that something is waited for, and for how long at most. The returned function ends it.
func (a *Sinks) ShowWaiting(what string, most time.Duration) (arrived func()) {
	return a.showStatus(time.Now(), func(passed string) string {
		return fmt.Sprintf("%s · waiting for %s, up to %v", passed, what, most)
	})
}

// progressSource is how far a run has come, as check.RunProgress knows it.
type progressSource interface {
	Completed() int
	Area() string
	Starting() string
	Waiting() string
}

// showProgress says how far a run of so many cases has come that began at a time: which area of checks it is about,
// what it waits for, and from which server. Where it is one of several, of says which. The returned function ends it.
func (a *Sinks) showProgress(
	begin time.Time, of string, cases int, server report.ServerInfo, p progressSource,
) (ended func()) {
	return a.showStatus(begin, func(passed string) string {
		line := fmt.Sprintf("%d/%d · %s", p.Completed(), cases, passed)
		if of != "" {
			line = of + " · " + line
		}
		if area := p.Area(); area != "" {
			line += " · " + area
		}
		if which := p.Starting(); which != "" {
			return line + " · starting the server, " + which
		}
		if what := p.Waiting(); what != "" {
			line += " · waiting for " + what
			if server.Name != "" {
				line += " of " + server.Name
			}
		}
		return line
	})
}

// showStatus shows a line again and again, made of the time that has passed since the beginning: on a terminal in place
// of the one before, elsewhere on stderr. The returned function ends it, and leaves nothing on the terminal.
func (a *Sinks) showStatus(begin time.Time, line func(passed string) string) (end func()) {
	if a.quiet {
		return func() {}
	}
	every, show := pipeInterval, func(line string) {
		fmt.Fprintln(a.stderr, "mcpcheck:",
			reporters.PrintableLine(line))
	}
	if a.isTerminal {
		every, show = terminalInterval, a.console.Progress
	}
	tick := time.NewTicker(every)
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-tick.C:
				show(a.redactor.Text(line(fmt.Sprintf("%d s", int(time.Since(begin).Seconds())))))
			case <-over:
				return
			}
		}
	}()
	return func() {
		tick.Stop()
		close(over)
		<-ended
		a.console.Progress("")
	}
}
