package engine

import (
	"time"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check/internal/attempt"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// RunOutcome is what a run reports besides the results of its cases.
type RunOutcome struct {
	// Problem says why the run could not go on with this server; it is empty when the run did.
	Problem       string
	UncalledTools []report.UncalledTool
	InvalidCalls  *report.InvalidCallCounts
	Sessions      []*driver.Session
}

func (e *Execution) newResult(c Case, o attempt.Outcome, begin time.Time) report.Result {
	entry := c.Level.In(c.JudgedBy)
	r := report.Result{
		ID: c.ID, Title: c.Title, Revision: c.Revision, Level: entry, EntryLevel: entry,
		Verdict: o.Verdict, Reason: o.Reason, Message: o.Message, Note: o.Note,
		Findings: o.Findings, Truncated: o.Truncated, Subjects: o.Subjects, Spec: c.URL(c.JudgedBy), Fix: c.Fix,
		Seconds: report.RoundMillis(time.Since(begin).Seconds()), Evidence: o.Lines, Locations: o.Locations,
		Unresponsive: o.Unresponsive, Secondary: c.secondary, Deviations: e.deviations(c, o),
	}
	if o.Verdict == catalogue.Fail {
		r.Level = o.Level
	}
	if c.script.Kind == attempt.Watch {
		r.TriggeredBy = e.triggers(c.ID, o.UsedBy)
	}
	e.mu.Lock()
	e.attemptClaims[c.ID] = causeClaimOf(o)
	e.mu.Unlock()
	e.setGate(c, &r)
	return r
}

// setResult sets the result of a case, unless the case was abandoned.
func (e *Execution) setResult(i int, r report.Result) {
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case <-e.caseDone[i]:
	default:
		e.results[i], e.claims[i] = r, e.attemptClaims[r.ID]
		e.options.Progress.completed.Add(1)
		close(e.caseDone[i])
	}
}

// setGate decides whether a result counts against the exit code.
func (e *Execution) setGate(c Case, r *report.Result) {
	r.GatedBy = e.options.Profile.Gate(r.Verdict, r.Level, r.EntryLevel, c.Checklist, c.DirectoryRules)
	r.Gates, r.DirectoryRules = r.GatedBy != catalogue.NoGate, nil
	if r.GatedBy == catalogue.GateDirectory {
		r.DirectoryRules = e.options.Profile.Rules(c.DirectoryRules)
	}
}

// Result waits for the result of the i-th case of the plan and returns it. A failure that an SDK may have caused is
// complete only when the run is over, so Result waits for that as well.
func (e *Execution) Result(i int) report.Result {
	r := e.resultWithCauses(i)
	if r.Deviations != nil {
		<-e.finished
	}
	return e.withSDK(r)
}

// EachResult calls visit once with each result, as soon as the results before it are known, and waits for the end of
// the run. It visits every result, also when the context has ended and a check has not returned: such a check is
// abandoned.
func (e *Execution) EachResult(visit func(report.Result)) RunOutcome {
	for _, i := range e.resultOrder() {
		visit(e.Result(i))
	}
	e.Wait()
	o := RunOutcome{Problem: e.Problem(), InvalidCalls: e.run.InvalidCalls.Load(), Sessions: e.Sessions()}
	if tools := e.run.UncalledTools.Load(); tools != nil {
		o.UncalledTools = *tools
	}
	return o
}
