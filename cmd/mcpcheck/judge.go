package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/discovery"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/specs"
)

// judgement is a run: the server is judged in every revision that is asked for. What comes of it is told as it comes,
// and gathered in the report.
type judgement struct {
	values
	target       *target
	known        baseline
	told         *audience
	concluded    func(harness.Report) // is called before the report is told; nil: nothing is
	report       harness.Report
	begin        time.Time
	requested    []string          // revisions, or auto
	undiscovered string            // when all revisions are wanted, what Server.Undiscovered says
	sessions     []*driver.Session // for the trace
	elsewhere    string            // the revision in which selected checks apply, when none do in the one judged
}

func newJudgement(v values, t *target, known baseline, told *audience) *judgement {
	return &judgement{values: v, target: t, known: known, told: told, report: harness.Report{
		SchemaVersion: 1, Tool: harness.Tool{Name: "mcpcheck", Version: toolVersion()}, Target: t.shown,
		Profile: v.profile, Options: v.info(t.redact),
		Started: time.Now().UTC().Truncate(time.Millisecond),
	}}
}

// run judges the server. It fails if the server cannot be started at all; everything else is said by the report.
func (j *judgement) run() (harness.Report, error) {
	ctx, leave := j.target.visit(j.Budget)
	defer leave()
	go suites.Built() // while the server starts
	j.begin = time.Now()
	j.target.warm(ctx, j.told)
	defer j.target.sayStarts(j.told)
	var err error
	if err = j.request(ctx); err != nil {
		return j.report, err
	}
	for _, revision := range j.requested {
		if err := j.judge(ctx, revision); err != nil {
			return j.report, err
		}
		if ctx.Err() != nil {
			break
		}
	}
	j.report.Seconds = time.Since(j.begin).Round(time.Millisecond).Seconds()
	j.conclude(ctx)
	return j.report, nil
}

// judge runs the checks of one revision.
func (j *judgement) judge(ctx context.Context, revision string) error {
	found, err := j.meet(ctx, revision)
	server := found.Server
	switch {
	case server == nil:
		return err
	case errors.Is(err, errPassedOver):
		return nil
	case err != nil:
		j.untestable(server, err)
		return nil
	}
	if err := j.wrongNames(ctx, server); err != nil {
		found.Close()
		return err
	}
	server.File = serverFile(j.target.dir)
	plan := j.cases(server)
	if len(plan) == 0 {
		j.elsewhere = j.otherRevision(server)
	}
	j.announce(server, plan)
	before := len(j.report.Results)
	progress, of := &harness.Progress{}, ""
	if len(j.requested) > 1 {
		of = server.Revision
	}
	defer j.told.running(j.begin, of, len(plan), j.report.Server, progress)()
	o, err := specs.Run(ctx, j.target.reach, server, plan, harness.Options{
		Jobs: j.jobs, Isolate: j.flags.isolate, Quick: j.flags.quick, Seed: j.Seed,
		Calls: j.calls, Examples: j.Arguments, Guarded: j.Guarded,
		Profile: j.profile, First: found.First, Spare: found.Spare, Credentials: j.target.credentials,
		Progress: progress, SDKs: suites.SDKs(), GateSDKs: j.SDK == gateSDK,
	}, func(r harness.Result) { j.told.result(j.take(r)) })
	if err != nil {
		j.report.Problem, j.report.ExitCode = j.target.redact.text(err.Error()), harness.ExitBroken
	}
	if j.flags.trace != "" {
		j.sessions = append(j.sessions, o.Sessions...)
	}
	sortAs(plan, j.report.Results[before:])
	j.cover(server, before, o)
	if j.report.Problem == "" {
		j.report.Problem = j.target.redact.text(cmp.Or(o.Problem, server.Failure))
	}
	return nil
}

// otherRevision is the newest revision that the server speaks in which selected checks apply; empty when there is none.
func (j *judgement) otherRevision(server *harness.Server) string {
	for _, revision := range slices.Backward(server.Speaks) {
		other := &harness.Server{Transport: server.Transport, Revision: revision}
		if len(planned(j.built(), other, j.selector)) > 0 {
			return revision
		}
	}
	return ""
}

