package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// defaultBaselineFile is the file that mcpcheck baseline writes when --baseline names none.
const defaultBaselineFile = "mcpcheck-baseline.yaml"

func newBaselineCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "baseline [flags] [--url URL] [-- COMMAND [ARG…]]",
		Short: "Record today's failures as a baseline",
		Long: `Test a server as run does, and write what blocks to a file of known failures, the
baseline. With mcpcheck run --baseline FILE these failures no longer block and are
shown as known; every other failure blocks as before. Beside mcpcheck.yaml,
mcpcheck-baseline.yaml is found without the flag.

  mcpcheck baseline -- node dist/index.js
  mcpcheck run --baseline mcpcheck-baseline.yaml -- node dist/index.js

A new entry has a reason that begins with TODO: replace it with why the failure is
accepted. The reason of a known deviation of the server's SDK, which is in the
baseline only with --sdk gate or --profile strict, names the SDK and its issue.
Entries that still fail keep their reason and comments. An entry that no longer
fails, which would make mcpcheck run fail, is removed. Entries that the run did not
test are kept.

Keys of an entry: check (an id, or a glob such as 'tools/*') and reason; to narrow
it, revision, transport (stdio, http, sse), subject (a tool, resource, …), expires
(the last day, as 2026-12-31), flaky (true: it may pass).`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.hosts.isListRequest(cmd, args) {
				return f.hosts.writeList(cmd.OutOrStdout())
			}
			return updateBaseline(cmd, f.withCommandLine(cmd, args))
		},
	}
	f.addCheckFlags(cmd)
	cmd.Flags().StringVar(&f.fileKeys.Baseline, "baseline", "",
		"`FILE` to write or update (default "+defaultBaselineFile+")")
	return cmd
}

// updateBaseline judges a server as runServer does, and writes what came of it to the baseline in place of reports.
func updateBaseline(cmd *cobra.Command, f runFlags) error {
	file, err := f.readConfiguration()
	if err != nil {
		return err
	}
	file.Reports = reportFiles{}
	v, err := resolveOptions(f, file)
	if err != nil {
		return err
	}
	t, err := resolveTarget(v, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	known, err := openBaseline(cmp.Or(v.Baseline, filepath.Join(filepath.Dir(file.name), defaultBaselineFile)))
	if err != nil {
		return err
	}
	var account bytes.Buffer // shown only of a server that could not be tested
	told := newConsoleSinks(v, t, &account, cmd.ErrOrStderr())
	rep, err := newServerRun(v, t, known, told).run()
	if err != nil {
		return err
	}
	if rep.Problem != "" || rep.ExitCode > report.ExitFails {
		told.console.Done(rep)
		cmd.OutOrStdout().Write(account.Bytes())
		code := max(rep.ExitCode, report.ExitUntestable)
		return &exitError{code, fmt.Errorf("%s was not written: the run did not come to its end", known.name)}
	}
	u := known.updateFor(rep)
	if err := u.write(); err != nil {
		return err
	}
	_, err = io.WriteString(cmd.OutOrStdout(), t.redactor.text(u.String())+unrecordedText(rep))
	return err
}

// openBaseline reads the file of known fails that is to be updated, if there is one.
func openBaseline(name string) (baseline, error) {
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		b := baseline{name: name, today: time.Now()}
		return b, b.validateDirectory()
	}
	return readBaseline(name)
}

// unrecordedText says what gates though the baseline lists every failure, and which failures it does not list; empty if
// there are none.
func unrecordedText(rep report.Report) (said string) {
	n := 0
	for _, r := range rep.Results {
		if r.Verdict == catalogue.Inconclusive && r.Gates {
			n++
		}
	}
	if n > 0 {
		said = fmt.Sprintf("%d inconclusive by --profile strict: a baseline accepts failures only\n", n)
	}
	if n := rep.Counts.SDK; n > 0 {
		said += reporters.Plural(n, "known deviation") + " of the SDK not recorded (--sdk gate records them)\n"
	}
	return said
}

