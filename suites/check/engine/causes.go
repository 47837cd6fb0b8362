package engine

import (
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check/internal/attempt"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// A violation is reported once, by the entry that is about it. Entries that fail because of the same violation, or
// cannot be judged because of it, name that entry in yields_to. The result names a cause only if that is verified here:
// the entry has failed, or its result is inconclusive.

// causeClaimOf returns what an outcome says of its causes; nil when it says nothing of that.
func causeClaimOf(o attempt.Outcome) *causeClaim {
	switch {
	case o.Verdict == catalogue.Fail && o.Violations != nil:
		return &causeClaim{violations: o.Violations}
	case o.Verdict == catalogue.Pass && o.NotJudged != nil:
		return &causeClaim{notJudged: o.NotJudged}
	case o.Reason == report.OtherCheck:
		return &causeClaim{obstacle: o.Message, extraIDs: o.YieldsTo}
	}
	return nil
}

// resultWithCauses returns the result of a case in view of the entries that it yields to, for whose results it waits.
// The cases in from are those on whose behalf it is called; they do not count, since a check may yield to further
// entries than its own entry names.
func (e *Execution) resultWithCauses(i int, from ...int) report.Result {
	<-e.caseDone[i]
	r := e.results[i]
	switch y := e.claims[i]; {
	case y == nil:
	case y.obstacle != "":
		r.SetCauses(e.causesOf(i, from, nil))
		e.setGate(e.plan[i], &r)
	case y.notJudged != nil:
		if ids, _ := e.causesOf(i, from, nil).IDs(); ids == nil {
			r.Message = strings.Join(append(report.NonEmpty(r.Message), y.notJudged...), "\n")
		}
	case r.Verdict == catalogue.Fail:
		e.yieldToCause(i, &r, e.causesOf(i, from, func(j int) bool {
			cause := e.results[j]
			weaker := cause.Verdict != catalogue.Fail || cause.Level < r.Level || r.Gates && !cause.Gates
			return !weaker && y.isCausedBy(cause.ID, e.claims[j])
		}))
	}
	return r
}

// causesOf returns the entries that a case yields to, and which of them were not tried. A nil counts includes all of
// them.
func (e *Execution) causesOf(i int, from []int, counts func(j int) bool) (c report.CauseIDs) {
	from = append(slices.Clip(from), i)
	for _, id := range slices.Concat(e.plan[i].Causes(e.plan[i].applicableIDs), e.claims[i].extraIDs) {
		j := e.indexOf(id)
		switch {
		case j < 0:
			c.NotTried = append(c.NotTried, id)
			continue
		case slices.Contains(from, j):
			continue
		}
		r := e.resultWithCauses(j, from...)
		if counts == nil || counts(j) {
			c.Add(r)
		}
		if r.Verdict == catalogue.Pass && e.claims[j] != nil && counts == nil {
			c.Join(e.causesOf(j, from, nil)) // these causes kept it from judging everything
		}
	}
	return c
}

// indexOf returns the index of an entry in the plan, -1 when it is not in it.
func (e *Execution) indexOf(id string) int {
	return slices.IndexFunc(e.plan, func(c Case) bool { return c.ID == id })
}

// yieldToCause turns a fail into a skip if its causes have failed for the same reason.
func (e *Execution) yieldToCause(i int, r *report.Result, c report.CauseIDs) {
	causes, same := c.IDs()
	if !same {
		return
	}
	r.Causes, r.Verdict, r.Reason, r.Level = causes, catalogue.Skip, report.OtherCheck, r.EntryLevel
	r.Message = report.SameCauseAs + report.JoinIDs(causes)
	r.Findings, r.Truncated, r.Subjects, r.TriggeredBy, r.Deviations = nil, false, nil, nil, nil
	e.setGate(e.plan[i], r)
}

// causeClaim is what a result says of the entries that cause it.
type causeClaim struct {
	// obstacle says, for a result without a verdict, what keeps the check from judging.
	obstacle string
	// extraIDs are ids of causes in addition to those that the entry yields to.
	extraIDs []string
	// notJudged are, for a pass, the subjects that could not be judged, in case no other check reports why.
	notJudged []string
	// violations are, for a fail, what each finding rests on.
	violations []attempt.Violation
}

// isCausedBy reports whether each finding of a fail rests on a violation that another entry has failed on.
func (y causeClaim) isCausedBy(entry string, failed *causeClaim) bool {
	known := map[attempt.FrameKey]bool{}
	for _, m := range failed.violations {
		for _, key := range m.Messages {
			known[key] = true
		}
	}
	return len(y.violations) > 0 && !slices.ContainsFunc(y.violations, func(m attempt.Violation) bool {
		isKnown := func(key attempt.FrameKey) bool { return known[key] }
		return !slices.Contains(m.Entries, entry) && !slices.ContainsFunc(m.Messages, isKnown)
	})
}
