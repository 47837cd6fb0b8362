// Package fleet tests many servers in parallel, each in a process of its own.
//
// A fleet is the servers of lists (list.go), or every Nth of them for a shard. Run tests the servers that have no
// result yet, a limited number at a time, and writes the page of all. Each server is tested by a process of the hidden
// command MemberCommand (member.go), which is mcpcheck run with a pipe from the fleet. A process, since a server that
// makes mcpcheck crash or use too much memory is then only one row, since Ginkgo keeps its tree in package variables,
// and since its memory returns to the system. A member ends when its stdin ends, hence together with the fleet, even by
// kill -9; otherwise the fleet kills its process group.
//
// Results are files in the directory of a server: the report and the page first, then RowFile, each renamed into place.
// A server that has a RowFile is done. The row has a fingerprint of the server's entry, the flags and the version; a
// server whose fingerprint has changed is tested again. A file named unfinished is in the fleet's directory until all
// servers are done: the next run resumes what a crash has left, and starts from scratch without that file. Merging
// shards needs nothing else. The fleet keeps only the name and the state of each server in memory, and writes the page
// row by row.
//
// Every problem with one server is in its row. Errors are those of the fleet: wrong usage, or a directory that cannot
// be written.
//
// These are the costs of a registry of 20,000 servers, measured on 2 busy cores with --parallel 4 and three areas; a
// third of the servers were conforming, a third faulty, and a third did not start or did not answer. 100 servers took
// 82 s and 76 CPU s, 300 took 257 s and 224 CPU s, which is linear. The fleet itself used 40 and 42 MB at its peak, and
// 44 MB for a list of 20,000, which it reads in 2.4 CPU s; a member used 50 MB, or 118 MB with all areas of a large
// server. All areas cost 1.2 CPU s a server, including the server's own processes, and 0.43 MB of reports (10 times
// that with --wire). A Node server starts more slowly: 8.4 CPU s a run. So 20,000 Node servers take 47 hours of one
// core, or an hour and a quarter on 20 machines with 2 cores each, besides the time to download them. A server that
// does not answer occupies a place for the 15 s of --start-timeout and uses no CPU, so more places than cores
// (--parallel) compensate for that. Disk: 9 GB; the pages: 3 to 5 MB of HTML, 1 MB of Markdown.
package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/build"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/cli"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/process"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/runner"
	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/reporters/files"
	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// Flags are the flags of mcpcheck fleet.
type Flags struct {
	// Run are the flags that each server is tested with.
	Run config.Flags
	// OutDir is the directory of the results.
	OutDir string
	// From are directories of other shards, whose results are copied.
	From []string
	// Parallel is the number of servers that are tested at the same time.
	Parallel int
	// Shard is the part of the servers, as config.ParseShard reads it.
	Shard string
	// PageOnly writes the page of the existing results and tests nothing.
	PageOnly bool
	// Resume keeps the results of a run that came to its end.
	Resume bool
	// Fresh tests all servers again.
	Fresh bool
}

// MemberFlags are the names of the flags of run that the fleet passes to each member.
var MemberFlags = []string{
	"protocol", "profile", "sdk", "calls", "only", "skip", "timeout", "start-timeout", "budget", "max-message", "rate",
	"jobs", "isolate", "seed", "config", "wire",
}

// fleet is a run of mcpcheck fleet.
type fleet struct {
	// dir is the directory of the results.
	dir string
	// program is the path of the mcpcheck executable.
	program string
	flags   Flags
	// config is mcpcheck.yaml.
	config config.File
	// options are those of a server whose entry has no keys of its own.
	options    config.Options
	memberArgs []string
	members    []member
	// shard is the part of the servers that this fleet tests; nil means all.
	shard *report.ShardInfo
	// isInShard reports whether the member with an index belongs to the shard.
	isInShard func(i int) bool
	servers   serverCache
	out       io.Writer
	// finished counts the servers that this run has tested.
	finished int
	// oldestResult is the time of the oldest result that is kept.
	oldestResult time.Time
}

// unfinishedFile returns the path of the file that exists while servers are tested, and after a run that did not end
// regularly.
func (f *fleet) unfinishedFile() string {
	name := "unfinished"
	if f.shard != nil { // shards may share the directory
		name += fmt.Sprintf("-%d-of-%d", f.shard.Index, f.shard.Of)
	}
	return filepath.Join(f.dir, name)
}

// keepsResults reports whether existing results are kept: the last run was interrupted, or the user wants it.
func (f *fleet) keepsResults() bool {
	return !f.flags.Fresh && (f.flags.PageOnly || f.flags.Resume || len(f.flags.From) > 0 ||
		files.IsRegular(f.unfinishedFile()))
}

