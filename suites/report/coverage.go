package report

import (
	"cmp"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
)

// Coverage is how much of a revision a run has judged. Every requirement that applies in the revision over the
// transport is counted in Requirements and in one of the five counts after it. Advice is not part of the revision and
// is not counted.
type Coverage struct {
	Revision     string `json:"revision"`
	Requirements int    `json:"requirements"`
	// Tried counts passes and fails.
	Tried int `json:"tried"`
	// NotApplicable counts skips, and requirements of a capability that the server does not declare.
	NotApplicable int `json:"notApplicable"`
	// NotTried counts inconclusive results and errors, and what a quick or incomplete run has left out.
	NotTried int `json:"notTried"`
	// Excluded counts what the selection has left out.
	Excluded int `json:"leftOut"`
	// NotChecked counts requirements that have no check yet.
	NotChecked int `json:"notChecked"`
	// Unexercised are capabilities that the server declares and of which nothing was tried.
	Unexercised []string `json:"unexercised,omitempty"`

	// UncalledTools are the tools that were not called with valid arguments.
	UncalledTools []UncalledTool `json:"uncalled,omitempty"`
	// InvalidCalls counts the tools called with invalid arguments; nil when none was to be called so.
	InvalidCalls *InvalidCallCounts `json:"invalidCalls,omitempty"`
	// CalledTools are the tools that were called, with the outcome.
	CalledTools []ToolUse `json:"tools,omitempty"`
}

// count returns the count that results with a verdict are part of.
func (c *Coverage) count(v catalogue.Verdict) *int {
	switch v {
	case catalogue.Pass, catalogue.Fail:
		return &c.Tried
	case catalogue.Skip:
		return &c.NotApplicable
	}
	return &c.NotTried
}

// add adds the coverage of another shard.
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
