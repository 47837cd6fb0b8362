package harness

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/text"
)

// Case is a planned run of a check in one revision.
type Case struct {
	*Requirement
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
func (c Case) Predetermined() (v Verdict, code Reason, why string) {
	return c.predetermined.verdict, c.predetermined.reason, c.predetermined.message
}

// Plan turns the catalogue into the cases for one server: what holds in its revision, on its transport, and is wanted.
// Cases whose verdict is known beforehand are in the plan with the reason.
func Plan(catalogue Catalogue, suite Suite, server *Server, want Selector) (plan []Case) {
	var ids []string
	for _, r := range catalogue {
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
func predeterminedOutcome(r *Requirement, check Check, server *Server) (none outcome) {
	switch {
	case server.Failure != "" && server.Protected:
		if check.whenProtected {
			return none
		}
		return outcome{verdict: Inconclusive, reason: HandshakeFailed, message: server.Failure}
	case server.Failure != "":
		if check.whenConnectRefused {
			return none
		}
		return outcome{verdict: Inconclusive, reason: HandshakeFailed, message: server.connectName() + " failed"}
	case server.missingCapability(r) != "":
		return outcome{verdict: Skip, reason: NotDeclared, message: "the server does not declare " +
			server.missingCapability(r)}
	case slices.Contains(r.Needs, "tool") && len(server.Tools) == 0:
		return outcome{verdict: Skip, reason: NotOffered, message: "the server lists no tool"}
	case slices.Contains(r.Needs, "prompt") && len(server.Prompts) == 0:
		return outcome{verdict: Skip, reason: NotOffered, message: "the server lists no prompt"}
	}
	return none
}

// Selector decides which requirements a run tries.
type Selector func(r *Requirement) bool

// Select makes a selector from ids, areas, globs of either (tools/*, *) and levels (must), in any letter case. An empty
// only means all. It fails on what selects nothing, and names the nearest id.
func Select(catalogue func() Catalogue, only, skip []string) (Selector, error) {
	for _, pattern := range slices.Concat(only, skip) {
		if err := checkPattern(catalogue(), pattern); err != nil {
			return nil, err
		}
	}
	return func(r *Requirement) bool {
		return (len(only) == 0 || matchesAny(only, r)) && !matchesAny(skip, r)
	}, nil
}

func matchesAny(patterns []string, r *Requirement) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, r) })
}

func matches(pattern string, r *Requirement) bool {
	var level Level
	if level.UnmarshalText([]byte(strings.ToUpper(pattern))) == nil {
		return slices.ContainsFunc(r.ApplicableRevisions(),
			func(revision string) bool { return r.Level.In(revision) == level })
	}
	return slices.ContainsFunc([]string{r.ID, r.Area()}, func(name string) bool {
		ok, _ := path.Match(pattern, name)
		return ok
	})
}

func checkPattern(catalogue Catalogue, pattern string) error {
	if _, err := path.Match(pattern, ""); err != nil {
		return fmt.Errorf("bad pattern %q: %v", pattern, err)
	}
	for _, r := range catalogue {
		if matches(pattern, r) {
			return nil
		}
	}
	const list = "; mcpcheck list shows them all"
	return fmt.Errorf("no check %q%s", pattern, text.Suggestion(pattern, selectableNames(catalogue), list))
}

// selectableNames are what selects something: the areas, then the ids.
func selectableNames(catalogue Catalogue) (names []string) {
	for _, r := range catalogue {
		if !slices.Contains(names, r.Area()) {
			names = append(names, r.Area())
		}
	}
	for _, r := range catalogue {
		names = append(names, r.ID)
	}
	return names
}

// UntestableResults are the results of a plan whose server could not be talked to: one root cause, and what depends on
// it inconclusive.
func UntestableResults(plan []Case, reason string) (results []Result) {
	for _, c := range plan {
		level := c.Level.In(c.JudgedBy)
		results = append(results, Result{
			ID: c.ID, Title: c.Title, Revision: c.Revision, Level: level, EntryLevel: level,
			Verdict: Inconclusive, Reason: HandshakeFailed, Message: reason, Spec: c.URL(c.JudgedBy), Fix: c.Fix,
			Secondary: c.secondary,
		})
	}
	return results
}
