package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/process"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/terminal"
	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// watcher tests a server repeatedly.
type watcher struct {
	cmd   *cobra.Command
	flags config.Flags
	files *watchedFiles
	// lastReport is the last report of a complete run; nil means that there is none.
	lastReport *report.Report
	// lastRun holds the failures of the runs so far.
	lastRun lastRun
	// changedDuringRun are the files that changed during the last run.
	changedDuringRun []string
}

// errWatchInterrupted is the error that every watch ends with, since only the operator ends it.
var errWatchInterrupted = exit.Status(report.ExitInterrupted)

// errNothingBlocked says that no check has to run before the others.
var errNothingBlocked = errors.New("nothing blocked")

// watch tests a server, and again whenever its files change, until the operator ends it. Wrong usage is an error the
// first time; later it is printed, since the operator can fix it in the files.
func watch(cmd *cobra.Command, f config.Flags) error {
	ctx, listen := process.InterruptContext(nil)
	listen()
	w := &watcher{cmd: cmd, flags: f}
	j, err := prepare(cmd, f, keepOptions)
	if err != nil {
		return err
	}
	if w.files, err = j.newWatchedFiles(); err != nil {
		return err
	}
	if last := loadLastRun(j.target); last != nil {
		w.lastRun = *last
	}
	for why := ""; ctx.Err() == nil; {
		w.clearScreen(why)
		before, _ := w.files.snapshot()
		if err := w.runRound(); errors.Is(err, errWatchInterrupted) {
			return err
		} else if err != nil {
			fmt.Fprintln(cmd.ErrOrStderr(), "mcpcheck:", exit.Line(err))
		}
		why = w.awaitChange(ctx, before)
	}
	return errWatchInterrupted
}

// keepOptions leaves the options unchanged.
func keepOptions(*config.Options) error { return nil }

// runRound tests the server once: first the checks that blocked in the previous round, then all. From the second round
// on it prints what has changed, and what still blocks. An error is of wrong usage.
func (w *watcher) runRound() error {
	if err := w.runOnce(w.selectBlocked, nil); err != nil && !errors.Is(err, errNothingBlocked) {
		return err
	}
	return w.runOnce(w.selectAll, w.reportChanges)
}

// runOnce tests the server, and calls concluded with the report before that is written. A failing server is not an
// error.
func (w *watcher) runOnce(alter func(*config.Options) error, concluded func(report.Report)) error {
	j, err := prepare(w.cmd, w.flags, alter)
	if err != nil {
		return err
	}
	if paths, err := j.newWatchedFiles(); err == nil { // mcpcheck.yaml may name other files now
		w.files = paths
	}
	j.beforeReport = concluded
	rep, err := j.execute(w.cmd)
	var verdict *exit.Error
	switch {
	case rep.ExitCode == report.ExitInterrupted:
		return errWatchInterrupted
	case errors.As(err, &verdict) && verdict.Cause == nil:
		return nil
	}
	return err
}

// selectAll selects what the user asked for, and from the second round on shows only what blocks.
func (w *watcher) selectAll(v *config.Options) error {
	v.Flags.OnlyBlocking = w.lastReport != nil && v.Flags.Verbose == 0
	return nil
}

// reportChanges prints what has changed since the last complete run, on a cleared screen, and stores the report.
func (w *watcher) reportChanges(rep report.Report) {
	w.lastRun.addReport(rep)
	if rep.Problem != "" {
		return
	}
	if w.lastReport != nil {
		w.clearScreen("")
		reporters.ChangesText(w.cmd.OutOrStdout(), report.CompareReports(*w.lastReport, rep))
	}
	w.lastReport = &rep
}

// selectBlocked selects the checks that blocked, which run first and with as little output as --quiet has.
func (w *watcher) selectBlocked(v *config.Options) error {
	blocked := slices.DeleteFunc(slices.Clone(w.lastRun.Failed), func(f failedCheck) bool { return !f.Blocked })
	v.ReportFiles, v.ReportDir, v.Flags.Trace = nil, "", ""
	v.Flags.Report.Annotations = "off"
	v.Flags.OnlyBlocking = true
	if len(selectedIDs(v, blocked)) == 0 {
		return errNothingBlocked
	}
	w.printNotice("re-running last failures first")
	return restrictTo(v, blocked)
}

// awaitChange waits for a change, and returns the name of the file. A change during the run counts too, but not twice
// in a row: then the server probably writes the file itself, and the loop would never end.
func (w *watcher) awaitChange(ctx context.Context, before fileSnapshot) (why string) {
	now, _ := w.files.snapshot()
	meanwhile := now.changedSince(before)
	changed := slices.DeleteFunc(slices.Clone(meanwhile),
		func(f string) bool { return slices.Contains(w.changedDuringRun, f) })
	if len(meanwhile) > len(changed) {
		w.printNotice(fileNameList(meanwhile) +
			" changed in two runs in a row, as if the server wrote it; its next change counts")
	}
	w.changedDuringRun = meanwhile
	if len(changed) == 0 {
		w.printNotice("watching " + reporters.Plural(len(now), "file") + w.files.limitText(now) + "; Ctrl-C ends")
		changed = w.files.awaitChange(ctx, now)
	}
	return fileNameList(changed)
}

// limitText says that not all files are watched.
func (w *watchedFiles) limitText(seen fileSnapshot) string {
	if len(seen) < maxWatchedFiles {
		return ""
	}
	return " and no more; name those that count with --watch-path"
}

// fileNameList returns the names of files on one line.
func fileNameList(paths []string) string {
	const most = 3
	names := text.Map(paths[:min(most, len(paths))], filepath.Base)
	if n := len(paths) - most; n > 0 {
		names = append(names, fmt.Sprintf("%d more", n))
	}
	return reporters.PrintableLine(strings.Join(names, ", "))
}

// clearScreen clears the screen for a new round, and prints what has changed.
func (w *watcher) clearScreen(why string) {
	out := w.cmd.OutOrStdout()
	if isTerminal, _ := terminal.Info(out); isTerminal {
		io.WriteString(out, "\x1b[H\x1b[2J\x1b[3J")
	}
	if why != "" {
		w.printNotice(why + " changed")
	}
}

// printNotice prints a notice for the operator.
func (w *watcher) printNotice(content string) {
	if !w.flags.Quiet {
		fmt.Fprintln(w.cmd.ErrOrStderr(), "mcpcheck:", text.OneLine(content))
	}
}
