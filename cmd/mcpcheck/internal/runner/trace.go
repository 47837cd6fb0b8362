package runner

import (
	"fmt"
	"io"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/trace"
	"github.com/mcpcheck/mcpcheck/reporters/files"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// traceReporter is a reporter that writes the trace of a run.
type traceReporter struct{ *serverRun }

func (traceReporter) Result(report.Result) {}

func (t traceReporter) Done(rep report.Report) error {
	err := files.ReplaceFunc(t.Flags.Trace, 0o600, func(w io.Writer) error {
		return trace.Write(w, rep, t.sessions, t.target.Redactor)
	})
	if err != nil {
		return fmt.Errorf("trace %s: %w", t.Flags.Trace, files.WithoutPath(err))
	}
	return nil
}

// addTraceReporter adds the reporter of the trace, if the user asked for one. A file that cannot be written is an error
// now, before anything is started.
func (j *serverRun) addTraceReporter() error {
	if j.Flags.Trace == "" {
		return nil
	}
	if err := files.CheckWritable(j.Flags.Trace); err != nil {
		return exit.Usagef("--trace %s: %w; name a file that can be written", j.Flags.Trace, files.WithoutPath(err))
	}
	j.sinks.reporters = append(j.sinks.reporters, traceReporter{j})
	return nil
}