// errPassedOver is that of a revision that the server does not accept, when all are asked for: to speak fewer is not a
// failure.
var errPassedOver = errors.New("the server does not accept the revision")

// request settles which revisions the server is asked for one after the other.
func (j *judgement) request(ctx context.Context) (err error) {
	j.requested = []string{j.Protocol}
	if j.Protocol == all {
		j.requested, j.undiscovered, err = j.target.spoken(ctx, j.told)
	}
	return err
}

// meet learns what the server is when it is asked for a revision, as target.meet does.
func (j *judgement) meet(ctx context.Context, revision string) (discovery.Found, error) {
	found, err := j.target.meet(ctx, revision, j.told)
	server := found.Server
	if server == nil {
		return found, err
	}
	j.report.Target.Transport = server.Transport
	if err != nil || server.Failure != "" || server.Revision == revision || revision == auto {
		return found, err
	}
	found.Close()
	if j.Protocol == all {
		return found, errPassedOver
	}
	return found, fmt.Errorf("the server does not accept %s; it offers %s", revision, server.Revision)
}

// announce tells what will come.
func (j *judgement) announce(server *harness.Server, plan []harness.Case) {
	server.Undiscovered = cmp.Or(server.Undiscovered, j.undiscovered)
	j.report.Server = j.target.redact.server(server.Info())
	j.report.Revisions = append(j.report.Revisions, harness.RevisionInfo{
		Requested: server.Requested, Revision: server.Revision, Assumed: server.Failure != "" && server.Welcome == nil,
		Set: j.setOf(server.Revision),
	})
	if j.calls == harness.CallsAll && len(j.report.Revisions) == 1 {
		j.warn(server.Tools)
	}
	j.told.console.Begin(j.report)
	j.told.console.Areas(server.Revision, areasOf(plan, func(c harness.Case) string { return c.Area() }))
}

// warn names the tools that are going to be called though they are not read-only.
func (j *judgement) warn(tools []harness.M) {
	var names []string
	for _, tool := range tools {
		if name, named := tool["name"].(string); named && !harness.IsReadOnly(tool) {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		text := "--calls all runs every tool, these that are not read-only too: " + strings.Join(names, ", ")
		fmt.Fprintln(j.told.stderr, "mcpcheck:", reporters.Line(j.target.redact.text(text)))
	}
}

// areasOf are the areas of what stands in the order of the catalogue.
func areasOf[V any](all []V, area func(V) string) (areas []reporters.Area) {
	for _, x := range all {
		if n := len(areas); n == 0 || areas[n-1].Name != area(x) {
			areas = append(areas, reporters.Area{Name: area(x)})
		}
		areas[len(areas)-1].Cases++
	}
	return areas
}

// take is where every result passes, once: its secrets are redacted, it is held back where its check is tentative, it
// is compared with the baseline, and it goes into the report. The result that is left may be told.
func (j *judgement) take(r harness.Result) harness.Result {
	r = j.target.redact.result(r)
	j.hold(&r)
	j.known.entries.Apply(&r, j.report.Target.Transport, j.known.today)
	if r.Known != nil {
		r.Known.Reason = j.target.redact.text(r.Known.Reason)
	}
	if !j.flags.evidenced(r) {
		r.Wire = nil
	}
	j.report.Results = append(j.report.Results, r)
	return r
}

// sortAs puts results into the order of the plan.
func sortAs(plan []harness.Case, results []harness.Result) {
	order := map[string]int{}
	for i, c := range plan {
		order[c.ID] = i
	}
	slices.SortStableFunc(results, func(a, b harness.Result) int { return cmp.Compare(order[a.ID], order[b.ID]) })
}

// untestable reports a server that could not be talked to: one root cause, and what depends on it inconclusive.
func (j *judgement) untestable(server *harness.Server, err error) {
	j.report.Problem, j.report.ExitCode = j.target.problem(err), harness.ExitUntestable
	server.Failure = err.Error()
	before := len(j.report.Results)
	for _, r := range harness.Untried(j.cases(server), "the server could not be tested") {
		j.take(r)
	}
	j.cover(server, before, harness.Outcome{})
}

// cover adds to the report how much of the server's revision the results judge, from the one of that index on, and
// what the outcome says of which tools were called.
func (j *judgement) cover(server *harness.Server, from int, o harness.Outcome) {
	c := harness.Cover(j.covered(), suites.Checks(), server, j.selector, j.report.Results[from:])
	c.Invalid = o.Invalid
	for _, u := range o.Uncalled {
		u.Name, u.Why = j.target.redact.text(u.Name), j.target.redact.text(u.Why)
		c.Uncalled = append(c.Uncalled, u)
	}
	for _, u := range o.Tools {
		u.Name, u.Said = j.target.redact.text(u.Name), j.target.redact.text(u.Said)
		c.Tools = append(c.Tools, u)
	}
	j.report.Coverage = append(j.report.Coverage, c)
}

// conclude decides the exit code. The context is that of the visit.
func (j *judgement) conclude(ctx context.Context) {
	r := &j.report
	r.Counts = harness.Count(r.Results)
	j.findStale(ctx)
	r.ExitCode = max(r.ExitCode, r.Counts.ExitCode())
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errInterrupted):
		r.Problem, r.ExitCode = cause.Error(), harness.ExitInterrupted
	case cause != nil:
		r.Problem = cause.Error()
		if r.ExitCode < harness.ExitBroken && !slices.ContainsFunc(r.Results, isGatingFail) {
			r.ExitCode = harness.ExitUntestable
		}
	case r.Problem == "" && len(r.Revisions) == 0:
		r.Problem, r.ExitCode = "the server accepts no handshake revision", harness.ExitUntestable
	case r.Problem == "" && len(r.Results) == 0 && j.shard != nil: // the others have some
	case r.Problem == "" && len(r.Results) == 0:
		r.Problem, r.ExitCode = nothingApplies(j.elsewhere), harness.ExitUntestable
	case r.Problem != "" && r.ExitCode == harness.ExitConforms:
		r.ExitCode = harness.ExitUntestable // the run did not come to its end
	case r.ExitCode == harness.ExitConforms:
		concludeLost(r)
	}
}

