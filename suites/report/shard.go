package report

import (
	"fmt"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
)

// ShardInfo says which part of a run a report is of. Every requirement has its home in one of the parts; a watch, which
// judges what is on the wire, is carried out in each of them beside.
type ShardInfo struct {
	Index int `json:"index"` // from 1
	Of    int `json:"of"`
}

func (s ShardInfo) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Of) }

// Assigned are the requirements that have their home in the shard: a piece of the catalogue, for neighbours share what
// they say to a server. Of those that are wanted each shard has as many as the others, but for one.
func (s ShardInfo) Assigned(entries catalogue.Catalogue, wanted catalogue.Selector) catalogue.Catalogue {
	total, before := 0, 0
	for _, r := range entries {
		if wanted(r) {
			total++
		}
	}
	var homes catalogue.Catalogue
	for _, r := range entries {
		if min(before*s.Of/max(total, 1), s.Of-1) == s.Index-1 {
			homes = append(homes, r)
		}
		if wanted(r) {
			before++
		}
	}
	return homes
}