// loadResults finds out which servers have results that are kept. It copies the reports of other shards.
func (f *fleet) loadResults() error {
	keeps := f.keepsResults()
	if !f.flags.PageOnly {
		if err := os.WriteFile(f.unfinishedFile(), nil, 0o644); err != nil {
			return exit.With(report.ExitInternal, err)
		}
	}
	for i := range f.members {
		m := &f.members[i]
		if f.isInShard(i) && !keeps {
			if err := clearMemberDir(filepath.Join(f.dir, filepath.FromSlash(m.dir))); err != nil {
				return exit.With(report.ExitInternal, err)
			}
			continue
		}
		entry := f.newJob(*m).fingerprint
		m.hasRow, m.isFinal = f.resultState(f.dir, *m, entry)
		for _, from := range f.flags.From {
			judged, settled := f.resultState(from, *m, entry)
			if m.isFinal || !judged {
				continue
			}
			if err := copyMember(from, f.dir, *m); err != nil {
				return exit.With(report.ExitInternal, err)
			}
			m.hasRow, m.isFinal = true, settled
		}
	}
	return nil
}

// resultState reports whether a server has a row for its current entry and flags (judged), and whether a new run would
// give the same row (settled). It would not where the operator can fix the cause.
func (f *fleet) resultState(dir string, m member, entry string) (judged, settled bool) {
	row, err := readRow(dir, m)
	if err != nil || row.Entry != entry || row.Name != m.name {
		return false, false
	}
	if f.oldestResult.IsZero() || row.TestedAt.Before(f.oldestResult) {
		f.oldestResult = row.TestedAt
	}
	settling := []int{report.ExitConforms, report.ExitFails, report.ExitUntestable}
	return true, slices.Contains(settling, row.ExitCode)
}