// nothingApplies says that there is nothing to check, and in which revision there would be; empty: in none.
func nothingApplies(elsewhere string) string {
	said := "there is nothing to check: no selected check applies to this revision"
	if elsewhere != "" {
		const remedy = "\nin %s, which the server speaks as well, some do: give --protocol %[1]s"
		said += fmt.Sprintf(remedy, elsewhere)
	}
	return said
}

// concludeLost says that a server was not tested of which nothing could be tried, or many MUSTs not for one cause.
func concludeLost(r *harness.Report) {
	if r.Problem = lost(r.Results); r.Problem != "" {
		r.ExitCode = harness.ExitUntestable
	}
}

// lost is why results do not tell of a server; empty when they do.
func lost(results []harness.Result) string {
	if cause := harness.NothingTried(results); cause != "" {
		return "nothing could be tried: " + cause
	} else if n, cause := harness.MostLost(results); n > 0 {
		return fmt.Sprintf("%d MUSTs could not be tested: %s", n, cause)
	}
	return ""
}

// isGatingFail reports whether a result stands and gates, however the run ended.
func isGatingFail(r harness.Result) bool { return r.Verdict == harness.Fail && r.Gates }

// findStale adds to the report which entries of the baseline do not hold any more. A run that did not come to its end
// does not tell, and neither does a part of one.
func (j *judgement) findStale(ctx context.Context) {
	r := &j.report
	if j.known.name == "" {
		return
	}
	r.Baseline = &harness.Baseline{File: j.known.name}
	if ctx.Err() != nil || r.Problem != "" || len(r.Results) == 0 || j.shard != nil || j.flags.quick {
		return
	}
	for _, stale := range j.known.entries.Stale(r, j.known.today, suites.All(), j.selector) {
		stale.Entry, stale.Why = j.target.redact.text(stale.Entry), j.target.redact.text(stale.Why)
		r.Baseline.Stale = append(r.Baseline.Stale, stale)
	}
	r.Counts.Stale = len(r.Baseline.Stale)
}
