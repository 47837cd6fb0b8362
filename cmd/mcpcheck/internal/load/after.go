package load

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/target"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/check/engine"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// failuresOf returns what fails in a quick run of a server over HTTP, by id. Checks that end its process are left out:
// the load is on one process.
func failuresOf(ctx context.Context, v config.Options, t *target.Target, server *check.Server) map[string]bool {
	plan := config.PlannedCases(v.BuiltCatalogue(), server, func(r *catalogue.Requirement) bool {
		return v.Selector(r) && r.Safety != "kills-process"
	})
	failures := map[string]bool{}
	o := engine.Execute(ctx, t.DriverTarget, server, plan, engine.Options{
		Quick: true, Seed: v.Seed, Calls: v.CallPolicy, Examples: v.Arguments,
		Profile: v.GateProfile, Credentials: t.Credentials,
	}).EachResult(func(r report.Result) {
		if r.Verdict == catalogue.Fail {
			failures[r.ID] = true
		}
	})
	if o.Problem != "" {
		failures[o.Problem] = true
	}
	return failures
}

// compareFailures is the result that what passed before a load passes after it, too.
func compareFailures(before, after map[string]bool) report.LoadResult {
	r := report.LoadResult{Name: AfterLoad, Verdict: catalogue.Pass}
	maps.DeleteFunc(after, func(id string, _ bool) bool { return before[id] })
	for _, id := range slices.Sorted(maps.Keys(after)) {
		r.Verdict, r.Count = catalogue.Fail, r.Count+1
		if len(r.Findings) < maxFindings {
			r.Findings = append(r.Findings, fmt.Sprintf("fails after the load, and did not before: %s", id))
		}
	}
	return r
}