// runAll tests the servers that have no result, some at a time, until all are done or the context ends.
func (f *fleet) runAll(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	todo := f.countPending()
	jobs := make(chan int)
	var failed error
	var workers sync.WaitGroup
	var telling sync.Mutex
	for range min(f.flags.Parallel, todo) {
		workers.Go(func() {
			for i := range jobs {
				telling.Lock()
				j := f.newJob(f.members[i])
				f.members[i].hasRow = false
				telling.Unlock()
				begin := time.Now()
				row, err := f.runMember(ctx, j)
				telling.Lock()
				switch {
				case ctx.Err() != nil:
				case err != nil:
					failed = errors.Join(failed, err)
					cancel(err)
				default:
					f.members[i].hasRow = true
					f.printRow(row, todo, time.Since(begin))
				}
				telling.Unlock()
			}
		})
	}
	for i, m := range f.members {
		if m.isFinal || !f.isInShard(i) {
			continue
		}
		select {
		case jobs <- i:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
	}
	close(jobs)
	workers.Wait()
	if failed != nil {
		return exit.With(report.ExitInternal, failed)
	}
	return nil
}

// countPending returns how many servers are to be tested, and prints it.
func (f *fleet) countPending() (n int) {
	done := 0
	for i, m := range f.members {
		switch {
		case !f.isInShard(i):
		case m.isFinal:
			done++
		default:
			n++
		}
	}
	if done > 0 {
		fmt.Fprintf(f.out, "%d of %d already tested (%s ago); --fresh tests them again\n",
			done, done+n, formatAge(time.Since(f.oldestResult)))
	}
	return n
}

// printRow prints the result of a server.
func (f *fleet) printRow(row reporters.FleetRow, of int, took time.Duration) {
	f.finished++
	if f.flags.Run.Quiet && row.Outcome() == "conforms" {
		return
	}
	all := fmt.Sprint(of)
	fmt.Fprintf(f.out, "[%*d/%s] %s  %.1f s\n", len(all), f.finished, all, reporters.FleetLine(row), took.Seconds())
}

// finish writes the page, unless this is a shard, and prints a summary of all results.
func (f *fleet) finish(ctx context.Context) error {
	interrupted := ctx.Err() != nil
	shown := reporters.Fleet{Tool: catalogue.ProgramInfo{Name: "mcpcheck", Version: build.Version()}, Rows: f.rows()}
	t, err := shown.Tally(text.Map(suites.Areas, func(a suites.Area) string { return a.Name }))
	if err != nil {
		return exit.With(report.ExitInternal, err)
	}
	if f.flags.Shard != "" && t.Servers == 0 {
		fmt.Fprintf(f.out, "PASS  no server is in shard %s\n", f.flags.Shard)
		return nil
	}
	if f.flags.Shard == "" {
		err := errors.Join(
			files.ReplaceFunc(filepath.Join(f.dir, "index.html"), 0o644,
				func(w io.Writer) error { return reporters.FleetHTML(w, shown, t) }),
			files.ReplaceFunc(filepath.Join(f.dir, "index.md"), 0o644,
				func(w io.Writer) error { return reporters.FleetMarkdown(w, shown, t) }))
		if err != nil {
			return exit.With(report.ExitInternal, err)
		}
	}
	code, word := t.ExitCode(), "FAIL"
	switch {
	case interrupted:
		code, word = report.ExitInterrupted, "INTERRUPTED"
	case code == report.ExitConforms:
		word = "PASS"
	case code == report.ExitUntestable:
		word = "NOT TESTED"
	case code == report.ExitInternal:
		word = "ERROR"
	}
	line := word + "  " + t.Headline()
	if f.flags.Shard == "" {
		line += " · " + filepath.Join(f.dir, "index.html")
	} else {
		line += " · shard " + f.flags.Shard
	}
	fmt.Fprintln(f.out, line)
	if code != report.ExitConforms {
		return exit.Status(code)
	}
	return nil
}

// rows returns the rows of all servers, or of those of the shard.
func (f *fleet) rows() iter.Seq2[reporters.FleetRow, error] {
	return func(yield func(reporters.FleetRow, error) bool) {
		for i, m := range f.members {
			if f.flags.Shard != "" && !f.isInShard(i) {
				continue
			}
			row, err := reporters.FleetRow{Name: m.name}, error(nil)
			if m.hasRow {
				row, err = readRow(f.dir, m)
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

// Run tests the servers of lists that have no result yet, and writes the page. It finds errors of usage before it
// starts anything.
func Run(cmd *cobra.Command, paths []string, flags Flags) error {
	f, left, err := prepare(cmd, paths, flags)
	if err != nil {
		return err
	}
	if n := left.disabled; n > 0 {
		fmt.Fprintf(f.out, "left out: %s\n", reporters.Plural(n, "disabled server"))
	}
	if n := left.withoutServers; n > 0 {
		fmt.Fprintf(f.out, "left out: %s that listed no servers\n", reporters.Plural(n, "file"))
	}
	ctx, listen := process.InterruptContext(nil)
	listen()
	if err := f.loadResults(); err != nil {
		return err
	}
	if err := f.runAll(ctx); err != nil {
		return err
	}
	if ctx.Err() == nil {
		os.Remove(f.unfinishedFile())
	}
	return f.finish(ctx)
}

func prepare(cmd *cobra.Command, paths []string, flags Flags) (f *fleet, left skippedCounts, err error) {
	if err := process.ValidateWorkingDir(); err != nil {
		return nil, left, err
	}
	f = &fleet{dir: flags.OutDir, flags: flags, out: cmd.OutOrStdout(),
		memberArgs: cli.FlagArgs(cmd.Flags(), MemberFlags)}
	shard, err := config.ParseShard(flags.Shard, os.Getenv)
	switch {
	case err != nil:
		return nil, left, err
	case flags.Parallel < 1:
		return nil, left, exit.Usagef("--parallel must be greater than 0")
	case flags.PageOnly && shard != nil:
		return nil, left, exit.Usagef("--page and --shard exclude each other; the page is of all servers")
	}
	f.shard = shard
	f.isInShard = func(i int) bool { return !flags.PageOnly && (shard == nil || i%shard.Of == shard.Index-1) }
	if f.config, err = config.Read(flags.Run.ConfigFile); err != nil {
		return nil, left, err
	}
	anyone := flags.Run
	anyone.Demo = true // represents every server
	if f.options, err = config.Resolve(anyone, f.config); err != nil {
		return nil, left, err
	}
	written := text.Map(append(slices.Clone(flags.From), flags.OutDir), func(dir string) string {
		return filepath.Join(dir, "servers")
	})
	if f.members, left, err = readMembers(paths, written); err != nil {
		return nil, left, err
	}
	if f.program, err = os.Executable(); err != nil {
		return nil, left, exit.With(report.ExitInternal, err)
	}
	if err := os.MkdirAll(filepath.Join(f.dir, "servers"), 0o755); err != nil {
		return nil, left, exit.Usagef("--out %s: %w; name a directory that can be made", f.dir,
			files.WithoutPath(err))
	}
	for _, dir := range flags.From {
		if !files.IsDir(filepath.Join(dir, "servers")) {
			return nil, left, exit.Usagef("--from %s: there is no directory servers in it, as fleet makes one", dir)
		}
	}
	return f, left, nil
}

func readRow(dir string, m member) (row reporters.FleetRow, err error) {
	content, err := files.ReadLimited(filepath.Join(dir, filepath.FromSlash(m.dir), RowFile), maxRowBytes)
	if err != nil {
		return row, err
	}
	return row, json.Unmarshal(content, &row)
}

// copyMember copies the reports of a server, and its row last.
func copyMember(from, to string, m member) error {
	from, to = filepath.Join(from, filepath.FromSlash(m.dir)), filepath.Join(to, filepath.FromSlash(m.dir))
	if err := clearMemberDir(to); err != nil {
		return err
	}
	for _, name := range []string{reportFile, pageFile, RowFile} {
		content, err := files.ReadLimited(filepath.Join(from, name), runner.MaxReportBytes)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err == nil {
			err = files.Replace(filepath.Join(to, name), content)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// formatAge returns a duration in words.
func formatAge(passed time.Duration) string {
	switch {
	case passed < time.Minute:
		return fmt.Sprintf("%.0f s", passed.Seconds())
	case passed < time.Hour:
		return fmt.Sprintf("%.0f min", passed.Minutes())
	case passed < 48*time.Hour:
		return fmt.Sprintf("%.0f h", passed.Hours())
	}
	return fmt.Sprintf("%.0f days", passed.Hours()/24)
}

// maxRowBytes is the size limit of a row file.
const maxRowBytes = 1 << 20
