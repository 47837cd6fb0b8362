// Package runner runs the checks on a server, and reports what comes of it.
//
// Run is mcpcheck run. It resolves what is asked for (packages config and target), tests the server in each revision,
// and writes the reports; everything that goes into them passes addResult, where secrets are redacted and the baseline
// is compared. The commands beside it share its parts: watch.go tests again when files change, baseline.go writes
// failures into a baseline, plan.go only says what would be run, judge.go takes sessions from traces, merge.go results
// from reports.
//
// Sinks are who is told: the console, and files. lastrun.go keeps what failed in the last run on this machine, for
// --last-failed, explain --last and watch. nextsteps.go has the commands that help after a run.
//
// The verdicts are not decided here but in package check; the exit code is (decideExitCode).
package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/baseline"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/build"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/process"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/target"
	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/discovery"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/specs"
)

// serverRun is a run: the server is judged in every revision that is asked for. What comes of it is told as it comes,
// and gathered in the report.
type serverRun struct {
	config.Options
	target             *target.Target
	baseline           baseline.File
	sinks              *Sinks
	beforeReport       func(report.Report) // is called before the report is told; nil: nothing is
	report             report.Report
	started            time.Time
	revisions          []string          // revisions, or auto
	discoverError      string            // when all revisions are wanted, what Server.Undiscovered says
	sessions           []*driver.Session // for the trace
	applicableRevision string            // the revision in which selected checks apply, when none do in the one judged
}

func newServerRun(v config.Options, t *target.Target, known baseline.File, told *Sinks) *serverRun {
	return &serverRun{Options: v, target: t, baseline: known, sinks: told, report: report.Report{
		SchemaVersion: 1, Program: catalogue.ProgramInfo{Name: "mcpcheck", Version: build.Version()}, Target: t.Info,
		Profile: v.GateProfile, Options: v.OptionsInfo(t.Redactor),
		Started: time.Now().UTC().Truncate(time.Millisecond),
	}}
}

// run judges the server. It fails if the server cannot be started at all; everything else is said by the report.
func (j *serverRun) run() (report.Report, error) {
	ctx, leave := j.target.Lifetime(j.Budget)
	defer leave()
	go suites.Implemented() // while the server starts
	j.started = time.Now()
	j.target.ResolveLauncher(ctx, j.sinks)
	defer j.target.ReportLauncherCost(j.sinks)
	var err error
	if err = j.resolveRevisions(ctx); err != nil {
		return j.report, err
	}
	for _, revision := range j.revisions {
		if err := j.runRevision(ctx, revision); err != nil {
			return j.report, err
		}
		if ctx.Err() != nil {
			break
		}
	}
	j.report.Seconds = time.Since(j.started).Round(time.Millisecond).Seconds()
	j.decideExitCode(ctx)
	return j.report, nil
}

// runRevision runs the checks of one revision.
func (j *serverRun) runRevision(ctx context.Context, revision string) error {
	found, err := j.discover(ctx, revision)
	server := found.Server
	switch {
	case server == nil:
		return err
	case errors.Is(err, errRevisionNotAccepted):
		return nil
	case err != nil:
		j.addUntestable(server, err)
		return nil
	}
	if err := j.validateNames(ctx, server); err != nil {
		found.Close()
		return err
	}
	server.File = readServerFile(j.target.Dir)
	plan := j.Cases(server)
	if len(plan) == 0 {
		j.applicableRevision = j.findOtherRevision(server)
	}
	j.showStart(server, plan)
	before := len(j.report.Results)
	progress, of := &check.RunProgress{}, ""
	if len(j.revisions) > 1 {
		of = server.Revision
	}
	defer j.sinks.showProgress(j.started, of, len(plan), j.report.Server, progress)()
	o, err := specs.Run(ctx, j.target.DriverTarget, server, plan, check.Options{
		Jobs: j.RequestedJobs, Isolate: j.Flags.Isolate, Quick: j.Flags.Quick, Seed: j.Seed,
		Calls: j.CallPolicy, Examples: j.Arguments, ProtectedState: j.ProtectedState,
		Profile: j.GateProfile, DiscoverySession: found.Session, UnusedSession: found.Unused,
		Credentials: j.target.Credentials,
		Progress:    progress, SDKs: suites.SDKs(), GateSDKs: j.SDK == config.GateSDK,
	}, func(r report.Result) { j.sinks.writeResult(j.addResult(r)) })
	if err != nil {
		j.report.Problem, j.report.ExitCode = j.target.Redactor.Text(err.Error()), report.ExitInternal
	}
	if j.Flags.Trace != "" {
		j.sessions = append(j.sessions, o.Sessions...)
	}
	sortByPlan(plan, j.report.Results[before:])
	j.addCoverage(server, before, o)
	if j.report.Problem == "" {
		j.report.Problem = j.target.Redactor.Text(cmp.Or(o.Problem, server.Failure))
	}
	return nil
}

