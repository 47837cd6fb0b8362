package harness

import "fmt"

// ShardInfo says which part of a run a report is of. Every requirement has its home in one of the parts; a watch, which
// judges what is on the wire, is carried out in each of them beside.
type ShardInfo struct {
	Index int `json:"index"` // from 1
	Of    int `json:"of"`
}

func (s ShardInfo) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Of) }

// Assigned are the requirements that have their home in the shard: a piece of the catalogue, for neighbours share what
// they say to a server. Of those that are wanted each shard has as many as the others, but for one.
func (s ShardInfo) Assigned(catalogue Catalogue, wanted Selector) Catalogue {
	total, before := 0, 0
	for _, r := range catalogue {
		if wanted(r) {
			total++
		}
	}
	var homes Catalogue
	for _, r := range catalogue {
		if min(before*s.Of/max(total, 1), s.Of-1) == s.Index-1 {
			homes = append(homes, r)
		}
		if wanted(r) {
			before++
		}
	}
	return homes
}

// FilterPlan is what the shard carries out of a plan, of whose requirements some are at home in it. Of the others it
// judges by the watches what is on its wire anyway.
func FilterPlan(plan []Case, homes Catalogue) (share []Case) {
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
