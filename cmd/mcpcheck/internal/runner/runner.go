// Package runner runs the checks on a server and reports the results.
//
// Run is mcpcheck run. It resolves the options (packages config and target), tests the server in each revision, and
// writes the reports. Every result passes addResult, which redacts secrets and compares with the baseline. The other
// commands share its parts: watch.go tests again when files change, baseline.go writes failures into a baseline,
// plan.go writes what would run, judge.go takes sessions from traces, merge.go takes results from reports.
//
// Sinks receives the results: the console, and report files. lastrun.go stores what failed in the last run on this
// machine, for --last-failed, explain --last and watch. nextsteps.go suggests commands after a run.
//
// Package check decides the verdicts; this package decides the exit code (decideExitCode).
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
	"github.com/mcpcheck/mcpcheck/suites/check/engine"
	"github.com/mcpcheck/mcpcheck/suites/discovery"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/specs"
)

// serverRun is a run: it tests the server in every requested revision, writes each result when it arrives, and collects
// all in the report.
type serverRun struct {
	config.Options
	target   *target.Target
	baseline baseline.File
	sinks    *Sinks
	// beforeReport is called before the report is written, unless it is nil.
	beforeReport func(report.Report)
	report       report.Report
	started      time.Time
	// revisions are the requested revisions, or ProtocolAuto alone.
	revisions []string
	// discoverError is the value of Server.DiscoverError when all revisions are requested.
	discoverError string
	// sessions are those for the trace.
	sessions []*driver.Session
	// exploration is set for mcpcheck explore.
	exploration *Exploration
	// applicableRevision is a revision in which selected checks apply, when none apply in the revision that was tested.
	applicableRevision string
}

func newServerRun(v config.Options, t *target.Target, known baseline.File, told *Sinks) *serverRun {
	return &serverRun{Options: v, target: t, baseline: known, sinks: told, report: report.Report{
		SchemaVersion: 1, Program: catalogue.ProgramInfo{Name: "mcpcheck", Version: build.Version()}, Target: t.Info,
		Profile: v.GateProfile, Options: v.OptionsInfo(t.Redactor),
		Started: time.Now().UTC().Truncate(time.Millisecond),
	}}
}

// run tests the server. The error is that the server cannot be started at all; the report has everything else.
func (j *serverRun) run() (report.Report, error) {
	ctx, leave := j.target.Lifetime(j.Budget)
	defer leave()
	go suites.Implemented() // parses the catalogue while the server starts
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
	j.noteRate()
	j.report.Seconds = time.Since(j.started).Round(time.Millisecond).Seconds()
	j.decideExitCode(ctx)
	return j.report, nil
}

