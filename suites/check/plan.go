package check

import (
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
	"slices"
)

// Case is a planned run of a check in one revision.
type Case struct {
	*catalogue.Requirement
	Revision string // that was negotiated
	JudgedBy string // the one whose text judges; another one only where the area says so

	check         Check
	applicableIDs []string // the ids of all entries that apply to the server, wanted or not
	predetermined outcome  // decided without trying; without a verdict otherwise
	secondary     bool     // its requirement has its home in another shard
}

// promises reports whether others are tried after the case that are lent its process.
func (c Case) isReusedForInvalidInput() bool {
	return c.check.reusedForInvalidInput && c.predetermined.verdict == ""
}

// Predetermined is what is known of the case without trying it: a verdict, empty when it has to be tried, and why.
func (c Case) Predetermined() (v catalogue.Verdict, code report.Reason, why string) {
	return c.predetermined.verdict, c.predetermined.reason, c.predetermined.message
}

// Plan turns the catalogue into the cases for one server: what holds in its revision, on its transport, and is wanted.
// Cases whose verdict is known beforehand are in the plan with the reason.
func Plan(entries catalogue.Catalogue, suite Suite, server *Server, want catalogue.Selector) (plan []Case) {
	var ids []string
	for _, r := range entries {
		check, built := suite[r.ID]
		by, applies := r.JudgingRevision(server.Revision, server.Transport)
		if !built || !applies {
			continue
		}
		ids = append(ids, r.ID)
		if !want(r) {
			continue
		}
		c := Case{Requirement: r, Revision: server.Revision, JudgedBy: by, check: check.forRevision(server.Revision)}
		c.predetermined = predeterminedOutcome(r, c.check, server)
		plan = append(plan, c)
	}
	for i := range plan {
		plan[i].applicableIDs = ids
	}
	return plan
}

// foreseen is the outcome that the server's description alone decides; none when the check has to be tried.
func predeterminedOutcome(r *catalogue.Requirement, check Check, server *Server) (none outcome) {
	switch {
	case server.Failure != "" && server.Protected:
		if check.whenProtected {
			return none
		}
		return outcome{verdict: catalogue.Inconclusive, reason: report.HandshakeFailed, message: server.Failure}
	case server.Failure != "":
		if check.whenConnectRefused {
			return none
		}
		return outcome{verdict: catalogue.Inconclusive, reason: report.HandshakeFailed, message: server.connectName() +
			" failed"}
	case server.missingCapability(r) != "":
		return outcome{verdict: catalogue.Skip, reason: report.NotDeclared, message: "the server does not declare " +
			server.missingCapability(r)}
	case slices.Contains(r.Needs, "tool") && len(server.Tools) == 0:
		return outcome{verdict: catalogue.Skip, reason: report.NotOffered, message: "the server lists no tool"}
	case slices.Contains(r.Needs, "prompt") && len(server.Prompts) == 0:
		return outcome{verdict: catalogue.Skip, reason: report.NotOffered, message: "the server lists no prompt"}
	}
	return none
}

// UntestableResults are the results of a plan whose server could not be talked to: one root cause, and what depends on
// it inconclusive.
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