// findOtherRevision is the newest revision that the server speaks in which selected checks apply; empty when there is
// none.
func (j *serverRun) findOtherRevision(server *check.Server) string {
	for _, revision := range slices.Backward(server.Revisions) {
		other := &check.Server{Transport: server.Transport, Revision: revision}
		if len(config.PlannedCases(j.BuiltCatalogue(), other, j.Selector)) > 0 {
			return revision
		}
	}
	return ""
}

// errRevisionNotAccepted is that of a revision that the server does not accept, when all are asked for: to speak fewer
// is not a failure.
var errRevisionNotAccepted = errors.New("the server does not accept the revision")

// resolveRevisions settles which revisions the server is asked for one after the other.
func (j *serverRun) resolveRevisions(ctx context.Context) (err error) {
	j.revisions = []string{j.Protocol}
	if j.Protocol == config.ProtocolAll {
		j.revisions, j.discoverError, err = j.target.AcceptedRevisions(ctx, j.sinks)
	}
	return err
}

// discover learns what the server is when it is asked for a revision, as Target.Discover does.
func (j *serverRun) discover(ctx context.Context, revision string) (discovery.Found, error) {
	found, err := j.target.Discover(ctx, revision, j.sinks)
	server := found.Server
	if server == nil {
		return found, err
	}
	j.report.Target.Transport = server.Transport
	if err != nil || server.Failure != "" || server.Revision == revision || revision == config.ProtocolAuto {
		return found, err
	}
	found.Close()
	if j.Protocol == config.ProtocolAll {
		return found, errRevisionNotAccepted
	}
	return found, fmt.Errorf("the server does not accept %s; it offers %s", revision, server.Revision)
}

// showStart tells what will come.
func (j *serverRun) showStart(server *check.Server, plan []check.Case) {
	server.DiscoverError = cmp.Or(server.DiscoverError, j.discoverError)
	j.report.Server = j.target.Redactor.Server(server.Info())
	j.report.Revisions = append(j.report.Revisions, report.RevisionInfo{
		Requested: server.Requested, Revision: server.Revision, Assumed: server.Failure != "" &&
			server.ConnectResult == nil,
		Set: j.SetInfo(server.Revision),
	})
	if j.CallPolicy == report.CallsAll && len(j.report.Revisions) == 1 {
		j.warnOfUnsafeTools(server.Tools)
	}
	j.sinks.console.Begin(j.report)
	j.sinks.console.Areas(server.Revision, areaCounts(plan, func(c check.Case) string { return c.Area() }))
}

