package check

import "github.com/mcpcheck/mcpcheck/suites/catalogue"

// FilterPlan is what the shard carries out of a plan, of whose requirements some are at home in it. Of the others it
// judges by the watches what is on its wire anyway.
func FilterPlan(plan []Case, homes catalogue.Catalogue) (share []Case) {
	home := map[string]bool{}
	for _, r := range homes {
		home[r.ID] = true
	}
	for _, c := range plan {
		switch {
		case home[c.ID]:
		case c.check.kind == watch && c.predetermined.verdict == "":
			c.secondary, c.check.setup = true, nil
		default:
			continue
		}
		share = append(share, c)
	}
	return share
}
