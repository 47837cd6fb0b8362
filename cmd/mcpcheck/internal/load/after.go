package load

import (
	"context"
	"maps"
	"slices"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/target"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/check/engine"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// quickRun is what a quick run of a server came to.
type quickRun struct {
	// failures are the ids of the checks that fail.
	failures map[string]bool
	// problem is why the run could not come to its end; empty if it did.
	problem string
}

// runQuick tests a server over HTTP. Checks that end its process are left out: the load is on one process.
func runQuick(ctx context.Context, v config.Options, t *target.Target, server *check.Server) quickRun {
	plan := config.PlannedCases(v.BuiltCatalogue(), server, func(r *catalogue.Requirement) bool {
		return v.Selector(r) && r.Safety != "kills-process"
	})
	run := quickRun{failures: map[string]bool{}}
	run.problem = engine.Execute(ctx, t.DriverTarget, server, plan, engine.Options{
		Quick: true, Seed: v.Seed, Calls: v.CallPolicy, Examples: v.Arguments,
		Profile: v.GateProfile, Credentials: t.Credentials,
	}).EachResult(func(r report.Result) {
		if r.Verdict == catalogue.Fail {
			run.failures[r.ID] = true
		}
	}).Problem
	return run
}

// openSession opens a session. The checks before may have ended that of discovery, and the process: a server that
// invalid input ends is started again.
func openSession(ctx context.Context, t driver.Target, server *check.Server) (*driver.Session, error) {
	t.Era = server.Era
	s, err := driver.Start(ctx, t, driver.Options{})
	if err != nil {
		return nil, err
	}
	if err := s.Open(driver.ConnectParams(server.Revision)); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// compareRuns is the result that what passed before a load passes after it, too. What does not is run again, since a
// check may fail by chance; it counts if it fails both times.
func compareRuns(before quickRun, again func() quickRun) report.LoadResult {
	r := report.LoadResult{Name: AfterLoad, Verdict: catalogue.Pass}
	after := again()
	isNew := func(id string) bool { return after.failures[id] && !before.failures[id] }
	ids := slices.DeleteFunc(slices.Sorted(maps.Keys(after.failures)), func(id string) bool { return !isNew(id) })
	if len(ids) == 0 && after.problem == "" {
		return r
	}
	second := again()
	for _, id := range ids {
		if second.failures[id] {
			r.Count++
			r.Findings = append(r.Findings, "fails after the load, and did not before: "+id)
		}
	}
	if after.problem != "" && second.problem != "" {
		r.Count++
		r.Findings = append(r.Findings, "the checks could not be run after the load: "+second.problem)
	}
	if r.Count > 0 {
		r.Verdict = catalogue.Fail
	}
	r.Findings = r.Findings[:min(len(r.Findings), maxFindings)]
	return r
}