// warnOfUnsafeTools names the tools that are going to be called though they are not read-only.
func (j *serverRun) warnOfUnsafeTools(tools []check.M) {
	var names []string
	for _, tool := range tools {
		if name, named := tool["name"].(string); named && !report.IsReadOnly(tool) {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		content := "--calls all runs every tool, these that are not read-only too: " + strings.Join(names, ", ")
		fmt.Fprintln(j.sinks.stderr, "mcpcheck:", reporters.PrintableLine(j.target.Redactor.Text(content)))
	}
}

// areaCounts are the areas of what stands in the order of the catalogue.
func areaCounts[V any](all []V, area func(V) string) (areas []reporters.Area) {
	for _, x := range all {
		if n := len(areas); n == 0 || areas[n-1].Name != area(x) {
			areas = append(areas, reporters.Area{Name: area(x)})
		}
		areas[len(areas)-1].Cases++
	}
	return areas
}

// addResult is where every result passes, once: its secrets are redacted, it is held back where its check is tentative,
// it is compared with the baseline, and it goes into the report. The result that is left may be told.
func (j *serverRun) addResult(r report.Result) report.Result {
	r = j.target.Redactor.Result(r)
	j.DemoteTentative(&r)
	j.baseline.Entries.Apply(&r, j.report.Target.Transport, j.baseline.Today)
	if r.Known != nil {
		r.Known.Reason = j.target.Redactor.Text(r.Known.Reason)
	}
	if !j.Flags.KeepsWire(r) {
		r.Evidence = nil
	}
	j.report.Results = append(j.report.Results, r)
	return r
}

// sortByPlan puts results into the order of the plan.
func sortByPlan(plan []check.Case, results []report.Result) {
	order := map[string]int{}
	for i, c := range plan {
		order[c.ID] = i
	}
	slices.SortStableFunc(results, func(a, b report.Result) int { return cmp.Compare(order[a.ID], order[b.ID]) })
}

// addUntestable reports a server that could not be talked to: one root cause, and what depends on it inconclusive.
func (j *serverRun) addUntestable(server *check.Server, err error) {
	j.report.Problem, j.report.ExitCode = j.target.ErrorText(err), report.ExitUntestable
	server.Failure = err.Error()
	before := len(j.report.Results)
	for _, r := range check.UntestableResults(j.Cases(server), "the server could not be tested") {
		j.addResult(r)
	}
	j.addCoverage(server, before, check.RunOutcome{})
}

// addCoverage adds to the report how much of the server's revision the results judge, from the one of that index on,
// and what the outcome says of which tools were called.
func (j *serverRun) addCoverage(server *check.Server, from int, o check.RunOutcome) {
	c := check.NewCoverage(j.CoveredCatalogue(), suites.Checks(), server, j.Selector, j.report.Results[from:])
	c.InvalidCalls = o.InvalidCalls
	for _, u := range o.UncalledTools {
		u.Name, u.Reason = j.target.Redactor.Text(u.Name), j.target.Redactor.Text(u.Reason)
		c.UncalledTools = append(c.UncalledTools, u)
	}
	for _, u := range o.CalledTools {
		u.Name, u.Message = j.target.Redactor.Text(u.Name), j.target.Redactor.Text(u.Message)
		c.CalledTools = append(c.CalledTools, u)
	}
	j.report.Coverage = append(j.report.Coverage, c)
}

// decideExitCode decides the exit code. The context is that of the run.
func (j *serverRun) decideExitCode(ctx context.Context) {
	r := &j.report
	r.Counts = report.Count(r.Results)
	j.addStaleEntries(ctx)
	r.ExitCode = max(r.ExitCode, r.Counts.ExitCode())
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, process.ErrInterrupted):
		r.Problem, r.ExitCode = cause.Error(), report.ExitInterrupted
	case cause != nil:
		r.Problem = cause.Error()
		if r.ExitCode < report.ExitInternal && !slices.ContainsFunc(r.Results, isGatingFail) {
			r.ExitCode = report.ExitUntestable
		}
	case r.Problem == "" && len(r.Revisions) == 0:
		r.Problem, r.ExitCode = "the server accepts no handshake revision", report.ExitUntestable
	case r.Problem == "" && len(r.Results) == 0 && j.Shard != nil: // the others have some
	case r.Problem == "" && len(r.Results) == 0:
		r.Problem, r.ExitCode = nothingAppliesText(j.applicableRevision), report.ExitUntestable
	case r.Problem != "" && r.ExitCode == report.ExitConforms:
		r.ExitCode = report.ExitUntestable // the run did not come to its end
	case r.ExitCode == report.ExitConforms:
		setNotTested(r)
	}
}

// nothingAppliesText says that there is nothing to check, and in which revision there would be; empty: in none.
func nothingAppliesText(elsewhere string) string {
	said := "there is nothing to check: no selected check applies to this revision"
	if elsewhere != "" {
		const remedy = "\nin %s, which the server speaks as well, some do: give --protocol %[1]s"
		said += fmt.Sprintf(remedy, elsewhere)
	}
	return said
}

// setNotTested says that a server was not tested of which nothing could be tried, or many MUSTs not for one cause.
func setNotTested(r *report.Report) {
	if r.Problem = notTestedReason(r.Results); r.Problem != "" {
		r.ExitCode = report.ExitUntestable
	}
}

// notTestedReason is why results do not tell of a server; empty when they do.
func notTestedReason(results []report.Result) string {
	if cause := report.NoVerdictCause(results); cause != "" {
		return "nothing could be tried: " + cause
	} else if n, cause := report.UntestedMusts(results); n > 0 {
		return fmt.Sprintf("%d MUSTs could not be tested: %s", n, cause)
	}
	return ""
}

// isGatingFail reports whether a result stands and gates, however the run ended.
func isGatingFail(r report.Result) bool { return r.Verdict == catalogue.Fail && r.Gates }

// addStaleEntries adds to the report which entries of the baseline do not hold any more. A run that did not come to its
// end does not tell, and neither does a part of one.
func (j *serverRun) addStaleEntries(ctx context.Context) {
	r := &j.report
	if j.baseline.Name == "" {
		return
	}
	r.Baseline = &report.Baseline{File: j.baseline.Name}
	if ctx.Err() != nil || r.Problem != "" || len(r.Results) == 0 || j.Shard != nil || j.Flags.Quick {
		return
	}
	for _, stale := range j.baseline.Entries.Stale(r, j.baseline.Today, suites.All(), j.Selector) {
		stale.Entry, stale.Reason = j.target.Redactor.Text(stale.Entry), j.target.Redactor.Text(stale.Reason)
		r.Baseline.Stale = append(r.Baseline.Stale, stale)
	}
	r.Counts.Stale = len(r.Baseline.Stale)
}
