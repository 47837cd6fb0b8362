// Package fleet tests many servers side by side, each in a process of its own.
//
// A fleet is the servers of lists (list.go), a shard of it every Nth. Run tests those that are not done yet, some at a
// time, and writes the page of all. Each is tested by the hidden command MemberCommand (member.go), which is mcpcheck
// run on a pipe from the fleet: it ends with the fleet, however that ends. Its directory has the report, the page and
// RowFile, which is written last: a server that has one is done.
//
// A row is kept by a fingerprint of what the server is and how it is tested; where that has changed, it is tested
// again. Whatever goes wrong with one server is in its row. Errors are those of the fleet: wrong usage, or a directory
// that cannot be written.
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

// Flags are what the command line says to fleet.
type Flags struct {
	Run      config.Flags // how each server is judged
	OutDir   string
	From     []string
	Parallel int
	Shard    string
	PageOnly bool
	Resume   bool
	Fresh    bool
}

// MemberFlags are the flags of run that hold for each server of a fleet.
var MemberFlags = []string{
	"protocol", "profile", "sdk", "calls", "only", "skip", "timeout", "start-timeout", "budget", "max-message", "jobs",
	"isolate", "seed", "config", "wire",
}

// fleet is many servers that are judged.
type fleet struct {
	dir          string
	program      string // the program
	flags        Flags
	config       config.File    // mcpcheck.yaml
	options      config.Options // of a server that says nothing itself
	memberArgs   []string
	members      []member
	shard        *report.ShardInfo // nil: all servers
	isInShard    func(i int) bool  // is in the shard
	servers      serverCache
	out          io.Writer
	finished     int       // servers, of those that are to be judged
	oldestResult time.Time // when the first was tested of what is kept
}

// unfinishedFile is a file that is there while the servers are tested, and after a run that did not come to its end.
func (f *fleet) unfinishedFile() string {
	name := "unfinished"
	if f.shard != nil { // they may share the directory
		name += fmt.Sprintf("-%d-of-%d", f.shard.Index, f.shard.Of)
	}
	return filepath.Join(f.dir, name)
}

// keepsResults reports whether what was tested is kept: the last run was interrupted, or it is asked for.
func (f *fleet) keepsResults() bool {
	return !f.flags.Fresh && (f.flags.PageOnly || f.flags.Resume || len(f.flags.From) > 0 ||
		files.IsRegular(f.unfinishedFile()))
}

// loadResults finds out what is done and is to be kept, also by other shards, whose reports it copies.
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

// resultState reports whether a server has a row that tells of it as it is listed, and whether that would come out the
// same again: what the operator can mend may not.
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

// runAll judges the servers that are not done, some at a time, until the context ends.
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

// countPending is how many servers are to be judged. It says so.
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

// printRow tells what a server came to.
func (f *fleet) printRow(row reporters.FleetRow, of int, took time.Duration) {
	f.finished++
	if f.flags.Run.Quiet && row.Outcome() == "conforms" {
		return
	}
	all := fmt.Sprint(of)
	fmt.Fprintf(f.out, "[%*d/%s] %s  %.1f s\n", len(all), f.finished, all, reporters.FleetLine(row), took.Seconds())
}

// finish writes the page, unless this is a shard, and says what all came to.
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

// rows are those of all servers, of a shard its own.
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

// Run judges the servers of lists that are not done yet, and writes the page. All that is wrong with its use is
// found before anything is started.
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
		return nil, left, exit.Usagef("--parallel%s", config.MustBePositive)
	case flags.PageOnly && shard != nil:
		return nil, left, exit.Usagef("--page and --shard exclude each other; the page is of all servers")
	}
	f.shard = shard
	f.isInShard = func(i int) bool { return !flags.PageOnly && (shard == nil || i%shard.Of == shard.Index-1) }
	if f.config, err = config.Read(flags.Run.ConfigFile); err != nil {
		return nil, left, err
	}
	anyone := flags.Run
	anyone.Demo = true // stands for each server
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

// copyMember copies the reports of a server, the row last.
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

// formatAge is a time that has passed, in words.
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

// maxRowBytes bounds what is read of the row of a server.
const maxRowBytes = 1 << 20