// updateFor is what a run changes in a baseline.
type update struct {
	baseline
	added     report.KnownFails
	removed   []report.StaleEntry
	unchanged report.KnownFails
}

// updateFor finds what a report changes in the baseline.
func (b baseline) updateFor(rep report.Report) update {
	u := update{baseline: b, removed: rep.Baseline.Stale, added: entriesForFailures(rep)}
	for _, k := range b.entries {
		if !u.isRemoved(k) {
			u.unchanged = append(u.unchanged, k)
		}
	}
	return u
}

// isRemoved reports whether an entry is to be taken out.
func (u update) isRemoved(k report.KnownFail) bool {
	return slices.ContainsFunc(u.removed, func(s report.StaleEntry) bool { return s.Line == k.Line })
}

// entriesForFailures are entries for the fails that gate: one for each check or, of one that fails in some of the
// revisions that were judged, one for each of these.
func entriesForFailures(rep report.Report) (entries report.KnownFails) {
	transport := rep.Target.Transport
	if transport == "stdio" {
		transport = "" // what most servers have only
	}
	for _, r := range rep.Results {
		if r.Verdict != catalogue.Fail || !r.Gates {
			continue
		}
		k := report.KnownFail{
			Check: r.ID, Transport: transport, Reason: reasonFor(r),
		}
		if !failsInAllRevisions(rep.Results, r.ID) {
			k.Revision = r.Revision
		}
		same := func(e report.KnownFail) bool { return e.Check == k.Check && e.Revision == k.Revision }
		if !slices.ContainsFunc(entries, same) {
			entries = append(entries, k)
		}
	}
	return entries
}

// reasonFor is why a failure is accepted: the SDK and its issue, or what the operator is to replace.
func reasonFor(r report.Result) string {
	switch {
	case r.SDK == nil:
		return todoPrefix + reporters.Headline(r, maxReasonLength)
	case r.SDK.Issue == "":
		return "a known deviation of " + r.SDK.Name
	}
	return "a known deviation of " + r.SDK.Name + ": " + r.SDK.Issue
}

const todoPrefix = "TODO: "

// maxReasonLength is how much of what a server said stands in a reason.
const maxReasonLength = 200

// failsInAllRevisions reports whether a check fails in all revisions in which it applies.
func failsInAllRevisions(results []report.Result, id string) bool {
	return !slices.ContainsFunc(results, func(r report.Result) bool {
		return r.ID == id && r.Verdict != catalogue.Fail && r.Verdict != catalogue.Skip
	})
}

// String says what the update does, an entry in each line.
func (u update) String() string {
	var b strings.Builder
	line := func(mark string, parts ...string) {
		fmt.Fprintln(&b, " ", mark, reporters.PrintableLine(strings.Join(parts, " ")))
	}
	for _, k := range u.unchanged {
		line("=", entryLabel(k), "·", k.Reason)
	}
	for _, k := range u.entries {
		if i := slices.IndexFunc(u.removed, func(s report.StaleEntry) bool { return s.Line == k.Line }); i >= 0 {
			line("-", entryLabel(k), "·", u.removed[i].Reason+";", "its reason was:", k.Reason)
		}
	}
	for _, k := range u.added {
		line("+", entryLabel(k), "·", k.Reason)
	}
	fmt.Fprintf(&b, "%s: %d added, %d removed, %d kept",
		reporters.PrintableLine(u.name), len(u.added), len(u.removed), len(u.unchanged))
	if slices.ContainsFunc(u.added, func(k report.KnownFail) bool { return strings.HasPrefix(k.Reason, todoPrefix) }) {
		b.WriteString("; replace each TODO with the reason")
	}
	return b.String() + "\n"
}

// named is an entry without its reason.
func entryLabel(k report.KnownFail) string {
	words := []string{k.Check, k.Revision, k.Transport, k.Subject}
	return strings.Join(slices.DeleteFunc(words, func(word string) bool { return word == "" }), " ")
}
