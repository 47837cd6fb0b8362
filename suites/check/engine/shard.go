package engine

import (
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check/internal/attempt"
)

// FilterPlan returns the part of a plan that one shard runs: the cases of the requirements that are assigned to it and,
// as secondary cases without a setup, all watches, since its sessions are there to judge anyway.
func FilterPlan(plan []Case, assigned catalogue.Catalogue) (share []Case) {
	isAssigned := map[string]bool{}
	for _, r := range assigned {
		isAssigned[r.ID] = true
	}
	for _, c := range plan {
		switch {
		case isAssigned[c.ID]:
		case c.script.Kind == attempt.Watch && c.predetermined.Verdict == "":
			c.secondary, c.script.Setup = true, nil
		default:
			continue
		}
		share = append(share, c)
	}
	return share
}
