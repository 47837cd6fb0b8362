package report

import (
	"cmp"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"slices"
)

// Coverage is how much of a revision a run judged. Every requirement that holds in the revision over the transport is
// counted in one of the counts below Requirements. Advice is not part of the revision, and is not counted.
type Coverage struct {
	Revision      string   `json:"revision"`
	Requirements  int      `json:"requirements"`
	Tried         int      `json:"tried"`         // pass or fail
	NotApplicable int      `json:"notApplicable"` // skip, or of a capability that the server does not declare
	NotTried      int      `json:"notTried"`      // inconclusive, error, or the run was quick or ended before
	Excluded      int      `json:"leftOut"`       // by the selection
	NotChecked    int      `json:"notChecked"`    // there is no check yet
	Unexercised   []string `json:"unexercised,omitempty"`

	UncalledTools []UncalledTool     `json:"uncalled,omitempty"` // as RunOutcome has them
	InvalidCalls  *InvalidCallCounts `json:"invalidCalls,omitempty"`
	CalledTools   []ToolUse          `json:"tools,omitempty"` // that were called
}

// of is the count in which results of a verdict are.
func (c *Coverage) count(v catalogue.Verdict) *int {
	switch v {
	case catalogue.Pass, catalogue.Fail:
		return &c.Tried
	case catalogue.Skip:
		return &c.NotApplicable
	}
	return &c.NotTried
}

// Add adds what another shard has covered.
func (c *Coverage) add(other Coverage) {
	c.Requirements += other.Requirements
	c.Tried += other.Tried
	c.NotApplicable += other.NotApplicable
	c.NotTried += other.NotTried
	c.Excluded += other.Excluded
	c.NotChecked += other.NotChecked
	for _, tool := range other.UncalledTools {
		if !slices.ContainsFunc(c.UncalledTools, func(u UncalledTool) bool { return u.Name == tool.Name }) {
			c.UncalledTools = append(c.UncalledTools, tool)
		}
	}
	c.InvalidCalls = cmp.Or(c.InvalidCalls, other.InvalidCalls)
	c.CalledTools = MergeToolUse(c.CalledTools, other.CalledTools)
	c.Unexercised = append(c.Unexercised, other.Unexercised...)
}
