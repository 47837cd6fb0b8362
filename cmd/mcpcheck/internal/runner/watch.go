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

// watcher judges a server again and again.
type watcher struct {
	cmd              *cobra.Command
	flags            config.Flags
	files            *watchedFiles
	lastReport       *report.Report // the last one that came to its end; nil: there is none
	lastRun          lastRun        // what they came to
	changedDuringRun []string       // files that changed while the last run went on
}

// errWatchInterrupted is how a watch ends: the operator does it.
var errWatchInterrupted = exit.Status(report.ExitInterrupted)

// errNothingBlocked says that nothing is to be run before all.
var errNothingBlocked = errors.New("nothing blocked")

// watch judges a server, and again whenever its files change, until the operator ends it. What is wrong with its
// use is an error at the beginning; later it is told, and mended in the files.
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

// keepOptions leaves what is asked for.
func keepOptions(*config.Options) error { return nil }

// runRound judges the server once: first what blocked the last time, then all. From the second time on it tells what
// has changed, and what still blocks. An error is about how it is used.
func (w *watcher) runRound() error {
	if err := w.runOnce(w.selectBlocked, nil); err != nil && !errors.Is(err, errNothingBlocked) {
		return err
	}
	return w.runOnce(w.selectAll, w.reportChanges)
}

// runOnce judges the server, and has concluded look at the report before that is told. What the server comes to is no
// error here.
func (w *watcher) runOnce(alter func(*config.Options) error, concluded func(report.Report)) error {
	j, err := prepare(w.cmd, w.flags, alter)
	if err != nil {
		return err
	}
	if paths, err := j.newWatchedFiles(); err == nil { // mcpcheck.yaml may name others now
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

// selectAll leaves what is asked for, and from the second time on has only what blocks told.
func (w *watcher) selectAll(v *config.Options) error {
	v.Flags.OnlyBlocking = w.lastReport != nil && v.Flags.Verbose == 0
	return nil
}

// reportChanges tells what has changed since the last run that came to its end, on a clear screen, and remembers this
// one.
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

// selectBlocked selects what blocked, to be told before all else and as briefly as quiet does.
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

// awaitChange waits for a change, and names it. What changed while the run went on counts, but not twice in a row: then
// the server writes it itself, as it seems, and would be judged for ever.
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

// fileNameList are files by their names.
func fileNameList(paths []string) string {
	const most = 3
	names := text.Map(paths[:min(most, len(paths))], filepath.Base)
	if n := len(paths) - most; n > 0 {
		names = append(names, fmt.Sprintf("%d more", n))
	}
	return reporters.PrintableLine(strings.Join(names, ", "))
}

// clearScreen begins a round on a clear screen, and says what has changed.
func (w *watcher) clearScreen(why string) {
	out := w.cmd.OutOrStdout()
	if isTerminal, _ := terminal.Info(out); isTerminal {
		io.WriteString(out, "\x1b[H\x1b[2J\x1b[3J")
	}
	if why != "" {
		w.printNotice(why + " changed")
	}
}

// printNotice tells the operator what is going on.
func (w *watcher) printNotice(content string) {
	if !w.flags.Quiet {
		fmt.Fprintln(w.cmd.ErrOrStderr(), "mcpcheck:", text.OneLine(content))
	}
}
