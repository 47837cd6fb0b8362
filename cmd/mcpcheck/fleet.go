package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// fleetFlags are what the command line says to fleet.
type fleetFlags struct {
	run      runFlags // how each server is judged
	outDir   string
	from     []string
	parallel int
	shard    string
	pageOnly bool
	resume   bool
	fresh    bool
}

// memberFlags are the flags of run that hold for each server of a fleet.
var memberFlags = []string{
	"protocol", "profile", "sdk", "calls", "only", "skip", "timeout", "start-timeout", "budget", "max-message", "jobs",
	"isolate", "seed", "config", "wire",
}

func newFleetCommand() *cobra.Command {
	var f fleetFlags
	cmd := &cobra.Command{
		Use:   "fleet [flags] FILE…",
		Short: "Test many servers side by side",
		Long: `Test the servers of a list, each as mcpcheck run does, in a separate process with its
own limits, and write a page of servers by areas: index.html and index.md in the
directory of --out, and below servers/ a directory for each server with its JSON
report and its page.

  mcpcheck fleet .mcp.json
  mcpcheck fleet --profile spec --out nightly fleet.yaml
  mcpcheck fleet --parallel 4 registry/          each server.json in there
  mcpcheck fleet --shard 2/8 --out shard2 fleet.yaml
  mcpcheck fleet --page --from shard1 --from shard2 --out all fleet.yaml

FILE is the file of a host (.mcp.json and the like), a server.json of a registry, a
list of those, a directory of them, or a YAML list of servers by name with the keys
of mcpcheck.yaml:

  servers:
    weather: {command: [node, dist/index.js], profile: spec}
    search: {url: https://example.com/mcp, bearer-env: TOKEN}

Reports have the messages of what fails or blocks; with --wire those of everything.

After a crash or Ctrl-C the same command tests what is left; once all servers were
tested, it tests all of them again. --resume keeps what was tested in any case, and
--fresh keeps nothing. A server whose entry, flags or version of mcpcheck changed,
whose configuration is invalid (exit code 2), or on which mcpcheck failed, is always
tested again. A server that cannot be started is listed as such.

With --shard only every Nth server is tested, and no page is written; --page writes
it from what is done. Exit codes: 0 all servers conform, 1 one does not, 2 wrong
usage or configuration, 3 one could not be tested or was not tested yet, 4 mcpcheck
failed on one, 130 interrupted.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageErrorf("fleet wants a list of servers: a host's file, server.json files or a YAML list")
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.outDir, "out", "mcpcheck-fleet", "`DIR` for the page and the reports, created if it is missing")
	flags.IntVar(&f.parallel, "parallel", runtime.NumCPU(), "test `N` servers at a time")
	flags.StringVar(&f.shard, "shard", "", "test only part `I/N` of the servers; auto or auto/N as in run")
	flags.StringArrayVar(&f.from, "from", nil, "take over the results of another shard, in the directory `DIR`")
	flags.BoolVar(&f.pageOnly, "page", false, "test nothing, write the page of what is done")
	flags.BoolVar(&f.resume, "resume", false, "test only what was not tested yet, even if the last run was completed")
	flags.BoolVar(&f.fresh, "fresh", false, "test all servers again, even if the last run was interrupted")
	markExclusive(flags, "resume", "fresh")
	judging := &cobra.Command{}
	f.run.addFlags(judging)
	addWireFlag(judging.Flags(), &f.run.keepAllWire)
	for _, name := range memberFlags {
		flags.AddFlag(judging.Flags().Lookup(name))
	}
	flags.BoolVarP(&f.run.quiet, "quiet", "q", false, "show only servers that do not conform, and the verdict")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		f.run = f.run.withCommandLine(judging, nil)
		f.run.isGiven = cmd.Flags().Changed
		return runFleet(cmd, args, f)
	}
	return cmd
}

// fleet is many servers that are judged.
type fleet struct {
	dir          string
	program      string // the program
	flags        fleetFlags
	config       config  // mcpcheck.yaml
	options      options // of a server that says nothing itself
	memberArgs   []string
	members      []fleetMember
	shard        *report.ShardInfo // nil: all servers
	isInShard    func(i int) bool  // is in the shard
	servers      serverCache
	out          io.Writer
	finished     int       // servers, of those that are to be judged
	oldestResult time.Time // when the first was tested of what is kept
}

// runFleet judges the servers of lists that are not done yet, and writes the page. All that is wrong with its use is
// found before anything is started.
func runFleet(cmd *cobra.Command, paths []string, flags fleetFlags) error {
	f, left, err := prepareFleet(cmd, paths, flags)
	if err != nil {
		return err
	}
	if n := left.disabled; n > 0 {
		fmt.Fprintf(f.out, "left out: %s\n", reporters.Plural(n, "disabled server"))
	}
	if n := left.withoutServers; n > 0 {
		fmt.Fprintf(f.out, "left out: %s that listed no servers\n", reporters.Plural(n, "file"))
	}
	ctx, listen := interruptContext(nil)
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
	return !f.flags.fresh && (f.flags.pageOnly || f.flags.resume || len(f.flags.from) > 0 ||
		isRegularFile(f.unfinishedFile()))
}

func prepareFleet(cmd *cobra.Command, paths []string, flags fleetFlags) (f *fleet, left skippedCounts, err error) {
	if err := validateWorkingDir(); err != nil {
		return nil, left, err
	}
	f = &fleet{dir: flags.outDir, flags: flags, out: cmd.OutOrStdout(), memberArgs: flagArgs(cmd.Flags(), memberFlags)}
	shard, err := parseShard(flags.shard, os.Getenv)
	switch {
	case err != nil:
		return nil, left, err
	case flags.parallel < 1:
		return nil, left, usageErrorf("--parallel%s", mustBePositive)
	case flags.pageOnly && shard != nil:
		return nil, left, usageErrorf("--page and --shard exclude each other; the page is of all servers")
	}
	f.shard = shard
	f.isInShard = func(i int) bool { return !flags.pageOnly && (shard == nil || i%shard.Of == shard.Index-1) }
	if f.config, err = readConfig(flags.run.configFile); err != nil {
		return nil, left, err
	}
	anyone := flags.run
	anyone.demo = true // stands for each server
	if f.options, err = resolveOptions(anyone, f.config); err != nil {
		return nil, left, err
	}
	written := mapStrings(append(slices.Clone(flags.from), flags.outDir), func(dir string) string {
		return filepath.Join(dir, "servers")
	})
	if f.members, left, err = readMembers(paths, written); err != nil {
		return nil, left, err
	}
	if f.program, err = os.Executable(); err != nil {
		return nil, left, &exitError{report.ExitInternal, err}
	}
	if err := os.MkdirAll(filepath.Join(f.dir, "servers"), 0o755); err != nil {
		return nil, left, usageErrorf("--out %s: %w; name a directory that can be made", f.dir,
			reporters.WithoutPath(err))
	}
	for _, dir := range flags.from {
		if !reporters.IsDir(filepath.Join(dir, "servers")) {
			return nil, left, usageErrorf("--from %s: there is no directory servers in it, as fleet makes one", dir)
		}
	}
	return f, left, nil
}

// loadResults finds out what is done and is to be kept, also by other shards, whose reports it copies.
func (f *fleet) loadResults() error {
	keeps := f.keepsResults()
	if !f.flags.pageOnly {
		if err := os.WriteFile(f.unfinishedFile(), nil, 0o644); err != nil {
			return &exitError{report.ExitInternal, err}
		}
	}
	for i := range f.members {
		m := &f.members[i]
		if f.isInShard(i) && !keeps {
			if err := clearMemberDir(filepath.Join(f.dir, filepath.FromSlash(m.dir))); err != nil {
				return &exitError{report.ExitInternal, err}
			}
			continue
		}
		entry := f.newJob(*m).fingerprint
		m.hasRow, m.isFinal = f.resultState(f.dir, *m, entry)
		for _, from := range f.flags.from {
			judged, settled := f.resultState(from, *m, entry)
			if m.isFinal || !judged {
				continue
			}
			if err := copyMember(from, f.dir, *m); err != nil {
				return &exitError{report.ExitInternal, err}
			}
			m.hasRow, m.isFinal = true, settled
		}
	}
	return nil
}

// resultState reports whether a server has a row that tells of it as it is listed, and whether that would come out the
// same again: what the operator can mend may not.
func (f *fleet) resultState(dir string, m fleetMember, entry string) (judged, settled bool) {
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

func readRow(dir string, m fleetMember) (row reporters.FleetRow, err error) {
	text, err := readLimited(filepath.Join(dir, filepath.FromSlash(m.dir), memberRowFile), maxRowBytes)
	if err != nil {
		return row, err
	}
	return row, json.Unmarshal(text, &row)
}

// copyMember copies the reports of a server, the row last.
func copyMember(from, to string, m fleetMember) error {
	from, to = filepath.Join(from, filepath.FromSlash(m.dir)), filepath.Join(to, filepath.FromSlash(m.dir))
	if err := clearMemberDir(to); err != nil {
		return err
	}
	for _, name := range []string{memberReportFile, memberPageFile, memberRowFile} {
		text, err := readLimited(filepath.Join(from, name), maxReportBytes)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err == nil {
			err = reporters.ReplaceFile(filepath.Join(to, name), text)
		}
		if err != nil {
			return err
		}
	}
	return nil
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
	for range min(f.flags.parallel, todo) {
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
		return &exitError{report.ExitInternal, failed}
	}
	return nil
}

// todo is how many servers are to be judged. It says so.
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

// tell tells what a server came to.
func (f *fleet) printRow(row reporters.FleetRow, of int, took time.Duration) {
	f.finished++
	if f.flags.run.quiet && row.Outcome() == "conforms" {
		return
	}
	all := fmt.Sprint(of)
	fmt.Fprintf(f.out, "[%*d/%s] %s  %.1f s\n", len(all), f.finished, all, reporters.FleetLine(row), took.Seconds())
}

// conclude writes the page, unless this is a shard, and says what all came to.
func (f *fleet) finish(ctx context.Context) error {
	interrupted := ctx.Err() != nil
	shown := reporters.Fleet{Tool: catalogue.ProgramInfo{Name: "mcpcheck", Version: toolVersion()}, Rows: f.rows()}
	t, err := shown.Tally(mapStrings(suites.Areas, func(a suites.Area) string { return a.Name }))
	if err != nil {
		return &exitError{report.ExitInternal, err}
	}
	if f.flags.shard != "" && t.Servers == 0 {
		fmt.Fprintf(f.out, "PASS  no server is in shard %s\n", f.flags.shard)
		return nil
	}
	if f.flags.shard == "" {
		err := errors.Join(
			reporters.ReplaceFileFunc(filepath.Join(f.dir, "index.html"), 0o644,
				func(w io.Writer) error { return reporters.FleetHTML(w, shown, t) }),
			reporters.ReplaceFileFunc(filepath.Join(f.dir, "index.md"), 0o644,
				func(w io.Writer) error { return reporters.FleetMarkdown(w, shown, t) }))
		if err != nil {
			return &exitError{report.ExitInternal, err}
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
	if f.flags.shard == "" {
		line += " · " + filepath.Join(f.dir, "index.html")
	} else {
		line += " · shard " + f.flags.shard
	}
	fmt.Fprintln(f.out, line)
	if code != report.ExitConforms {
		return &exitError{code: code}
	}
	return nil
}

// rows are those of all servers, of a shard its own.
func (f *fleet) rows() iter.Seq2[reporters.FleetRow, error] {
	return func(yield func(reporters.FleetRow, error) bool) {
		for i, m := range f.members {
			if f.flags.shard != "" && !f.isInShard(i) {
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
