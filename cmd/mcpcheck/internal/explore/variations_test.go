package explore

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/fixtures/proof"
	"github.com/mcpcheck/mcpcheck/fixtures/variations"
	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check/engine"
)

// TestVariations proves that nothing is found in legal servers, except in recommendations that they do not follow: in
// one of thirty of them, and with -whole in all, by more than 10,000 sequences together.
func TestVariations(t *testing.T) {
	sequences, share := 20, 1
	if !*proof.ProveAll {
		sequences, share = 10, 30
	}
	eachVariation(t, share, func(t *testing.T, i int, v variations.Variation, s proof.Setting) {
		found := exploreFixture(t, s, v.Change, Options{Sequences: sequences, Seed: int64(i)})
		for _, id := range found.failing() {
			if !slices.Contains(v.ExpectedFailures, id) {
				t.Errorf("%s, %s failed:\n%s", s, id, strings.Join(found.scripts[id].Wire, "\n"))
			}
		}
	})
}

// eachVariation runs a test with one of so many variations, or with all of them for one check, each with its index and
// in one setting.
func eachVariation(
	t *testing.T, share int, run func(t *testing.T, i int, v variations.Variation, s proof.Setting),
) {
	for i, v := range variations.All() {
		s, is := settingOf(v, i)
		if !is || i%share != 0 && *proof.CheckID == "" {
			continue
		}
		t.Run(v.ID, func(t *testing.T) {
			t.Parallel()
			run(t, i, v, s)
		})
	}
}

// settingOf returns a setting in which a variation shows: one of its transports, in the newest of its revisions or in
// another one by its index.
func settingOf(v variations.Variation, index int) (s proof.Setting, is bool) {
	var all []proof.Setting
	for _, w := range proof.Deployments {
		fits := w.Name == v.Deployment || v.Deployment == "" && !strings.Contains(w.Name, " ") &&
			(v.Transports == nil || slices.Contains(v.Transports, w.Transport))
		if !fits {
			continue
		}
		for _, revision := range fixtures.Revisions {
			if v.AppliesTo(revision) && w.Supports(revision) {
				all = append(all, w.WithRevision(revision))
			}
		}
	}
	if len(all) == 0 {
		return s, false
	}
	slices.SortStableFunc(all, func(a, b proof.Setting) int { return cmp.Compare(b.Revision, a.Revision) })
	return all[index%len(all)], true
}

// TestJudgeRecordedRuns proves that nothing is found to be wrong in the recorded sessions of runs against legal
// servers, which also have invalid input: by a few of the variations, and with -whole by one of twenty.
func TestJudgeRecordedRuns(t *testing.T) {
	share := 400
	if *proof.ProveAll {
		share = 20
	}
	eachVariation(t, share, func(t *testing.T, _ int, v variations.Variation, s proof.Setting) {
		_, sessions := proof.Run(t, s.Deployment, v.Change, s.Revision, proof.AllChecks)
		for _, all := range engine.GroupByRevision(sessions) {
			server := engine.RecordedServer(s.Deployment.Transport, all)
			plan := engine.Plan(suites.Implemented(), suites.Checks(), server, proof.AllChecks)
			o := engine.Options{Profile: catalogue.Strict}
			judged, _ := engine.JudgeRecorded(server, plan, all, o)
			for _, r := range append(judged, JudgeOwned(server, plan, all, judged, o)...) {
				if r.Verdict == catalogue.Fail && !slices.Contains(v.ExpectedFailures, r.ID) {
					t.Errorf("%s, %s failed: %s", server.Revision, r.ID, r.Message)
				}
			}
		}
	})
}
