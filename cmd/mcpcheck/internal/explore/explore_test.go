package explore

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/fixtures/proof"
	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check/engine"
	"github.com/mcpcheck/mcpcheck/suites/discovery"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// exploration is an exploration of the fixture, with the scripts of what failed.
type exploration struct {
	Outcome
	scripts map[string]Script
}

// failing returns the ids of the results that fail.
func (e exploration) failing() (ids []string) {
	for _, r := range e.Results {
		if r.Verdict == catalogue.Fail {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// exploreFixture explores the fixture with a fault, under a virtual clock.
func exploreFixture(t *testing.T, s proof.Setting, f fixtures.Fault, o Options) (out exploration) {
	t.Helper()
	out.scripts = map[string]Script{}
	o.Calls, o.Judge.Profile = report.CallsAll, catalogue.Strict
	o.Found = func(s Script, _ report.Result) { out.scripts[s.Requirement] = s }
	synctest.Test(t, func(t *testing.T) {
		defer time.Sleep(10 * time.Second) // what the fixture still writes
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		target, _ := s.Deployment.Target(t, f)
		if target.Site != nil {
			defer target.Site.Close(driver.Limits{})
		}
		server, session, err := discovery.Inspect(ctx, target, s.Revision)
		if err != nil {
			t.Fatal(err)
		}
		session.Close()
		plan := engine.Plan(suites.Implemented(), suites.Checks(), server, proof.AllChecks)
		out.Outcome = Run(ctx, target, server, plan, o)
	})
	return out
}

// settings are those in which servers are explored here.
var settings = []proof.Setting{
	{Deployment: proof.Deployments[0], Revision: "2025-11-25"},
	{Deployment: proof.Deployments[0], Revision: "2026-07-28"},
	{Deployment: proof.Deployments[1], Revision: "2024-11-05"},
	{Deployment: proof.Deployments[1], Revision: "2025-11-25"},
	{Deployment: proof.Deployments[1], Revision: "2026-07-28"},
	{Deployment: proof.Deployments[2], Revision: "2025-03-26"},
	{Deployment: proof.Deployments[5], Revision: "2024-11-05"},
	{Deployment: proof.Deployments[5], Revision: "2025-11-25"},
}

// TestHonestServer proves that nothing is found in a server without a fault.
func TestHonestServer(t *testing.T) {
	for _, s := range settings {
		if !s.Deployment.Supports(s.Revision) {
			continue
		}
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			found := exploreFixture(t, s, fixtures.Fault{}, Options{Sequences: 40, Seed: 1})
			for _, id := range found.failing() {
				t.Errorf("%s failed: %v", id, found.scripts[id])
			}
		})
	}
}
