package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/fixtures/faults"
	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// listener is a reporter that keeps what it is told.
type listener struct{ told []harness.Result }

func (l *listener) Result(r harness.Result)   { l.told = append(l.told, r) }
func (l *listener) Done(harness.Report) error { return nil }

// judged judges the built-in server with a fault, in this process, with some flags. The word jsonrpc, which is in every
// message, is a secret.
func judged(t *testing.T, line, fault string, known baseline) (*listener, harness.Report) {
	t.Helper()
	v, err := settle(flagsOf(t, line+" -- server"), config{})
	if err != nil {
		t.Fatal(err)
	}
	f, ok := faults.Find(fault)
	if !ok {
		t.Fatalf("no fault %s", fault)
	}
	s := secrets{texts: []string{"jsonrpc"}}
	target := &target{address: address{command: v.Command}, redact: s.redactor()}
	target.reach.Serve = func(ctx context.Context, in io.Reader, out, err io.Writer, term <-chan struct{}) int {
		return fixtures.Serve(ctx, fixtures.Stdio{In: in, Out: out, Err: err, Term: term}, f)
	}
	told, heard := atConsole(v, target, io.Discard, io.Discard), &listener{}
	told.reporters = append(told.reporters, heard)
	report, err := newJudgement(v, target, known, told).run()
	if err != nil {
		t.Fatal(err)
	}
	return heard, report
}

// TestResultsPassOnce: every result is told once, as it then stands in the report, without secrets and compared with
// the baseline.
func TestResultsPassOnce(t *testing.T) {
	t.Parallel()
	const fault = "ping/empty-result"
	known := baseline{name: "known.yaml", today: time.Now(), entries: harness.KnownFails{
		{Check: fault, Reason: "jsonrpc is to blame", Line: 1},
		{Check: "stdio/stdout-only-messages", Reason: "it logged", Line: 2},
	}}
	heard, report := judged(t, "--only ping,stdio --protocol all", fault, known)

	byID := func(a, b harness.Result) int { return strings.Compare(a.ID+a.Revision, b.ID+b.Revision) }
	told := slices.SortedFunc(slices.Values(heard.told), byID)
	reported := slices.SortedFunc(slices.Values(report.Results), byID)
	if diff := cmp.Diff(reported, told); diff != "" || len(told) == 0 {
		t.Errorf("%d results told; report (-) and told (+) differ:\n%s", len(told), diff)
	}
	text, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(text, []byte("jsonrpc")) || !bytes.Contains(text, []byte(redacted)) {
		t.Errorf("not redacted: %s", text)
	}
	for _, r := range report.Results {
		if (r.ID == fault) != (r.Known != nil) || r.Gates {
			t.Errorf("%s %s: known %v, gates %v", r.Revision, r.ID, r.Known, r.Gates)
		}
		if r.Known != nil && r.Known.Reason != "[redacted] is to blame" {
			t.Errorf("%s: known since %s", r.ID, r.Known.Reason)
		}
	}
	stale := []harness.Stale{{Entry: "stdio/stdout-only-messages", Line: 2, Why: "it passes now"}}
	if diff := cmp.Diff(stale, report.Baseline.Stale); diff != "" || report.ExitCode != harness.ExitFails {
		t.Errorf("exit code %d, stale entries, - wanted, + got:\n%s", report.ExitCode, diff)
	}
}
