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
	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// baselineName is the file that mcpcheck baseline writes when --baseline names none.
const baselineName = "mcpcheck-baseline.yaml"

func newBaseline() *cobra.Command {
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
			if f.hosts.lists(cmd, args) {
				return f.hosts.list(cmd.OutOrStdout())
			}
			return updateBaseline(cmd, f.read(cmd, args))
		},
	}
	f.addChecks(cmd)
	cmd.Flags().StringVar(&f.keys.Baseline, "baseline", "", "`FILE` to write or update (default "+baselineName+")")
	return cmd
}

// updateBaseline judges a server as judgeServer does, and writes what came of it to the baseline in place of reports.
func updateBaseline(cmd *cobra.Command, f runFlags) error {
	file, err := f.configuration()
	if err != nil {
		return err
	}
	file.Reports = reportFiles{}
	v, err := settle(f, file)
	if err != nil {
		return err
	}
	t, err := aim(v, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	known, err := openBaseline(cmp.Or(v.Baseline, filepath.Join(filepath.Dir(file.name), baselineName)))
	if err != nil {
		return err
	}
	var account bytes.Buffer // shown only of a server that could not be tested
	told := atConsole(v, t, &account, cmd.ErrOrStderr())
	report, err := newJudgement(v, t, known, told).run()
	if err != nil {
		return err
	}
	if report.Problem != "" || report.ExitCode > harness.ExitFails {
		told.console.Done(report)
		cmd.OutOrStdout().Write(account.Bytes())
		code := max(report.ExitCode, harness.ExitUntestable)
		return &exit{code, fmt.Errorf("%s was not written: the run did not come to its end", known.name)}
	}
	u := known.update(report)
	if err := u.write(); err != nil {
		return err
	}
	_, err = io.WriteString(cmd.OutOrStdout(), t.redact.text(u.String())+uncovered(report))
	return err
}

// openBaseline reads the file of known fails that is to be updated, if there is one.
func openBaseline(name string) (baseline, error) {
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		b := baseline{name: name, today: time.Now()}
		return b, b.creatable()
	}
	return readBaseline(name)
}

// uncovered says what gates though the baseline lists every failure, and which failures it does not list; empty if
// there are none.
func uncovered(report harness.Report) (said string) {
	n := 0
	for _, r := range report.Results {
		if r.Verdict == harness.Inconclusive && r.Gates {
			n++
		}
	}
	if n > 0 {
		said = fmt.Sprintf("%d inconclusive by --profile strict: a baseline accepts failures only\n", n)
	}
	if n := report.Counts.SDK; n > 0 {
		said += reporters.Plural(n, "known deviation") + " of the SDK not recorded (--sdk gate records them)\n"
	}
	return said
}

// update is what a run changes in a baseline.
type update struct {
	baseline
	added   harness.KnownFails
	removed []harness.Stale
	kept    harness.KnownFails
}

// update finds what a report changes in the baseline.
func (b baseline) update(report harness.Report) update {
	u := update{baseline: b, removed: report.Baseline.Stale, added: newEntries(report)}
	for _, k := range b.entries {
		if !u.removes(k) {
			u.kept = append(u.kept, k)
		}
	}
	return u
}

// removes reports whether an entry is to be taken out.
func (u update) removes(k harness.KnownFail) bool {
	return slices.ContainsFunc(u.removed, func(s harness.Stale) bool { return s.Line == k.Line })
}

// newEntries are entries for the fails that gate: one for each check or, of one that fails in some of the revisions
// that were judged, one for each of these.
func newEntries(report harness.Report) (entries harness.KnownFails) {
	transport := report.Target.Transport
	if transport == "stdio" {
		transport = "" // what most servers have only
	}
	for _, r := range report.Results {
		if r.Verdict != harness.Fail || !r.Gates {
			continue
		}
		k := harness.KnownFail{
			Check: r.ID, Transport: transport, Reason: reason(r),
		}
		if !failsThroughout(report.Results, r.ID) {
			k.Revision = r.Revision
		}
		same := func(e harness.KnownFail) bool { return e.Check == k.Check && e.Revision == k.Revision }
		if !slices.ContainsFunc(entries, same) {
			entries = append(entries, k)
		}
	}
	return entries
}

// reason is why a failure is accepted: the SDK and its issue, or what the operator is to replace.
func reason(r harness.Result) string {
	switch {
	case r.SDK == nil:
		return todo + reporters.Headline(r, longestReason)
	case r.SDK.Issue == "":
		return "a known deviation of " + r.SDK.Name
	}
	return "a known deviation of " + r.SDK.Name + ": " + r.SDK.Issue
}

const todo = "TODO: "

// longestReason is how much of what a server said stands in a reason.
const longestReason = 200

// failsThroughout reports whether a check fails in all revisions in which it applies.
func failsThroughout(results []harness.Result, id string) bool {
	return !slices.ContainsFunc(results, func(r harness.Result) bool {
		return r.ID == id && r.Verdict != harness.Fail && r.Verdict != harness.Skip
	})
}

// String says what the update does, an entry in each line.
func (u update) String() string {
	var b strings.Builder
	line := func(mark string, parts ...string) {
		fmt.Fprintln(&b, " ", mark, reporters.Line(strings.Join(parts, " ")))
	}
	for _, k := range u.kept {
		line("=", named(k), "·", k.Reason)
	}
	for _, k := range u.entries {
		if i := slices.IndexFunc(u.removed, func(s harness.Stale) bool { return s.Line == k.Line }); i >= 0 {
			line("-", named(k), "·", u.removed[i].Why+";", "its reason was:", k.Reason)
		}
	}
	for _, k := range u.added {
		line("+", named(k), "·", k.Reason)
	}
	fmt.Fprintf(&b, "%s: %d added, %d removed, %d kept",
		reporters.Line(u.name), len(u.added), len(u.removed), len(u.kept))
	if slices.ContainsFunc(u.added, func(k harness.KnownFail) bool { return strings.HasPrefix(k.Reason, todo) }) {
		b.WriteString("; replace each TODO with the reason")
	}
	return b.String() + "\n"
}

// named is an entry without its reason.
func named(k harness.KnownFail) string {
	words := []string{k.Check, k.Revision, k.Transport, k.Subject}
	return strings.Join(slices.DeleteFunc(words, func(word string) bool { return word == "" }), " ")
}
