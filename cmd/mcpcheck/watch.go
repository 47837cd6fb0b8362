package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// watcher judges a server again and again.
type watcher struct {
	cmd              *cobra.Command
	flags            runFlags
	files            *watchedFiles
	lastReport       *report.Report // the last one that came to its end; nil: there is none
	lastRun          lastRun        // what they came to
	changedDuringRun []string       // files that changed while the last run went on
}

// errWatchInterrupted is how a watch ends: the operator does it.
var errWatchInterrupted = &exitError{code: report.ExitInterrupted}

// errNothingBlocked says that nothing is to be run before all.
var errNothingBlocked = errors.New("nothing blocked")

// watchServer judges a server, and again whenever its files change, until the operator ends it. What is wrong with its
// use is an error at the beginning; later it is told, and mended in the files.
func watchServer(cmd *cobra.Command, f runFlags) error {
	ctx, listen := interruptContext(nil)
	listen()
	w := &watcher{cmd: cmd, flags: f}
	j, err := prepare(cmd, f, keepOptions)
	if err != nil {
		return err
	}
	if w.files, err = j.newWatchedFiles(); err != nil {
		return err
	}
	if last := j.target.loadLastRun(); last != nil {
		w.lastRun = *last
	}
	for why := ""; ctx.Err() == nil; {
		w.clearScreen(why)
		before, _ := w.files.snapshot()
		if err := w.runRound(); errors.Is(err, errWatchInterrupted) {
			return err
		} else if err != nil {
			fmt.Fprintln(cmd.ErrOrStderr(), "mcpcheck:", errorLine(err))
		}
		why = w.awaitChange(ctx, before)
	}
	return errWatchInterrupted
}

// keepOptions leaves what is asked for.
func keepOptions(*options) error { return nil }

// runRound judges the server once: first what blocked the last time, then all. From the second time on it tells what
// has changed, and what still blocks. An error is about how it is used.
func (w *watcher) runRound() error {
	if err := w.runOnce(w.selectBlocked, nil); err != nil && !errors.Is(err, errNothingBlocked) {
		return err
	}
	return w.runOnce(w.selectAll, w.reportChanges)
}

// judge judges the server, and has concluded look at the report before that is told. What the server comes to is no
// error here.
func (w *watcher) runOnce(alter func(*options) error, concluded func(report.Report)) error {
	j, err := prepare(w.cmd, w.flags, alter)
	if err != nil {
		return err
	}
	if files, err := j.newWatchedFiles(); err == nil { // mcpcheck.yaml may name others now
		w.files = files
	}
	j.beforeReport = concluded
	rep, err := j.execute(w.cmd)
	var verdict *exitError
	switch {
	case rep.ExitCode == report.ExitInterrupted:
		return errWatchInterrupted
	case errors.As(err, &verdict) && verdict.cause == nil:
		return nil
	}
	return err
}

// all leaves what is asked for, and from the second time on has only what blocks told.
func (w *watcher) selectAll(v *options) error {
	v.flags.onlyBlocking = w.lastReport != nil && v.flags.verbose == 0
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
func (w *watcher) selectBlocked(v *options) error {
	blocked := slices.DeleteFunc(slices.Clone(w.lastRun.Failed), func(f failedCheck) bool { return !f.Blocked })
	v.reports, v.reportDir, v.flags.trace = nil, "", ""
	v.flags.report.annotations = "off"
	v.flags.onlyBlocking = true
	if len(v.selectedIDs(blocked)) == 0 {
		return errNothingBlocked
	}
	w.printNotice("re-running last failures first")
	return v.restrictTo(blocked)
}

// next waits for a change, and names it. What changed while the run went on counts, but not twice in a row: then the
// server writes it itself, as it seems, and would be judged for ever.
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
func fileNameList(files []string) string {
	const most = 3
	names := mapStrings(files[:min(most, len(files))], filepath.Base)
	if n := len(files) - most; n > 0 {
		names = append(names, fmt.Sprintf("%d more", n))
	}
	return reporters.PrintableLine(strings.Join(names, ", "))
}

// clearScreen begins a round on a clear screen, and says what has changed.
func (w *watcher) clearScreen(why string) {
	out := w.cmd.OutOrStdout()
	if terminal, _ := terminalInfo(out); terminal {
		io.WriteString(out, "\x1b[H\x1b[2J\x1b[3J")
	}
	if why != "" {
		w.printNotice(why + " changed")
	}
}

// printNotice tells the operator what is going on.
func (w *watcher) printNotice(text string) {
	if !w.flags.quiet {
		fmt.Fprintln(w.cmd.ErrOrStderr(), "mcpcheck:", oneLine(text))
	}
}
