package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// audience is who is told of a run: people at the console, and reports.
type audience struct {
	out, stderr io.Writer // out is the console's
	live        bool      // out shows progress
	quiet       bool
	console     *reporters.Console
	reporters   []reporters.Reporter // the console is the first
}

// atConsole is an audience of people alone.
func atConsole(v values, t *target, out, stderr io.Writer) *audience {
	terminal, width := terminalOf(out)
	console := reporters.NewConsole(reporters.ConsoleOptions{
		Out: out, Color: coloured(terminal, v.flags.noColor), Terminal: terminal,
		Width: width, Verbosity: v.flags.verbosity(),
		Repeat: func(r harness.Result) string { return repeat(v, t, r) },
	})
	return &audience{
		out: out, stderr: stderr, live: terminal, quiet: v.flags.quiet,
		console: console, reporters: []reporters.Reporter{console},
	}
}

// result tells a result. It has to be redacted, and compared with the baseline.
func (a *audience) result(r harness.Result) {
	for _, reporter := range a.reporters {
		reporter.Result(r)
	}
	a.console.Progress("checking … " + r.ID)
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

// waiting says that something is waited for, and for how long at most. The returned function ends it.
func (a *audience) waiting(what string, most time.Duration) (arrived func()) {
	begin := time.Now()
	tick := time.NewTicker(time.Second)
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for n := 1; ; n++ {
			select {
			case <-tick.C:
				passed := int(time.Since(begin).Seconds())
				a.console.Progress(fmt.Sprintf("waiting for %s … %ds of %v", what, passed, most))
				if n == 3 && !a.live && !a.quiet {
					fmt.Fprintf(a.stderr, "mcpcheck: waiting for %s, up to %v\n", what, most)
				}
			case <-end:
				return
			}
		}
	}()
	return func() {
		tick.Stop()
		close(end)
		<-ended
		a.console.Progress("")
	}
}
