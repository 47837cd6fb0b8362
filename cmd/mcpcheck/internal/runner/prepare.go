package runner

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/baseline"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/hosts"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/target"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// Run tests a server and reports the results.
func Run(cmd *cobra.Command, f config.Flags) error {
	if f.Watch {
		return watch(cmd, f)
	}
	j, err := prepare(cmd, f, nil)
	if err != nil {
		return err
	}
	_, err = j.execute(cmd)
	return err
}

// Resolve returns the options of flags and of the configuration file, and the server that they name. Without
// writesReports, the reports of the file are left out.
func Resolve(f config.Flags, writesReports bool, stderr io.Writer) (v config.Options, t *target.Target, err error) {
	file, err := hosts.ReadConfig(f)
	if err != nil {
		return v, nil, err
	}
	if !writesReports {
		file.Reports = config.ReportFiles{}
	}
	if v, err = config.Resolve(f, file); err != nil {
		return v, nil, err
	}
	t, err = target.Resolve(v, stderr)
	return v, t, err
}

// prepare makes a run, for Run and the commands that share its steps: it resolves the options (package config) and the
// server (package target), and opens the reports (sinks.go). It finds errors of usage before anything is started.
// alter, unless it is nil, may change the options.
func prepare(cmd *cobra.Command, f config.Flags, alter func(*config.Options) error) (*serverRun, error) {
	v, t, err := Resolve(f, f.ParentPipe == nil, cmd.ErrOrStderr()) // the fleet writes its own reports
	if err != nil {
		return nil, err
	}
	if alter != nil {
		err = alter(&v)
	} else {
		err = restrictToLastFailed(&v, t, cmd.ErrOrStderr())
	}
	if err != nil {
		return nil, err
	}
	t.ParentPipe = f.ParentPipe
	t.NotifySignals() // before the first file is created
	var known baseline.File
	if v.Baseline != "" {
		if known, err = baseline.Read(v.Baseline); err != nil {
			return nil, err
		}
	}
	told, err := newSinks(v, t, cmd.OutOrStdout(), cmd.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	return newServerRun(v, t, known, told), nil
}

// execute runs the checks and reports the results, or writes the plan only.
func (j *serverRun) execute(cmd *cobra.Command) (report.Report, error) {
	if j.Flags.Plan {
		return j.report, j.writePlan(cmd.OutOrStdout())
	}
	if err := j.addTraceReporter(); err != nil {
		return j.report, err
	}
	rep, err := j.run()
	if err != nil {
		return rep, err
	}
	if j.Shard == nil && j.Flags.ParentPipe == nil && j.exploration == nil {
		saveLastRun(j.target, rep)
	}
	if j.beforeReport != nil {
		j.beforeReport(rep)
	}
	return rep, j.target.FlushReports(cmd.ErrOrStderr(), func() error { return j.sinks.writeReport(rep) })
}
