package check

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// Case is a check planned for one run, in one revision.
type Case struct {
	*catalogue.Requirement
	// Revision is the revision that was negotiated.
	Revision string
	// JudgedBy is the revision whose text the check is judged by. It differs from Revision only where the area says so.
	JudgedBy string

	check Check
	// applicableIDs are the ids of all entries that apply to the server, selected or not.
	applicableIDs []string
	// predetermined is the outcome if it is known without an attempt; it has no verdict otherwise.
	predetermined outcome
	// secondary says that another shard is responsible for the requirement.
	secondary bool
}

// isReusedForInvalidInput reports whether checks that want a session for invalid input wait for the process of this
// case.
func (c Case) isReusedForInvalidInput() bool {
	return c.check.reusedForInvalidInput && c.predetermined.verdict == ""
}

// Predetermined returns the verdict of the case if it is known without an attempt, its reason and its message. The
// verdict is empty when the case has to be tried.
func (c Case) Predetermined() (v catalogue.Verdict, code report.Reason, why string) {
	return c.predetermined.verdict, c.predetermined.reason, c.predetermined.message
}

// Plan returns the cases for one server: the checks of the selected requirements that apply in its revision and on its
// transport. It includes those whose verdict is predetermined.
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

// predeterminedOutcome returns the outcome that follows from the server's description alone; none when the check has to
// be tried.
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
