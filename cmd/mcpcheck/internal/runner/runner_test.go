package runner

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

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/baseline"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/configtest"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/redact"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/target"
	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/fixtures/faults"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// resultReporter is a reporter that collects results.
type resultReporter struct{ results []report.Result }

func (l *resultReporter) Result(r report.Result)   { l.results = append(l.results, r) }
func (l *resultReporter) Done(report.Report) error { return nil }

// runFaultyServer tests the built-in server with a fault, in this process. The word jsonrpc, which every message
// contains, is a secret.
func runFaultyServer(t *testing.T, line, fault string, known baseline.File) (*resultReporter, report.Report) {
	t.Helper()
	v, err := config.Resolve(configtest.ParseFlags(t, line+" -- server"), config.File{})
	if err != nil {
		t.Fatal(err)
	}
	f, ok := faults.Find(fault)
	if !ok {
		t.Fatalf("no fault %s", fault)
	}
	s := redact.Secrets{Texts: []string{"jsonrpc"}}
	server := &target.Target{Address: config.Address{Command: v.Command}, Redactor: s.Redactor()}
	server.DriverTarget.Serve = func(ctx context.Context, in io.Reader, out, err io.Writer, term <-chan struct{}) int {
		return fixtures.Serve(ctx, fixtures.Stdio{In: in, Out: out, Err: err, Term: term}, f)
	}
	told, heard := NewConsoleSinks(v, server, io.Discard, io.Discard), &resultReporter{}
	told.reporters = append(told.reporters, heard)
	rep, err := newServerRun(v, server, known, told).run()
	if err != nil {
		t.Fatal(err)
	}
	return heard, rep
}

// TestResultsAreReportedOnce proves that every result is reported once, as the report has it: without secrets and
// compared with the baseline.
func TestResultsAreReportedOnce(t *testing.T) {
	t.Parallel()
	const fault = "ping/empty-result"
	known := baseline.File{Name: "known.yaml", Today: time.Now(), Entries: report.KnownFails{
		{Check: fault, Reason: "jsonrpc is to blame", Line: 1},
		{Check: "stdio/stdout-only-messages", Reason: "it logged", Line: 2},
	}}
	heard, rep := runFaultyServer(t, "--only ping,stdio --protocol all", fault, known)

	byID := func(a, b report.Result) int { return strings.Compare(a.ID+a.Revision, b.ID+b.Revision) }
	told := slices.SortedFunc(slices.Values(heard.results), byID)
	reported := slices.SortedFunc(slices.Values(rep.Results), byID)
	if diff := cmp.Diff(reported, told); diff != "" || len(told) == 0 {
		t.Errorf("%d results reported; the report (-) and the reporter (+) differ:\n%s", len(told), diff)
	}
	content, err := json.Marshal(rep)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(content, []byte("jsonrpc")) || !bytes.Contains(content, []byte(redact.Placeholder)) {
		t.Errorf("not redacted: %s", content)
	}
	for _, r := range rep.Results {
		if (r.ID == fault) != (r.Known != nil) || r.Gates {
			t.Errorf("%s %s: known %v, gates %v", r.Revision, r.ID, r.Known, r.Gates)
		}
		if r.Known != nil && r.Known.Reason != "[redacted] is to blame" {
			t.Errorf("%s: known since %s", r.ID, r.Known.Reason)
		}
	}
	stale := []report.StaleEntry{{Entry: "stdio/stdout-only-messages", Line: 2, Reason: "it passes now"}}
	if diff := cmp.Diff(stale, rep.Baseline.Stale); diff != "" || rep.ExitCode != report.ExitFails {
		t.Errorf("exit code %d, stale entries, - wanted, + got:\n%s", rep.ExitCode, diff)
	}
}