// noteRate says that requests were refused for a while and sent again, and at what rate from then on.
func (j *serverRun) noteRate() {
	if j.target.DriverTarget.Site == nil {
		return
	}
	info := j.target.DriverTarget.Site.RateInfo()
	if info.Refusals == 0 {
		return
	}
	said := fmt.Sprintf("mcpcheck: %s refused with 429 or 503 and Retry-After, and sent again",
		reporters.Plural(info.Refusals, "request"))
	if info.PerSecond > 0 {
		said += fmt.Sprintf("; at most %.1f a second from then on, which --rate sets from the start", info.PerSecond)
	}
	fmt.Fprintln(j.sinks.stderr, said)
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
	if j.exploration != nil {
		return j.exploreRevision(ctx, found)
	}
	server.File = readServerFile(j.target.Dir)
	plan := j.Cases(server)
	if len(plan) == 0 {
		j.applicableRevision = j.findOtherRevision(server)
	}
	j.showStart(server, plan)
	before := len(j.report.Results)
	var held []report.Result
	add := func(r report.Result) { j.sinks.writeResult(j.addResult(r)) }
	visit := add
	if j.explores() {
		visit = func(r report.Result) { held = append(held, r) }
	}
	progress, of := &engine.RunProgress{}, ""
	if len(j.revisions) > 1 {
		of = server.Revision
	}
	defer j.sinks.showProgress(j.started, of, len(plan), j.report.Server, progress)()
	o, err := specs.Run(ctx, j.target.DriverTarget, server, plan, engine.Options{
		Jobs: j.RequestedJobs, Isolate: j.Flags.Isolate, Quick: j.Flags.Quick, Seed: j.Seed,
		Calls: j.CallPolicy, Examples: j.Arguments, Declarations: j.declarations(),
		Profile: j.GateProfile, DiscoverySession: found.Session, UnusedSession: found.Unused,
		Credentials: j.target.Credentials,
		Progress:    progress, SDKs: suites.SDKs(), GateSDKs: j.SDK == config.GateSDK,
	}, visit)
	for _, r := range j.exploreAfter(ctx, server, plan, held) {
		add(r)
	}
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

// declarations returns what mcpcheck.yaml says of the server.
func (j *serverRun) declarations() check.Declarations {
	return check.Declarations{
		ProtectedState: j.ProtectedState, StateOnce: j.StateOnce, StateTTL: j.StateTTL, Scopes: j.Scopes,
		ServerRequestTimeout: j.ServerRequestTimeout, ServerRequestMax: j.ServerRequestMax,
		OpenAIChallenge: j.OpenAIChallenge,
	}
}

// findOtherRevision returns the newest revision that the server supports and in which selected checks apply; it is
// empty when there is none.
func (j *serverRun) findOtherRevision(server *check.Server) string {
	for _, revision := range slices.Backward(server.Revisions) {
		other := &check.Server{Transport: server.Transport, Revision: revision}
		if len(config.PlannedCases(j.BuiltCatalogue(), other, j.Selector)) > 0 {
			return revision
		}
	}
	return ""
}

// errRevisionNotAccepted is the error of a revision that the server does not accept when all are requested. That is not
// a failure of the server.
var errRevisionNotAccepted = errors.New("the server does not accept the revision")

// resolveRevisions decides which revisions are requested from the server, one after the other.
func (j *serverRun) resolveRevisions(ctx context.Context) (err error) {
	j.revisions = []string{j.Protocol}
	if j.Protocol == config.ProtocolAll {
		j.revisions, j.discoverError, err = j.target.AcceptedRevisions(ctx, j.sinks)
	}
	return err
}

// discover connects to the server with a revision, as Target.Discover does, and finds out what it offers.
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

// showStart prints the server and the areas that are going to be tested.
func (j *serverRun) showStart(server *check.Server, plan []engine.Case) {
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
	j.sinks.console.Areas(server.Revision, areaCounts(plan, func(c engine.Case) string { return c.Area() }))
}

// warnOfUnsafeTools warns that tools are going to be called that are not read-only.
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

// areaCounts returns the areas of items, with their numbers. The items are in the order of the catalogue.
func areaCounts[V any](all []V, area func(V) string) (areas []reporters.Area) {
	for _, x := range all {
		if n := len(areas); n == 0 || areas[n-1].Name != area(x) {
			areas = append(areas, reporters.Area{Name: area(x)})
		}
		areas[len(areas)-1].Cases++
	}
	return areas
}

// addResult processes every result, once: it redacts secrets, demotes a failure of a tentative check, compares with the
// baseline, and adds the result to the report. It returns the result that may be shown.
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

// sortByPlan sorts results into the order of the plan.
func sortByPlan(plan []engine.Case, results []report.Result) {
	order := map[string]int{}
	for i, c := range plan {
		order[c.ID] = i
	}
	slices.SortStableFunc(results, func(a, b report.Result) int { return cmp.Compare(order[a.ID], order[b.ID]) })
}

// addUntestable reports a server that mcpcheck could not communicate with: one check has the cause, and all that depend
// on it are inconclusive.
func (j *serverRun) addUntestable(server *check.Server, err error) {
	j.report.Problem, j.report.ExitCode = j.target.ErrorText(err), report.ExitUntestable
	server.Failure = err.Error()
	before := len(j.report.Results)
	for _, r := range engine.UntestableResults(j.Cases(server), "the server could not be tested") {
		j.addResult(r)
	}
	j.addCoverage(server, before, engine.RunOutcome{})
}

// addCoverage adds to the report which requirements of the server's revision the results cover, beginning with the
// result at index from, and which tools were called.
func (j *serverRun) addCoverage(server *check.Server, from int, o engine.RunOutcome) {
	c := newCoverage(j.CoveredCatalogue(), suites.Checks(), server, j.Selector, j.report.Results[from:])
	c.InvalidCalls = o.InvalidCalls
	for _, u := range o.UncalledTools {
		u.Name, u.Reason = j.target.Redactor.Text(u.Name), j.target.Redactor.Text(u.Reason)
		c.UncalledTools = append(c.UncalledTools, u)
	}
	for _, u := range usedTools(server, o.Sessions) {
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
	case r.Problem == "" && len(r.Results) == 0 && j.Shard != nil: // other shards have some
	case r.Problem == "" && len(r.Results) == 0:
		r.Problem, r.ExitCode = nothingAppliesText(j.applicableRevision), report.ExitUntestable
	case r.Problem != "" && r.ExitCode == report.ExitConforms:
		r.ExitCode = report.ExitUntestable // the run was not completed
	case r.ExitCode == report.ExitConforms:
		setNotTested(r)
	}
}

// nothingAppliesText says that there is nothing to check, and in which revision, elsewhere, there would be; empty means
// none.
func nothingAppliesText(elsewhere string) string {
	said := "there is nothing to check: no selected check applies to this revision"
	if elsewhere != "" {
		const remedy = "\nin %s, which the server also supports, some do: give --protocol %[1]s"
		said += fmt.Sprintf(remedy, elsewhere)
	}
	return said
}

// setNotTested marks a server as not tested when no check had a verdict, or many MUSTs had none for the same cause.
func setNotTested(r *report.Report) {
	if r.Problem = notTestedReason(r.Results); r.Problem != "" {
		r.ExitCode = report.ExitUntestable
	}
}

// notTestedReason returns why results say nothing about a server; it is empty when they do.
func notTestedReason(results []report.Result) string {
	if cause := report.NoVerdictCause(results); cause != "" {
		return "nothing could be tried: " + cause
	} else if n, cause := report.UntestedMusts(results); n > 0 {
		return fmt.Sprintf("%d MUSTs could not be tested: %s", n, cause)
	}
	return ""
}

// isGatingFail reports whether a result is a failure that gates.
func isGatingFail(r report.Result) bool { return r.Verdict == catalogue.Fail && r.Gates }

// addStaleEntries adds to the report the entries of the baseline that no longer apply. An incomplete or partial run
// cannot tell.
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
