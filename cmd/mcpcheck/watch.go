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
	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// watcher judges a server again and again.
type watcher struct {
	cmd   *cobra.Command
	flags runFlags
	files *watched
	last  *harness.Report // the last one that came to its end; nil: there is none
	runs  lastRun         // what they came to
	own   []string        // files that changed while the last run went on
}

// errStopped is how a watch ends: the operator does it.
var errStopped = &exit{code: harness.ExitInterrupted}

// errNothingFirst says that nothing is to be run before all.
var errNothingFirst = errors.New("nothing blocked")

// watch judges a server, and again whenever its files change, until the operator ends it. What is wrong with its use is
// an error at the beginning; later it is told, and mended in the files.
func watch(cmd *cobra.Command, f runFlags) error {
	ctx, listen := interruptible(nil)
	listen()
	w := &watcher{cmd: cmd, flags: f}
	j, err := prepare(cmd, f, unaltered)
	if err != nil {
		return err
	}
	if w.files, err = j.watchedBy(); err != nil {
		return err
	}
	if last := j.target.recall(); last != nil {
		w.runs = *last
	}
	for why := ""; ctx.Err() == nil; {
		w.clear(why)
		before, _ := w.files.look()
		if err := w.round(); errors.Is(err, errStopped) {
			return err
		} else if err != nil {
			fmt.Fprintln(cmd.ErrOrStderr(), "mcpcheck:", oneLineOf(err))
		}
		why = w.next(ctx, before)
	}
	return errStopped
}

// unaltered leaves what is asked for.
func unaltered(*values) error { return nil }

// round judges the server once: first what blocked the last time, then all. From the second time on it tells what has
// changed, and what still blocks. An error is about how it is used.
func (w *watcher) round() error {
	if err := w.judge(w.first, nil); err != nil && !errors.Is(err, errNothingFirst) {
		return err
	}
	return w.judge(w.all, w.changed)
}

// judge judges the server, and has concluded look at the report before that is told. What the server comes to is no
// error here.
func (w *watcher) judge(alter func(*values) error, concluded func(harness.Report)) error {
	j, err := prepare(w.cmd, w.flags, alter)
	if err != nil {
		return err
	}
	if files, err := j.watchedBy(); err == nil { // mcpcheck.yaml may name others now
		w.files = files
	}
	j.concluded = concluded
	report, err := j.carryOut(w.cmd)
	var verdict *exit
	switch {
	case report.ExitCode == harness.ExitInterrupted:
		return errStopped
	case errors.As(err, &verdict) && verdict.cause == nil:
		return nil
	}
	return err
}

// all leaves what is asked for, and from the second time on has only what blocks told.
func (w *watcher) all(v *values) error {
	v.flags.terse = w.last != nil && v.flags.verbose == 0
	return nil
}

// changed tells what has changed since the last run that came to its end, on a clear screen, and remembers this one.
func (w *watcher) changed(report harness.Report) {
	w.runs.take(report)
	if report.Problem != "" {
		return
	}
	if w.last != nil {
		w.clear("")
		reporters.ChangesText(w.cmd.OutOrStdout(), harness.CompareReports(*w.last, report))
	}
	w.last = &report
}

// first selects what blocked, to be told before all else and as briefly as quiet does.
func (w *watcher) first(v *values) error {
	blocked := slices.DeleteFunc(slices.Clone(w.runs.Failed), func(f lastFail) bool { return !f.Blocked })
	v.reports, v.reportDir, v.flags.trace = nil, "", ""
	v.flags.report.annotations = "off"
	v.flags.terse = true
	if len(v.selected(blocked)) == 0 {
		return errNothingFirst
	}
	w.say("re-running last failures first")
	return v.narrow(blocked)
}

// next waits for a change, and names it. What changed while the run went on counts, but not twice in a row: then the
// server writes it itself, as it seems, and would be judged for ever.
func (w *watcher) next(ctx context.Context, before sight) (why string) {
	now, _ := w.files.look()
	meanwhile := now.since(before)
	changed := slices.DeleteFunc(slices.Clone(meanwhile), func(f string) bool { return slices.Contains(w.own, f) })
	if len(meanwhile) > len(changed) {
		w.say(briefly(meanwhile) + " changed in two runs in a row, as if the server wrote it; its next change counts")
	}
	w.own = meanwhile
	if len(changed) == 0 {
		w.say("watching " + reporters.Plural(len(now), "file") + w.files.bound(now) + "; Ctrl-C ends")
		changed = w.files.await(ctx, now)
	}
	return briefly(changed)
}

// bound says that not all files are watched.
func (w *watched) bound(seen sight) string {
	if len(seen) < mostWatched {
		return ""
	}
	return " and no more; name those that count with --watch-path"
}

// briefly are files by their names.
func briefly(files []string) string {
	const most = 3
	names := each(files[:min(most, len(files))], filepath.Base)
	if n := len(files) - most; n > 0 {
		names = append(names, fmt.Sprintf("%d more", n))
	}
	return reporters.Line(strings.Join(names, ", "))
}

// clear begins a round on a clear screen, and says what has changed.
func (w *watcher) clear(why string) {
	out := w.cmd.OutOrStdout()
	if terminal, _ := terminalOf(out); terminal {
		io.WriteString(out, "\x1b[H\x1b[2J\x1b[3J")
	}
	if why != "" {
		w.say(why + " changed")
	}
}

// say tells the operator what is going on.
func (w *watcher) say(text string) {
	if !w.flags.quiet {
		fmt.Fprintln(w.cmd.ErrOrStderr(), "mcpcheck:", oneLine(text))
	}
}
