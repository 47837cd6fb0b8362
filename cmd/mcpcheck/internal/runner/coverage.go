package runner

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/check/engine"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// newCoverage returns how much of the server's revision the results of a run cover. Its Unexercised are the
// capabilities that the server declares and of which nothing was tried, although want did not exclude them.
func newCoverage(
	entries catalogue.Catalogue, suite check.Suite, server *check.Server, want catalogue.Selector,
	results []report.Result,
) report.Coverage {
	verdicts, left := map[string]catalogue.Verdict{}, map[string]bool{}
	for _, r := range results {
		verdicts[r.ID], left[r.ID] = r.Verdict, r.Reason == report.NotTried
	}
	c := report.Coverage{Revision: server.Revision}
	open, tried := map[string]bool{}, map[string]bool{} // by capability
	for _, r := range entries {
		if _, applies := r.JudgingRevision(server.Revision, server.Transport); !applies || r.Area() == report.Advice {
			continue
		}
		c.Requirements++
		_, built := suite[r.ID]
		switch verdict := verdicts[r.ID]; {
		case verdict == catalogue.Pass || verdict == catalogue.Fail:
			c.Tried++
			tried[r.Capability] = true
		case verdict == catalogue.Skip && !left[r.ID] || engine.MissingCapability(server, r) != "":
			c.NotApplicable++
		case built && !want(r):
			c.Excluded++
		case built:
			c.NotTried++
			open[r.Capability] = true
		default:
			c.NotChecked++
			open[r.Capability] = want(r) || open[r.Capability]
		}
	}
	for capability := range server.Capabilities {
		if open[capability] && !tried[capability] {
			c.Unexercised = append(c.Unexercised, capability)
		}
	}
	slices.Sort(c.Unexercised)
	return c
}
