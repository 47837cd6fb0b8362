package harness

import "slices"

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

// NewCoverage finds out how much of a server's revision the results of a run judge. Unexercised are the capabilities
// that the server declares and of which nothing was tried, though nobody left that out.
func NewCoverage(catalogue Catalogue, suite Suite, server *Server, want Selector, results []Result) Coverage {
	verdicts, left := map[string]Verdict{}, map[string]bool{} // left by a quick run
	for _, r := range results {
		verdicts[r.ID], left[r.ID] = r.Verdict, r.Reason == NotTried
	}
	c := Coverage{Revision: server.Revision}
	open, tried := map[string]bool{}, map[string]bool{} // by capability
	for _, r := range catalogue {
		if _, applies := r.JudgingRevision(server.Revision, server.Transport); !applies || r.Area() == advice {
			continue
		}
		c.Requirements++
		_, built := suite[r.ID]
		switch verdict := verdicts[r.ID]; {
		case verdict == Pass || verdict == Fail:
			c.Tried++
			tried[r.Capability] = true
		case verdict == Skip && !left[r.ID] || server.missingCapability(r) != "":
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

// missingCapability is the capability or the extension that a requirement is about and the server does not declare;
// empty when it lacks nothing.
func (s *Server) missingCapability(r *Requirement) string {
	extensions, _ := s.Capabilities["extensions"].(M)
	switch {
	case s.Failure != "":
		return ""
	case r.Capability == "completions" && s.Revision < "2025-03-26": // which has no capability for it
		return ""
	case r.Capability != "" && !r.area.ClientDeclares && !s.Declares(r.Capability):
		return r.Capability
	case r.Extension != "" && extensions[r.Extension] == nil:
		return r.Extension
	}
	return ""
}
