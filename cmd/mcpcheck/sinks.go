package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// sinks is who is told of a run: people at the console, and reports.
type sinks struct {
	out, stderr io.Writer // out is the console's
	isTerminal  bool      // out shows progress
	quiet       bool
	redactor    redactor
	console     *reporters.Console
	reporters   []reporters.Reporter // the console is the first
}

// newConsoleSinks is an audience of people alone.
func newConsoleSinks(v options, t *target, out, stderr io.Writer) *sinks {
	terminal, width := terminalInfo(out)
	console := reporters.NewConsole(reporters.ConsoleOptions{
		Out: out, Color: usesColor(terminal, v.flags.noColor), Terminal: terminal,
		Width: width, Verbosity: v.flags.verbosity(),
		RepeatCommand: func(r report.Result) string { return withProgramPath(repeatCommand(v, t, r)) },
		NextCommands:  func(r report.Report) []string { return mapStrings(nextSteps(v, t, r), withProgramPath) },
	})
	return &sinks{
		out: out, stderr: stderr, isTerminal: terminal, quiet: v.flags.quiet, redactor: t.redactor,
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
func (a *sinks) writeResult(r report.Result) {
	for _, reporter := range a.reporters {
		reporter.Result(r)
	}
}

// writeReport tells the whole report, and returns the exit code that it asks for.
func (a *sinks) writeReport(rep report.Report) error {
	var failed error
	for _, reporter := range a.reporters {
		failed = errors.Join(failed, reporter.Done(rep))
	}
	if failed != nil {
		return &exitError{report.ExitInternal, failed}
	}
	if rep.ExitCode != report.ExitConforms {
		return &exitError{code: rep.ExitCode}
	}
	return nil
}

// printNotice says one line beside what is reported.
func (a *sinks) printNotice(line string) {
	if !a.quiet {
		fmt.Fprintln(a.stderr, "mcpcheck:", reporters.PrintableLine(a.redactor.text(line)))
	}
}

// How often it is said how far a run has come: on a terminal, where the line is rewritten, and elsewhere.
const (
	terminalInterval = time.Second
	pipeInterval     = 10 * time.Second
)

// showWaiting says that something is waited for, and for how long at most. The returned function ends it.
func (a *sinks) showWaiting(what string, most time.Duration) (arrived func()) {
	return a.showStatus(time.Now(), func(passed string) string {
		return fmt.Sprintf("%s · waiting for %s, up to %v", passed, what, most)
	})
}

// progressSource is how far a run has come, as harness.Progress knows it.
type progressSource interface {
	Completed() int
	Area() string
	Starting() string
	Waiting() string
}

// showProgress says how far a run of so many cases has come that began at a time: which area of checks it is about,
// what it waits for, and from which server. Where it is one of several, of says which. The returned function ends it.
func (a *sinks) showProgress(
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
func (a *sinks) showStatus(begin time.Time, line func(passed string) string) (end func()) {
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
				show(a.redactor.text(line(fmt.Sprintf("%d s", int(time.Since(begin).Seconds())))))
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
