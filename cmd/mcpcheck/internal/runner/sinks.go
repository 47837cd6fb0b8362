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

// Sinks receives the results of a run: the console and the report files.
type Sinks struct {
	// out is the console's output; stderr is for progress when out is not a terminal.
	out, stderr io.Writer
	// isTerminal says that out is a terminal, which shows progress.
	isTerminal bool
	quiet      bool
	redactor   redact.Redactor
	console    *reporters.Console
	// reporters are all reporters; the console is the first.
	reporters []reporters.Reporter
}

// NewConsoleSinks returns sinks for the console alone.
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

// withProgramPath returns a command of mcpcheck that works in the user's shell: with the path of the program, such as
// ./mcpcheck in a clone, unless it is on the PATH.
func withProgramPath(command string) string {
	_, notFound := exec.LookPath("mcpcheck")
	args, is := strings.CutPrefix(command, "mcpcheck ")
	if notFound == nil || !is || !strings.ContainsRune(os.Args[0], os.PathSeparator) {
		return command
	}
	return text.Shell(os.Args[0]) + " " + args
}

// writeResult writes a result, which has to be redacted and compared with the baseline already.
func (a *Sinks) writeResult(r report.Result) {
	for _, reporter := range a.reporters {
		reporter.Result(r)
	}
}

// writeReport writes the whole report, and returns its exit code as an error.
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

// PrintNotice prints one line that is not a part of the report.
func (a *Sinks) PrintNotice(line string) {
	if !a.quiet {
		fmt.Fprintln(a.stderr, "mcpcheck:", reporters.PrintableLine(a.redactor.Text(line)))
	}
}

// These intervals say how often progress is shown: on a terminal, where the line is rewritten, and elsewhere.
const (
	terminalInterval = time.Second
	pipeInterval     = 10 * time.Second
)

// ShowWaiting shows what the run waits for, and for how long at most. The returned function ends that.
func (a *Sinks) ShowWaiting(what string, most time.Duration) (arrived func()) {
	return a.showStatus(time.Now(), func(passed string) string {
		return fmt.Sprintf("%s · waiting for %s, up to %v", passed, what, most)
	})
}

// progressSource is the progress of a run, as engine.RunProgress has it.
type progressSource interface {
	Completed() int
	Area() string
	Waiting() string
}

// showProgress shows the progress of a run that began at a time: how many of its cases are done, the area of the
// current checks, what it waits for, and the server. When there are several revisions, of names the current one. The
// returned function ends that.
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
		if what := p.Waiting(); what != "" {
			line += " · waiting for " + what
			if server.Name != "" {
				line += " of " + server.Name
			}
		}
		return line
	})
}

// showStatus repeatedly shows a line that depends on the time since the beginning: on a terminal in place of the
// previous one, elsewhere on stderr. The returned function ends that and clears the line on a terminal.
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
