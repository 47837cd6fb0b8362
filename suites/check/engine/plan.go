package engine

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/check/internal/attempt"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// Case is a check planned for one run, in one revision.
type Case struct {
	*catalogue.Requirement
	// Revision is the revision that was negotiated.
	Revision string
	// JudgedBy is the revision whose text the check is judged by. It differs from Revision only where the area says so.
	JudgedBy string

	script check.Script
	// applicableIDs are the ids of all entries that apply to the server, selected or not.
	applicableIDs []string
	// predetermined is the outcome if it is known without an attempt; it has no verdict otherwise.
	predetermined attempt.Outcome
	// withoutSetup says that the case is a watch whose setup a quick run leaves out.
	withoutSetup bool
	// secondary says that another shard is responsible for the requirement.
	secondary bool
}

// isReusedForInvalidInput reports whether checks that want a session for invalid input wait for the process of this
// case.
func (c Case) isReusedForInvalidInput() bool {
	return c.script.ReusedForInvalidInput && c.predetermined.Verdict == ""
}

// isProbe reports whether the case only sends requests, in sessions that it does not end.
func (c Case) isProbe() bool {
	return c.script.Kind == attempt.Probe || c.script.Kind == attempt.ProcessProbe
}

// Predetermined returns the verdict of the case if it is known without an attempt, its reason and its message. The
// verdict is empty when the case has to be tried.
func (c Case) Predetermined() (v catalogue.Verdict, code report.Reason, why string) {
	return c.predetermined.Verdict, c.predetermined.Reason, c.predetermined.Message
}

// Plan returns the cases for one server: the checks of the selected requirements that apply in its revision and on its
// transport. It includes those whose verdict is predetermined.
func Plan(entries catalogue.Catalogue, suite check.Suite, server *check.Server, want catalogue.Selector) (plan []Case) {
	var ids []string
	for _, r := range entries {
		tried, built := suite[r.ID]
		by, applies := r.JudgingRevision(server.Revision, server.Transport)
		if !built || !applies {
			continue
		}
		ids = append(ids, r.ID)
		if !want(r) {
			continue
		}
		script := check.ScriptOf(tried, server.Revision)
		plan = append(plan, Case{
			Requirement: r, Revision: server.Revision, JudgedBy: by, script: script,
			predetermined: predeterminedOutcome(r, script, server),
		})
	}
	for i := range plan {
		plan[i].applicableIDs = ids
	}
	return plan
}

// predeterminedOutcome returns the outcome that follows from the server's description alone; none when the check has to
// be tried.
func predeterminedOutcome(r *catalogue.Requirement, script check.Script, server *check.Server) (none attempt.Outcome) {
	untestable := func(why string) attempt.Outcome {
		return attempt.Outcome{Verdict: catalogue.Inconclusive, Reason: report.HandshakeFailed, Message: why}
	}
	skip := func(reason report.Reason, why string) attempt.Outcome {
		return attempt.Outcome{Verdict: catalogue.Skip, Reason: reason, Message: why}
	}
	switch {
	case server.Failure != "" && server.Protected && !script.WhenProtected:
		return untestable(server.Failure)
	case server.Failure != "" && !server.Protected && !script.WhenConnectRefused:
		return untestable(connectName(server) + " failed")
	case server.Failure != "":
		return none
	case MissingCapability(server, r) != "":
		return skip(report.NotDeclared, "the server does not declare "+MissingCapability(server, r))
	case slices.Contains(r.Needs, "tool") && len(server.Tools) == 0:
		return skip(report.NotOffered, "the server lists no tool")
	case slices.Contains(r.Needs, "prompt") && len(server.Prompts) == 0:
		return skip(report.NotOffered, "the server lists no prompt")
	}
	return none
}

// MissingCapability returns the capability or extension that a requirement is about and the server does not declare;
// empty when nothing is missing.
func MissingCapability(s *check.Server, r *catalogue.Requirement) string {
	extensions, _ := s.Capabilities["extensions"].(check.M)
	switch {
	case s.Failure != "":
		return ""
	case r.Capability == "completions" && s.Revision < "2025-03-26": // which defines no such capability
		return ""
	case r.Capability != "" && !r.AssignedArea.ClientDeclares && !s.Declares(r.Capability):
		return r.Capability
	case r.Extension != "" && extensions[r.Extension] == nil:
		return r.Extension
	}
	return ""
}

// UntestableResults returns the results of a plan whose server could not be reached: all are inconclusive for the same
// reason.
func UntestableResults(plan []Case, reason string) (results []report.Result) {
	for _, c := range plan {
		level := c.Level.In(c.JudgedBy)
		results = append(results, report.Result{
			ID: c.ID, Title: c.Title, Revision: c.Revision, Level: level, EntryLevel: level,
			Verdict: catalogue.Inconclusive, Reason: report.HandshakeFailed, Message: reason, Spec: c.URL(c.JudgedBy),
			Fix:       c.Fix,
			Secondary: c.secondary,
		})
	}
	return results
}

// connectName returns a name for the connect request in messages.
func connectName(s *check.Server) string {
	if catalogue.IsModern(s.Revision) {
		return "server/discover"
	}
	return "the handshake"
}
