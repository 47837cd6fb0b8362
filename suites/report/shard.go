package report

import (
	"fmt"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
)

// ShardInfo identifies the part of a run that a report covers. One shard is responsible for each requirement; watches,
// which judge what is on the wire, run in all shards, as secondary cases in the others.
type ShardInfo struct {
	// Index is the number of the shard, from 1.
	Index int `json:"index"`
	// Of is the number of shards.
	Of int `json:"of"`
}

func (s ShardInfo) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Of) }

// Assigned returns the requirements that the shard is responsible for: a section of the catalogue, since neighbouring
// requirements share steps. The numbers of selected requirements in the shards differ by at most one.
func (s ShardInfo) Assigned(entries catalogue.Catalogue, wanted catalogue.Selector) catalogue.Catalogue {
	total, before := 0, 0
	for _, r := range entries {
		if wanted(r) {
			total++
		}
	}
	var assigned catalogue.Catalogue
	for _, r := range entries {
		if min(before*s.Of/max(total, 1), s.Of-1) == s.Index-1 {
			assigned = append(assigned, r)
		}
		if wanted(r) {
			before++
		}
	}
	return assigned
}
