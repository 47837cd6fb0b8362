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
	"github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// audience is who is told of a run: people at the console, and reports.
type audience struct {
	out, stderr io.Writer // out is the console's
	live        bool      // out shows progress
	quiet       bool
	redact      redactor
	console     *reporters.Console
	reporters   []reporters.Reporter // the console is the first
}

// atConsole is an audience of people alone.
func atConsole(v values, t *target, out, stderr io.Writer) *audience {
	terminal, width := terminalOf(out)
	console := reporters.NewConsole(reporters.ConsoleOptions{
		Out: out, Color: coloured(terminal, v.flags.noColor), Terminal: terminal,
		Width: width, Verbosity: v.flags.verbosity(),
		Repeat: func(r harness.Result) string { return asCalled(repeat(v, t, r)) },
		Next:   func(r harness.Report) []string { return each(nextSteps(v, t, r), asCalled) },
	})
	return &audience{
		out: out, stderr: stderr, live: terminal, quiet: v.flags.quiet, redact: t.redact,
		console: console, reporters: []reporters.Reporter{console},
	}
}

// asCalled is a command of mcpcheck for the shell that has called this process: by the path of the program, such as
// ./mcpcheck in a clone, where it is not on the PATH.
func asCalled(command string) string {
	_, notFound := exec.LookPath("mcpcheck")
	args, is := strings.CutPrefix(command, "mcpcheck ")
	if notFound == nil || !is || !strings.ContainsRune(os.Args[0], os.PathSeparator) {
		return command
	}
	return text.Shell(os.Args[0]) + " " + args
}

// result tells a result. It has to be redacted, and compared with the baseline.
func (a *audience) result(r harness.Result) {
	for _, reporter := range a.reporters {
		reporter.Result(r)
	}
}

// done tells the whole report, and returns the exit code that it asks for.
func (a *audience) done(report harness.Report) error {
	var failed error
	for _, reporter := range a.reporters {
		failed = errors.Join(failed, reporter.Done(report))
	}
	if failed != nil {
		return &exit{harness.ExitBroken, failed}
	}
	if report.ExitCode != harness.ExitConforms {
		return &exit{code: report.ExitCode}
	}
	return nil
}

// say says one line beside what is reported.
func (a *audience) say(line string) {
	if !a.quiet {
		fmt.Fprintln(a.stderr, "mcpcheck:", reporters.Line(a.redact.text(line)))
	}
}

// How often it is said how far a run has come: on a terminal, where the line is rewritten, and elsewhere.
const (
	onTerminal = time.Second
	inPipe     = 10 * time.Second
)

// waiting says that something is waited for, and for how long at most. The returned function ends it.
func (a *audience) waiting(what string, most time.Duration) (arrived func()) {
	return a.accompany(time.Now(), func(passed string) string {
		return fmt.Sprintf("%s · waiting for %s, up to %v", passed, what, most)
	})
}

// headway is how far a run has come, as harness.Progress knows it.
type headway interface {
	Settled() int
	Area() string
	Starting() string
	Waiting() string
}

// running says how far a run of so many cases has come that began at a time: which area of checks it is about, what it
// waits for, and from which server. Where it is one of several, of says which. The returned function ends it.
func (a *audience) running(
	begin time.Time, of string, cases int, server harness.ServerInfo, p headway,
) (ended func()) {
	return a.accompany(begin, func(passed string) string {
		line := fmt.Sprintf("%d/%d · %s", p.Settled(), cases, passed)
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

// accompany shows a line again and again, made of the time that has passed since the beginning: on a terminal in place
// of the one before, elsewhere on stderr. The returned function ends it, and leaves nothing on the terminal.
func (a *audience) accompany(begin time.Time, line func(passed string) string) (end func()) {
	if a.quiet {
		return func() {}
	}
	every, show := inPipe, func(line string) { fmt.Fprintln(a.stderr, "mcpcheck:", reporters.Line(line)) }
	if a.live {
		every, show = onTerminal, a.console.Progress
	}
	tick := time.NewTicker(every)
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-tick.C:
				show(a.redact.text(line(fmt.Sprintf("%d s", int(time.Since(begin).Seconds())))))
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
